#!/usr/bin/env python3
"""Tests tapline-monitor with a real Kafka broker, which also pauses or requires a login. Skipped without the broker's
jars."""
import json
import os
import socket
import subprocess
import tempfile
import unittest

from testing.kafka_broker import ROOT, AuthorizingBroker, Broker, available
from testing.monitor_process import MONITOR, Monitor, balanced
from testing.traffic import Traffic, audit, create_topic, device, differences

RATE = 20_000
CAPTURE = os.path.join(ROOT, "testbed", "captures", "http_small.pcap.zst")


class TakenPort(Broker):
    """A broker whose controller port is already taken at its first start."""

    taken = None

    def settings(self, folder, controller):
        if self.taken is None:
            self.taken = socket.create_server(("127.0.0.1", controller))
        return super().settings(folder, controller)


class BrokerStartTest(unittest.TestCase):
    def setUp(self):
        if not available():
            raise unittest.SkipTest("no broker: make java first")

    def test_a_broker_whose_port_is_taken_uses_another(self):
        with tempfile.TemporaryDirectory(prefix="tapline-test-") as folder, TakenPort(folder) as broker, broker.taken:
            create_topic(broker.address, "tapline.tuples.q")


class KafkaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not available():
            raise unittest.SkipTest("no broker: make java first")
        cls.folder = tempfile.TemporaryDirectory(prefix="tapline-test-")
        cls.broker = Broker(cls.folder.name).await_ready()

    @classmethod
    def tearDownClass(cls):
        cls.broker.resume()
        cls.broker.__exit__()
        cls.folder.cleanup()

    def setUp(self):
        # The device leaves its socket behind, so each start needs a new folder.
        self.link = tempfile.mkdtemp(dir=self.folder.name)

    def plan(self, name, sampling, parsers):
        create_topic(self.broker.address, "tapline.tuples." + name)
        path = os.path.join(self.folder.name, name + ".json")
        with open(path, "w") as file:
            json.dump({"format": 1, "query": name, "parsers": parsers, "monitors": [{"id": "local-0"}],
                       "sampling": sampling}, file)
        return path

    def monitor(self, *plans):
        arguments = [argument for plan in plans for argument in ("--plan", plan)]
        return Monitor("--vdev", device(self.link, "server"), "--hugepages", "never", "--memory-mib", "128",
                       "--output", "kafka", "--brokers", self.broker.address, "--queue-mib", "1", "--broker-timeout-s", "60",
                       *arguments)

    def traffic(self, monitor, **settings):
        monitor.await_event("ready")
        return Traffic(self.link, rate=RATE, **settings)

    def await_more(self, monitor, packets):
        """Returns once this number of further packets have been received."""
        now = max([event["packets"] for event in monitor.events if event["event"] == "progress"], default=0)
        monitor.await_event("progress", lambda event: event["packets"] >= now + packets)

    def end(self, monitor, traffic):
        """Stops the traffic. Returns the accounting once all sent packets have been received."""
        sent = traffic.stop()["sent"]
        monitor.await_event("progress", lambda event: event["packets"] == sent)
        self.assertEqual(monitor.terminate()[0], 0)
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["packets_received"], sent)
        self.assertEqual(accounting["lost"], {})
        self.assertTrue(balanced(accounting), accounting)
        return accounting

    def test_a_stopped_broker_never_blocks_capture(self):
        parsers = ["http_get", "tcp_conn_time"]
        plans = [self.plan("some", {"mode": "AUTO", "rate": 1.0}, parsers), self.plan("all", {"mode": "OFF"}, parsers)]
        with self.monitor(*plans) as monitor, self.traffic(monitor, flows=2000) as traffic:
            self.await_more(monitor, 2 * RATE)
            self.broker.pause()
            self.await_more(monitor, 8 * RATE)
            self.broker.resume()
            self.await_more(monitor, 3 * RATE)
            accounting = self.end(monitor, traffic)
        audits = {name: audit(self.broker.address, "tapline.tuples." + name) for name in ("some", "all")}
        for name, query in accounting["queries"].items():
            self.assertEqual(differences(query, audits[name]), {}, name)
            self.assertEqual(query["packets_in"], accounting["packets_received"])
            self.assertGreater(query["dropped"]["tuples"]["queue_full"], 0, name)
        self.assertEqual(list(audits["all"]["rates"]), ["1.0"], "SAMPLE * reports packets that it can't handle as lost")
        self.assertLess(min(map(float, audits["some"]["rates"])), 1, "SAMPLE auto keeps fewer flows")
        self.assertGreater(accounting["queries"]["some"]["dropped"]["packets"]["unsampled"], 0)

    def test_an_idle_link_sends_heartbeats(self):
        plan = self.plan("idle", {"mode": "OFF"}, ["tcp_conn_time"])
        with self.monitor(plan) as monitor, self.traffic(monitor, flows=10, packets=1000) as traffic:
            self.assertTrue(traffic.done.wait(30))
            first = len([event for event in monitor.events if event["event"] == "progress"])
            monitor.await_event("progress", lambda event: event["packets"] == 1000)
            while len([event for event in monitor.events if event["event"] == "progress"]) < first + 8:
                monitor._take(1)
            self.end(monitor, traffic)
        audits = audit(self.broker.address, "tapline.tuples.idle")
        self.assertGreaterEqual(audits["heartbeats"], 3, "one every half second")
        self.assertEqual((audits["watermarks_back"], audits["ends"]), (0, 1))


class KafkaLoginTest(unittest.TestCase):
    """Tests a broker that authenticates and authorizes monitors."""

    @classmethod
    def setUpClass(cls):
        if not available():
            raise unittest.SkipTest("no broker: make java first")
        cls.folder = tempfile.TemporaryDirectory(prefix="tapline-test-")
        cls.broker = AuthorizingBroker(cls.folder.name).await_ready()
        create_topic(cls.broker.address, "tapline.tuples.q")
        cls.plan = os.path.join(cls.folder.name, "q.json")
        with open(cls.plan, "w") as file:
            json.dump({"format": 1, "query": "q", "parsers": ["http_get"], "monitors": [{"id": "local-0"}]}, file)

    @classmethod
    def tearDownClass(cls):
        cls.broker.__exit__()
        cls.folder.cleanup()

    def run_as(self, user, password):
        login = os.path.join(self.folder.name, "broker.login")
        with open(login, "w") as file:
            file.write(f"{user}:{password}\n")
        return subprocess.run(
            [MONITOR, "--pcap", CAPTURE, "--plan", self.plan, "--output", "kafka", "--brokers",
             self.broker.login_address, "--broker-login-file", login], capture_output=True, text=True, timeout=60)

    def test_a_user_with_the_right_to_write(self):
        done = self.run_as("writer", AuthorizingBroker.PASSWORDS["writer"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(audit(self.broker.address, "tapline.tuples.q")["rows"], 0)

    def test_a_user_without_the_right_is_named_with_the_topic(self):
        done = self.run_as("stranger", AuthorizingBroker.PASSWORDS["stranger"])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "does not allow User:stranger to write (topic tapline.tuples.q|any topic)")

    def test_a_wrong_password_is_not_repeated(self):
        done = self.run_as("writer", "guessed")
        self.assertEqual(done.returncode, 1)
        self.assertIn("rejects the login of User:writer", done.stderr)
        self.assertNotIn("guessed", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Tests tapline-multilog as users start and stop it. TAPLINE_MULTILOG names the program."""
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAM = os.environ["TAPLINE_MULTILOG"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAPTURE = os.path.join(ROOT, "testbed", "captures", "tcp_small.pcap.zst")
sys.path.append(os.path.join(ROOT, "monitors"))

from testing.free_ports import free_port  # noqa: E402
from testing.monitor_process import make_tls  # noqa: E402


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


class NodeTestCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tapline-test-")
        self.addCleanup(self.directory.cleanup)
        self.listen = "unix:" + os.path.join(self.directory.name, "grpc")

    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, "--listen", self.listen, "--status", "json", "--memory-mib", "64",
                                    *arguments], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.assertEqual(json.loads(process.stderr.readline())["event"], "ready")
        return process

    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line[0] != "#"}

    def await_rows(self, port):
        """Waits until the capture has been read and every packet is a row or is counted as dropped."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            seen = self.metrics(port)
            packets = seen["tapline_multilog_packets_total"]
            dropped = sum(value for name, value in seen.items() if name.startswith("tapline_multilog_dropped_total"))
            if seen["tapline_multilog_capture_ended"]:
                self.assertEqual(packets, seen["tapline_multilog_rows_total"] + dropped)
                return seen["tapline_multilog_rows_total"]
            time.sleep(0.05)
        self.fail(seen)


class ProcessTest(NodeTestCase):
    def test_counts_every_packet_and_ends_cleanly(self):
        port = free_port()
        process = self.start("--pcap", CAPTURE, "--metrics", f"127.0.0.1:{port}")
        self.await_rows(port)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)

    def test_files_are_private_to_its_user(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        feed = tempfile.mkdtemp(prefix="tapline-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, feed)
        store = os.path.join(self.directory.name, "store")
        port = free_port()
        self.start("--pcap", CAPTURE, "--directory", store, "--metrics", f"127.0.0.1:{port}")
        self.await_rows(port)
        os.rename(self.listen.removeprefix("unix:"), os.path.join(store, "socket"))
        self.start("--headers-from", os.path.join(feed, "made"))
        made = [os.path.join(folder, name) for top in (self.directory.name, feed) for folder, folders, files in os.walk(top)
                for name in folders + files]
        self.assertGreater(len(made), 8)
        self.assertEqual([path for path in made if stat.S_IMODE(os.stat(path).st_mode) & 0o077], [])

    def test_wrong_usage_is_named(self):
        for arguments, word in [
            ([], "no input"),
            (["--pcap", CAPTURE, "--interface", "eth0"], "several inputs"),
            (["--pcap", CAPTURE, "--index", "src_prt"], "src_prt"),
            (["--pcap", CAPTURE, "--filter", "dst_port =="], "--filter"),
            (["--pcap", CAPTURE, "--sample", "2"], "--sample"),
            (["--pcpa", CAPTURE], "did you mean --pcap?"),
            (["--pcap", CAPTURE, "--listen", "0.0.0.0:7400"], "--tls-certificate"),
            (["--pcap", CAPTURE, "--token-file", CAPTURE], "--token-file needs"),
            (["--pcap", CAPTURE, "--tls-key", CAPTURE], "require each other"),
            (["--pcap", CAPTURE, "--metrics", "0.0.0.0:7401"], "--metrics-certificate"),
            (["--pcap", CAPTURE, "--metrics", "0.0.0.0:7401", "--clear", "kafka"], "--clear kafka: unknown service (known: metrics)"),
        ]:
            code, _, error = run(*arguments)
            self.assertEqual(code, 2, error)
            self.assertIn(word, error)

    def test_a_missing_capture(self):
        code, _, error = run("--listen", self.listen, "--pcap", "/nowhere.pcap", "--memory-mib", "64")
        self.assertEqual(code, 1)
        self.assertIn("/nowhere.pcap", error)

    def test_invalid_tls_files(self):
        code, _, error = run("--listen", self.listen, "--pcap", CAPTURE, "--memory-mib", "64",
                             "--tls-certificate", "/nowhere.pem", "--tls-key", CAPTURE)
        self.assertEqual(code, 1)
        self.assertIn("/nowhere.pem", error)
        code, _, error = run("--listen", self.listen, "--pcap", CAPTURE, "--memory-mib", "64",
                             "--tls-certificate", CAPTURE, "--tls-key", CAPTURE)
        self.assertEqual(code, 1)
        self.assertIn("contains no CERTIFICATE in PEM format", error)

    def test_metrics_over_tls_for_holders_of_the_token(self):
        port = free_port()
        flags, context, token = make_tls(self.directory.name)
        process = self.start("--pcap", CAPTURE, "--metrics", f"0.0.0.0:{port}", *flags)
        url = f"https://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(urllib.request.Request(url, headers=token), timeout=10, context=context) as answer:
            self.assertIn("\ntapline_multilog_rows_total ", answer.read().decode())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url, timeout=10, context=context)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)

    def test_metrics_in_the_clear_if_allowed(self):
        port = free_port()
        process = subprocess.Popen([PROGRAM, "--listen", self.listen, "--status", "json", "--memory-mib", "64", "--pcap", CAPTURE,
                                    "--metrics", f"0.0.0.0:{port}", "--clear", "metrics"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        warning = json.loads(process.stderr.readline())
        self.assertEqual(warning["event"], "warning")
        self.assertIn("metrics may be unencrypted beyond loopback", warning["message"])
        self.assertEqual(json.loads(process.stderr.readline())["event"], "ready")
        self.await_rows(port)

    def test_an_address_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            code, _, error = run("--listen", address, "--pcap", CAPTURE, "--memory-mib", "64")
        self.assertEqual(code, 1)
        self.assertIn(address, error)

    def test_rows_outlive_a_restart(self):
        log = os.path.join(self.directory.name, "log")
        port = free_port()
        process = self.start("--pcap", CAPTURE, "--directory", log, "--metrics", f"127.0.0.1:{port}")
        rows = self.await_rows(port)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)
        port = free_port()
        empty = os.path.join(ROOT, "testbed", "captures", "http_small.pcap.zst")
        process = self.start("--pcap", empty, "--directory", log, "--filter", "bytes == 1", "--metrics",
                             f"127.0.0.1:{port}")
        self.assertEqual(self.metrics(port)["tapline_multilog_rows_total"], rows)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(10), 0)

    def test_check_and_dump(self):
        self.assertEqual(run("--check", "--pcap", CAPTURE)[0], 0)
        code, out, _ = run("--dump", "--pcap", CAPTURE, "--writers", "3")
        self.assertEqual(code, 0)
        self.assertIn("writers: 3", out)
        file = os.path.join(self.directory.name, "node.yaml")
        with open(file, "w") as config:
            config.write(out)
        self.assertEqual(run("--config", file, "--dump")[1], out)
        self.assertIn("--frame-bytes", run("--help")[1])


class FeedTest(NodeTestCase):
    """Tests headers from a monitor; each side is killed while the other one runs. TAPLINE_MONITOR names the monitor."""
    MONITOR = os.environ["TAPLINE_MONITOR"]

    def setUp(self):
        super().setUp()
        self.feed = tempfile.TemporaryDirectory(prefix="tapline-test-", dir="/dev/shm")
        self.addCleanup(self.feed.cleanup)
        self.port = free_port()

    def start_node(self, *arguments):
        return self.start("--headers-from", self.feed.name, "--metrics", f"127.0.0.1:{self.port}", *arguments)

    def monitor(self, *arguments):
        process = subprocess.Popen([self.MONITOR, "--parser", "tcp_conn_time", "--output", "null", "--status", "json",
                                    "--headers-to", self.feed.name, *arguments],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def counters(self):
        seen = self.metrics(self.port)
        prefix = 'tapline_multilog_dropped_total{reason="'
        dropped = {name[len(prefix):-2]: value for name, value in seen.items() if name.startswith(prefix)}
        return seen["tapline_multilog_packets_total"], seen["tapline_multilog_rows_total"], dropped

    def await_counters(self, condition):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            packets, rows, dropped = self.counters()
            if condition(packets, rows, dropped):
                return packets, rows, dropped
            time.sleep(0.05)
        self.fail(f"{packets} packets, {rows} rows, {dropped}")

    def await_balance(self, packets):
        return self.await_counters(lambda seen, rows, dropped: seen == packets == rows + sum(dropped.values()))

    def packets_of_capture(self):
        monitor = self.monitor("--pcap", CAPTURE)
        events = [json.loads(line) for line in monitor.stderr]
        self.assertEqual(monitor.wait(30), 0)
        end = [event for event in events if event["event"] == "end"][0]
        return end["accounting"]["packets_received"]

    def test_every_packet_of_the_monitor_is_a_row(self):
        self.start_node()
        packets = self.packets_of_capture()
        _, rows, dropped = self.await_balance(packets)
        self.assertEqual(dropped, {})
        self.packets_of_capture()
        _, restarted, _ = self.await_balance(2 * packets)
        self.assertEqual(restarted, 2 * rows)

    def test_a_killed_monitor(self):
        self.start_node()
        monitor = self.monitor("--pcap", CAPTURE, "--speed", "1x")
        self.await_counters(lambda packets, rows, _: packets > 0 and rows > 0)
        monitor.kill()
        monitor.wait()
        before, _, _ = self.counters()
        packets = self.packets_of_capture()
        _, rows, dropped = self.await_balance(before + packets)
        self.assertLessEqual(set(dropped), {"monitor_restarted"})

    def test_a_killed_node(self):
        node = self.start_node()
        packets = self.packets_of_capture()
        self.await_balance(packets)
        node.kill()
        node.wait()
        self.packets_of_capture()
        self.start_node()
        _, rows, dropped = self.await_balance(2 * packets)
        self.assertEqual((rows, dropped), (packets, {"node_restarted": packets}))

    def test_a_monitor_started_before_its_node(self):
        monitor = self.monitor("--pcap", CAPTURE, "--speed", "1x")
        while json.loads(monitor.stderr.readline())["event"] != "ready":
            pass
        time.sleep(0.2)
        self.start_node()
        _, _, dropped = self.await_counters(lambda packets, rows, _: packets > 0 and rows > 0)
        self.assertIn("node_absent", dropped)

    def test_headers_from_a_monitor_exclude_an_input(self):
        code, _, error = run("--headers-from", self.feed.name, "--pcap", CAPTURE)
        self.assertEqual(code, 2)
        self.assertIn("--headers-from", error)


if __name__ == "__main__":
    unittest.main()

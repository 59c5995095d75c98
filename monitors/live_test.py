#!/usr/bin/env python3
"""Tests tapline-monitor on a live link, a veth pair between two network namespaces. Needs root; skipped otherwise."""
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from testing.captures import has_wireshark, nanosecond_pcap, packets_of, tcp_totals
from testing.monitor_process import Monitor, balanced, tcp_frame

LIBC = ctypes.CDLL(None, use_errno=True)
MARKER = os.path.join(os.environ.get("TAPLINE_PLUGINS", "build/tests/plugins"), "marker.so")
CAPTURE = pathlib.Path(__file__).resolve().parents[1] / "testbed" / "captures" / "http_small.pcap.zst"
SENDER, MONITORED = f"tapline-a-{os.getpid()}", f"tapline-b-{os.getpid()}"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("network namespaces need root")
        try:
            ip("netns", "add", SENDER)
            ip("netns", "add", MONITORED)
            ip("link", "add", "va", "mtu", "65535", "netns", SENDER, "type", "veth", "peer", "name", "vb", "mtu", "65535",
               "netns", MONITORED)
        except (OSError, subprocess.CalledProcessError) as error:
            cls.tearDownClass()
            raise unittest.SkipTest(f"no network namespaces here: {error}") from error
        for namespace, device in ((SENDER, "va"), (MONITORED, "vb")):
            # Prevents IPv6 packets that the test does not send.
            subprocess.run(inside(namespace, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"), check=False)
            ip("-n", namespace, "link", "set", device, "arp", "off", "up")

    @classmethod
    def tearDownClass(cls):
        for namespace in (SENDER, MONITORED):
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)

    def monitor(self, *arguments, **popen):
        return Monitor("--interface", "vb", "--hugepages", "never", "--memory-mib", "128", *arguments,
                       prefix=inside(MONITORED), **popen)

    def send(self, frames, device="va"):
        """Sends the frames from the other namespace, in a separate process."""
        with self.sending(frames, device):
            pass

    @contextlib.contextmanager
    def sending(self, frames, device="va"):
        """Sends packets while the body runs; on exit, all of them have been sent."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with open(f"/run/netns/{SENDER}") as namespace:
                    if LIBC.setns(namespace.fileno(), 0) == 0:
                        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
                        link.bind((device, 0))
                        for frame in frames:
                            link.send(frame)
                        code = 0
            finally:
                os._exit(code)
        try:
            yield
        finally:
            status = os.waitpid(child, 0)[1]
        self.assertEqual(status, 0, "sending failed")

    def test_every_packet_is_seen_and_flushed_at_the_end(self):
        count = 5000
        with tempfile.TemporaryFile() as out, self.monitor("--parser", "tcp_conn_time", stdout=out) as monitor:
            monitor.await_event("ready")
            for first in range(0, count, 500):
                self.send(tcp_frame(10000 + i) for i in range(first, first + 500))
                monitor.await_event("progress", lambda event: event["packets"] >= first + 500)
            self.assertEqual(monitor.terminate()[0], 0)
            out.seek(0)
            events = [json.loads(line)["event"] for line in out]
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["packets_received"], count)
        self.assertEqual(accounting["matched"], count)
        self.assertTrue(balanced(accounting), accounting)
        self.assertEqual(events.count("syn"), count)
        self.assertEqual(len(events), 2 * count, "each connection was still open at the end")

    def test_two_interfaces_are_two_taps(self):
        """The taps show each packet before and after a queue, except for every tenth packet, which never leaves it."""
        frames = [frame for _, frame in packets_of(CAPTURE)]
        left = len(frames) - len(frames) // 10
        ip("link", "add", "vc", "mtu", "65535", "netns", SENDER, "type", "veth", "peer", "name", "vd", "mtu", "65535", "netns", MONITORED)
        for namespace, device in ((SENDER, "vc"), (MONITORED, "vd")):
            ip("-n", namespace, "link", "set", device, "arp", "off", "up")
        with tempfile.TemporaryFile() as out, Monitor(
                "--tap", "sw1:2:arrivals=vb", "--tap", "sw1:2:departures=vd", "--view-horizon-ms", "600000", "--plugin", MARKER,
                "--parser", "tcp_conn_time,tcp_pkt_size,queue_depth,marker_views", "--hugepages", "never", "--memory-mib", "256",
                prefix=inside(MONITORED), stdout=out) as monitor:
            monitor.await_event("ready")
            sent = 0
            for first in range(0, len(frames), 50):
                batch = frames[first:first + 50]
                leaving = [frame for i, frame in enumerate(batch) if (first + i) % 10 != 9]
                self.send(batch)
                self.send(leaving, device="vc")
                sent += len(batch) + len(leaving)
                monitor.await_event("progress", lambda event, sent=sent: event["packets"] >= sent)
            self.assertEqual(monitor.terminate()[0], 0)
            out.seek(0)
            tuples = [json.loads(line) for line in out]
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        self.assertEqual(accounting["queries"]["local"]["packets_in"], len(frames))
        self.assertEqual(accounting["queries"]["local"]["packets_polled"], 0, "the kernel stamps packets of interfaces")
        self.assertFalse([event for event in monitor.events if event["event"] == "warning" and "polled" in event["message"]])
        arrivals, departures = accounting["taps"]
        self.assertEqual((arrivals["tap"], arrivals["received"], arrivals["passed"]), ("sw1:2:arrivals", len(frames), len(frames)))
        self.assertEqual((departures["source"], departures["received"], departures["repeated"]), ("vd", left, left))
        sizes = [size for size in tuples if size["parser"] == "tcp_pkt_size"]
        totals = sum(size["packets"] for size in sizes), sum(size["bytes"] for size in sizes)
        self.assertEqual(totals, (len(frames), sum(map(len, frames))))
        views = [(view["tap"], view["repeated"]) for view in tuples if view["parser"] == "marker_views"]
        self.assertEqual((views.count((0, False)), views.count((1, True)), len(views)), (len(frames), left, len(frames) + left))
        if has_wireshark():
            with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
                file.write(nanosecond_pcap(packets_of(CAPTURE)))
                file.flush()
                self.assertEqual(tcp_totals(file.name), {"": totals})

    def test_long_frames_are_whole(self):
        frame = tcp_frame(1, payload=b"x" * 60000)
        with self.monitor("--parser", "tcp_pkt_size") as monitor:
            monitor.await_event("ready")
            self.send([frame])
            monitor.await_event("progress", lambda event: event["packets"] == 1)
            code, out = monitor.terminate()
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out)["bytes"], len(frame))

    def test_packets_dropped_by_the_kernel_are_counted(self):
        count = 20000
        with self.monitor("--parser", "tcp_flow_key", "--output", "null") as monitor:
            monitor.await_event("ready")
            monitor.process.send_signal(signal.SIGSTOP)
            self.send(tcp_frame(1) for _ in range(count))
            monitor.process.send_signal(signal.SIGCONT)
            monitor.await_event("progress", lambda event: event["packets"] == count)
            code, _ = monitor.terminate()
        self.assertEqual(code, 0)
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["packets_received"], count)
        self.assertGreater(accounting["lost"]["kernel_missed"], 0)
        self.assertEqual(accounting["queries"]["local"]["packets_in"], count)
        self.assertTrue(balanced(accounting), accounting)

    def test_packets_have_their_arrival_times(self):
        count, pause = 4, 0.2

        def slowly():
            for i in range(count):
                time.sleep(pause)
                yield tcp_frame(10000 + i)

        with self.monitor("--parser", "tcp_conn_time") as monitor:
            monitor.await_event("ready")
            monitor.process.send_signal(signal.SIGSTOP)
            before = time.time_ns()
            self.send(slowly())
            after = time.time_ns()
            monitor.process.send_signal(signal.SIGCONT)
            monitor.await_event("progress", lambda event: event["packets"] == count)
            code, out = monitor.terminate()
        self.assertEqual(code, 0)
        tuples = [json.loads(line) for line in out.splitlines()]
        times = sorted(tuple_["time_ns"] for tuple_ in tuples if tuple_["event"] == "syn")
        self.assertEqual(len(times), count)
        self.assertTrue(before < times[0] and times[-1] < after, (before, times, after))
        for earlier, later in zip(times, times[1:]):
            self.assertGreaterEqual(later - earlier, 0.9 * pause * 1e9, "stamped when they were polled")

    def test_adding_and_removing_queries_costs_others_nothing(self):
        def plan(name, *parsers, **more):
            return {"format": 1, "query": name, "parsers": list(parsers), "monitors": [{"id": "local-0"}], **more}

        def command(monitor, **what):
            monitor.process.stdin.write(json.dumps(what).encode() + b"\n")
            monitor.process.stdin.flush()

        rounds, packets = 12, 300
        with self.monitor("--control", "--output", "null", stdin=subprocess.PIPE) as monitor:
            monitor.await_event("ready")
            command(monitor, assign={"plan": plan("stays", "tcp_pkt_size")})
            monitor.await_event("query_added", lambda event: event["query"] == "stays")
            for i in range(rounds):
                parser = ("http_get", "tcp_conn_time", "tcp_flow_key")[i % 3]
                # A third of the packets arrive while the query starts, a third while it runs, and a third while it
                # ends.
                third = packets // 3
                frames = [tcp_frame(10000 + j) for j in range(third)]
                with self.sending(frames):
                    command(monitor, assign={"plan": plan(f"goes-{i}", parser)})
                    monitor.await_event("query_added", lambda event: event["query"] == f"goes-{i}")
                self.send(frames)
                sent = i * packets + 2 * third
                monitor.await_event("progress", lambda event: event["packets"] >= sent)
                with self.sending(frames):
                    command(monitor, end={"query": f"goes-{i}"})
                    monitor.await_event("query_ended", lambda event: event["query"] == f"goes-{i}")
            monitor.await_event("progress", lambda event: event["packets"] == rounds * packets)
            # Invalid commands must not affect other queries.
            command(monitor, assign={"plan": plan("stays", "http_get")})
            command(monitor, assign={"plan": plan("new", "http_got")})
            command(monitor, end={"query": "nobody"})
            command(monitor, do="something")
            command(monitor, limit={"query": "stays", "rate": 0.5})
            command(monitor, limit={"query": "nobody", "rate": 1.5})
            command(monitor, limit={"query": "nobody", "rate": 0.5})
            refusals = 6
            while sum(event["event"] == "query_refused" for event in monitor.events) < refusals:
                self.assertTrue(monitor._take(5))
            # A query that reaches its LIMIT is reported, and its slot and name become free.
            for _ in range(2):
                command(monitor, assign={"plan": plan("few", "tcp_flow_key", limit={"packets": 7})})
                monitor.events.remove(monitor.await_event("query_added", lambda event: event["query"] == "few"))
                self.send(tcp_frame(20000 + i) for i in range(20))
                ended = monitor.await_event("query_ended", lambda event: event["query"] == "few")
                self.assertEqual(ended["accounting"]["packets_out"], 7)
                monitor.events.remove(ended)
            monitor.process.stdin.close()
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        messages = [event["message"] for event in monitor.events if event["event"] == "query_refused"]
        for message, words in zip(messages, ("already running", "did you mean", "no query", "a command is", "SAMPLE auto", "at most 1")):
            self.assertIn(words, message)
        names = [event["query"] for event in monitor.events if event["event"] == "query_refused"]
        self.assertEqual(names, ["stays", "new", "nobody", "", "stays", "nobody"])
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["packets_received"], rounds * packets + 40)
        self.assertEqual(accounting["queries"]["stays"]["packets_in"], rounds * packets + 40)
        self.assertEqual(list(accounting["queries"]), ["stays"])
        self.assertTrue(balanced(accounting), accounting)
        for event in monitor.events:
            if event["event"] != "query_ended":
                continue
            counts = event["accounting"]
            if event["query"].startswith("goes-"):
                self.assertGreaterEqual(counts["packets_in"], packets // 3)
            self.assertEqual(counts["packets_in"], counts["packets_out"] + sum(counts["dropped"]["packets"].values()))

    def test_copies_that_never_arrived_are_losses_of_the_running_queries(self):
        with self.monitor("--control", "--output", "null", stdin=subprocess.PIPE) as monitor:
            monitor.await_event("ready")
            plan = {"format": 1, "query": "q", "parsers": ["tcp_flow_key"], "monitors": [{"id": "local-0"}]}
            monitor.process.stdin.write(json.dumps({"assign": {"plan": plan}}).encode() + b"\n")
            monitor.process.stdin.flush()
            monitor.await_event("query_added")
            before = time.time_ns()
            self.send(tcp_frame(1024 + i) for i in range(100))
            received = monitor.await_event("copies", lambda event: event["packets"] == 100)
            self.assertGreater(received["until_ns"], before)
            for incarnation, packets in ((received["incarnation"], 30), (received["incarnation"], 20), (received["incarnation"] - 1, 70),
                                         (received["incarnation"], 42)):
                line = {"copies_lost": {"incarnation": incarnation, "packets": packets}}
                monitor.process.stdin.write(json.dumps(line).encode() + b"\n")
            monitor.process.stdin.flush()
            monitor.await_event("progress", lambda event: event["packets"] == 142)
            monitor.await_event("copies", lambda event: event["until_ns"] > received["until_ns"])
            monitor.process.stdin.write(b'{"end":{"query":"q"}}\n')
            monitor.process.stdin.flush()
            counts = monitor.await_event("query_ended")["accounting"]
            monitor.process.stdin.close()
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        self.assertEqual({event["packets"] for event in monitor.events if event["event"] == "copies"} - {0, 100}, set())
        self.assertEqual(counts["dropped"]["packets"], {"mirror_lost": 42})
        self.assertEqual((counts["packets_in"], counts["packets_out"]), (142, 100))
        self.assertTrue(balanced(monitor.event("end")["accounting"]))

    def test_a_leased_limit_uses_its_grant_and_requests_more(self):
        with self.monitor("--control", "--output", "null", stdin=subprocess.PIPE) as monitor:
            monitor.await_event("ready")
            plan = {"format": 1, "query": "q", "parsers": ["tcp_flow_key"], "monitors": [{"id": "local-0"}],
                    "limit": {"packets": 4, "leased": True}}
            monitor.process.stdin.write(json.dumps({"assign": {"plan": plan}}).encode() + b"\n")
            monitor.process.stdin.flush()
            monitor.await_event("query_added")
            self.send(tcp_frame(1024 + i) for i in range(100))
            monitor.await_event("progress", lambda event: event["packets"] == 100)
            asked = monitor.await_event("credits", lambda event: event["taken"] == 4)
            self.assertEqual((asked["granted"], asked["wanting"], asked["version"]), (4, True, 0))
            monitor.process.stdin.write(b'{"credit":{"query":"q","packets":10,"version":5}}\n')
            monitor.process.stdin.flush()
            granted = monitor.await_event("credits", lambda event: event["version"] == 5)
            self.assertEqual((granted["granted"], granted["taken"], granted["wanting"]), (10, 4, False))
            self.send(tcp_frame(2024 + i) for i in range(100))
            refused = monitor.await_event("credits", lambda event: event["taken"] == 10 and event["refused"])
            self.assertTrue(refused["wanting"])
            monitor.process.stdin.close()
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        counts = monitor.event("end")["accounting"]["queries"]["q"]
        self.assertEqual(counts["packets_out"], 10)
        # Packets refused before the second grant count as lost. Packets refused after it arrived after the query's end.
        self.assertGreater(counts["dropped"]["packets"]["no_credit"], 50)
        self.assertEqual(counts["packets_in"], counts["packets_out"] + sum(counts["dropped"]["packets"].values()))

    def test_queries_share_the_interval_of_a_parser(self):
        """A query with a different interval is refused until the running one has ended; then it gets its own interval."""
        def plan(query, every_ns):
            arguments = [{"parser": "link_load", "name": "every", "value": str(every_ns)}]
            return {"format": 1, "query": query, "parsers": ["link_load"], "arguments": arguments,
                    "monitors": [{"id": "local-0"}], "sampling": {"mode": "OFF"}}

        def command(**what):
            monitor.process.stdin.write(json.dumps(what).encode() + b"\n")
            monitor.process.stdin.flush()

        with self.monitor("--control", "--output", "null", stdin=subprocess.PIPE) as monitor:
            monitor.await_event("ready")
            for name in ("slow", "same"):
                command(assign={"plan": plan(name, 1_000_000_000)})
                monitor.await_event("query_added", lambda event: event["query"] == name)
            command(assign={"plan": plan("fast", 1_000_000)})
            refused = monitor.await_event("query_refused", lambda event: event["query"] == "fast")
            self.assertIn("parser 'link_load' already runs with every=1s on this monitor", refused["message"])
            for name in ("slow", "same"):
                command(end={"query": name})
                monitor.await_event("query_ended", lambda event: event["query"] == name)
            command(assign={"plan": plan("fast", 1_000_000)})
            monitor.await_event("query_added", lambda event: event["query"] == "fast")
            self.send(tcp_frame(1024 + i) for i in range(100))
            monitor.await_event("progress", lambda event: event["packets"] == 100)
            monitor.process.stdin.close()
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["queries"]["fast"]["packets_in"], 100)
        self.assertTrue(balanced(accounting))

    def test_a_limit_lowers_the_rate_of_a_query_that_allows_it(self):
        def frames(count, first):
            return (tcp_frame(1024 + first + i) for i in range(count))

        with self.monitor("--control", "--output", "null", stdin=subprocess.PIPE) as monitor:
            monitor.await_event("ready")
            plan = {"format": 1, "query": "q", "parsers": ["tcp_flow_key"], "monitors": [{"id": "local-0"}],
                    "sampling": {"mode": "AUTO"}}
            monitor.process.stdin.write(json.dumps({"assign": {"plan": plan}}).encode() + b"\n")
            monitor.process.stdin.flush()
            monitor.await_event("query_added")
            self.send(frames(100, 0))
            monitor.await_event("progress", lambda event: event["packets"] == 100)
            monitor.process.stdin.write(b'{"limit":{"query":"q","rate":0.25}}\n')
            monitor.process.stdin.flush()
            # The rate applies from the first packet of a later second.
            time.sleep(1.2)
            self.send(frames(4000, 1000))
            time.sleep(0.5)
            monitor.process.stdin.close()
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        counts = monitor.event("end")["accounting"]["queries"]["q"]
        kept = counts["packets_out"] - 100
        # On a busy machine, the monitor may miss some of the packets.
        sampled = kept + counts["dropped"]["packets"]["unsampled"]
        self.assertGreater(sampled, 2000, counts)
        self.assertTrue(0.2 < kept / sampled < 0.3, counts)

    def test_several_lanes_and_workers_see_every_packet_once(self):
        count = 4000
        for threads in (["--lanes", "2"], ["--workers", "tcp_conn_time=2,tcp_pkt_size"]):
            with self.subTest(threads), self.monitor("--parser", "tcp_conn_time,tcp_pkt_size", "--output", "null",
                                                     *threads) as monitor:
                monitor.await_event("ready")
                for first in range(0, count, 500):
                    self.send(tcp_frame(10000 + i) for i in range(first, first + 500))
                    monitor.await_event("progress", lambda event: event["packets"] >= first + 500)
                code, _ = monitor.terminate()
                self.assertEqual(code, 0)
                accounting = monitor.event("end")["accounting"]
                self.assertEqual(accounting["packets_received"], count)
                query = accounting["queries"]["local"]
                self.assertEqual(query["packets_out"], count)
                # Each connection has a tuple for its SYN, one for its state at the end (open), and one for its only
                # packet.
                self.assertEqual(query["tuples_in"], 3 * count)
                self.assertTrue(balanced(accounting), accounting)

    def test_the_packets_of_all_lanes_count_in_a_trigger(self):
        """Only the sum over both lanes exceeds the threshold, in the window in which the query ends."""
        count = 4000

        def trigger(processor, threshold, group):
            when = [{"measure": "PACKETS"}, {"constant": threshold}, {"operator": "GREATER"}]
            return {"processor": processor, "parser": "packets", "when": when, "every": "86400s", "group": group}

        triggers = [trigger(0, count - 1, []), trigger(1, count - 1, ["dst_ip"]), trigger(2, count, [])]
        plan = {"format": 1, "query": "q", "parsers": ["packets", "trigger"], "triggers": triggers,
                "monitors": [{"id": "local-0", "lanes": 2}]}
        with self.monitor("--control", "--output", "null", "--lanes", "2", stdin=subprocess.PIPE) as monitor:
            def command(**fields):
                monitor.process.stdin.write(json.dumps(fields).encode() + b"\n")
                monitor.process.stdin.flush()

            monitor.await_event("ready")
            command(assign={"plan": plan})
            monitor.await_event("query_added")
            for first in range(0, count, 500):
                self.send(tcp_frame(10000 + i) for i in range(first, first + 500))
                monitor.await_event("progress", lambda event: event["packets"] >= first + 500)
            command(end={"query": "q"})
            ended = monitor.await_event("query_ended")["accounting"]
            code, _ = monitor.terminate()
        self.assertEqual(code, 0)
        self.assertEqual(ended["packets_out"], count)
        self.assertEqual(ended["tuples_in"], 2, "an event of each of the first two triggers")
        self.assertEqual(ended["dropped"]["tuples"], {})

    def test_windows_that_may_lack_packets_are_uncertain(self):
        """While the monitor is stopped, the kernel drops packets, whose windows are only known to be among several."""
        count = 20000
        trigger = {"processor": 0, "parser": "packets", "every": "0.010s",
                   "when": [{"measure": "PACKETS"}, {"constant": 1000000}, {"operator": "LESS"}]}
        plan = {"format": 1, "query": "q", "parsers": ["packets", "trigger"], "triggers": [trigger], "monitors": [{"id": "local-0"}]}
        with tempfile.NamedTemporaryFile("w") as file, tempfile.TemporaryFile() as out:
            file.write(json.dumps(plan))
            file.flush()
            with self.monitor("--plan", file.name, stdout=out) as monitor:
                monitor.await_event("ready")
                self.send(tcp_frame(1) for _ in range(100))
                monitor.await_event("progress", lambda event: event["packets"] >= 100)
                before_ns = time.time_ns()
                monitor.process.send_signal(signal.SIGSTOP)
                self.send(tcp_frame(1) for _ in range(count))
                monitor.process.send_signal(signal.SIGCONT)
                after_ns = time.time_ns()
                monitor.await_event("progress", lambda event: event["packets"] == 100 + count)
                self.assertEqual(monitor.terminate()[0], 0)
            lost = monitor.event("end")["accounting"]["lost"]["kernel_missed"]
            out.seek(0)
            windows = [json.loads(line) for line in out]
        self.assertGreater(lost, 0)
        self.assertTrue(all(window["certain"] == (window["lost_packets"] == 0) for window in windows))
        self.assertEqual(max(window["lost_packets"] for window in windows), lost)
        earlier = [window for window in windows if window["window_end_ns"] < before_ns - 10_000_000]
        during = [window for window in windows if window["window_start_ns"] >= before_ns and window["window_end_ns"] < after_ns]
        self.assertTrue(earlier and all(window["lost_packets"] == 0 for window in earlier), "windows before the losses")
        self.assertTrue(during and all(window["lost_packets"] == lost for window in during), "windows that may contain them")

    def test_packets_during_a_restart_are_counted(self):
        """A plug-in crashes, and packets arrive before the monitor captures again."""
        plugin = os.path.join(os.environ.get("TAPLINE_PLUGINS", "build/tests/plugins"), "marker.so")
        with self.monitor("--parser", "marker,tcp_flow_key", "--output", "null", "--plugin", plugin) as monitor:
            monitor.await_event("ready")
            self.send(tcp_frame(1, flags=0x18) for _ in range(1000))
            monitor.await_event("progress", lambda event: event["packets"] == 1000)
            self.send([tcp_frame(1, flags=0x18, payload=b"CRASH")])
            monitor.await_event("warning")
            self.send(tcp_frame(1, flags=0x18) for _ in range(500))
            monitor.await_event("restarted")
            monitor.await_event("progress", lambda event: event["packets"] >= 1501)
            self.send(tcp_frame(1, flags=0x18) for _ in range(1000))
            monitor.await_event("progress", lambda event: event["packets"] >= 2501)
            code, _ = monitor.terminate()
        self.assertEqual(code, 0, monitor.events)
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        self.assertEqual(accounting["packets_received"], 2501)
        self.assertEqual(accounting["queries"]["local"]["packets_in"], 2501)
        self.assertGreater(accounting["lost"]["monitor_restarted"], 0)

    def test_a_link_that_is_down_is_a_warning(self):
        ip("-n", SENDER, "link", "add", "vdown", "type", "veth", "peer", "name", "vdown2")
        with Monitor("--interface", "vdown", "--hugepages", "never", "--parser", "tcp_flow_key",
                     prefix=inside(SENDER)) as monitor:
            monitor.await_event("ready")
            self.assertIn("is down", monitor.event("warning")["message"])
            self.assertEqual(monitor.terminate()[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

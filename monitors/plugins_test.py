#!/usr/bin/env python3
"""Tests plug-ins that crash, hang or end the process: the rest of the monitor must continue, and losses must be
counted. TAPLINE_MONITOR names the program, TAPLINE_PLUGINS the folder with the plug-ins of parsers/plugin/testing."""
import json
import os
import signal
import tempfile
import time
import unittest

from testing.monitor_process import MONITOR, Monitor, balanced, pcap, run, tcp_frame

# Lets SIGSEGV end the process even if AddressSanitizer is enabled.
os.environ.setdefault("ASAN_OPTIONS", "handle_segv=0")
FOLDER = os.environ.get("TAPLINE_PLUGINS", "build/tests/plugins")
MARKER = os.path.join(FOLDER, "marker.so")
PACKETS = 2000


def capture(marks, packets=PACKETS, step_s=0.0001):
    """Returns a capture of 50 connections in which each packet has its own request. `marks` maps packet numbers to
    other payloads."""
    return pcap([(1000 + i * step_s, tcp_frame(40000 + i % 50, flags=0x18, seq=1 + i, payload=marks.get(i, b"GET /%d HTTP/1.1\r\n" % i)))
                 for i in range(packets)])


def number(text):
    return int(text.split()[1].removeprefix("/"))


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children") as file:
        return [int(child) for child in file.read().split()]


class PluginsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tapline-test-")
        self.addCleanup(self.directory.cleanup)

    def write(self, name, content):
        path = os.path.join(self.directory.name, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def plan(self, name, parsers):
        return self.write(name + ".json", json.dumps(
            {"format": 1, "query": name, "parsers": parsers, "monitors": [{"id": "local-0"}]}))

    def monitor(self, path, *arguments):
        return Monitor("--pcap", path, "--plugin", MARKER, "--plan", self.plan("other", ["sample"]),
                       "--plan", self.plan("mine", ["marker"]), "--watchdog-ms", "200", *arguments)

    def test_its_parsers_are_listed_and_run(self):
        code, out, err = run("--plugin", MARKER, "--list-parsers")
        self.assertEqual(code, 0, err)
        marker = [parser for parser in json.loads(out)["parsers"] if parser["name"] == "marker"]
        self.assertEqual([field["name"] for field in marker[0]["fields"] if not field.get("common")], ["kind", "text", "bytes"])
        code, out, err = run("--plugin", MARKER, "--parser", "marker", "--pcap", self.write("c", capture({}, 3)))
        self.assertEqual(code, 0, err)
        self.assertEqual([json.loads(line)["text"] for line in out.splitlines()], ["GET /0 HTTP/1.1%0D", "GET /1 HTTP/1.1%0D", "GET /2 HTTP/1.1%0D"])

    def check_restarts(self, marks, cause, restarts=2):
        with self.monitor(self.write("c", capture(marks))) as monitor:
            code, out = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        warnings = [event["message"] for event in monitor.events if event["event"] == "warning"]
        self.assertEqual(len(warnings), restarts, warnings)
        for warning in warnings:
            self.assertIn(MARKER, warning)
            self.assertIn(cause, warning)
        self.assertEqual([e["restarts"] for e in monitor.events if e["event"] == "restarted"], list(range(1, restarts + 1)))
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        # No packet was read twice or omitted.
        self.assertEqual(accounting["packets_received"], PACKETS)
        tuples = [json.loads(line) for line in out.splitlines()]
        for name, query in accounting["queries"].items():
            self.assertEqual(query["packets_in"], PACKETS)
            self.assertEqual(sum(t["query"] == name for t in tuples), query["tuples_out"])
            lost = query["dropped"]["packets"]["monitor_restarted"]
            self.assertGreater(lost, 0)
            self.assertLessEqual(lost, restarts * 64, "at most one burst per restart")
        other_query = accounting["queries"]["other"]
        # The parser emits a tuple for each packet with a request, and each missing tuple is counted under a reason. A
        # mark is not a request: it has no tuple, and counts as lost only if it caused a restart. All packets of the
        # burst in progress count as lost, although the tuples of some may have been written.
        named = (other_query["tuples_out"] + other_query["dropped"]["packets"]["monitor_restarted"] +
                 other_query["dropped"]["tuples"].get("monitor_restarted_tuples", 0))
        requests = PACKETS - (len(marks) - restarts)
        self.assertTrue(requests <= named <= requests + 63 * restarts, named)
        return accounting["queries"]["mine"], [t for t in tuples if t["query"] == "mine"]

    def test_crashing_twice(self):
        for word, cause in (("CRASH", "SIGSEGV"), ("ABORT", "SIGABRT"), ("EXIT", "exit code 0")):
            mine, tuples = self.check_restarts({500: word.encode(), 1000: word.encode(), 1500: word.encode()}, cause)
            self.assertEqual(mine["dropped"]["flows"]["plugin_left_out"], 50)
            self.assertLess(max(number(t["text"]) for t in tuples if t["kind"] == "packet"), 1000)

    def test_crashing_once_is_tolerated(self):
        mine, tuples = self.check_restarts({500: b"CRASH"}, "SIGSEGV", restarts=1)
        self.assertNotIn("plugin_left_out", mine["dropped"]["flows"])
        self.assertEqual(max(number(t["text"]) for t in tuples if t["kind"] == "packet"), PACKETS - 1)

    def test_hanging_twice(self):
        for word in ("HANG", "SLEEP"):
            mine, _ = self.check_restarts({500: word.encode(), 1000: word.encode()}, "did not return within 200 ms")
            self.assertEqual(mine["dropped"]["flows"]["plugin_left_out"], 50)

    def test_streams_that_crash(self):
        path = self.write("c", capture({1: b"CRASH"}, 200))
        with Monitor("--pcap", path, "--plugin", MARKER, "--parser", "marker_lines,tcp_conn_time") as monitor:
            code, _ = monitor.finish()
        self.assertEqual(code, 0, monitor.events)
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        self.assertGreater(accounting["queries"]["local"]["dropped"]["flows"]["monitor_restarted"], 0)

    def test_a_stopped_process_is_not_hanging(self):
        path = self.write("slow", capture({}, 20, step_s=0.1))
        with self.monitor(path, "--speed", "1x") as monitor:
            monitor.await_event("progress", lambda event: event["packets"] > 2)
            worker, = children_of(monitor.process.pid)
            os.kill(worker, signal.SIGSTOP)
            time.sleep(1)
            os.kill(worker, signal.SIGCONT)
            code, _ = monitor.finish()
        self.assertEqual(code, 0)
        self.assertFalse([event for event in monitor.events if event["event"] in ("warning", "restarted")])

    def test_killed_from_outside(self):
        path = self.write("slow", capture({}, 20, step_s=0.1))
        with self.monitor(path, "--speed", "1x") as monitor:
            monitor.await_event("progress", lambda event: event["packets"] > 2)
            os.kill(children_of(monitor.process.pid)[0], signal.SIGKILL)
            monitor.await_event("restarted")
            code, _ = monitor.finish()
        self.assertEqual(code, 0)
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        self.assertEqual(accounting["packets_received"], 20)
        self.assertIn("outside of all plug-ins", monitor.event("warning")["message"])

    def test_a_port_that_does_not_report_its_losses(self):
        with Monitor("--vdev", "net_null0,no-rx=1", "--hugepages", "never", "--memory-mib", "128", "--supervise", "always",
                     "--parser", "sample", "--output", "null") as monitor:
            monitor.await_event("ready")
            os.kill(children_of(monitor.process.pid)[0], signal.SIGKILL)
            monitor.await_event("restarted")
            self.assertEqual(monitor.terminate()[0], 0)
        self.assertIn("which this port does not count", monitor.event("warning")["message"])

    def test_sigterm_while_it_hangs(self):
        path = self.write("slow", pcap([(1000, tcp_frame(1, payload=b"HANG")), (2000, tcp_frame(2))]))
        with self.monitor(path, "--speed", "1x", "--watchdog-ms", "1000") as monitor:
            monitor.await_event("ready")
            time.sleep(0.2)
            code, _ = monitor.terminate()
        self.assertEqual(code, 0, monitor.events)
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        self.assertEqual(accounting["queries"]["mine"]["dropped"]["packets"], {"monitor_restarted": 1})

    def test_signals_end_the_worker(self):
        path = self.write("slow", capture({}, 2, step_s=1000))
        for number, expected in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)):
            with self.monitor(path, "--speed", "1x") as monitor:
                monitor.await_event("ready")
                worker, = children_of(monitor.process.pid)
                monitor.process.send_signal(number)
                self.assertEqual(monitor.process.wait(30), expected)
            deadline = time.monotonic() + 30
            while os.path.exists(f"/proc/{worker}") and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertFalse(os.path.exists(f"/proc/{worker}"))

    def test_without_plugins_there_is_one_process(self):
        path = self.write("slow", capture({}, 2, step_s=1000))
        for arguments, processes in (([], 0), (["--supervise", "always"], 1)):
            with Monitor("--pcap", path, "--parser", "tcp_flow_key", "--speed", "1x", *arguments) as monitor:
                monitor.await_event("ready")
                self.assertEqual(len(children_of(monitor.process.pid)), processes)
                self.assertEqual(monitor.terminate()[0], 0)

    def test_invalid_plugins_are_rejected(self):
        path = self.write("c", capture({}, 3))
        for name, *words in (("nowhere.so", "no such file"), ("marker_of_another_version.so", "version 2"),
                             ("marker_without_entry.so", "tapline_plugin_entry"), ("http_get_again.so", "'http_get' is already used"),
                             ("crashes_when_loaded.so", "can't be loaded")):
            for action in (["--pcap", path, "--parser", "http_get"], ["--list-parsers"]):
                code, out, err = run("--plugin", os.path.join(FOLDER, name), *action)
                self.assertEqual((code, out), (1, ""), err)
                errors = [line for line in err.splitlines() if "error:" in line]
                self.assertEqual(len(errors), 1, err)
                for word in [name, *words]:
                    self.assertIn(word, errors[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Tests tapline-monitor as users run it: capture files, invalid input, signals. TAPLINE_MONITOR names the program."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from testing.captures import nanosecond_pcap, packets_of
from testing.monitor_process import MONITOR, Monitor, balanced, pcap, run, tcp_frame

QUEUE = pathlib.Path(__file__).resolve().parents[1] / "parsers" / "queue_flows" / "captures"
HUGEPAGES_FREE = "HugePages_Free:        0" not in open("/proc/meminfo").read()


class MonitorTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tapline-test-")
        self.addCleanup(self.directory.cleanup)

    def write(self, name, content):
        path = os.path.join(self.directory.name, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def syns(self, count=3, name="syns.pcap"):
        return self.write(name, pcap([(1000 + i, tcp_frame(40000 + i)) for i in range(count)]))

    def plan(self, name, **more):
        plan = {"format": 1, "query": name, "parsers": ["tcp_conn_time"], "monitors": [{"id": "local-0"}], **more}
        return self.write(name + ".json", json.dumps(plan))

    def assert_fails(self, code, *words, arguments, **popen):
        returned, out, err = run(*arguments, **popen)
        self.assertEqual(returned, code, err)
        errors = [line for line in err.splitlines() if "error:" in line]
        self.assertEqual(len(errors), 1, err)
        for word in words:
            self.assertIn(word, errors[0])
        return err


class FilesTest(MonitorTest):
    def test_tuples_and_accounting(self):
        with Monitor("--pcap", self.syns(), "--parser", "tcp_conn_time") as monitor:
            code, out = monitor.finish()
        self.assertEqual(code, 0)
        tuples = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([t["event"] for t in tuples].count("syn"), 3)
        self.assertEqual(list(tuples[0])[:3], ["parser", "time_ns", "flow_id"])
        self.assertEqual([e["event"] for e in monitor.events if e["event"] != "progress"], ["ready", "end"])
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["packets_received"], 3)
        self.assertTrue(balanced(accounting), accounting)

    def test_several_files_are_merged(self):
        first = self.write("a", pcap([(1000, tcp_frame(1)), (1002, tcp_frame(3))]))
        second = self.write("b", pcap([(1001, tcp_frame(2))]))
        code, out, _ = run("--pcap", first, "--pcap", second, "--parser", "tcp_flow_key")
        self.assertEqual(code, 0)
        self.assertEqual([json.loads(line)["src_port"] for line in out.splitlines()], [1, 2, 3])

    def test_capture_speed(self):
        path = self.write("slow", pcap([(1000, tcp_frame(1)), (1000.4, tcp_frame(2))]))
        start = time.monotonic()
        code, _, err = run("--pcap", path, "--parser", "tcp_flow_key", "--speed", "1x")
        self.assertEqual(code, 0, err)
        self.assertGreaterEqual(time.monotonic() - start, 0.4)

    def test_plans_with_limits(self):
        few = self.plan("few", limit={"packets": 2})
        short = self.plan("short", limit={"duration": "1s"})
        with Monitor("--pcap", self.syns(5), "--plan", few, "--plan", short, "--plan", self.plan("all")) as monitor:
            code, out = monitor.finish()
        self.assertEqual(code, 0)
        queries = monitor.event("end")["accounting"]["queries"]
        self.assertEqual({name: q["packets_out"] for name, q in queries.items()}, {"few": 2, "short": 1, "all": 5})
        named = [json.loads(line)["query"] for line in out.splitlines()]
        self.assertEqual(set(named), {"few", "short", "all"})

    def test_a_trigger_on_packets(self):
        """The traffic is 1 kB every 10 ms, plus 60 kB at 2.6 s, so only one window exceeds the threshold."""
        times = [i * 0.01 for i in range(300)] + [2.6 + i * 0.0001 for i in range(60)]
        packets = [(1000 + t, tcp_frame(40000, 0x10, 1, b"x" * 946)) for t in sorted(times)]
        when = [{"measure": "BYTES"}, {"constant": 50000}, {"operator": "GREATER"}]
        trigger = {"parser": "tcp_pkt_size", "group": ["src_ip"], "when": when, "every": "0.010s"}
        plan = self.plan("q", parsers=["tcp_pkt_size", "trigger"], triggers=[trigger])
        with Monitor("--pcap", self.write("steady", pcap(packets)), "--plan", plan) as monitor:
            code, out = monitor.finish()
        self.assertEqual(code, 0)
        tuples = [json.loads(line) for line in out.splitlines()]
        events = [row for row in tuples if row["parser"] == "trigger"]
        self.assertEqual(len(events), 1, events)
        # The event is sent as soon as the sum exceeds 50 kB, before the window's 61 kB have all arrived, so its value
        # has no upper bound.
        self.assertGreater(events[0]["value"], 50_000)
        self.assertLessEqual(events[0]["value"], 61_000)
        self.assertIsNone(events[0].get("high"))
        self.assertEqual(events[0]["window_start_ns"], 1002_600_000_000)
        self.assertEqual(events[0]["window_end_ns"], 1002_610_000_000)
        self.assertGreater(events[0]["ready_ns"], 1002_600_000_000)
        self.assertLess(events[0]["ready_ns"], 1002_610_000_000)
        self.assertEqual(events[0]["exemplars"].count("-"), 1, "all packets are of one connection")
        self.assertEqual(sum(row["bytes"] for row in tuples if row["parser"] == "tcp_pkt_size"), 360_000)

    def test_null_output(self):
        code, out, _ = run("--pcap", self.syns(), "--parser", "tcp_conn_time", "--output", "null")
        self.assertEqual((code, out), (0, ""))


class HashKeysTest(MonitorTest):
    KEY, OTHER = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"

    def hashed(self, keys, monitor="local-0"):
        """Returns the hashes that a monitor with these hash keys reports for a connection's flow and for a string in
        it."""
        request = tcp_frame(40000, flags=0x18, seq=2, payload=b"GET / HTTP/1.1\r\nHost: secret\r\n\r\n")
        packets = self.write("request", pcap([(1000, tcp_frame(40000)), (1001, request)]))
        plan = self.plan("q", parsers=["http_get"], monitors=[{"id": monitor}],
                         shapes=[{"parser": "http_get", "field": "host", "form": "HASH"}])
        code, out, err = run("--pcap", packets, "--plan", plan, "--monitor-id", monitor,
                             "--hash-key-file", self.write("hash.key", keys))
        self.assertEqual(code, 0, err)
        tuple_ = json.loads(out)
        return tuple_["flow_id"].split("-")[0], tuple_["host"]

    def test_monitors_with_the_same_key_agree(self):
        flow, text = self.hashed(self.KEY)
        self.assertEqual(self.hashed(self.KEY + "\n", monitor="another"), (flow, text))
        self.assertRegex(text, "^[0-9a-f]{16}$")

    def test_monitors_with_different_keys_do_not_agree(self):
        one, other = self.hashed(self.KEY), self.hashed(self.OTHER)
        self.assertNotEqual(one[0], other[0])
        self.assertNotEqual(one[1], other[1])

    def test_a_key_for_strings_changes_no_flow(self):
        self.assertEqual(self.hashed(f"{self.KEY}\n{self.OTHER}\n"),
                         (self.hashed(self.KEY)[0], self.hashed(self.OTHER)[1]))

    def test_an_invalid_file_is_reported_without_its_text(self):
        for keys, reason in (("", "has 0 words"), (self.KEY[:-1], "has 31 characters"), ("x" + self.KEY[1:], "not all of its 32")):
            path = self.write("hash.key", keys)
            for action in ([], ["--check"]):
                err = self.assert_fails(1, path, "32 hexadecimal digits", reason,
                                        arguments=["--pcap", self.syns(), "--parser", "tcp_conn_time", "--hash-key-file", path, *action])
                self.assertNotIn(self.KEY[1:-1], err)
        self.assert_fails(1, "/nowhere", "can't be read",
                          arguments=["--pcap", self.syns(), "--parser", "tcp_conn_time", "--hash-key-file", "/nowhere"])


class WrongInputTest(MonitorTest):
    def wrong_file(self, content, *words):
        self.assert_fails(1, *words, arguments=["--pcap", self.write("wrong", content), "--parser", "tcp_conn_time"])

    def test_missing(self):
        self.assert_fails(1, "/nowhere.pcap", "no such file",
                          arguments=["--pcap", "/nowhere.pcap", "--parser", "http_get"])

    def test_empty(self):
        self.wrong_file(b"", "is empty")

    def test_not_a_capture(self):
        self.wrong_file(b"hello, world", "not a capture file")

    def test_unsupported_link_type(self):
        self.wrong_file(pcap([(1, b"x")], link_type=127), "127", "radiotap")

    def test_truncated_within_the_first_packet(self):
        self.wrong_file(pcap([(1, tcp_frame(1))])[:-3], "ends too early")

    def test_truncated_later_is_a_warning_and_counted(self):
        path = self.write("cut", pcap([(1, tcp_frame(1)), (2, tcp_frame(2))])[:-3])
        with Monitor("--pcap", path, "--parser", "tcp_conn_time") as monitor:
            code, out = monitor.finish()
        self.assertEqual(code, 0)
        self.assertIn("ends too early", monitor.event("warning")["message"])
        accounting = monitor.event("end")["accounting"]
        self.assertEqual(accounting["lost"], {"capture_truncated": 1})
        self.assertEqual(accounting["queries"]["local"]["dropped"]["packets"], {"capture_truncated": 1})
        self.assertTrue(balanced(accounting), accounting)
        self.assertGreater(len(out.splitlines()), 0)

    def test_unreadable(self):
        path = self.syns()
        os.chmod(path, 0)
        if os.geteuid() == 0:
            os.chmod(self.directory.name, 0o755)
        self.assert_fails(1, "permission denied", arguments=["--pcap", path, "--parser", "http_get"], **as_unprivileged_user(self))

    def test_unreachable_broker(self):
        start = time.monotonic()
        arguments = ["--pcap", self.syns(), "--parser", "tcp_conn_time", "--output", "kafka"]
        self.assert_fails(1, "127.0.0.1:1 can't be reached within 1 s",
                          arguments=[*arguments, "--brokers", "127.0.0.1:1", "--broker-timeout-s", "1"])
        self.assertLess(time.monotonic() - start, 10)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([MONITOR, "--pcap", self.syns(), "--parser", "tcp_conn_time"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.decode().count("error:"), 1)
        self.assertIn(b"No space left on device", done.stderr)

    def test_reader_that_closed_the_pipe(self):
        with Monitor("--pcap", self.syns(5000), "--parser", "tcp_conn_time") as monitor:
            monitor.process.stdout.close()
            monitor.process.stdout = None
            code, _ = monitor.finish()
        self.assertEqual(code, 1)
        self.assertIn("reader has closed it", monitor.event("error")["message"])
        self.assertEqual(monitor.event("error")["kind"], "resources")

    def test_parsers_plans_and_settings(self):
        syns = self.syns()
        self.assert_fails(2, "did you mean 'http_get'", arguments=["--pcap", syns, "--parser", "htp_get"])
        self.assert_fails(1, "bad.json", arguments=["--pcap", syns, "--plan", self.write("bad.json", "{")])
        plan = self.plan("q")
        self.assert_fails(1, "already in another plan", arguments=["--pcap", syns, "--plan", plan, "--plan", plan])
        self.assert_fails(2, "did you mean --pcap?", arguments=["--pcpa", syns])
        self.assert_fails(2, "no input", arguments=["--parser", "http_get"])
        self.assert_fails(2, "nothing to do", arguments=["--pcap", syns])
        config = self.write("c.yaml", "pcap: a\nbuzy: true\n")
        self.assert_fails(2, "line 2", "did you mean 'busy'", arguments=["--config", config])
        self.assert_fails(2, "--brokers", arguments=["--pcap", syns, "--parser", "http_get", "--output", "kafka"])


def as_unprivileged_user(test):
    """Returns arguments that make subprocess run a program without privileges. Skips the test if that is impossible."""
    if os.geteuid() != 0:
        return {}
    command = ["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", "true"]
    try:
        subprocess.run([*command[:-1], MONITOR, "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        test.skipTest(f"the monitor can't be run without privileges: {error}")
    return {"preexec_fn": lambda: (os.setgroups([]), os.setuid(65534))}


class PortsTest(MonitorTest):
    def test_missing_interface(self):
        self.assert_fails(1, "no interface 'nope7'", "lo",
                          arguments=["--interface", "nope7", "--parser", "tcp_conn_time"])

    def test_no_permission(self):
        self.assert_fails(1, "no permission", "CAP_NET_RAW",
                          arguments=["--interface", "lo", "--parser", "tcp_conn_time"], **as_unprivileged_user(self))

    def test_unknown_device(self):
        self.assert_fails(1, "net_nothing0", arguments=["--vdev", "net_nothing0", "--parser", "tcp_conn_time"])

    @unittest.skipIf(HUGEPAGES_FREE, "this host has free hugepages")
    def test_no_hugepages_is_a_warning(self):
        with Monitor("--vdev", "net_ring0", "--parser", "tcp_conn_time") as monitor:
            monitor.await_event("ready")
            self.assertIn("hugepages", monitor.event("warning")["message"])
            self.assertEqual(monitor.terminate()[0], 0)

    def test_hugepages_disabled(self):
        with Monitor("--vdev", "net_ring0", "--hugepages", "never", "--parser", "tcp_conn_time") as monitor:
            monitor.await_event("ready")
            self.assertEqual(monitor.terminate()[0], 0)
            self.assertFalse([e for e in monitor.events if e["event"] == "warning"])

    @unittest.skipIf("address" in os.environ.get("TAPLINE_SANITIZE", ""), "AddressSanitizer needs all of the address space")
    def test_no_memory(self):
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))}
        self.assert_fails(1, "memory", "--memory-mib",
                          arguments=["--vdev", "net_ring0", "--hugepages", "never", "--memory-mib", "4096",
                                     "--parser", "tcp_conn_time"], **limit)

    def test_packets_of_a_device_and_limit(self):
        plan = self.plan("q", limit={"duration": "0.3s"})
        with Monitor("--vdev", "net_null0,size=64", "--hugepages", "never", "--plan", plan, "--output", "null") as monitor:
            code, _ = monitor.finish()
        self.assertEqual(code, 0)
        accounting = monitor.event("end")["accounting"]
        self.assertGreater(accounting["undecodable"]["not_ip"], 0)
        self.assertTrue(balanced(accounting), accounting)

    def test_a_limit_on_an_idle_link_ends(self):
        with Monitor("--vdev", "net_ring0", "--hugepages", "never", "--plan", self.plan("q", limit={"duration": "0.3s"})) as monitor:
            self.assertEqual(monitor.finish()[0], 0)

    def test_a_query_of_queues_warns_if_packets_are_stamped_when_polled(self):
        """The device has no arrival times: the log must say so, and the query's accounting must count the packets."""
        mark, frames = 7, []
        for side, name in enumerate(("arrivals", "departures")):
            address = bytes.fromhex("027a91") + (2 * mark + side).to_bytes(3, "big")
            frames += [(time_ns, address + frame[6:]) for time_ns, frame in packets_of(QUEUE / f"queue-{name}.pcap.zst")]
        path = self.write("marked.pcap", nanosecond_pcap(sorted(frames)))
        queues = [{"switch_name": "sw1", "port": "2", "mark": mark}]
        plans = [self.plan("q1", parsers=["queue_depth"], queues=queues, limit={"duration": "1s"}), self.plan("q2", limit={"duration": "1s"})]
        with Monitor("--vdev", f"net_pcap0,rx_pcap={path}", "--hugepages", "never", "--marked-copies", "--monitor-id", "local-0",
                     "--plan", plans[0], "--plan", plans[1]) as monitor:
            self.assertEqual(monitor.finish()[0], 0, monitor.events)
        warnings = [event["message"] for event in monitor.events if event["event"] == "warning"]
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("query 'q1' measures queues, and this port timestamps packets when they are polled", warnings[0])
        accounts = monitor.event("end")["accounting"]["queries"]
        self.assertEqual((accounts["q1"]["packets_in"], accounts["q1"]["packets_polled"]), (152, 152))
        self.assertEqual(accounts["q2"]["packets_polled"], 0)

    def test_idle_uses_almost_no_cpu(self):
        used = {}
        for mode in ([], ["--busy"]):
            with Monitor("--vdev", "net_ring0", "--hugepages", "never", "--parser", "tcp_conn_time", *mode) as monitor:
                monitor.await_event("ready")
                before, start = monitor.cpu_seconds(), time.monotonic()
                while time.monotonic() - start < 2:
                    monitor._take(0.1)
                used[bool(mode)] = monitor.cpu_seconds() - before
        self.assertLess(used[False], used[True] / 4, used)


class SignalsTest(MonitorTest):
    def test_sigterm_and_sigint_flush(self):
        path = self.write("slow", pcap([(1000, tcp_frame(1)), (2000, tcp_frame(2))]))
        for number in (signal.SIGTERM, signal.SIGINT):
            with Monitor("--pcap", path, "--parser", "tcp_conn_time", "--speed", "1x") as monitor:
                monitor.await_event("progress", lambda event: event["packets"] == 1)
                monitor.process.send_signal(number)
                code, out = monitor.finish()
            self.assertEqual(code, 0)
            self.assertEqual(len(out.splitlines()), 2, "one tuple for the SYN, one for the open connection")
            self.assertTrue(balanced(monitor.event("end")["accounting"]))

    def test_a_second_signal_ends_at_once(self):
        with Monitor("--pcap", self.syns(5000), "--parser", "tcp_conn_time") as monitor:
            # The monitor's output has no reader, so the monitor blocks while writing.
            monitor.await_event("progress")
            monitor.process.terminate()
            time.sleep(0.2)
            self.assertIsNone(monitor.process.poll())
            monitor.process.terminate()
            self.assertEqual(monitor.process.wait(10), 128 + signal.SIGTERM)


class InfoTest(MonitorTest):
    def test_dump_can_be_read_back(self):
        arguments = ["--pcap", "a.pcap", "--parser", "http_get,tcp_conn_time", "--busy", "--queue-mib", "7"]
        code, first, _ = run(*arguments, "--dump")
        self.assertEqual(code, 0)
        self.assertIn("queue_mib: 7", first)
        code, second, _ = run("--config", self.write("dump.yaml", first), "--dump")
        self.assertEqual((code, second), (0, first))

    def test_check(self):
        self.assertEqual(run("--pcap", "a.pcap", "--plan", self.plan("q"), "--check")[0], 0)
        self.assertEqual(run("--pcap", "a.pcap", "--parser", "nope", "--check")[0], 2)
        self.assertEqual(run("--check")[0], 2)

    def test_check_of_captures(self):
        self.assertEqual(run("--check-captures", "--pcap", self.syns())[0], 0)
        code, _, err = run("--check-captures", "--pcap", self.syns(), "--pcap", self.write("notes", "some text"))
        self.assertEqual(code, 1)
        self.assertIn("notes: is not a capture file", err)
        self.assertEqual(run("--check-captures")[0], 2)

    def test_progress_ends_at_the_number_of_packets(self):
        with Monitor("--pcap", self.syns(2000), "--parser", "tcp_conn_time") as monitor:
            monitor.finish()
        last = [event for event in monitor.events if event["event"] == "progress"][-1]
        self.assertEqual((last["packets"], last["fraction"]), (2000, 1.0))

    def test_catalogue(self):
        code, out, _ = run("--list-parsers")
        self.assertEqual(code, 0)
        names = {parser["name"] for parser in json.loads(out)["parsers"]}
        self.assertLessEqual({"tcp_conn_time", "tcp_pkt_size", "tcp_flow_key", "http_get"}, names)
        built = os.path.join(os.path.dirname(MONITOR), "../share/tapline/parsers.json")
        with open(built) as file:
            self.assertEqual(json.load(file), json.loads(out))

    def test_version_and_help(self):
        self.assertRegex(run("--version")[1], r"^tapline-monitor \d+\.\d+\.\d+\n$")
        self.assertIn("--pcap FILE", run("--help")[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)

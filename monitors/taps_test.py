#!/usr/bin/env python3
"""Tests two taps on one port, before and after a queue: each packet must count once, whether the taps are files, interfaces in one file, or
links."""
import json
import os
import pathlib
import tempfile
import unittest

from testing.captures import departures_of, has_wireshark, nanosecond_pcap, packet_count, packets_of, pcapng, tcp_totals
from testing.monitor_process import Monitor, balanced, pcap, run, tcp_frame

ROOT = pathlib.Path(__file__).resolve().parents[1]
CAPTURES = pathlib.Path(os.environ.get("TAPLINE_CAPTURES", ROOT / ".." / "shared" / "traces")) / "generated"
TELEMETRY = ROOT / "sim" / "packets" / "traces" / "queues" / "h0.pcap.zst"
SMALL = ROOT / "testbed" / "captures"
QUEUE = ROOT / "parsers" / "queue_flows" / "captures"
MARKER = os.path.join(os.environ.get("TAPLINE_PLUGINS", "build/tests/plugins"), "marker.so")


class TapsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        catalogue = json.loads(run("--list-parsers")[1])
        parsers = catalogue["parsers"] if isinstance(catalogue, dict) else catalogue
        # Omits parsers that report the monitor's own figures, or each tap's traffic.
        cls.parsers = ",".join(parser["name"] for parser in parsers
                               if parser["name"] != "monitor_stats" and not parser["all_traffic"])

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def parse(self, *arguments, parsers=None):
        """Returns the tuples, without time_ns (the time at which they became certain), and the accounting."""
        with tempfile.TemporaryFile() as out, Monitor("--parser", parsers or self.parsers, *arguments, stdout=out) as monitor:
            code, _ = monitor.finish()
            self.assertEqual(code, 0, monitor.events)
            out.seek(0)
            tuples = [json.loads(line) for line in out]
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        for row in tuples:
            del row["time_ns"]
        return sorted(json.dumps(row, sort_keys=True) for row in tuples), accounting

    def check(self, capture):
        arrivals = packets_of(capture)
        departures = departures_of(arrivals)
        tuples, alone = self.parse("--pcap", self.write("alone.pcap", nanosecond_pcap(arrivals)))
        both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures}))
        sources = {"interfaces": (both + "#in", both + "#out"),
                   "files": (self.write("in.pcap", nanosecond_pcap(arrivals)), self.write("out.pcap", nanosecond_pcap(departures)))}
        for name, (before, after) in sources.items():
            with self.subTest(name):
                rows, accounting = self.parse("--tap", f"sw1:2:arrivals={before}", "--tap", f"sw1:2:departures={after}")
                self.assertEqual(rows, tuples)
                self.assertEqual(accounting["queries"], alone["queries"])
                self.assertEqual(accounting["forgotten_views"], 0)
                first, second = accounting["taps"]
                self.assertEqual((first["received"], second["received"]), (len(arrivals), len(departures)))
                self.assertEqual(first["repeated"], 0)
                self.assertEqual(second["passed"], 0, "each departure had arrived")
                self.assertEqual((first["late"], second["late"]), (0, 0))

    def test_small_captures(self):
        for name in ("http_small", "tcp_small", "protocols_small"):
            with self.subTest(name):
                self.check(SMALL / f"{name}.pcap.zst")

    def test_generated_captures(self):
        if not CAPTURES.is_dir():
            self.skipTest(f"no captures at {CAPTURES}: set TAPLINE_CAPTURES")
        for name in ("tcp_loss", "http_ipv6", "redis_mix"):
            with self.subTest(name):
                self.check(CAPTURES / f"{name}.pcap.zst")

    def test_figures_match_the_capture(self):
        """capinfos counts the packets of both taps; tshark counts the TCP packets and bytes at each tap."""
        if not has_wireshark():
            self.skipTest("needs tshark and capinfos")
        for name in ("http_small", "tcp_small"):
            with self.subTest(name):
                arrivals = packets_of(SMALL / f"{name}.pcap.zst")
                both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures_of(arrivals)}))
                tuples, accounting = self.parse("--tap", f"sw1:2:arrivals={both}#in", "--tap", f"sw1:2:departures={both}#out",
                                                parsers="tcp_pkt_size")
                totals = tcp_totals(both)
                self.assertEqual(accounting["packets_received"], packet_count(both))
                self.assertEqual([(tap["received"], tap["bytes"]) for tap in accounting["taps"]], [totals["in"], totals["out"]])
                sizes = [json.loads(row) for row in tuples]
                self.assertEqual((sum(t["packets"] for t in sizes), sum(t["bytes"] for t in sizes)), totals["in"])

    def test_a_parser_can_request_every_view(self):
        arrivals = packets_of(SMALL / "http_small.pcap.zst")
        departures = departures_of(arrivals)
        both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures}))
        tuples, accounting = self.parse("--tap", f"sw1:2:arrivals={both}#in", "--tap", f"sw1:2:departures={both}#out",
                                        "--plugin", MARKER, parsers="marker_views,tcp_pkt_size")
        views = [json.loads(row) for row in tuples if "marker_views" in row]
        for tap, packets in enumerate((arrivals, departures)):
            seen = sorted(view["seen_ns"] for view in views if view["tap"] == tap)
            self.assertEqual(seen, sorted(time_ns for time_ns, _ in packets))
        self.assertTrue(all(view["repeated"] == (view["tap"] == 1) for view in views))
        sizes = [json.loads(row) for row in tuples if "tcp_pkt_size" in row]
        self.assertEqual(sum(row["packets"] for row in sizes), len(arrivals))
        self.assertEqual(accounting["queries"]["local"]["packets_in"], len(arrivals))

    def test_packets_with_telemetry_show_the_queues_of_their_paths(self):
        """All 3,220 packets traversed the core switch, whose queue delayed them by up to 50 ms. A second tap must change
        only the number of repeated packets."""
        copy = self.write("copy.pcap.zst", TELEMETRY.read_bytes())
        for taps in (["--pcap", TELEMETRY], ["--tap", f"sw1={TELEMETRY}", "--tap", f"sw2={copy}"]):
            with self.subTest(taps=taps):
                tuples, _ = self.parse(*map(str, taps), parsers="queue_depth")
                rows = [json.loads(row) for row in tuples]
                core = [row for row in rows if row["queue"] == "300:1.0"]
                self.assertEqual(len({row["queue"] for row in rows}), 12)
                self.assertEqual(sum(row["packets"] for row in core), 3220)
                self.assertEqual(sum(row["repeated"] for row in core), 3220 if len(taps) > 2 else 0)
                self.assertEqual(max(row["max_delay_ns"] for row in core if row["packets"]), 49940418)

    def test_rates_and_loads_name_the_tap(self):
        """Loads must count all packets of each tap, and rates each packet only once."""
        arrivals = packets_of(SMALL / "http_small.pcap.zst")
        departures = departures_of(arrivals)
        both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures}))
        tuples, _ = self.parse("--tap", f"sw1:eth2:arrivals={both}#in", "--tap", f"sw1:eth2:departures={both}#out",
                               parsers="flow_rate,link_load")
        tuples = [json.loads(row) for row in tuples]
        loads = [row for row in tuples if row["parser"] == "link_load"]
        self.assertTrue(all((row["switch"], row.get("port") or row["output_port"]) == ("sw1", "eth2") for row in tuples))
        for side, packets in (("arrivals", arrivals), ("departures", departures)):
            self.assertEqual(sum(row["samples"] for row in loads if row["side"] == side), len(packets))
        rates = [row for row in tuples if row["parser"] == "flow_rate"]
        self.assertEqual(sum(row["samples"] for row in rates), len(arrivals))

    def plan_of_loads(self, query, every_ns):
        return self.write(f"{query}.json", json.dumps({
            "format": 1, "query": query, "parsers": ["link_load", "flow_rate"], "monitors": [{"id": "local-0"}],
            "sampling": {"mode": "OFF"},
            "arguments": [{"parser": parser, "name": name, "value": str(value)} for parser in ("link_load", "flow_rate")
                          for name, value in (("every", every_ns), ("mirror", 10**11))]}).encode())

    def tuples_of_plans(self, *plans, source):
        arguments = [part for plan in plans for part in ("--plan", plan)]
        return run(*arguments, "--monitor-id", "local-0", "--tap", f"sw1:eth2={source}", "--output", "json")

    def test_loads_in_intervals_that_the_query_chooses(self):
        """Loads and rates, multiplied by their intervals, must equal the capture's bytes, even for short intervals."""
        source = SMALL / "http_small.pcap.zst"
        packets = packets_of(source)
        for every_ns in (100_000, 10_000_000, 1_000_000_000):
            with self.subTest(every_ns):
                code, out, err = self.tuples_of_plans(self.plan_of_loads("q", every_ns), source=source)
                self.assertEqual(code, 0, err)
                tuples = [json.loads(line) for line in out.splitlines()]
                for parser in ("link_load", "flow_rate"):
                    rows = [row for row in tuples if row["parser"] == parser]
                    self.assertLessEqual(max(row["interval_ns"] for row in rows), every_ns)
                    self.assertTrue(all(row["time_ns"] % every_ns == every_ns - 1 for row in rows[:-2]) or every_ns > 10**8)
                    moved = sum(row["bits_per_second"] * row["interval_ns"] / 8e9 for row in rows)
                    self.assertAlmostEqual(moved, sum(len(data) for _, data in packets), delta=0.002 * moved)
                    self.assertEqual(sum(row["samples"] for row in rows), len(packets))

    def test_ports_are_inferred_from_routes(self):
        """Two switches have routes to one of the capture's addresses, through different ports. No route leads to its
        other addresses."""
        packets = packets_of(SMALL / "http_small.pcap.zst")
        source = self.write("copies.pcap", nanosecond_pcap(packets))
        lengths = {}
        for _, frame in packets:
            lengths.setdefault(frame[:6].hex(":"), []).append(len(frame))
        known, unknown = sorted(lengths)[0], sorted(lengths)[1:]
        self.assertTrue(unknown, "the capture has two directions")
        routes = self.write("routes", f"# leaf1 and leaf2\nleaf1 {known} 7\nleaf2 {known} 8\n".encode())
        tuples, accounting = self.parse("--tap", f"leaf1={source}", "--routes", routes, parsers="link_load")
        moved, samples = {}, {}
        for row in map(json.loads, tuples):
            port = row.get("port")
            moved[port] = moved.get(port, 0) + row["bits_per_second"] * row["interval_ns"] / 8e9
            samples[port] = samples.get(port, 0) + row["samples"]
        others = [length for mac in unknown for length in lengths[mac]]
        self.assertEqual(samples, {"7": len(lengths[known]), None: len(others)})
        self.assertAlmostEqual(moved["7"], sum(lengths[known]), delta=0.002 * moved["7"])
        self.assertAlmostEqual(moved[None], sum(others), delta=0.002 * moved[None])
        self.assertEqual(accounting["queries"]["local"]["dropped"]["flows"], {"route_unknown": len(others)})

    def test_invalid_routes(self):
        source = self.write("a.pcap", pcap([(1000, tcp_frame(1))]))
        for text, words in (("leaf1 02:00:00:00:00:01\n", "line 1: expected SWITCH MAC PORT"),
                            ("leaf1 02:00:00:00:00:01 1\nleaf1 02:00:00:00:00:01 2\n", "'leaf1' has two routes to 02:00:00:00:00:01")):
            routes = self.write("routes", text.encode())
            code, _, err = run("--parser", "link_load", "--tap", f"leaf1={source}", "--routes", routes)
            self.assertNotEqual(code, 0)
            self.assertIn(words, err)
        code, _, err = run("--parser", "link_load", "--tap", f"leaf1={source}", "--routes", routes + ".none")
        self.assertNotEqual(code, 0)
        self.assertIn("can't be read", err)

    def test_queries_of_a_monitor_share_the_interval(self):
        source = self.write("a.pcap", pcap([(1000, tcp_frame(1))]))
        code, _, err = self.tuples_of_plans(self.plan_of_loads("q1", 1_000_000), self.plan_of_loads("q2", 100_000), source=source)
        self.assertNotEqual(code, 0)
        self.assertIn("parser 'link_load' already runs with every=100us on this monitor", err)
        code, _, err = self.tuples_of_plans(self.plan_of_loads("q1", 100_500), source=source)
        self.assertNotEqual(code, 0)
        self.assertIn("argument 'every' can't be '100500': expected a multiple of 1000, 100000 to 10000000000 ns", err)

    def test_loads_need_all_packets_in_one_thread(self):
        path = self.write("a.pcap", pcap([(1000, tcp_frame(1))]))
        code, _, err = run("--parser", "link_load", "--tap", f"sw1={path}", "--workers", "link_load=2", "--output", "null")
        self.assertNotEqual(code, 0)
        self.assertIn("parser 'link_load' must see all packets in one thread, but would run in 2", err)

    def test_parsers_of_queues_measure_both_sides(self):
        """152 packets arrived, and the queue dropped 18. Other parsers must count each packet once."""
        taps = [part for side in ("arrivals", "departures") for part in ("--tap", f"sw1:2:{side}={QUEUE}/queue-{side}.pcap.zst")]
        tuples, accounting = self.parse(*taps, parsers="queue_flows,queue_depth,queue_burst,udp_flow")
        rows = {name: [] for name in ("queue_flows", "queue_depth", "queue_burst", "udp_flow")}
        for row in map(json.loads, tuples):
            rows[row["parser"]].append(row)
        self.assertEqual(sum(row["packets"] for row in rows["queue_depth"]), 134)
        self.assertEqual(sum(row["lost"] for row in rows["queue_depth"]), 18)
        self.assertEqual({row["queue"] for row in rows["queue_flows"]}, {"sw1:2"})
        self.assertTrue(all(row["delay_ns"] >= 500_000 and row["share"] >= 0.01 for row in rows["queue_flows"]))
        largest = [row["src_port"] for row in sorted(rows["queue_burst"], key=lambda row: row["begin_ns"]) if row["rank"] == 1]
        self.assertEqual(largest, [40002, 40003])
        self.assertEqual(sum(row["client_packets"] for row in rows["udp_flow"]), 152)
        self.assertEqual(accounting["queries"]["local"]["packets_in"], 152)

    def test_parsers_of_queues_do_not_affect_other_results(self):
        arrivals = packets_of(SMALL / "http_small.pcap.zst")
        departures = departures_of(arrivals)
        both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures}))
        taps = ("--tap", f"sw1:2:arrivals={both}#in", "--tap", f"sw1:2:departures={both}#out")
        alone, _ = self.parse(*taps, parsers="tcp_pkt_size")
        combined, _ = self.parse(*taps, parsers="tcp_pkt_size,queue_depth")
        self.assertEqual([row for row in combined if "tcp_pkt_size" in row], alone)
        depths = [json.loads(row) for row in combined if "queue_depth" in row]
        self.assertEqual(sum(depth["packets"] for depth in depths), len(departures))
        self.assertEqual(sum(depth["never_came"] for depth in depths), 0)

    def measure(self, *taps, **more):
        """Returns a plan's tuples of queue_flows and queue_depth, and the query's accounting."""
        plan = {"format": 1, "query": "q1", "parsers": ["queue_flows", "queue_depth"], "monitors": [{"id": "local-0"}], **more}
        with tempfile.TemporaryFile() as out, Monitor(
                "--plan", self.write("plan.json", json.dumps(plan).encode()), "--output", "json",
                *(part for tap in taps for part in ("--tap", tap)), stdout=out) as monitor:
            code, _ = monitor.finish()
            self.assertEqual(code, 0, monitor.events)
            out.seek(0)
            tuples = [json.loads(line) for line in out]
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        return tuples, accounting["queries"]["q1"]

    def test_a_query_measures_the_queue_that_it_names(self):
        """The taps of another queue show all packets earlier. The query must still count 152 arrivals."""
        taps = [f"sw1:2:{side}={QUEUE}/queue-{side}.pcap.zst" for side in ("arrivals", "departures")]
        packets = packets_of(QUEUE / "queue-arrivals.pcap.zst")
        before = [f"sw0:7:{pathlib.Path(side).stem}={self.write(side, nanosecond_pcap([(time_ns - ahead_ns, frame) for time_ns, frame in packets]))}"
                  for side, ahead_ns in (("arrivals.pcap", 1_001_000), ("departures.pcap", 1_000_000))]
        alone, _ = self.measure(*taps)
        self.assertEqual({row["queue"] for row in self.measure(*before, *taps)[0]}, {"sw0:7", "sw1:2"})
        tuples, account = self.measure(*before, *taps, queues=[{"switch_name": "sw1", "port": "2"}])
        self.assertEqual(tuples, alone)
        self.assertEqual(account["packets_in"], 152)
        few, account = self.measure(*before, *taps, queues=[{"switch_name": "sw1", "port": "2"}], limit={"packets": 40})
        self.assertEqual(account["packets_in"], 40)
        self.assertLess(len(few), len(alone))

    def test_all_flows_are_measured_and_selected_ones_reported(self):
        taps = [f"sw1:2:{side}={QUEUE}/queue-{side}.pcap.zst" for side in ("arrivals", "departures")]
        alone, _ = self.measure(*taps)
        flows = {row["src_port"] for row in alone if row["parser"] == "queue_flows"}
        self.assertEqual(flows, {40001, 40002, 40003})
        for side, match in (("from", {"prefix": "10.99.1.2/32", "port": 40003}), ("to", {"prefix": "10.99.1.2/32", "port": 40003})):
            tuples, account = self.measure(*taps, queues=[{"switch_name": "sw1", "port": "2"}], reported={side: [match]})
            expected = [row for row in alone if row["parser"] == "queue_depth" or row["src_port"] == 40003]
            self.assertEqual(tuples, expected)
            self.assertEqual(account["packets_in"], 152)

    def test_a_named_queue_has_both_taps(self):
        taps = ["--tap", f"sw1:2:arrivals={QUEUE}/queue-arrivals.pcap.zst"]
        plan = {"format": 1, "query": "q1", "parsers": ["queue_flows"], "monitors": [{"id": "local-0"}],
                "queues": [{"switch_name": "sw1", "port": "2"}]}
        code, _, errors = run("--plan", self.write("plan.json", json.dumps(plan).encode()), *taps, "--output", "json")
        self.assertEqual(code, 2)
        self.assertIn("AT sw1:2: this monitor has no departures tap at sw1:2; add --tap sw1:2:departures=SOURCE", errors)

    def test_a_queue_has_two_sides(self):
        side = f"sw1:2:arrivals={QUEUE}/queue-arrivals.pcap.zst"
        other_port = f"sw1:3:departures={QUEUE}/queue-departures.pcap.zst"
        for taps, given in ((("--tap", side), "sw1:2:arrivals"), (("--tap", side, "--tap", other_port), "sw1:2:arrivals, sw1:3:departures")):
            code, _, errors = run("--parser", "queue_flows", *taps, "--output", "json")
            self.assertEqual(code, 2)
            self.assertIn("parser 'queue_flows' requires taps on both sides of a port's queue", errors)
            self.assertIn(f"given: {given}", errors)

    def test_a_horizon_that_is_too_short_counts_twice(self):
        packets = [(10**9 + i * 10**6, tcp_frame(40000 + i)) for i in range(10)]
        late = [(time_ns + 50_000_000, frame) for time_ns, frame in packets]
        taps = ("--tap", "sw1:2:arrivals=" + self.write("in.pcap", nanosecond_pcap(packets)),
                "--tap", "sw1:2:departures=" + self.write("out.pcap", nanosecond_pcap(late)))
        for horizon_ms, counted in (("49", 20), ("50", 10)):
            _, accounting = self.parse(*taps, "--view-horizon-ms", horizon_ms, parsers="tcp_pkt_size")
            self.assertEqual(accounting["queries"]["local"]["packets_in"], counted)

    def test_captures_without_a_switch_count_as_before(self):
        packets = [(1000 + i, tcp_frame(40000 + i)) for i in range(10)]
        one, two = self.write("a.pcap", pcap(packets)), self.write("b.pcap", pcap(packets))
        _, accounting = self.parse("--pcap", one, "--pcap", two, parsers="tcp_pkt_size")
        self.assertEqual(accounting["queries"]["local"]["packets_in"], 20)
        self.assertEqual([tap["tap"] for tap in accounting["taps"]], [one, two])
        self.assertEqual([tap["passed"] for tap in accounting["taps"]], [10, 10])

    def test_invalid_taps(self):
        path = self.write("a.pcap", pcap([(1000, tcp_frame(1))]))
        for arguments, words in (
                (["--tap", f"sw1:2:in={path}"], "'in' is not a side of a queue"),
                (["--tap", f"sw1={path}", "--tap", f"sw1={path}.pcap"], "is given twice"),
                (["--tap", f"sw1={path}", "--tap", f"sw2={path}"], "is read for two taps"),
                (["--tap", "sw1"], "expected SWITCH")):
            code, _, err = run("--parser", "tcp_pkt_size", *arguments)
            self.assertEqual(code, 2, err)
            self.assertIn(words, err)
        code, _, err = run("--parser", "tcp_pkt_size", "--tap", f"sw1={path}#eth0")
        self.assertEqual(code, 1, err)
        self.assertIn("is a pcap file, which has no interfaces", err)
        both = self.write("both.pcapng", pcapng({"in": [(10**18, tcp_frame(1))], "out": []}))
        code, _, err = run("--parser", "tcp_pkt_size", "--tap", f"sw1={both}#eth0")
        self.assertEqual(code, 1, err)
        self.assertIn("has no interface 'eth0'; it has: in, out", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Two taps of one port, before and after a queue: each packet counts once, whichever way the taps come to the monitor."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from testing.monitor_process import Monitor, balanced, pcap, run, tcp_frame

ROOT = pathlib.Path(__file__).resolve().parents[1]
CAPTURES = pathlib.Path(os.environ.get("TAPLINE_CAPTURES", ROOT / ".." / "shared" / "traces")) / "generated"
SMALL = ROOT / "testbed" / "captures"
# Further than --duplicates drop looks.
LONGEST_WAIT_NS = 400_000_000


def packets_of(capture):
    """(nanoseconds, frame) of each packet of a compressed pcap of whole packets."""
    data = subprocess.run(["zstd", "-dc", capture], check=True, capture_output=True).stdout
    per_fraction = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    at = 24
    while at < len(data):
        seconds, fraction, captured, _ = struct.unpack_from("<IIII", data, at)
        yield seconds * 10**9 + fraction * per_fraction, data[at + 16:at + 16 + captured]
        at += 16 + captured


def departures_of(arrivals):
    """What leaves a first-in, first-out queue that is a little faster than the traffic, and drops what would wait too long."""
    duration_ns = max(arrivals[-1][0] - arrivals[0][0], 1)
    ns_per_byte = duration_ns / sum(len(frame) for _, frame in arrivals) / 1.1
    free_ns, departures = 0, []
    for time_ns, frame in arrivals:
        leaves_ns = max(free_ns, time_ns) + int(len(frame) * ns_per_byte)
        if leaves_ns - time_ns > LONGEST_WAIT_NS:
            continue
        free_ns = leaves_ns
        departures.append((leaves_ns, frame))
    return departures


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(taps):
    """One section whose interfaces are the taps, by name; packets in the order of time."""
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for name in taps:
        option = name.encode() + bytes(-len(name) % 4)
        out += block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 2, len(name)) + option + struct.pack("<HHB3x", 9, 1, 9) + bytes(4))
    ordered = sorted(((time_ns, i, frame) for i, packets in enumerate(taps.values()) for time_ns, frame in packets), key=lambda p: p[:2])
    blocks = [out]
    for time_ns, interface, frame in ordered:
        blocks.append(block(6, struct.pack("<IIIII", interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame)) + frame))
    return b"".join(blocks)


def nanosecond_pcap(packets):
    out = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for time_ns, frame in packets:
        out.append(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(frame), len(frame)) + frame)
    return b"".join(out)


class TapsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        catalogue = json.loads(run("--list-parsers")[1])
        parsers = catalogue["parsers"] if isinstance(catalogue, dict) else catalogue
        # That one reports the monitor's own figures.
        cls.parsers = ",".join(parser["name"] for parser in parsers if parser["name"] != "monitor_stats")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def parse(self, *arguments, parsers=None):
        """The tuples without the times at which they became certain, and the accounting."""
        with tempfile.TemporaryFile() as out, Monitor("--parser", parsers or self.parsers, *arguments, stdout=out) as monitor:
            code, _ = monitor.finish()
            self.assertEqual(code, 0, monitor.events)
            out.seek(0)
            tuples = [json.loads(line) for line in out]
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        for each in tuples:
            del each["time_ns"]
        return sorted(json.dumps(each, sort_keys=True) for each in tuples), accounting

    def check(self, capture):
        arrivals = list(packets_of(capture))
        departures = departures_of(arrivals)
        self.assertGreater(len(departures), len(arrivals) // 2, "a queue that drops little")
        tuples, alone = self.parse("--pcap", self.write("alone.pcap", nanosecond_pcap(arrivals)))
        both = self.write("both.pcapng", pcapng({"in": arrivals, "out": departures}))
        sources = {"interfaces": (both + "#in", both + "#out"),
                   "files": (self.write("in.pcap", nanosecond_pcap(arrivals)), self.write("out.pcap", nanosecond_pcap(departures)))}
        for name, (before, after) in sources.items():
            with self.subTest(name):
                found, accounting = self.parse("--tap", f"sw1:2:arrivals={before}", "--tap", f"sw1:2:departures={after}")
                self.assertEqual(found, tuples)
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

    def test_wrong_taps(self):
        path = self.write("a.pcap", pcap([(1000, tcp_frame(1))]))
        for arguments, words in (
                (["--tap", f"sw1:2:in={path}"], "'in' is no side of a queue"),
                (["--tap", f"sw1={path}", "--tap", f"sw1={path}.pcap"], "is given twice"),
                (["--tap", f"sw1={path}", "--tap", f"sw2={path}"], "is read for two taps"),
                (["--tap", "sw1"], "expected SWITCH")):
            code, _, err = run("--parser", "tcp_pkt_size", *arguments)
            self.assertEqual(code, 2, err)
            self.assertIn(words, err)
        code, _, err = run("--parser", "tcp_pkt_size", "--tap", f"sw1={path}#eth0")
        self.assertEqual(code, 1, err)
        self.assertIn("is a pcap, which has no interfaces", err)
        both = self.write("both.pcapng", pcapng({"in": [(10**18, tcp_frame(1))], "out": []}))
        code, _, err = run("--parser", "tcp_pkt_size", "--tap", f"sw1={both}#eth0")
        self.assertEqual(code, 1, err)
        self.assertIn("has no interface 'eth0'; it has: in, out", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)

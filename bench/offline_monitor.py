#!/usr/bin/env python3
"""CPU time of tapline-monitor over a capture file, against tcpdump copying the same file to /dev/null.

The two run in turn (A B A B ...), so that a drift of the machine's speed meets both; the ratio is taken pair by pair.
The start-up of each program (its run over a capture of one packet) is taken off.
Workloads: the HTTP capture http_zipf (260,000 packets, keep-alive, 1,000 URLs) with each parser and with all together."""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MONITOR = os.path.join(ROOT, "build", "bin", "tapline-monitor")
WORKLOADS = ["tcp_flow_key", "tcp_conn_time", "tcp_pkt_size", "http_get",
             "tcp_flow_key,tcp_conn_time,tcp_pkt_size,http_get"]


def cpu_seconds(command):
    """User and system time of one run of `command`, in seconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {' '.join(command)} failed with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def first_packet(capture, path):
    """Writes a classic capture file that holds only the first packet of `capture`."""
    with open(capture, "rb") as source, open(path, "wb") as target:
        head = source.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        record = source.read(16)
        target.write(head + record + source.read(struct.unpack(order + "IIII", record)[2]))


def commands(parser, capture, output):
    monitor = [MONITOR, "--parser", parser, "--pcap", capture, "--output", output]
    return monitor, ["tcpdump", "-r", capture, "-w", "/dev/null"]


def compare(parser, output, capture, one, pairs):
    """Median CPU seconds of both, start-up taken off, and the median of the pairwise ratios."""
    start = [statistics.median(cpu_seconds(c) for _ in range(5)) for c in commands(parser, one, output)]
    ours, floor = [], []
    for _ in range(pairs):
        a, b = commands(parser, capture, output)
        ours.append(cpu_seconds(a) - start[0])
        floor.append(cpu_seconds(b) - start[1])
    return {"parser": parser, "output": output, "monitor_cpu_s": round(statistics.median(ours), 4),
            "tcpdump_cpu_s": round(statistics.median(floor), 4),
            "ratio": round(statistics.median(a / b for a, b in zip(ours, floor)), 3)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pairs", type=int, default=7, help="runs of each program (7)")
    arguments.add_argument("--capture", help="a .pcap or .pcap.zst file (http_zipf of TAPLINE_CAPTURES)")
    arguments.add_argument("--json", metavar="FILE", help="write the results there too")
    arguments = arguments.parse_args()
    captures = os.environ.get("TAPLINE_CAPTURES", os.path.join(ROOT, "..", "shared", "traces"))
    capture = arguments.capture or os.path.join(captures, "generated", "http_zipf.pcap.zst")
    if not os.path.exists(capture):
        sys.exit(f"error: no capture {capture}: set TAPLINE_CAPTURES or give --capture FILE")
    with tempfile.TemporaryDirectory() as folder:
        if capture.endswith(".zst"):
            plain = os.path.join(folder, "capture.pcap")
            subprocess.run(["zstd", "-q", "-d", "--long=27", capture, "-o", plain], check=True)
            capture = plain
        one = os.path.join(folder, "one.pcap")
        first_packet(capture, one)
        print(f"{'parser':<60}{'output':<8}{'monitor s':>10}{'tcpdump s':>11}{'ratio':>8}")
        rows = []
        for parser in WORKLOADS:
            for output in ("null", "json"):
                row = compare(parser, output, capture, one, arguments.pairs)
                rows.append(row)
                print(f"{row['parser']:<60}{output:<8}{row['monitor_cpu_s']:>10}{row['tcpdump_cpu_s']:>11}{row['ratio']:>8}",
                      flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


main()

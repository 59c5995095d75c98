#!/usr/bin/env python3
"""Compares the CPU time of tapline-monitor over a capture file with that of tcpdump copying the same file to /dev/null.

The two runs alternate (A B A B ...), so that a drift of the machine's speed affects both; the ratio is taken pair by pair.
The start-up time of each program (measured over a capture of one packet) is subtracted.
Workloads: the HTTP capture http_zipf (260,001 packets, keep-alive, 1,000 URLs), repeated with later times and different
addresses until it has MIN_PACKETS, with each parser and with all together. With output null, batches are encoded and then
discarded. Other parsers are measured on captures of their protocols: --parser NAME --capture FILE, or --own for all of them."""
import argparse
import glob
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIN_PACKETS = 300_000
OWN_PACKETS = 100_000
MONITOR = os.path.join(ROOT, "build", "bin", "tapline-monitor")
WORKLOADS = ["tcp_flow_key", "tcp_conn_time", "tcp_pkt_size", "http_get",
             "tcp_flow_key,tcp_conn_time,tcp_pkt_size,http_get"]

def cpu_seconds(command):
    """Returns the user and system seconds of one run of `command`."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {' '.join(command)} failed with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def first_packet(capture, path):
    """Writes a classic capture file with only the first packet of `capture`."""
    with open(capture, "rb") as source, open(path, "wb") as target:
        head = source.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        record = source.read(16)
        target.write(head + record + source.read(struct.unpack(order + "IIII", record)[2]))


def byte_order(head):
    return "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"


def records(capture):
    """Yields the time in whole seconds, the record header and the bytes of each packet in a classic capture file."""
    with open(capture, "rb") as source:
        order = byte_order(source.read(24))
        while len(header := source.read(16)) == 16:
            seconds, _, captured, _ = struct.unpack(order + "IIII", header)
            yield seconds, header, source.read(captured)


def enlarge(capture, path, min_packets=MIN_PACKETS):
    """Writes the capture repeatedly until there are at least min_packets. Returns the number of packets.

    Each repetition has later times and different second octets of IPv4 addresses, so connections differ. Header
    checksums, which are not verified, are unchanged."""
    with open(capture, "rb") as source:
        head = source.read(24)
    order, packets, copy = byte_order(head), 0, 0
    with open(path, "wb") as target:
        target.write(head)
        while packets < min_packets:
            first = last = None
            for seconds, header, data in records(capture):
                first, last, packets = first or seconds, seconds, packets + 1
                if copy and data[12:14] == b"\x08\x00":
                    data = bytearray(data)
                    data[27] = (data[27] + copy) % 256
                    data[31] = (data[31] + copy) % 256
                target.write(struct.pack(order + "I", seconds + shift if copy else seconds) + header[4:] + data)
            copy += 1
            shift = copy * (last - first + 1)
    return packets


def commands(parser, capture, output):
    monitor = [MONITOR, "--parser", parser, "--pcap", capture, "--output", output]
    return monitor, ["tcpdump", "-r", capture, "-w", "/dev/null"]


def compare(parser, output, capture, one, pairs):
    """Returns both programs' median CPU seconds without their start-up, and the median of the pairwise ratios."""
    start = [statistics.median(cpu_seconds(c) for _ in range(5)) for c in commands(parser, one, output)]
    ours, floor = [], []
    for _ in range(pairs):
        a, b = commands(parser, capture, output)
        ours.append(cpu_seconds(a) - start[0])
        floor.append(cpu_seconds(b) - start[1])
    return {"parser": parser, "output": output, "monitor_cpu_s": round(statistics.median(ours), 4),
            "tcpdump_cpu_s": round(statistics.median(floor), 4),
            "ratio": round(statistics.median(a / b for a, b in zip(ours, floor)), 3)}


def prepared(capture, folder, min_packets):
    """Returns the decompressed and enlarged capture, a capture with only its first packet, and the number of
    packets."""
    plain, enlarged, one = (os.path.join(folder, name) for name in ("capture.pcap", "enlarged.pcap", "one.pcap"))
    if capture.endswith(".zst"):
        subprocess.run(["zstd", "-qf", "-d", "--long=27", capture, "-o", plain], check=True)
        capture = plain
    packets = enlarge(capture, enlarged, min_packets)
    first_packet(enlarged, one)
    return enlarged, one, packets


def measure(parser, output, capture, one, pairs, rows):
    row = compare(parser, output, capture, one, pairs)
    rows.append(row)
    print(f"{row['parser']:<60}{output:<8}{row['monitor_cpu_s']:>10}{row['tcpdump_cpu_s']:>11}{row['ratio']:>8}", flush=True)


def own_captures_of_parsers():
    """Yields (parser, capture) for each parser whose folder names one. Paths are relative to the repository or to
    TAPLINE_CAPTURES."""
    for path in sorted(glob.glob(os.path.join(ROOT, "parsers", "*", "traffic.json"))):
        with open(path) as file:
            capture = json.load(file).get("capture")
        if capture:
            yield os.path.basename(os.path.dirname(path)), capture


def own_captures(captures, folder, pairs, rows):
    """Measures each parser on its own protocol: CPU nanoseconds per packet, compared with tcpdump's."""
    for parser, name in own_captures_of_parsers():
        capture = os.path.join(captures if name.startswith("generated/") else ROOT, name)
        enlarged, one, packets = prepared(capture, folder, OWN_PACKETS)
        measure(parser, "null", enlarged, one, pairs, rows)
        rows[-1]["packets"] = packets
    print("\n| Parser | Packets | Monitor, ns per packet | tcpdump, ns per packet | Ratio |\n|---|---|---|---|---|")
    for row in rows:
        ours, floor = (row[name] / row["packets"] * 1e9 for name in ("monitor_cpu_s", "tcpdump_cpu_s"))
        print(f"| {row['parser']} | {row['packets']:,} | {ours:,.0f} | {floor:,.0f} | {row['ratio']:.2f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pairs", type=int, default=7, help="runs of each program (7)")
    arguments.add_argument("--parser", action="append", help="measure only this parser, or several separated by commas")
    arguments.add_argument("--capture", help="a .pcap or .pcap.zst file (http_zipf of TAPLINE_CAPTURES)")
    arguments.add_argument("--own", action="store_true", help="each parser on a capture of its protocol")
    arguments.add_argument("--json", metavar="FILE", help="write the results there too")
    arguments = arguments.parse_args()
    captures = os.environ.get("TAPLINE_CAPTURES", os.path.join(ROOT, "..", "shared", "traces"))
    capture = arguments.capture or os.path.join(captures, "generated", "http_zipf.pcap.zst")
    if not os.path.exists(capture):
        sys.exit(f"error: no capture {capture}: set TAPLINE_CAPTURES or give --capture FILE")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        heading = f"{'parser':<60}{'output':<8}{'monitor s':>10}{'tcpdump s':>11}{'ratio':>8}"
        if arguments.own:
            print(heading)
            own_captures(captures, folder, arguments.pairs, rows)
        else:
            enlarged, one, packets = prepared(capture, folder, MIN_PACKETS)
            print(f"{packets:,} packets\n{heading}")
            for parser in arguments.parser or WORKLOADS:
                for output in ("null", "json"):
                    measure(parser, output, enlarged, one, arguments.pairs, rows)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares icmp with tshark, message by message: types, codes, senders, and round-trip times of echoes.

Uses the reference captures that have ICMP, except those that are malformed on purpose and those with tunnels, for which
tshark shows several layers.

usage: truth_test.py [MONITOR]
"""

import collections
import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle  # noqa: E402

AREAS = {"dns", "generated", "http", "ipv6", "memcached", "mixed", "mysql", "postgres", "redis", "tcp", "tls"}
# In these captures, tshark parses ICMP inside other packets, as we do, but shows the outer addresses first.
TUNNELS = {"ipv6/arkime__ipv6-in-ipv4.pcap", "ipv6/ndpi__6in4tunnel.pcap", "ipv6/pcpp__ipv6.pcap"}
FIELDS = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "icmp.type", "icmp.code", "icmpv6.type", "icmpv6.code", "icmp.resptime",
          "icmpv6.resptime", "icmp.resp_to", "icmpv6.resp_to"]


def captures(folder):
    with open(folder / "manifest.csv", newline="") as file:
        for row in csv.DictReader(file):
            protocols = row["protocols"].split()
            if row["file"].split("/")[0] in AREAS and ({"icmp", "icmpv6"} & set(protocols)) and row["file"] not in TUNNELS:
                yield folder / row["file"]


def by_tshark(capture):
    """Returns messages as (source, destination, type, code), and the echo times in nanoseconds."""
    command = ["tshark", "-n", "-r", str(capture), "-Y", "icmp or icmpv6", "-T", "fields", "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, check=False).stdout.decode().splitlines()
    messages, times = collections.Counter(), []
    for line in lines:
        row = dict(zip(FIELDS, line.split("\t")))
        number = row["icmpv6.type"] or row["icmp.type"]
        if not number:
            continue
        code = row["icmpv6.code"] or row["icmp.code"] or "0"
        v6 = row["icmpv6.type"] != ""
        source, target = (row["ipv6.src"], row["ipv6.dst"]) if v6 else (row["ip.src"], row["ip.dst"])
        # A pair is one tuple, with the request's type, so tshark's replies that have a request add no tuple.
        if row["icmp.resp_to"] or row["icmpv6.resp_to"]:
            times.append(round(float(row["icmp.resptime"] or row["icmpv6.resptime"]) * 1e6))
            continue
        if int(number) in (0, 129):
            source, target = target, source
        messages[(source, target, int(number), int(code))] += 1
    return messages, sorted(times)


def by_us(tuples):
    messages = collections.Counter((t["src_ip"], t["dst_ip"], t["type"], t["code"]) for t in tuples)
    return messages, sorted(t["rtt_ns"] for t in tuples if t["message"] == "echo" and t["partial"] == "")


def unpacked(capture, folder):
    if capture.suffix != ".zst":
        return capture
    plain = pathlib.Path(folder) / capture.stem
    subprocess.run(["zstd", "-dqf", "--long=27", str(capture), "-o", str(plain)], check=True)
    return plain


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    if shutil.which("tshark") is None:
        print("SKIPPED: tshark is not installed")
        return oracle.SKIPPED
    wrong, total, echoes, compared = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for capture in captures(folder):
            tuples = oracle.tuples_if_readable(monitor, "icmp", capture)
            if tuples is None:
                continue
            (truth, times), (ours, our_times) = by_tshark(unpacked(capture, scratch)), by_us(tuples)
            compared += 1
            total += sum(truth.values())
            echoes += len(times)
            name = f"{capture.parent.name}/{capture.name}"
            if truth != ours:
                wrong.append(f"{name}: only tshark {dict(truth - ours)}, only ours {dict(ours - truth)}")
            # tshark prints milliseconds with three decimals.
            if len(times) != len(our_times) or any(abs(t - o) > 1000 for t, o in zip(times, our_times)):
                wrong.append(f"{name}: echo times {times[:5]} by tshark, {our_times[:5]} ours")
    for line in wrong:
        print(line)
    print(f"{compared} captures, {total} messages and {echoes} pairs of echoes by tshark")
    return 1 if wrong or total == 0 or echoes == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares the sums that triggers on the parser `packets` count in reference captures with tshark's.

usage: truth_test.py [MONITOR]
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle

CAPTURES = ("tcp_loss", "http_ipv6", "http_ipv6_vlan", "redis_mix")
MEASURES = ("PACKETS", "BYTES", "SYN", "SYN_ACK", "FIN", "RST", "RETRANSMITTED_BYTES")
FIELDS = ("ip.version", "frame.len", "tcp.len", "tcp.flags", "tcp.analysis.retransmission", "tcp.analysis.out_of_order",
          "tcp.analysis.keep_alive")
FIN, SYN, RST, ACK = 1, 2, 4, 16
# Windows of up to 2 ms are tested only at their end, so values are those of whole windows.
EVERY = "0.002s"


def counted(monitor, capture, folder):
    """Returns the sum over all windows, by measure. The last window is partial, and is included."""
    triggers = [{"processor": i, "parser": "packets", "every": EVERY,
                 "when": [{"measure": measure}, {"constant": 0}, {"operator": "GREATER"}]} for i, measure in enumerate(MEASURES)]
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"format": 1, "query": "q", "epoch": 1, "parsers": ["packets", "trigger"],
                                "monitors": [{"id": "local-0"}], "triggers": triggers}))
    run = subprocess.run([str(monitor), "--pcap", str(capture), "--plan", str(plan), "--output", "json"], capture_output=True,
                         text=True, timeout=120, check=True)
    sums = collections.Counter()
    for line in run.stdout.splitlines():
        sums[MEASURES[json.loads(line)["trigger"]]] += json.loads(line)["value"]
    return {measure: int(sums[measure]) for measure in MEASURES}


def truth(capture):
    """Returns each sum as (min, max). The maximum includes segments that the monitor, unlike tshark, may count as
    retransmissions: those that fill a hole after more than 3 ms (out of order in tshark), and single unacknowledged bytes
    (keep-alives in tshark)."""
    run = subprocess.run(["tshark", "-r", str(capture), "-Y", "ip || ipv6", "-T", "fields",
                          *[part for field in FIELDS for part in ("-e", field)]],
                         capture_output=True, text=True, timeout=300, check=True)
    sums, more = collections.Counter(), 0
    for line in run.stdout.splitlines():
        _, frame, payload, flags, repeated, disordered, keep_alive = line.split("\t")
        payload, flags = int(payload or 0), int(flags or "0", 16)
        sums["PACKETS"] += 1
        sums["BYTES"] += int(frame)
        sums["SYN"] += flags & (SYN | ACK) == SYN
        sums["SYN_ACK"] += flags & (SYN | ACK) == SYN | ACK
        sums["FIN"] += flags & FIN != 0
        sums["RST"] += flags & RST != 0
        if repeated:
            sums["RETRANSMITTED_BYTES"] += payload
        elif disordered or keep_alive:
            more += payload
    return {measure: (sums[measure], sums[measure] + (more if measure == "RETRANSMITTED_BYTES" else 0)) for measure in MEASURES}


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    if shutil.which("tshark") is None:
        print("SKIPPED: tshark is not installed")
        sys.exit(oracle.SKIPPED)
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for name in CAPTURES:
            capture = folder / "generated" / f"{name}.pcap.zst"
            reported, expected = counted(monitor, capture, pathlib.Path(temporary)), truth(capture)
            print(name, reported)
            for measure, (low, high) in expected.items():
                if not low <= reported[measure] <= high:
                    failed = True
                    print(f"  {measure}: {reported[measure]:,} counted, tshark has {low:,} to {high:,}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

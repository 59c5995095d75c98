#!/usr/bin/env python3
"""Tests --duplicates drop on real captures: every inserted copy must be found, and no other packet may count as a
copy."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CAPTURES = pathlib.Path(os.environ.get("TAPLINE_CAPTURES", ROOT / ".." / "shared" / "traces"))
SKIPPED = 77


def accounting(monitor, capture, duplicates):
    """Returns the counts of tcp_pkt_size over the capture, and the tuples of http_get."""
    command = [monitor, "--pcap", str(capture), "--parser", "http_get", "--status", "json", "--duplicates", duplicates]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith(b"{")]
    return next(event["accounting"] for event in events if event["event"] == "end"), done.stdout


def main():
    monitor = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "bin" / "tapline-monitor")
    generated = CAPTURES / "generated"
    if not generated.is_dir():
        print(f"SKIPPED: no captures at {CAPTURES}: set TAPLINE_CAPTURES")
        return SKIPPED
    failures = []
    put_in = (generated / "damaged" / "http_zipf_dup.damage.jsonl").read_text().count("\n")
    for name, copies in (("damaged/http_zipf_dup", put_in), ("http_zipf", 0), ("mysql_mix", 0), ("http_ipv6", 0)):
        capture = generated / f"{name}.pcap.zst"
        kept, tuples = accounting(monitor, capture, "keep")
        dropped, tuples_of_one = accounting(monitor, capture, "drop")
        duplicates = dropped["lost"].get("duplicate", 0)
        print(f"{name}: {duplicates} copies of {copies}")
        if duplicates != copies or dropped["packets_received"] != kept["packets_received"]:
            failures.append(f"{name}: found {duplicates} of {copies} copies: {dropped}")
        if dropped["queries"]["local"]["packets_out"] != kept["queries"]["local"]["packets_out"] - copies:
            failures.append(f"{name}: packets do not add up: {dropped}")
        if tuples != tuples_of_one:
            failures.append(f"{name}: the transactions differ")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

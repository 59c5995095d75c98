#!/usr/bin/env python3
"""Measures the number of tuples per second that tapline-monitor delivers to a real Kafka broker, compared with a null output in the same run.

One broker runs on the same host, in one process with little tuning (monitors/testing/kafka_broker.py). The workload is http_get
over http_zipf, repeated as in offline_monitor.py. When the monitor reads a file, the output waits for the broker, so nothing is
lost: the measured rate is that of the slower of the two programs. The runs alternate; the results are medians, and the ratio is
taken pair by pair."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from offline_monitor import ROOT, enlarge

# Enough for several seconds of output, so that the start-up and the final wait are negligible.
PACKETS = 5_000_000

sys.path.insert(0, os.path.join(ROOT, "monitors"))
from testing.kafka_broker import Broker, available  # noqa: E402
from testing.monitor_process import Monitor  # noqa: E402
from testing.traffic import audit, create_topic  # noqa: E402


def run(plan, capture, *output):
    """Returns the wall-clock seconds of a run, and its accounting."""
    began = time.monotonic()
    with Monitor("--plan", plan, "--pcap", capture, "--output", *output) as monitor:
        code, _ = monitor.finish()
    seconds = time.monotonic() - began
    if code:
        sys.exit(f"error: tapline-monitor failed with exit code {code}: {monitor.events}")
    return seconds, monitor.event("end")["accounting"]


def write_plan(folder, name, parser):
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump({"format": 1, "query": name, "parsers": [parser], "monitors": [{"id": "local-0"}]}, file)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parser", default="http_get")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    captures = os.environ.get("TAPLINE_CAPTURES", os.path.join(ROOT, "..", "shared", "traces"))
    source = os.path.join(captures, "generated", "http_zipf.pcap.zst")
    if not available() or not os.path.exists(source):
        print("SKIPPED: needs make java, and the captures of TAPLINE_CAPTURES")
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="tapline-bench-") as folder:
        plain, capture = os.path.join(folder, "http_zipf.pcap"), os.path.join(folder, "long.pcap")
        subprocess.run(["zstd", "-qdf", source, "-o", plain], check=True)
        packets = enlarge(plain, capture, PACKETS)
        with Broker(folder) as broker:
            broker.await_ready()
            for i in range(arguments.runs + 1):
                name = f"bench-{i}"
                create_topic(broker.address, "tapline.tuples." + name)
                plan = write_plan(folder, name, arguments.parser)
                null_s, _ = run(plan, capture, "null")
                kafka_s, accounting = run(plan, capture, "kafka", "--brokers", broker.address)
                tuples = audit(broker.address, "tapline.tuples." + name)["rows"]
                query = accounting["queries"][name]
                if tuples != query["tuples_out"] or query["dropped"]["tuples"]:
                    sys.exit(f"error: {tuples} tuples in the topic, {query}")
                # The first run warms up the broker.
                if i > 0:
                    rows.append({"null_s": null_s, "kafka_s": kafka_s, "tuples": tuples, "packets": packets})
                    print(f"{packets} packets, {tuples} tuples: null {null_s:.3f} s, Kafka {kafka_s:.3f} s", flush=True)
    rate = statistics.median(row["tuples"] / row["kafka_s"] for row in rows)
    ratio = statistics.median(row["kafka_s"] / row["null_s"] for row in rows)
    print(f"to Kafka: {rate:,.0f} tuples/s sustained, {ratio:.2f} times the wall time of a null output")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"rows": rows, "tuples_per_second": rate, "ratio": ratio}, file, indent=2)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares kafka_request with tshark's dissection of the reference captures that contain Kafka. silence_test.py covers all
others.

Compares each request, and whether its response was seen, by client, server, API, API version and correlation ID. Each
difference must be a row of docs/reference/kafka-differences.md.

usage: truth_test.py [MONITOR]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "kafka-differences.md"
NAMES = {0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 18: "ApiVersions", 22: "InitProducerId"}


def expected(records):
    """Returns (client, server, API, API version, correlation ID, half) for each of tshark's transactions. A response
    belongs to the latest earlier request with its correlation ID."""
    waiting = {}
    for r in (r for r in records if r["kind"] == "kafka"):
        if "api_version" in r:
            waiting[r["src"], r["dst"], r["correlation_id"]] = (NAMES[r["api_key"]], r["api_version"])
            continue
        request = waiting.pop((r["dst"], r["src"], r["correlation_id"]), None)
        yield (r["dst"], r["src"], *(request or ("", 0)), r["correlation_id"], "" if request else "response")
    for (client, server, number), request in waiting.items():
        yield (client, server, *request, number, "request")


def seen(tuples):
    return [(f"{t['src_ip']}:{t['src_port']}", f"{t['dst_ip']}:{t['dst_port']}", t["api"], t["api_version"], t["correlation_id"], t["partial"])
            for t in tuples]


def main():
    return differences.compare("kafka_request", differences.known(TABLE, 10), expected, seen)


if __name__ == "__main__":
    sys.exit(main())

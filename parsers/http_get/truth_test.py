#!/usr/bin/env python3
"""Compares http_get with tshark's dissection of the reference captures, message by message.

Compares every transaction by connection, method, host, URL, status and pairing. Each difference must be a row of
docs/reference/http-differences.md with its reason, and every row there must still differ.

usage: truth_test.py [MONITOR [--print]]      --print writes the differences as rows of that table
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "http-differences.md"
# Link types that the monitor rejects, as tshark names them.
UNSUPPORTED_LINKS = {"chdlc", "nflog"}

Transaction = collections.namedtuple("Transaction", "connection method host url status")


def connection(a, b):
    return " ".join(sorted([a, b]))


def is_interim(response):
    return response.get("status", 0) // 100 == 1 and response["status"] != 101


def expected(records):
    """Returns the reference transactions: requests with the responses that tshark assigns to them, and unpaired halves."""
    requests = {}
    result = []
    for record in records:
        if record["kind"] == "http_req":
            requests.setdefault((record["stream"], record["frame"]), []).append(record)
    answered = collections.Counter()
    for record in records:
        if record["kind"] != "http_resp" or is_interim(record):
            continue
        key = (record["stream"], record.get("request_in"))
        candidates = requests.get(key, [])
        request = candidates[min(answered[key], len(candidates) - 1)] if candidates else {}
        answered[key] += 1
        result.append(transaction(record, request, record["status"]))
    for key, same_frame in requests.items():
        result += [transaction(request, request, 0) for request in same_frame[answered[key]:]]
    return result


def transaction(where, request, status):
    return Transaction(connection(where["src"], where["dst"]), request.get("method", ""), request.get("host") or "",
                       request.get("uri") or "", status)


def seen(tuples):
    ends = lambda t: connection(f"{t['src_ip']}:{t['src_port']}", f"{t['dst_ip']}:{t['dst_port']}")
    return [Transaction(ends(t), t["method"], t["host"], t["url"], t["status"]) for t in tuples]


def compared_captures(folder, _parser, _table):
    for area in ("http", "ipv6", "vlan-tunnel"):
        for capture in sorted((folder / area).iterdir()):
            truth = folder / "truth" / area / (capture.name + ".jsonl")
            if not truth.exists() and not truth.with_name(truth.name + ".zst").exists():
                continue
            records = oracle.json_lines(truth)
            has_http = any(r["kind"] in ("http_req", "http_resp") for r in records)
            if area == "http" or (has_http and not UNSUPPORTED_LINKS & outermost_layers(records)):
                yield f"{area}/{capture.name}", capture, records


def outermost_layers(records):
    return {stack.split(":")[0] for stack in next(r for r in records if r["kind"] == "summary").get("stacks", {})}


def main():
    return differences.compare("http_get", differences.known(TABLE, 9), expected, seen, compared_captures)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares http2_request with tshark's dissection of every reference capture, and with nginx's log of generated/h2c.

Compares each stream by client, server, number, method, authority, path and status. Each difference must be a row of
docs/reference/http2-differences.md; silence_test.py covers captures without HTTP/2.

usage: truth_test.py [MONITOR]
"""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "http2-differences.md"
UNENCRYPTED = 401  # generated/h2c has 400 from h2load and 1 from curl
LOGGED = re.compile(r'"(?P<method>\w+) (?P<url>\S+) HTTP/2\.0" (?P<status>\d+) ')


def expected(records):
    """Returns (client, server, stream, method, authority, path, status) for each stream in tshark's header frames."""
    streams, upgraded = {}, {}
    for r in records:
        if r["kind"] == "http_req" and (r.get("upgrade") or "h2c") == "h2c":
            upgraded.setdefault((r["src"], r["dst"]), r)
        if r["kind"] != "http2" or r.get("type") not in (1, 5) or r["streamid"] % 2 == 0:
            continue
        if ":method" in r:
            streams.setdefault((r["src"], r["dst"], r["streamid"]), {}).update(r)
        elif ":status" in r and not r[":status"].startswith("1"):
            streams.setdefault((r["dst"], r["src"], r["streamid"]), {})[":status"] = r[":status"]
    for (client, server, number), r in streams.items():
        first = upgraded.get((client, server)) if number == 1 and ":method" not in r else None
        if first is not None:
            r.update({":method": first.get("method"), ":authority": first.get("host"), ":path": first.get("uri")})
        yield (client, server, number, r.get(":method", ""), r.get(":authority", ""), r.get(":path", ""), r.get(":status", "0"))


def seen(tuples):
    return [(f"{t['src_ip']}:{t['src_port']}", f"{t['dst_ip']}:{t['dst_port']}", t["stream_id"], t["method"], t["host"], t["url"], t["status"])
            for t in tuples]


def compare_with_log(name, capture, tuples):
    """Compares nginx's log of HTTP/2 without TLS with the tuples: counts by method, path and status."""
    if name != "generated/h2c.pcap.zst":
        return []
    lines = (capture.parent / "extras.nginx_access.log").read_text().splitlines()
    matches = [match for match in map(LOGGED.search, lines) if match]
    # After this number of requests without TLS, the log continues with those of other captures.
    logged = collections.Counter((m["method"], m["url"], int(m["status"])) for m in matches[:UNENCRYPTED])
    ours = collections.Counter((t["method"], t["url"], t["status"]) for t in tuples)
    return [f"nginx: {item} {times} times" for item, times in (logged - ours).items()] + [
        f"not nginx: {item} {times} times" for item, times in (ours - logged).items()]


def main():
    return differences.compare("http2_request", differences.known(TABLE, 11), expected, seen, check=compare_with_log)


if __name__ == "__main__":
    sys.exit(main())

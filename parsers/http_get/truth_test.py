#!/usr/bin/env python3
"""Compares http_get with tshark's reading of the reference captures, message by message.

Compares every transaction by connection, method, host, URL, status and pairing. Each difference must be a row of
docs/reference/http-differences.md with its reason, and every row there must still differ.

usage: truth_test.py [MONITOR [--print]]      --print writes the differences as rows of that table
"""

import collections
import fnmatch
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "http-differences.md"
# Link types that the monitor refuses, as tshark names them.
UNSUPPORTED_LINKS = {"chdlc", "nflog"}

Transaction = collections.namedtuple("Transaction", "connection method host url status")


def connection(a, b):
    return " ".join(sorted([a, b]))


def endpoint(text):
    """tshark writes address:port, and IPv6 addresses as the monitor does."""
    return text


def is_interim(response):
    return response.get("status", 0) // 100 == 1 and response["status"] != 101


def expected(records):
    """Transactions of the truth: requests with the responses that tshark assigns to them, and single halves."""
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


def cell(value):
    """One cell of the table: long values are shortened, Markdown's special characters are escaped."""
    text = "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in str(value)).replace("|", "\\|")
    return text if len(text) <= 60 else text[:57] + "..."


def differences(capture, truth, ours):
    """Rows (capture, who has it, connection, method, host, URL, status, times)."""
    truth, ours = collections.Counter(map(shown, truth)), collections.Counter(map(shown, ours))
    rows = []
    for who, more, fewer in (("tshark", truth, ours), ("ours", ours, truth)):
        for key, times in sorted((more - fewer).items()):
            rows.append((capture, who, *key, str(times)))
    return rows


def shown(t):
    return (t.connection, cell(t.method), cell(t.host), cell(t.url), str(t.status))


def table_rows():
    """Rows of the documented table, (capture, who, connection, method, host, URL, status, times) -> reason.

    Each cell but the first and the last may be a pattern (*); times is then the sum over all that match."""
    rows = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip().strip("`") for c in line.replace("\\|", "\0").strip("|").split("|")]
        cells = [c.replace("\0", "\\|") for c in cells]
        if line.startswith("| `") and len(cells) == 9:
            rows[tuple(cells[:8])] = cells[8]
    return rows


def match(found, known):
    """Differences that no row explains, and rows that match fewer differences than their count."""
    unknown, left = [], {row: int(row[7]) for row in known}
    for difference in found:
        row = next((r for r in known if all(map(fnmatch.fnmatchcase, difference[:7], r[:7]))), None)
        if row is None:
            unknown.append(difference)
        else:
            left[row] -= int(difference[7])
    return unknown, [row for row, times in left.items() if times != 0]


def compared_captures(folder):
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
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    found, captures, transactions = [], 0, 0
    for name, capture, records in compared_captures(folder):
        truth = expected(records)
        found += differences(name, truth, seen(oracle.tuples(monitor, "http_get", capture)))
        captures += 1
        transactions += len(truth)
    if "--print" in sys.argv:
        for row in found:
            print("| `" + row[0] + "` | " + " | ".join(row[1:]) + " |  |")
        return 0
    known = table_rows()
    unknown, stale = match(found, known)
    unexplained = [row for row, reason in known.items() if not reason]
    for title, rows in (("not in the table", unknown), ("in the table, but not that often", stale),
                        ("without a reason", unexplained)):
        for row in rows:
            print(f"{title}: {' | '.join(row)}")
    print(f"{captures} captures, {transactions} transactions, {len(found)} differences, {len(known)} in the table")
    if captures == 0 or transactions == 0:
        print("nothing was compared")
        return 1
    return 1 if unknown or stale or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

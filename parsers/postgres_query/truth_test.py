#!/usr/bin/env python3
"""Compares postgres_query with a server's own log, with tshark, and with itself on degraded captures, and looks for it where there is none.

1. captures/mixed: psql and pgbench against PostgreSQL 15 (see README): each statement that the server logged, in which connection, with
which error, and never in less time than the server took. 2. The same with 2 % of the packets lost, or up to 3 places late: no pair that
is not there undegraded. 3. The reference captures of postgres/: each statement that tshark sees. What differs must be a row of
docs/reference/postgres-differences.md with its reason, and every row must still differ. 4. Captures of other protocols: silence.

usage: truth_test.py [MONITOR [--print]]      --print writes the differences as rows of that table
"""

import collections
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "testing"))
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "postgres-differences.md"
SEEDS = 10
# Captures in which somebody speaks PostgreSQL, outside of postgres/.
WITH_POSTGRES = {"http/packetbeat__http_10_connection_close.pcap", "malformed/ndpi__ossfuzz_seed_fake_traces_2.pcapng"}
LOGGED = {"query": "statement", "execute": "execute"}

Difference = collections.namedtuple("Difference", "capture who statement times")


def compare_with_log(monitor):
    """Faults: statements that were logged and not told, or the other way round, or told as quicker than the server was."""
    entries = [json.loads(line) for line in (HERE / "captures" / "mixed.log.jsonl").read_text().splitlines()]
    theirs = collections.Counter((e["port"], e["kind"], e["statement"], e.get("sqlstate", "")) for e in entries if e["statement"])
    durations = collections.defaultdict(list)
    for entry in entries:
        if "ms" in entry:
            durations[entry["port"], entry["statement"]].append(entry["ms"])
    ours, quicker = collections.Counter(), 0
    for t in oracle.tuples(monitor, "postgres_query", HERE / "captures" / "mixed.pcap.zst"):
        if t["kind"] not in LOGGED or t["status"] == "skipped":
            continue
        kind = "error" if t["status"] == "error" else LOGGED[t["kind"]]
        ours[t["src_port"], kind, t["statement"], t["sqlstate"]] += 1
        if kind != "error" and durations[t["src_port"], t["statement"]]:
            quicker += t["response_time_ns"] < durations[t["src_port"], t["statement"]].pop(0) * 1e6 - 100_000
    for title, keys in (("logged only", theirs - ours), ("ours only", ours - theirs)):
        for key in keys:
            print(f"{title}: {key}")
    print(f"mixed: {sum(theirs.values())} statements logged, {sum(ours.values())} told, {quicker} as quicker than the server was")
    return sum((theirs - ours).values()) + sum((ours - theirs).values()) + quicker + (len(entries) == 0)


def records(capture):
    data = subprocess.run(["zstd", "-dc", str(capture)], capture_output=True, check=True).stdout
    at, result = 24, []
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        result.append(data[at:at + 16 + captured])
        at += 16 + captured
    return data[:24], result


def lost(packets, random_numbers):
    return [packet for packet in packets if random_numbers.random() >= 0.02]


def late(packets, random_numbers):
    """Places move, times stay where they are."""
    order = sorted(range(len(packets)), key=lambda i: i + (random_numbers.randint(1, 3) + 0.5 if random_numbers.random() < 0.02 else 0))
    return [packets[place][:8] + packets[i][8:] for place, i in enumerate(order)]


def pairs_of(monitor, capture, with_times):
    pairs = collections.Counter()
    for t in oracle.tuples(monitor, "postgres_query", capture):
        if not t["partial"] and t["kind"] in ("query", "execute", "prepare") and t["status"] != "skipped":
            # Rows tell responses apart where times don't; what is cut has fewer.
            rows = t["rows"] if not t["cut"] else -1
            pairs[t["src_port"], t["statement"], rows, t["first_byte_ns"] if with_times else 0] += 1
    return pairs


def compare_degraded(monitor):
    head, packets = records(HERE / "captures" / "mixed.pcap.zst")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for degradation in (lost, late):
            with_times = degradation is lost
            whole = pairs_of(monitor, HERE / "captures" / "mixed.pcap.zst", with_times)
            unnamed = collections.Counter()  # the prepared statement was lost
            possible_cut = {(port, statement) for port, statement, _, _ in whole}  # what it began with may be lost
            for (port, _, rows, first), times in whole.items():
                unnamed[port, rows, first] += times
            told, wrong = 0, 0
            for seed in range(SEEDS):
                capture = pathlib.Path(folder) / "degraded.pcap"
                capture.write_bytes(head + b"".join(degradation(packets, random.Random(seed))))
                for (port, statement, rows, first), times in pairs_of(monitor, capture, with_times).items():
                    told += times
                    known = (port, statement) in possible_cut if rows < 0 else whole[port, statement, rows, first] >= times
                    if not known and not (statement == "" and unnamed[port, rows, first]):
                        wrong += times
                        print(f"{degradation.__name__}, seed {seed}: {(port, statement, rows, first)}")
            share = told / sum(whole.values()) / SEEDS
            print(f"{degradation.__name__}: {told} pairs of {sum(whole.values()) * SEEDS} ({share:.1%}), {wrong} wrong")
            faults += wrong + (share < 0.9)
    return faults


def cell(value):
    text = "".join(c if c.isprintable() and c != "\ufffd" else "?" for c in str(value)).replace("|", "\\|").strip()
    return text if len(text) <= 60 else text[:57] + "..."


def compare_with_tshark(folder, monitor):
    found, total = [], 0
    captures = sorted((folder / "postgres").iterdir())
    for capture in captures:
        truth = oracle.json_lines(folder / "truth" / "postgres" / (capture.name + ".jsonl"))
        theirs = collections.Counter(cell(r["query"].rstrip("\0")) for r in truth if r["kind"] == "pgsql" and r.get("query") is not None)
        ours = collections.Counter(cell(t["statement"]) for t in oracle.tuples(monitor, "postgres_query", capture)
                                   if t["kind"] in ("query", "prepare", "execute") and t["statement"])
        total += sum(theirs.values())
        for who, more, fewer in (("tshark", theirs, ours), ("ours", ours, theirs)):
            found += [Difference("postgres/" + capture.name, who, s, str(times)) for s, times in sorted((more - fewer).items())]
    print(f"{len(captures)} captures, {total} statements that tshark sees, {len(found)} differences")
    return found


def check_table(found):
    known = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip().strip("`") for c in line.replace("\\|", "\0").strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            known[Difference(*(c.replace("\0", "\\|") for c in cells[:4]))] = cells[4]
    faults = [("not in the table", row) for row in found if row not in known]
    faults += [("in the table, but not so", row) for row in known if row not in found]
    faults += [("without a reason", row) for row, reason in known.items() if not reason]
    for title, row in faults:
        print(f"{title}: {' | '.join(row)}")
    return len(faults)


def check_silence(folder, monitor):
    captures = [path for area in sorted(folder.iterdir()) if area.is_dir() and area.name not in ("postgres", "truth", "generate")
                for path in sorted(area.iterdir()) if ".pcap" in path.name]
    captures = [path for path in captures if f"{path.parent.name}/{path.name}" not in WITH_POSTGRES]
    noisy = 0
    for path in captures:
        try:
            tuples = oracle.tuples(monitor, "postgres_query", path)
        except RuntimeError:
            continue  # no capture
        if tuples:
            noisy += 1
            print(f"{path.parent.name}/{path.name}: {len(tuples)} tuples where nobody speaks PostgreSQL")
    print(f"{len(captures)} captures of other protocols, {noisy} with tuples")
    return noisy + (len(captures) == 0)


def main():
    monitor = oracle.monitor_or_skip()
    faults = compare_with_log(monitor) + compare_degraded(monitor)
    if faults:
        return 1
    folder = oracle.captures_or_skip()
    found = compare_with_tshark(folder, monitor)
    if "--print" in sys.argv:
        for row in found:
            print("| `" + row[0] + "` | " + " | ".join(row[1:]) + " |  |")
        return 0
    return 1 if check_table(found) + check_silence(folder, monitor) else 0


if __name__ == "__main__":
    sys.exit(main())

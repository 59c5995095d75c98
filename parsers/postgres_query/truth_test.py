#!/usr/bin/env python3
"""Compares postgres_query with a server's log, with tshark, and with itself on degraded captures, and checks that it
emits nothing elsewhere.

1. captures/mixed: psql and pgbench against PostgreSQL 15 (see README): each statement that the server logged, with its
   connection and error, and never in less time than the server took.
2. The same with 2 % of the packets lost, or up to 3 places late: no pair that the whole capture lacks, and all pairs
   whose request and response still have their first packets (nearly all, if packets are lost).
3. The reference captures of postgres/: each statement that tshark sees. Each difference must be a row of
   docs/reference/postgres-differences.md with its reason, and every row must still be a difference.
4. Other protocols that tshark mistakes for PostgreSQL: no tuples.

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
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "postgres-differences.md"
SEEDS = 10
PRIME = 262_147
NANOSECONDS = 0xA1B23C4D  # the magic number of a capture with nanosecond times
# Captures that contain PostgreSQL, outside postgres/.
WITH_POSTGRES = {"http/packetbeat__http_10_connection_close.pcap", "malformed/ndpi__ossfuzz_seed_fake_traces_2.pcapng"}
LOGGED = {"query": "statement", "execute": "execute"}


def compare_with_log(monitor):
    """Returns the number of faults: statements that were logged but not reported, or vice versa, or reported with a shorter
    time than the server's."""
    entries = [json.loads(line) for line in (HERE / "captures" / "mixed.log.jsonl").read_text().splitlines()]
    theirs = collections.Counter((e["port"], e["kind"], e["statement"], e.get("sqlstate", "")) for e in entries if e["statement"])
    durations = collections.defaultdict(list)
    for entry in entries:
        if "ms" in entry:
            durations[entry["port"], entry["statement"]].append(entry["ms"])
    ours, faster = collections.Counter(), 0
    for t in oracle.tuples(monitor, "postgres_query", HERE / "captures" / "mixed.pcap.zst"):
        if t["kind"] not in LOGGED or t["status"] == "skipped":
            continue
        kind = "error" if t["status"] == "error" else LOGGED[t["kind"]]
        ours[t["src_port"], kind, t["statement"], t["sqlstate"]] += 1
        if kind != "error" and durations[t["src_port"], t["statement"]]:
            faster += t["response_time_ns"] < durations[t["src_port"], t["statement"]].pop(0) * 1e6 - 100_000
    for title, keys in (("logged only", theirs - ours), ("ours only", ours - theirs)):
        for key in keys:
            print(f"{title}: {key}")
    print(f"mixed: {sum(theirs.values())} statements logged, {sum(ours.values())} reported, {faster} with a shorter time than the server's")
    return sum((theirs - ours).values()) + sum((ours - theirs).values()) + faster + (len(entries) == 0)


def records(capture):
    data = subprocess.run(["zstd", "-dc", str(capture)], capture_output=True, check=True).stdout
    offset, result = 24, []
    while offset < len(data):
        captured = struct.unpack_from("<I", data, offset + 8)[0]
        result.append(data[offset:offset + 16 + captured])
        offset += 16 + captured
    return data[:24], result


def time_ns_of(number):
    """Returns a packet's time. The difference between two packets' times is unique, so it identifies both packets."""
    return 1_000_000_000_000_000 + number * (1 << 22) + number * number % PRIME


def lost(numbers, random_numbers):
    return [i for i in numbers if random_numbers.random() >= 0.02]


def late(numbers, random_numbers):
    """Moves packets, with their times, to other positions."""
    return sorted(numbers, key=lambda i: i + (random_numbers.randint(1, 3) + 0.5 if random_numbers.random() < 0.02 else 0))


def write_capture(path, head, packets, numbers):
    with path.open("wb") as out:
        out.write(struct.pack("<I", NANOSECONDS) + head[4:])
        for i in numbers:
            out.write(struct.pack("<II", *divmod(time_ns_of(i), 1_000_000_000)) + packets[i][8:])


def pairs_of(monitor, capture, packets_of):
    """Returns the reported pairs as (kind, statement, rows, cut), by the numbers of the two packets with their heads."""
    pairs = collections.defaultdict(list)
    for t in oracle.tuples(monitor, "postgres_query", capture):
        if not t["partial"] and t["kind"] in ("query", "execute", "prepare") and t["status"] != "skipped":
            pairs[packets_of.get(t["first_byte_ns"])].append((t["kind"], t["statement"], t["rows"], t["cut"]))
    return pairs


def is_same(ours, true):
    """Returns True if the pairs agree. The text of a prepared statement may have been lost, and a truncated response
    has fewer rows."""
    text_fits = ours[1] == true[1] or (ours[1] == "" and ours[0] == "execute")
    return ours[0] == true[0] and text_fits and (ours[2] == true[2] or (ours[3] and ours[2] < true[2]))


def is_rest_of(heads, ours, whole):
    """Returns True if the response is marked as truncated because its first packet was lost: the request is correct, and the
    response belongs to it."""
    return heads and ours[3] and any(request == heads[0] and response < heads[1] and is_same(ours, true)
                                     for (request, response), pairs in whole.items() for true in pairs)


def judge(ours, whole, numbers):
    """Returns [number of pairs whose heads are present, number of correct ones] for packets with one request, the same
    for packets with several, and the wrong pairs."""
    expected, alone, piped, wrong = set(numbers), [0, 0], [0, 0], []
    asked = collections.Counter(heads[0] for heads, pairs in whole.items() for _ in pairs)
    for heads, pairs in whole.items():
        if not expected.issuperset(heads):
            continue
        left = list(ours.get(heads, []))
        for true in pairs:
            right = next((t for t in left if is_same(t, true)), None)
            if right is not None:
                left.remove(right)
            group = alone if asked[heads[0]] == 1 else piped
            group[0] += 1
            group[1] += right is not None
    for heads, pairs in ours.items():
        left = list(whole.get(heads, []))
        for t in pairs:
            true = next((true for true in left if is_same(t, true)), None)
            if true is not None:
                left.remove(true)
            elif not is_rest_of(heads, t, whole):
                wrong.append((heads, t))
    return alone, piped, wrong


def compare_degraded(monitor):
    head, packets = records(HERE / "captures" / "mixed.pcap.zst")
    numbers = range(len(packets))
    packets_of = {time_ns_of(j) - time_ns_of(i): (i, j) for i in numbers for j in range(i + 1, len(packets))}
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "degraded.pcap"
        write_capture(capture, head, packets, numbers)
        whole = pairs_of(monitor, capture, packets_of)
        for degradation, min_share, min_piped_share in ((lost, 0.999, 0.9), (late, 1, 1)):
            sums, wrong = [0] * 4, 0
            for seed in range(SEEDS):
                left = degradation(numbers, random.Random(seed))
                write_capture(capture, head, packets, left)
                alone, piped, bad = judge(pairs_of(monitor, capture, packets_of), whole, left)
                sums, wrong = [a + b for a, b in zip(sums, alone + piped)], wrong + len(bad)
                for heads, t in bad:
                    print(f"{degradation.__name__}, seed {seed}: packets {heads}, {t}")
            eligible, right, piped, piped_right = sums
            print(f"{degradation.__name__}: of {eligible} pairs whose heads are present {right} right ({right / eligible:.2%}); "
                  f"in packets with several requests {piped_right} of {piped} ({piped_right / piped:.1%}); {wrong} wrong")
            faults += wrong + (right < min_share * eligible) + (piped_right < min_piped_share * piped)
    return faults


def compare_with_tshark(folder, monitor):
    rows, total = [], 0
    captures = sorted((folder / "postgres").iterdir())
    for capture in captures:
        truth = oracle.json_lines(folder / "truth" / "postgres" / (capture.name + ".jsonl"))
        theirs = [(r["query"].rstrip("\0"),) for r in truth if r["kind"] == "pgsql" and r.get("query") is not None]
        ours = [(t["statement"],) for t in oracle.tuples(monitor, "postgres_query", capture)
                if t["kind"] in ("query", "prepare", "execute") and t["statement"]]
        total += len(theirs)
        rows += differences.rows_of("postgres/" + capture.name, theirs, ours)
    print(f"{len(captures)} captures, {total} statements that tshark sees, {len(rows)} differences")
    return rows


def main():
    monitor = oracle.monitor_or_skip()
    faults = compare_with_log(monitor) + compare_degraded(monitor)
    if faults:
        return 1
    folder = oracle.captures_or_skip()
    rows = compare_with_tshark(folder, monitor)
    faults = differences.faults_of(rows, differences.known(TABLE, 5))
    faults += oracle.noisy_captures(folder, monitor, "postgres_query", lambda name: name.startswith("postgres/") or name in WITH_POSTGRES)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares tcp_conn_time with the client's log of the reference capture generated/tcp_clean.

Every connection in the log that has a client port must be in the tuples, with the right outcome. Half of the durations
must be within a millisecond of the client's measurement.

usage: truth_test.py [MONITOR]
"""

import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle  # noqa: E402

EXPECTED_CONNECTIONS = 223
MAX_MEDIAN_DIFFERENCE_NS = 1_000_000
# Possible outcomes at a tap, by the kind of connection in the log; for other kinds, closed and reset.
OUTCOMES = {"refused": {"refused"}, "dropped": {"unanswered"}, "rst": {"reset"}}


def connections(tuples):
    """Returns, by client and server port, each incarnation's tuples by event."""
    by_flow = collections.defaultdict(dict)
    for t in tuples:
        by_flow[(t["src_port"], t["dst_port"], t["flow_id"])][t["event"]] = t
    result = collections.defaultdict(list)
    for (client_port, server_port, _), events in by_flow.items():
        result[(client_port, server_port)].append(events)
    return result


def end_of(events):
    return next(events[e] for e in ("fin", "rst", "timeout") if e in events)


def duration_ns(events):
    end = end_of(events)
    return end["time_ns"] - end["certain_after_ns"] - events["syn"]["time_ns"]


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    log = oracle.json_lines(folder / "generated" / "tcp_clean.client_conns.jsonl")
    seen = connections(oracle.tuples(monitor, "tcp_conn_time", folder / "generated" / "tcp_clean.pcap.zst"))
    errors, differences, outcomes = [], [], collections.Counter()

    logged = [entry for entry in log if entry["cport"]]
    for entry in logged:
        handshakes = [e for e in seen.get((entry["cport"], entry["sport"]), []) if "syn" in e]
        if not handshakes:
            errors.append(f"not found: {entry}")
            continue
        # Ports are reused, so this selects the incarnation that began closest to the start time in the log.
        events = min(handshakes, key=lambda e: abs(e["syn"]["time_ns"] - entry["start"] * 1e9))
        outcome = end_of(events)["outcome"]
        outcomes[outcome] += 1
        expected = OUTCOMES.get(entry["kind"], {"closed", "reset"})
        if outcome not in expected:
            errors.append(f"outcome {outcome}, expected one of {sorted(expected)}: {entry}")
        differences.append(abs(duration_ns(events) - (entry["end"] - entry["start"]) * 1e9))

    if len(logged) != EXPECTED_CONNECTIONS:
        errors.append(f"the log has {len(logged)} connections with a client port, not {EXPECTED_CONNECTIONS}")
    all_outcomes = collections.Counter(end_of(e)["outcome"] for flows in seen.values() for e in flows)
    for kind, (outcome,) in (("refused", OUTCOMES["refused"]), ("dropped", OUTCOMES["dropped"])):
        made = sum(entry["kind"] == kind for entry in log)
        if all_outcomes[outcome] != made:
            errors.append(f"{all_outcomes[outcome]} connections {outcome}, the client made {made}")
    ends = sum(sum(e in events for e in ("fin", "rst", "timeout")) for flows in seen.values() for events in flows)
    if ends != sum(len(flows) for flows in seen.values()):
        errors.append(f"{ends} end events for {sum(map(len, seen.values()))} connections")
    median = statistics.median(differences) if differences else float("inf")
    if median >= MAX_MEDIAN_DIFFERENCE_NS:
        errors.append(f"median difference of the durations {median / 1e6:.3f} ms")

    for error in errors:
        print(error)
    print(f"{len(logged)} connections, median difference {median / 1e6:.3f} ms, outcomes {dict(all_outcomes)}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares memcached_get with the client's log of a capture, and with tshark's dissection of other captures.

In the capture with the client's log, compares every command, its key, and whether it was a hit, connection by
connection, in sending order; no response may take longer than the client measured. In other captures, compares the
command and keys of every request that tshark lists.

usage: truth_test.py [MONITOR]
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle  # noqa: E402

OPCODES = ["get", "set", "add", "replace", "delete", "incr", "decr", "quit", "flush", "getq", "noop", "version", "getk",
           "getkq", "append", "prepend", "stat", "setq", "addq", "replaceq", "deleteq", "incrq", "decrq", "quitq", "flushq",
           "appendq", "prependq", "verbosity", "touch", "gat", "gatq"]
READS = {"get", "gets", "getkq"}


def logged(op, misses):
    """Returns the commands of one log entry: (command, key). `misses`: true if the connection's previous entry was an
    incr of the same key: it missed, so the client sets the key."""
    name, keys = op["op"], op["keys"]
    if name == "getkq*+noop":
        return [("getkq", key) for key in keys] + [("noop", "")]
    if name == "setq+noop":
        return [("setq", keys[0]), ("noop", "")]
    if name == "incr_or_set":
        return [("set" if misses else "incr", keys[0])]
    return [(name.removesuffix("_noreply"), key) for key in (keys or [""])]


def hits_of(op):
    """Returns how many of the entry's keys the server had, or None if that was not logged."""
    if op["op"] == "get" and op["proto"] == "text":
        return op["hit"]
    if op["op"] == "get" and op["proto"] == "binary":
        return int(op["status"] == 0)
    return None


def compare_log(folder, monitor, faults):
    capture = folder / "generated" / "memcached_mix.pcap.zst"
    ours = collections.defaultdict(list)
    for t in oracle.tuples(monitor, "memcached_get", capture):
        if t["command"] != "quit":
            ours["udp" if t["dst_port"] == 11211 and t["flow_id"].endswith("-00000000") else t["src_port"]].append(t)
    # Tuples are in the order of the responses, but a noreply command is reported at once and a quiet command later, so
    # this sorts by request time.
    for tuples in ours.values():
        tuples.sort(key=lambda t: t["time_ns"] - t["response_time_ns"])
    misses, position, gets, slower = {}, collections.Counter(), 0, 0
    ops = oracle.json_lines(folder / "generated" / "memcached_mix.client_ops.jsonl")
    for op in ops:
        port = op.get("port", "udp")
        expected = logged(op, misses.pop(port, None) == op["keys"])
        if op["op"] == "incr" and op["proto"] == "text":
            misses[port] = op["keys"]
        begin = position[port]
        position[port] += len(expected)
        seen = ours[port][begin:position[port]]
        if collections.Counter((t["command"], t["key"]) for t in seen) != collections.Counter(expected):
            faults.append(f"port {port}: {op}: expected {expected}, seen {[(t['command'], t['key']) for t in seen]}")
            return
        if any(t["partial"] for t in seen):
            faults.append(f"port {port}: {op}: reported in halves")
        hits = hits_of(op)
        if hits is not None and hits != sum(t["hit"] for t in seen):
            faults.append(f"port {port}: {op}: {[(t['key'], t['hit']) for t in seen]}")
        gets += sum(t["command"] in READS for t in seen)
        # The generator's UDP client accepts any datagram as the response, so its latencies are not compared.
        slower += port != "udp" and any(t["response_time_ns"] > op.get("lat", 1e9) * 1e9 for t in seen)
    for port, count in position.items():
        if len(ours[port]) != count:
            faults.append(f"port {port}: {len(ours[port]) - count} commands that the client did not send")
    if slower:
        faults.append(f"{slower} responses took longer than the client measured")
    print(f"{len(ops)} entries of the client's log with {gets} keys read; the rest of {sum(map(len, ours.values()))} tuples are memslap's")


def requests_of(records):
    for record in records:
        if record["kind"] != "memcache" or record.get("dir") == "resp":
            continue
        if record["proto"] == "binary":
            yield OPCODES[record["opcode"]], record.get("key", "")
        elif "command" in record:
            yield from ((record["command"], key) for key in record.get("keys", [""]))


def compare_tshark(folder, monitor, faults):
    captures = requests = 0
    for capture in sorted((folder / "memcached").iterdir()):
        truth = collections.Counter(requests_of(oracle.json_lines(folder / "truth" / "memcached" / (capture.name + ".jsonl"))))
        tuples = oracle.tuples(monitor, "memcached_get", capture)
        ours = collections.Counter((t["command"], t["key"]) for t in tuples)
        captures += 1
        requests += sum(truth.values())
        if "_udp_" in capture.name:  # tshark does not dissect frames of these
            if not tuples:
                faults.append(f"{capture.name}: no tuples")
            continue
        if truth != ours:
            faults.append(f"{capture.name}: tshark has {truth - ours}, we have {ours - truth}")
        halves = [(t["command"], t["key"]) for t in tuples if t["partial"]]
        if halves:
            faults.append(f"{capture.name}: halves {halves}")
    print(f"{captures} captures, {requests} requests listed by tshark")
    if captures == 0 or requests == 0:
        faults.append("nothing was compared with tshark")


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    faults = []
    compare_log(folder, monitor, faults)
    compare_tshark(folder, monitor, faults)
    for fault in faults[:50]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

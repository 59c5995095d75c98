#!/usr/bin/env python3
"""Checks mysql_query on captures like those that mirrors deliver: damaged copies of the beginning of mysql_mix.

A simple evaluator provides the truth. It has whole streams in memory and ignores result sets: a command is a client's
packet with sequence number 0, and its response begins with the server's first segment that acknowledges the whole
command. A pair that the monitor reports is right if the evaluator has a pair with the same client, kind, statement and
time to first byte. A pair's heads are present if the damaged file has the frames with the first bytes of both messages.

usage: degraded_test.py [MONITOR]
"""

import collections
import json
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import oracle  # noqa: E402

DAMAGED_FRAMES = 12_000
DAMAGES = ("drop", "dup", "reorder", "flip", "midstream", "oneway", "snap96", "cut")
ALLOWED = 0.001
TEXT_COMMANDS = {3: "query", 22: "prepare"}
UNANSWERED = {1: "quit", 24: "long_data", 25: "close"}
KINDS = {**TEXT_COMMANDS, **UNANSWERED, 2: "init_db", 14: "ping", 23: "execute"}
KEPT_TEXT_BYTES = 32 << 10

Frame = collections.namedtuple("Frame", "number time_us client to_server seq ack syn payload")
# The last three are frames: the command's, the response's, and the two in which the statement was prepared.
Pair = collections.namedtuple("Pair", "client kind statement request response prepared")


def frames_of(capture, limit):
    """Returns the first frames of a classic pcap file, at most `limit`. All must contain TCP over IPv4."""
    data = subprocess.run(["zstd", "-dc", "--long=27", str(capture)], capture_output=True, check=True).stdout
    position, number, frames = 24, 0, []
    while position + 16 <= len(data) and number < limit:
        seconds, micros, captured, _ = struct.unpack_from("<IIII", data, position)
        frame = data[position + 16:position + 16 + captured]
        position, number = position + 16 + captured, number + 1
        ip = frame[14:]
        tcp = ip[(ip[0] & 15) * 4:struct.unpack_from(">H", ip, 2)[0]]
        source, destination, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
        to_server = destination == 3306
        address = ".".join(map(str, ip[12:16] if to_server else ip[16:20]))
        client = f"{address}:{source if to_server else destination}"
        frames.append(Frame(number - 1, seconds * 1_000_000 + micros, client, to_server, seq, ack, bool(flags & 2),
                            tcp[(offset >> 4) * 4:]))
    return frames


def packets(stream):
    """Yields (offset, sequence number, payload) of each MySQL packet in a whole stream."""
    offset = 0
    while offset + 4 <= len(stream):
        length = int.from_bytes(stream[offset:offset + 3], "little")
        if offset + 4 + length > len(stream):
            return
        yield offset, stream[offset + 3], stream[offset + 4:offset + 4 + length]
        offset += 4 + length


def pairs_of(frames):
    """Returns one connection's pairs. The response is None if there is none."""
    base = {f.to_server: f.seq + 1 for f in frames if f.syn}
    stream, first_frame = bytearray(), {}
    for frame in frames:
        offset = frame.seq - base[frame.to_server] if frame.to_server in base else -1
        if frame.to_server and frame.payload and offset == len(stream):
            first_frame.update({position: frame for position in range(offset, offset + len(frame.payload))})
            stream += frame.payload
    statements, pairs = {}, []
    commands = [(position, payload) for position, sequence, payload in packets(stream) if sequence == 0]
    answers = (f for f in frames if not f.to_server and f.payload)
    answer = next(answers, None)
    for position, payload in commands:
        end = base[True] + position + 4 + len(payload)
        if payload[0] in UNANSWERED:
            pairs.append(Pair(first_frame[position].client, KINDS[payload[0]], b"", first_frame[position], None, ()))
            continue
        while answer is not None and answer.ack < end:
            answer = next(answers, None)
        text, parameters = b"", ()
        if payload[0] in TEXT_COMMANDS or payload[0] == 2:
            text = payload[1:1 + KEPT_TEXT_BYTES]
        elif payload[0] == 23:
            text, parameters = statements.get(struct.unpack_from("<I", payload, 1)[0], (b"", ()))
        if payload[0] == 22 and answer is not None:
            statements[struct.unpack_from("<I", answer.payload, 5)[0]] = (text, (first_frame[position], answer))
        pairs.append(Pair(first_frame[position].client, KINDS.get(payload[0], "?"), text, first_frame[position], answer, parameters))
    return pairs


def truth_of(frames):
    connections = collections.defaultdict(list)
    for frame in frames:
        connections[frame.client].append(frame)
    return [pair for connection in connections.values() for pair in pairs_of(connection)]


def times_in(damage, notes, frames):
    """Returns each original frame's time in the damaged file, in microseconds, or None if it is missing."""
    times = [f.time_us for f in frames]
    if damage == "drop":
        for note in notes:
            times[note["lost"]] = None
    elif damage == "reorder":
        order = list(range(len(frames)))
        for note in notes:
            order.insert(note["pos"] + note["moved_back"], order.pop(note["pos"]))
        times = [None] * len(frames)
        for position, number in enumerate(order):
            times[number] = frames[position].time_us
    elif damage == "midstream":
        begin = int(len(frames) * 0.3)
        times = [None] * begin + times[begin:]
    elif damage == "oneway":
        times = [t if f.to_server else None for t, f in zip(times, frames)]
    elif damage == "cut":
        times = times[:499] + [None] * (len(times) - 499)
    return times


def key_of(client, kind, statement, first_byte_us):
    return (client, kind, statement, max(first_byte_us, 0))


def truth_keys(truth, times):
    """Returns the number of pairs per key, for pairs whose heads are present. An execute has its text only if the frames
    that prepared the statement are present, too."""
    keys = collections.Counter()
    for pair in truth:
        if pair.response is None or times[pair.request.number] is None or times[pair.response.number] is None:
            continue
        named = all(times[frame.number] is not None for frame in pair.prepared)
        text = pair.statement.decode(errors="replace") if named else ""
        keys[key_of(pair.client, pair.kind, text, times[pair.response.number] - times[pair.request.number])] += 1
    return keys


def without_texts(keys):
    result = collections.Counter()
    for (client, kind, _, first_byte_us), times in keys.items():
        result[client, kind, first_byte_us] += times
    return result


def check(damage, monitor, folder, frames, truth):
    notes_file = folder / f"mysql_mix_{damage}.damage.jsonl"
    notes = [json.loads(line) for line in notes_file.read_text().splitlines()] if notes_file.exists() else []
    times = times_in(damage, notes, frames)
    possible = truth_keys(truth, times)
    flipped = {note["flip"] for note in notes if "flip" in note}
    present = truth_keys(truth, [None if number in flipped else time for number, time in enumerate(times)])
    reported, halves = collections.Counter(), collections.Counter()
    for t in oracle.tuples(monitor, "mysql_query", folder / f"mysql_mix_{damage}.pcap.zst"):
        if t["partial"] or t["kind"] in UNANSWERED.values():
            halves[t["partial"] or "unanswered"] += 1
        elif t["kind"] != "connect":
            client = f"{t['src_ip']}:{t['src_port']}"
            reported[key_of(client, t["kind"], t["statement"], t["first_byte_ns"] // 1000)] += 1
    if damage == "snap96":  # the snap length also truncates texts
        present, possible, reported = map(without_texts, (present, possible, reported))
    wrong, missing = reported - possible, present - reported
    if damage == "flip":  # a changed text is reported as captured
        wrong = without_texts(reported) - without_texts(possible)
    eligible, lost = sum(present.values()), sum(missing.values())
    print(f"{damage:<10} {eligible:>6} pairs, {eligible - lost:>6} right, {sum(wrong.values())} wrong; {dict(halves)}")
    for title, keys in (("wrong", wrong), ("missing", missing)):
        for key in list(keys)[:5 if "-v" in sys.argv else 0]:
            print(f"    {title} {key}")
    return not wrong and lost <= eligible * ALLOWED


def main():
    captures, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    frames = frames_of(captures / "generated" / "mysql_mix.pcap.zst", DAMAGED_FRAMES)
    truth = truth_of(frames)
    answered = sum(pair.response is not None for pair in truth)
    print(f"{len(frames)} frames, {len(truth)} commands, {answered} answered")
    results = [check(damage, monitor, captures / "generated" / "damaged", frames, truth) for damage in DAMAGES]
    return 0 if answered > 3000 and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares redis_command with a simple RESP evaluator over whole streams, and the evaluator with tshark's dissection of
the captures.

Compares commands, keys, states, error codes, sizes and both times of every command in redis_mix and in every capture
under redis/. Each remaining difference is a row of docs/reference/redis-differences.md.

usage: truth_test.py [MONITOR]
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402
import streams  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "redis-differences.md"
PORTS = {6379, 6380, 10625}
WITH_SUBCOMMAND = {"CLIENT", "CONFIG", "COMMAND", "SCRIPT", "ACL", "MEMORY"}
WITHOUT_KEY = {"PING", "HELLO", "AUTH", "COMMAND", "INFO", "CLIENT", "CONFIG", "SELECT", "MULTI", "EXEC", "QUIT", "EVAL", "EVALSHA", "MONITOR",
               "SCRIPT", "KEYS", "DBSIZE", "FLUSHALL", "SYNC", "SCAN", "UNWATCH", "ACL", "ECHO"}
SUBSCRIPTIONS = {b"subscribe", b"psubscribe", b"ssubscribe", b"unsubscribe", b"punsubscribe", b"sunsubscribe"}
MESSAGES = {b"message", b"pmessage", b"smessage"}

# A command has `words`, and is `inline` unless it is an array. `begin` and `end` are offsets in the stream.
Command = collections.namedtuple("Command", "begin end words inline")
Answer = collections.namedtuple("Answer", "begin end value")


class Cut(Exception):
    """The stream ends within a value."""


def line_at(stream, offset):
    end = stream.find(b"\n", offset)
    if end < 0:
        raise Cut
    return bytes(stream[offset:end]).removesuffix(b"\r"), end + 1


def value_at(stream, offset):
    """Returns (value, its end). The value is None, bytes, a list, or (type, content)."""
    line, offset = line_at(stream, offset)
    kind, rest = line[:1], line[1:]
    if kind in b"$=!":
        length = int(rest)
        if length < 0:
            return None, offset
        if offset + length + 2 > len(stream):
            raise Cut
        text = bytes(stream[offset:offset + length])
        return ((kind, text) if kind == b"!" else text), offset + length + 2
    if kind in b"*~>%|":
        count = int(rest)
        if count < 0:
            return None, offset
        values = []
        for _ in range(count * (2 if kind in b"%|" else 1)):
            value, offset = value_at(stream, offset)
            values.append(value)
        return ((kind, values) if kind in b">|" else values), offset
    if kind == b"_":
        return None, offset
    return (kind, rest), offset


def commands_of(stream):
    offset = 0
    try:
        while offset < len(stream):
            if stream[offset:offset + 1] == b"*":
                words, end = value_at(stream, offset)
                if words:
                    yield Command(offset, end, words, False)
            else:
                line, end = line_at(stream, offset)
                if line.split():
                    yield Command(offset, end, line.split(), True)
            offset = end
    except Cut:
        return


def answers_of(stream):
    offset = 0
    try:
        while offset < len(stream):
            value, end = value_at(stream, offset)
            yield Answer(offset, end, value)
            offset = end
    except Cut:
        return


def first_word(value):
    """Returns the first of three or more elements of an array or a push, if it is a string, else an empty one."""
    values = value[1] if isinstance(value, tuple) and value[0] == b">" else value
    return values[0] if isinstance(values, list) and len(values) >= 3 and isinstance(values[0], bytes) else b""


def is_confirmation(value):
    return first_word(value) in SUBSCRIPTIONS


def is_message(value):
    pushed = isinstance(value, tuple) and value[0] == b">"
    return pushed and not is_confirmation(value) or first_word(value) in MESSAGES


def name_of(command):
    words = [w.decode(errors="replace").upper() for w in command.words]
    return f"{words[0]} {words[1]}" if words[0] in WITH_SUBCOMMAND and len(words) > 1 else words[0]


def key_of(command):
    first = command.words[0].decode(errors="replace").upper()
    return "" if first in WITHOUT_KEY or len(command.words) < 2 else command.words[1][:1024].decode(errors="replace")


def state_of(value):
    """Returns (status, error)."""
    if value is None:
        return "nil", ""
    if isinstance(value, tuple) and value[0] in b"-!":
        return "error", value[1].split()[0].decode(errors="replace")
    return ("queued" if value == (b"+", b"QUEUED") else "ok"), ""


def unanswered(commands):
    """Returns the offsets of the commands that CLIENT REPLY leaves without a response."""
    silent, skip, result = False, False, set()
    for command in commands:
        mode = command.words[2].upper() if name_of(command) == "CLIENT REPLY" and len(command.words) > 2 else b""
        silent = mode == b"OFF" or (silent and mode != b"ON")
        if silent or (skip and mode != b"ON") or mode == b"SKIP":
            result.add(command.begin)
        skip = mode == b"SKIP" and not silent
    return result


def expected(requests, answered):
    """Returns the tuples of one connection: (command, key, status, error, first byte, last byte, bytes, bytes, partial)."""
    commands = list(commands_of(requests.data))
    quiet = unanswered(commands)
    answers, confirmations = iter([a for a in answers_of(answered.data) if not is_message(a.value)]), 0
    result = []
    for command in commands:
        about = (name_of(command), key_of(command))
        size = command.end - command.begin
        if command.begin in quiet:
            result.append((*about, "unanswered", "", 0, 0, size, 0, ""))
            continue
        answer = next(answers, None)
        while answer is not None and confirmations > 0 and is_confirmation(answer.value):
            confirmations -= 1
            answer = next(answers, None)
        if answer is None:
            result.append((*about, "", "", 0, 0, size, 0, "request"))
            continue
        if is_confirmation(answer.value):
            confirmations = max(len(command.words) - 2, 0)
        asked_ns = requests.time_ns(command.begin)
        result.append((*about, *state_of(answer.value), max(answered.time_ns(answer.begin) - asked_ns, 0),
                       max(answered.time_ns(answer.end - 1) - asked_ns, 0), size, answer.end - answer.begin, ""))
        if about[0] == "MONITOR":
            break
    return result


def reported(tuples):
    return [(t["command"], t["key"], t["status"], t["error"], t["first_byte_ns"], t["response_time_ns"], t["request_bytes"],
             t["response_bytes"], t["partial"]) for t in tuples]


def check_tshark(name, connections, records, faults):
    """Checks that each word that tshark lists for a client is one of the evaluator's, and vice versa if tshark lists all words."""
    theirs, ours, cut = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter), set()
    for record in (r for r in records if r["kind"] == "redis" and "items" in r):
        client, server = record["src"], int(record["dst"].rsplit(":", 1)[1])
        if server in PORTS:
            theirs[client].update(record["items"])
            cut |= {client} if len(record["items"]) >= 20 else set()
    for (client, _, _), (requests, _) in connections.items():
        for command in commands_of(requests.data):
            if not command.inline:
                ours[f"{client[0]}:{client[1]}"].update(w.decode(errors="replace") for w in command.words)
    words = 0
    for client, items in theirs.items():
        words += sum(items.values())
        if items - ours[client] or (client not in cut and ours[client] - items):
            faults.append(f"{name}: {client}: tshark {dict(items - ours[client])}, evaluator {dict(ours[client] - items)}")
    return words


def compare(name, capture, records, monitor, rows, faults):
    connections = streams.connections(capture, PORTS)
    truth = [pair for requests, answered in connections.values() for pair in expected(requests, answered)]
    rows += differences.rows_of(name, truth, reported(oracle.tuples(monitor, "redis_command", capture)))
    return len(truth), check_tshark(name, connections, records, faults)


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    rows, faults, commands, words = [], [], 0, 0
    compared = list(oracle.captures_with_truth(folder, ["redis"]))
    mix = folder / "generated" / "redis_mix.pcap.zst"
    compared.append(("generated/redis_mix.pcap.zst", mix, oracle.json_lines(folder / "truth" / "generated" / "redis_mix.pcap.jsonl")))
    for name, capture, records in compared:
        more = compare(name, capture, records, monitor, rows, faults)
        commands, words = commands + more[0], words + more[1]
    faults += differences.unexplained(rows, differences.known(TABLE, 13))
    for fault in faults[:100]:
        print(fault)
    print(f"{len(compared)} captures, {commands} commands, {words} words that tshark lists, too; {len(rows)} differences")
    return 1 if faults or commands < 30_000 else 0


if __name__ == "__main__":
    sys.exit(main())

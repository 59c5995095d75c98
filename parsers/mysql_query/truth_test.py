#!/usr/bin/env python3
"""Compares mysql_query with the logs of servers and clients and with tshark, and checks that it reports nothing if
there is no MySQL.

1. mysql_mix: each statement and command of the server's general log, text by text; rows and errors that clients logged;
   the times that tshark measured.
2. mysql/ and three_tier: each command that tshark sees. Each difference must be a row of
   docs/reference/mysql-differences.md with its reason, and every row there must still be a difference.
3. Other protocols that tshark mistakes for MySQL: no tuples.

usage: truth_test.py [MONITOR [--print]]      --print writes the differences as rows of that table
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "mysql-differences.md"
KEPT_TEXT_BYTES = 32 << 10
LOGGED = {"query": "Query", "prepare": "Prepare", "execute": "Execute", "close": "Close stmt", "quit": "Quit", "init_db": "Init DB",
          "connect": "Connect"}
COMMANDS = {1: "quit", 2: "init_db", 3: "query", 4: "field_list", 9: "statistics", 10: "process_info", 14: "ping", 17: "change_user",
            22: "prepare", 23: "execute", 24: "long_data", 25: "close", 26: "reset_statement", 27: "set_option", 28: "fetch"}
# Captures that contain MySQL, outside mysql/.
WITH_MYSQL = {"evasion/arkime__no-syn-ack.pcap", "generated/mysql_mix.pcap.zst", "generated/three_tier.pcap.zst",
              "tcp/pcpp__one_tcp_stream_fin_rst_close_packet.pcap"}


def zst_text(path):
    return subprocess.run(["zstd", "-dc", "--long=27", str(path)], capture_output=True, check=True).stdout.decode(errors="replace")


# The server's log

def logged_commands(path):
    """Returns (command, text) of each entry of MariaDB's general log."""
    entries = []
    for line in zst_text(path).split("\n")[3:]:
        match = re.match(r"(?:\d{6}\s+[\d:]+)?\s+\d+ (Connect|Query|Prepare|Execute|Close stmt|Quit|Init DB)(?:\s(.*))?$", line)
        if match:
            entries.append([match[1], match[2] or ""])
        elif entries:
            entries[-1][1] += "\n" + line
    entries[-1][1] = entries[-1][1].rstrip("\n")
    return entries


def without_literals(text):
    """Removes literals, since an execute is logged with the values of its parameters."""
    text = re.sub(r"\b\d+(\.\d+)?\b", "?", re.sub(r"'(?:[^'\\]|\\.|'')*'", "?", text))
    return re.sub(r"\s+", " ", text).strip()


def comparable(command, text):
    if command == "Execute":
        return command, without_literals(text)
    # In a truncated text, U+FFFD replaces a character that was cut; this drops it.
    return command, text.encode()[:KEPT_TEXT_BYTES].decode(errors="ignore") if command in ("Query", "Prepare") else ""


def compare_with_log(folder, tuples):
    log = collections.Counter(comparable(*entry) for entry in logged_commands(folder / "mysql_mix.server_general.log.zst"))
    ours = collections.Counter(comparable(LOGGED[t["kind"]], t["statement"]) for t in tuples if t["kind"] in LOGGED)
    print(f"mysql_mix: {sum(log.values())} entries of the general log, {log_total(log, 'Execute')} executes; "
          f"{sum(ours.values())} of ours, {log_total(ours, 'Execute')} executes")
    return differences.rows_of("generated/mysql_mix.pcap.zst", log.elements(), ours.elements(), "log")


def log_total(counter, command):
    return sum(times for (logged, _), times in counter.items() if logged == command)


# The clients' log

def compare_with_clients(folder, tuples):
    """Returns the number of faults: operations in the clients' logs that were not reported or were reported
    differently, and reports without such an operation."""
    ours = collections.defaultdict(list)
    for t in tuples:
        if t["src_ip"] == "10.2.0.11" and t["kind"] in ("query", "ping") and not t["statement"].startswith("SET AUTOCOMMIT"):
            ours[t["src_port"]].append(t)
    operations, wrong = 0, 0
    for line in zst_text(folder / "mysql_mix.client_ops.jsonl.zst").splitlines():
        operation = json.loads(line)
        queue = ours[operation["cport"]]
        if not queue:
            print(f"not reported: {operation}")
            wrong += 1
            continue
        seen = queue.pop(0)
        operations += 1
        if not same_operation(operation, seen):
            print(f"reported differently: {operation} {seen}")
            wrong += 1
    left = sum(map(len, ours.values()))
    print(f"mysql_mix: {operations} operations that clients logged, {wrong} reported differently, {left} reported in addition")
    return wrong + left


def same_operation(operation, seen):
    text = operation["sql"] or ""
    same_text = seen["statement"].startswith(text[:80]) if "...(" in text else seen["statement"] == text
    # The client counts only the first result's rows, and its latency includes its own processing time.
    rows = seen["rows"] if seen["rows"] else seen["affected_rows"]
    same_rows = operation["err"] is not None or seen["results"] > 1 or operation["sql"] is None or rows == operation["rows"]
    same_error = seen["error_code"] == (operation["err"] or 0)
    return same_text and same_rows and same_error and seen["response_time_ns"] <= operation["latency"] * 1e9 + 1000


# tshark

def compare_times(records, tuples):
    """Returns the number of tshark's times to a response's first byte that we don't report to the microsecond, and their
    total number."""
    commands = {}
    for record in records:
        if record["kind"] == "mysql_cmd":
            commands[record["stream"], record["frame"]] = record
    theirs = collections.Counter()
    for record in records:
        command = commands.get((record.get("stream"), record.get("request_in")))
        if record["kind"] == "mysql_resp" and command is not None and "ts_first" not in command:
            theirs[command["src"], COMMANDS.get(command["command"]), round(float(record["time_since_request"]) * 1e6)] += 1
    ours = collections.Counter((f"{t['src_ip']}:{t['src_port']}", t["kind"], t["first_byte_ns"] // 1000) for t in tuples)
    tshark_only = theirs - ours
    print(f"mysql_mix: {sum(theirs.values())} response times measured by tshark, {sum(tshark_only.values())} reported differently")
    for key in list(tshark_only)[:5]:
        print(f"    {key}")
    return sum(tshark_only.values()), sum(theirs.values())


def tshark_commands(records):
    commands = collections.Counter()
    for record in records:
        if record["kind"] == "mysql_login":
            commands["connect", ""] += 1
        elif record["kind"] == "mysql_cmd":
            kind = COMMANDS.get(record["command"], f"command {record['command']}")
            commands[kind, differences.cell(record.get("query") or "") if kind in ("query", "prepare") else ""] += 1
    return commands


def our_commands(tuples):
    return collections.Counter((t["kind"], differences.cell(t["statement"]) if t["kind"] in ("query", "prepare") else "") for t in tuples if t["kind"])


def truth_of(folder, capture):
    return oracle.json_lines(folder / "truth" / (capture.removesuffix(".zst") + ".jsonl"))


def compare_with_tshark(folder, monitor):
    rows, total = [], 0
    captures = sorted(f"mysql/{path.name}" for path in (folder / "mysql").iterdir()) + ["generated/three_tier.pcap.zst"]
    for capture in captures:
        theirs = tshark_commands(truth_of(folder, capture))
        ours = our_commands(oracle.tuples(monitor, "mysql_query", folder / capture))
        rows += differences.rows_of(capture, theirs.elements(), ours.elements())
        total += sum(theirs.values())
    print(f"{len(captures)} captures, {total} commands that tshark sees, {len(rows)} differences")
    return rows


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    generated = folder / "generated"
    tuples = oracle.tuples(monitor, "mysql_query", generated / "mysql_mix.pcap.zst")
    compared = compare_with_log(generated, tuples) + compare_with_tshark(folder, monitor)
    faults = differences.faults_of(compared, differences.known(TABLE, 6))
    faults += compare_with_clients(generated, tuples)
    otherwise, times = compare_times(truth_of(folder, "generated/mysql_mix.pcap.zst"), tuples)
    faults += otherwise > times / 1000 or times < 70_000
    faults += oracle.noisy_captures(folder, monitor, "mysql_query", lambda name: name.startswith("mysql/") or name in WITH_MYSQL)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

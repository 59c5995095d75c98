#!/usr/bin/env python3
"""Runs every parser over all reference captures. Each parser must be silent where its protocol is absent.

tshark's frame counts by protocol decide whether a capture has a protocol. Parsers examine only the payload, but tshark
also relies on ports, so it misses some traffic. Tuples from a capture in which tshark sees none of a parser's protocol
must have a row in docs/reference/false-positives.md with the reason. A monitor runs once over each capture, with all
parsers.

usage: silence_test.py [MONITOR [--print]]      --print writes the summary of that document
"""

import collections
import concurrent.futures
import os
import subprocess
import sys

import differences
import oracle

TABLE = oracle.ROOT / "docs" / "reference" / "false-positives.md"


def counts(monitor, capture):
    """Returns the number of tuples by parser, or None for a file that the monitor rejects."""
    command = [str(monitor), "--parser", ",".join(oracle.PROTOCOLS), "--pcap", str(capture), "--output", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        by_parser = collections.Counter(line.split(b'"', 4)[3].decode() for line in run.stdout)
        errors = run.stderr.read().decode(errors="replace")
    if run.returncode == 1 and "error: " in errors:
        return None
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exited with {run.returncode}: {errors}")
    return by_parser


def captures_and_silent(folder):
    """Yields (name, path, parsers that should be silent); there are none for a capture that tshark could not read."""
    for name, capture, records in oracle.captures_with_truth(folder):
        yield name, capture, [parser for parser in oracle.PROTOCOLS if not oracle.speaks(parser, records)]


def summary(silent, loud):
    lines = ["| Parser | Captures without its protocol | Silent | Others, explained below |", "|---|---|---|---|"]
    return lines + [f"| {parser} | {silent[parser] + loud[parser]:,} | {silent[parser]:,} | {loud[parser]} |" for parser in oracle.PROTOCOLS]


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    silent, loud, faults, captures = collections.Counter(), collections.Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [(name, parsers, pool.submit(counts, monitor, capture)) for name, capture, parsers in captures_and_silent(folder)]
        for name, parsers, run in runs:
            if run.result() is None:
                continue
            captures += 1
            for parser in parsers:
                (loud if run.result()[parser] else silent)[parser] += 1
                if run.result()[parser]:
                    faults.append((name, parser, str(run.result()[parser])))
    if "--print" in sys.argv:
        print("\n".join(summary(silent, loud)))
    text = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    wrong = [f"not in the document: {line}" for line in summary(silent, loud)[2:] if line not in text]
    wrong += differences.unexplained(faults, differences.known(TABLE, 4) if text else {})
    for line in wrong:
        print(line)
    print(f"{captures} captures, {sum(silent.values())} times silent, {len(faults)} times not")
    return 1 if wrong or captures == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

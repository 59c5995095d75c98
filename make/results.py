#!/usr/bin/env python3
"""Reads the JUnit reports of ctest, Surefire and vitest, and prints the slowest tests and those that were skipped.

  make/results.py REPORT…     files or folders

A test that is skipped within a passing program (a GoogleTest case, a Python test) is found in the program's output.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

SLOWEST = 10
GOOGLETEST_SKIPPED = re.compile(r"^\[  SKIPPED \] ([\w/]+\.[\w/]+)(?:, where .*)?$", re.MULTILINE)
GOOGLETEST_ALL_SKIPPED = re.compile(r"^\[  PASSED  \] 0 tests", re.MULTILINE)
UNITTEST_SKIPPED = re.compile(r"^Ran (\d+) tests? in .*\n\nOK \(skipped=(\d+)\)", re.MULTILINE)
REASON = re.compile(r"^(?:SKIPPED: (.+)|\S+: Skipped\n(.+))$", re.MULTILINE)  # printed by scripts and by GoogleTest


@dataclass
class Results:
    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)  # (name, reason)
    seconds: dict = field(default_factory=dict)  # by test

    def add(self, more):
        self.passed += more.passed
        self.failed += more.failed
        self.skipped += more.skipped
        self.seconds.update(more.seconds)


def reason_of(skipped, output):
    """Returns the reason that the test printed, or else the runner's."""
    if match := REASON.search(output):
        return match[1] or match[2]
    text = skipped.get("message") or (skipped.text or "").strip()
    return "" if text.startswith("SKIP_") else text.removeprefix("SKIPPED: ").partition("\n")[0]


def skipped_within(program, output):
    if GOOGLETEST_ALL_SKIPPED.search(output):
        return []
    names = dict.fromkeys(GOOGLETEST_SKIPPED.findall(output))
    skipped = [(f"{program}: {name}", "") for name in names]
    if unittest := UNITTEST_SKIPPED.search(output):
        skipped.append((program, f"{unittest[2]} of its {unittest[1]} tests"))
    return skipped


def read_case(case, results):
    suite, name = case.get("classname", ""), case.get("name")
    owner = suite.rpartition("/")[2] if "/" in suite else suite.rpartition(".")[2]  # a vitest file, a Java class
    title = name if suite in ("", name) else f"{owner}: {name}"
    output = "".join(text for element in case.iter("system-out") for text in element.itertext())
    results.seconds[title] = results.seconds.get(title, 0.0) + float(case.get("time", "0").replace(",", ""))
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        results.failed.append(title)
    elif skipped is not None:
        results.skipped.append((title, reason_of(skipped, output)))
    else:
        results.passed += 1
        results.skipped += skipped_within(title, output)


def read(reports, since=0.0):
    """Returns the results in reports written since this time, in seconds since the epoch."""
    results = Results()
    for report in map(pathlib.Path, reports):
        for file in sorted(report.rglob("*.xml")) if report.is_dir() else [report]:
            if file.exists() and file.stat().st_mtime >= since:
                for case in ElementTree.parse(file).getroot().iter("testcase"):
                    read_case(case, results)
    return results


def slowest(results):
    ranked = sorted(results.seconds.items(), key=lambda item: -item[1])[:SLOWEST]
    return [f"{seconds:8.1f} s  {name}" for name, seconds in ranked]


def skips(results):
    return [f"  {name}" + (f" ({reason})" if reason else "") for name, reason in results.skipped]


def main():
    results = read(sys.argv[1:])
    print("Slowest:", *slowest(results), sep="\n")
    if results.skipped:
        print("Skipped:", *skips(results), sep="\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs every capture in evasion/ and malformed/ through every parser: there must be no crash, hang or memory growth.

Each capture runs in a separate monitor, for at most 60 s and with at most 192 MiB more memory than a harmless capture
takes. In the sanitized build, the monitor is also sanitized, and any finding is a failure. A file that is not a capture
may be rejected with an error.

usage: hostile_test.py [MONITOR]
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import oracle

SECONDS = 60
GROWTH_KB = 192 << 10
FINDINGS = ("Sanitizer", "runtime error:")


def all_parsers(monitor):
    listed = subprocess.run([str(monitor), "--list-parsers"], capture_output=True, check=True).stdout
    # Queue parsers need two taps.
    return ",".join(parser["name"] for parser in json.loads(listed)["parsers"] if not parser["queues"])


def run(monitor, parsers, capture):
    """Returns the exit code (None if it hung), standard error and peak memory in KiB."""
    command = [str(monitor), "--parser", parsers, "--pcap", str(capture), "--output", "json"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        end = time.monotonic() + SECONDS
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                process.returncode = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() > end:
                process.kill()
                process.wait()
                return None, "", 0
            time.sleep(0.005)
        errors.seek(0)
        return process.returncode, errors.read().decode(errors="replace"), usage.ru_maxrss


def fault(code, errors, memory_kb, usual_kb):
    """Returns a run's fault, or an empty string."""
    if code is None:
        return f"still running after {SECONDS} s"
    if any(finding in errors for finding in FINDINGS):
        return errors[-2000:]
    if code not in (0, 1):
        return f"exit code {code}: {errors[-500:]}"
    if code == 1 and "error:" not in errors:
        return f"refused without an error: {errors[-500:]}"
    if memory_kb > usual_kb + GROWTH_KB:
        return f"{memory_kb >> 10} MiB of memory; a harmless capture takes {usual_kb >> 10} MiB"
    return ""


def main():
    folder, monitor = oracle.captures_or_skip(), oracle.monitor_or_skip()
    parsers = all_parsers(monitor)
    code, errors, usual_kb = run(monitor, parsers, folder / "http" / sorted(os.listdir(folder / "http"))[0])
    if code != 0:
        print(f"the harmless capture failed with {code}: {errors}")
        return 1
    captures = [path for area in ("evasion", "malformed") for path in sorted((folder / area).iterdir())]
    faults, refused = 0, 0
    for capture in captures:
        code, errors, memory_kb = run(monitor, parsers, capture)
        refused += code == 1
        wrong = fault(code, errors, memory_kb, usual_kb)
        if wrong:
            faults += 1
            print(f"{capture.parent.name}/{capture.name}: {wrong}")
    print(f"{len(captures)} captures, {refused} refused, {faults} faults")
    return 1 if faults or not captures or refused > len(captures) // 4 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs a tutorial's console sessions and compares their output with the tutorial's.

usage: tutorial_test.py TUTORIAL.md MONITOR [FOLDER BUILD]

MONITOR replaces build/bin/tapline-monitor. Commands run in FOLDER or, by default, in the repository; $TAPLINE is the
repository, with BUILD as its build folder.
"""

import pathlib
import shlex
import subprocess
import sys

from extract_tutorial import ROOT, blocks


def main():
    tutorial, monitor = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder, build = sys.argv[3:] or (ROOT, ROOT / "build")
    sessions = [code for kind, _, _, code in blocks(tutorial) if kind == "run"]
    failures = 0
    monitors = ("build/bin/tapline-monitor", f"{build}/bin/tapline-monitor")
    for session in sessions:
        first, _, shown = session.partition("\n")
        first = first.replace("$TAPLINE/build", str(build)).replace("$TAPLINE", str(ROOT))
        command = [monitor if word in monitors else word for word in shlex.split(first.removeprefix("$ "))]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        if run.returncode != 0 or run.stdout != shown:
            failures += 1
            print(f"{first}\nexited with {run.returncode} and printed\n{run.stdout}{run.stderr}instead of\n{shown}")
    if not sessions:
        print(f"no console session in {tutorial}")
    return 1 if failures or not sessions else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the comparisons with recorded truth share: the reference captures, the monitor, the table of known differences."""

import fnmatch
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
# What tshark calls the protocol of a parser: its traffic.json says it.
PROTOCOLS = {path.parent.name: set(json.loads(path.read_text())["protocols"])
             for path in sorted((ROOT / "parsers").glob("*/traffic.json"))}


def captures_or_skip():
    """The folder of reference captures, named by TAPLINE_CAPTURES; ends the program as skipped where there is none."""
    folder = pathlib.Path(os.environ.get("TAPLINE_CAPTURES", ROOT.parent / "shared" / "traces"))
    if (folder / "truth").is_dir():
        return folder
    print(f"SKIPPED: no reference captures in {folder} (set TAPLINE_CAPTURES)")
    sys.exit(SKIPPED)


def monitor_or_skip():
    """The monitor to ask: the first argument. Built without DPDK, there is none."""
    monitor = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "bin" / "tapline-monitor")
    if monitor.is_file():
        return monitor
    print(f"SKIPPED: no monitor at {monitor}")
    sys.exit(SKIPPED)


def tuples(monitor, parser, capture):
    """The parser's tuples of one capture, in the order in which they were emitted."""
    command = [str(monitor), "--parser", parser, "--pcap", str(capture), "--output", "json"]
    run = subprocess.run(command, capture_output=True, timeout=120, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exited with {run.returncode}: {run.stderr.decode(errors='replace')}")
    return [json.loads(line) for line in run.stdout.decode(errors="replace").splitlines()]


def json_lines(path):
    """Records of a .jsonl file, or of its .zst."""
    if path.exists():
        data = path.read_bytes()
    else:
        compressed = path.with_name(path.name + ".zst")
        data = subprocess.run(["zstd", "-dc", "--long=27", str(compressed)], capture_output=True, check=True).stdout
    return [json.loads(line) for line in data.decode(errors="replace").splitlines()]


def captures_with_truth(folder, areas=None):
    """(name, path, records of the truth) of each capture that has some and that the monitor can read."""
    for area in areas or sorted(p.name for p in (folder / "truth").iterdir()):
        for capture in sorted((folder / area).iterdir()):
            truth = folder / "truth" / area / (capture.name.removesuffix(".zst") + ".jsonl")
            if truth.exists() or truth.with_name(truth.name + ".zst").exists():
                yield f"{area}/{capture.name}", capture, json_lines(truth)


def speaks(parser, records):
    """Whether tshark saw the parser's protocol in a capture with this truth; where it did not look, it may be there."""
    summary = next((r for r in records if r["kind"] == "summary"), None)
    return summary is None or bool(PROTOCOLS[parser] & summary["protocols"].keys())


def captures_to_compare(folder, parser, table=()):
    """As captures_with_truth(), of captures with the parser's protocol and of those that the rows of a table name. That parsers are
    silent in all others is silence_test.py's matter."""
    for name, capture, records in captures_with_truth(folder):
        if speaks(parser, records) or any(fnmatch.fnmatchcase(name, row[0]) for row in table):
            yield name, capture, records


def tuples_if_readable(monitor, parser, capture):
    """As tuples(); nothing for a capture that the monitor refuses because of its link type or its form."""
    try:
        return tuples(monitor, parser, capture)
    except RuntimeError as error:
        if "exited with 1: " in str(error) and "error: " in str(error):
            return None
        raise

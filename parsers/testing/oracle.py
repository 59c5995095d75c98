"""Code shared by comparisons with recorded truth: the reference captures, the monitor, and encodings."""

import fnmatch
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
# Maps each parser to tshark's names for its protocol, from its traffic.json.
PROTOCOLS = {path.parent.name: set(json.loads(path.read_text())["protocols"])
             for path in sorted((ROOT / "parsers").glob("*/traffic.json"))}


def captures_or_skip():
    """Returns the folder of reference captures that TAPLINE_CAPTURES names. Ends the program as skipped if the folder does not
    exist."""
    folder = pathlib.Path(os.environ.get("TAPLINE_CAPTURES", ROOT.parent / "shared" / "traces"))
    if (folder / "truth").is_dir():
        return folder
    print(f"SKIPPED: no reference captures in {folder} (set TAPLINE_CAPTURES)")
    sys.exit(SKIPPED)


def monitor_or_skip():
    """Returns the monitor: the first argument, or else the build's. If there is none (a build without DPDK), ends the
    program as skipped."""
    monitor = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "bin" / "tapline-monitor")
    if monitor.is_file():
        return monitor
    print(f"SKIPPED: no monitor at {monitor}")
    sys.exit(SKIPPED)


ZERO = {"u64": 0, "i64": 0, "f64": 0.0, "bool": False, "string": ""}


@functools.cache
def zeros(monitor, parser):
    """Returns, by field, the value that stands for an unknown value in the truth: the zero of the field's type."""
    run = subprocess.run([str(monitor), "--list-parsers"], capture_output=True, check=True, timeout=60)
    catalogue = json.loads(run.stdout)["parsers"]
    return {f["name"]: ZERO[f["type"]] for p in catalogue if p["name"] == parser for f in p["fields"] if "common" not in f}


UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f%"
                        "\udc80-\udcff]")


def encoded(data, kept=""):
    """Encodes bytes as full() in docs/reference/texts.md does."""
    escape = lambda c: c if c in kept else "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogateescape"))
    return UNREADABLE.sub(lambda match: escape(match[0]), data.decode("utf-8", "surrogateescape"))


def as_sent(text, kept=""):
    """Decodes a string from a tuple to the text that was sent; each byte that is not UTF-8 becomes U+FFFD."""
    decoded = urllib.parse.unquote_to_bytes(text)
    if "%" not in text or encoded(decoded, kept) != text:
        return text
    return re.sub("[\udc80-\udcff]", "\ufffd", decoded.decode("utf-8", "surrogateescape"))


def read_value(name, value, zero):
    if value is None:
        return zero[name]
    return as_sent(value, "\t\n\r" if name == "statement" else "") if isinstance(value, str) else value


def tuples(monitor, parser, capture):
    """Returns the parser's tuples of one capture, in the order of emission, with strings as they were sent and absent
    values as in the truth."""
    command = [str(monitor), "--parser", parser, "--pcap", str(capture), "--output", "json"]
    run = subprocess.run(command, capture_output=True, timeout=120, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exited with {run.returncode}: {run.stderr.decode(errors='replace')}")
    zero = zeros(monitor, parser)
    read = (json.loads(line) for line in run.stdout.decode(errors="replace").splitlines())
    return [{name: read_value(name, value, zero) for name, value in t.items()} for t in read]


def json_lines(path):
    """Returns the records in a .jsonl file, which may be compressed (.jsonl.zst)."""
    if path.exists():
        data = path.read_bytes()
    else:
        compressed = path.with_name(path.name + ".zst")
        data = subprocess.run(["zstd", "-dc", "--long=27", str(compressed)], capture_output=True, check=True).stdout
    return [json.loads(line) for line in data.decode(errors="replace").splitlines()]


def captures_with_truth(folder, areas=None):
    """Yields (name, path, records) for each capture that has tshark's records."""
    for area in areas or sorted(p.name for p in (folder / "truth").iterdir()):
        for capture in sorted((folder / area).iterdir()):
            truth = folder / "truth" / area / (capture.name.removesuffix(".zst") + ".jsonl")
            if truth.exists() or truth.with_name(truth.name + ".zst").exists():
                yield f"{area}/{capture.name}", capture, json_lines(truth)


def speaks(parser, records):
    """Returns True if tshark saw the parser's protocol in a capture with these records, or did not examine the
    capture."""
    summary = next((r for r in records if r["kind"] == "summary"), None)
    return summary is None or bool(PROTOCOLS[parser] & summary["protocols"].keys())


def captures_to_compare(folder, parser, table=()):
    """Does the same as captures_with_truth(), but only for captures with the parser's protocol and those named in a
    table's rows. silence_test.py checks that parsers are silent in all others."""
    for name, capture, records in captures_with_truth(folder):
        if speaks(parser, records) or any(fnmatch.fnmatchcase(name, row[0]) for row in table):
            yield name, capture, records


def tuples_if_readable(monitor, parser, capture):
    """Returns the same as tuples(), or None for a capture that the monitor rejects because of its link type or format."""
    try:
        return tuples(monitor, parser, capture)
    except RuntimeError as error:
        if "exited with 1: " in str(error) and "error: " in str(error):
            return None
        raise


def noisy_captures(folder, monitor, parser, has_protocol):
    """Returns the number of captures in which tshark mistakes other traffic for the parser's protocol and for which the
    parser emits tuples. `has_protocol` is true for the names of captures that contain the protocol. silence_test.py covers
    captures in which tshark sees none."""
    noisy = 0
    for name, capture, _ in captures_to_compare(folder, parser):
        tuples_of_it = [] if has_protocol(name) else tuples_if_readable(monitor, parser, capture)
        if tuples_of_it:
            noisy += 1
            print(f"{name}: {len(tuples_of_it)} tuples of {parser}, whose protocol it does not contain")
    return noisy

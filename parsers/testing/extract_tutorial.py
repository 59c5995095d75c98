#!/usr/bin/env python3
"""Extracts the code of a tutorial: whole files, and lines added to existing files.

A code block counts if an HTML comment before it states its kind:
  <!-- file: PATH -->                 a new file
  <!-- line: PATH after "TEXT" -->    a line for an existing file, after the line that contains TEXT
  <!-- run -->                        a console session: "$ COMMAND", then its output

usage: extract_tutorial.py TUTORIAL.md OUTPUT_FOLDER      writes new files, and copies of existing ones with the lines added
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- (file|line|run)(?:: (\S+))?(?: after \"([^\"]+)\")? -->\n```\w+\n(.*?)```", re.DOTALL)


def blocks(tutorial):
    """Returns (kind, path, after, code) for each marked block."""
    return [match.groups() for match in BLOCK.finditer(tutorial.read_text(encoding="utf-8"))]


def with_line(text, after, line):
    """Returns the text with the line added after the one that contains `after`. Keeps backslash continuations
    intact."""
    lines = text.splitlines(keepends=True)
    positions = [i for i, existing in enumerate(lines) if after in existing]
    if len(positions) != 1:
        raise ValueError(f'{len(positions)} lines contain "{after}", expected one')
    position = positions[0]
    # The macro's list now has another last line, so the previous one needs a continuation backslash.
    if line.startswith("  PARSER("):
        lines[position] = lines[position].rstrip("\n") + " \\\n"
    lines.insert(position + 1, line)
    return "".join(lines)


def extract(tutorial, output):
    """Writes the tutorial's files below the output folder."""
    for kind, path, after, code in blocks(tutorial):
        if kind == "run":
            continue
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(code if kind == "file" else with_line((ROOT / path).read_text(encoding="utf-8"), after, code),
                          encoding="utf-8")


if __name__ == "__main__":
    extract(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))

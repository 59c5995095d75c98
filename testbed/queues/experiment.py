#!/usr/bin/python3
"""Runs the parts of the experiment in the namespaces of sandbox.sh, and reports: see run."""
import argparse
import datetime
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import campus  # noqa: E402
import contributors  # noqa: E402
import depth  # noqa: E402
import lab  # noqa: E402
import tapline_server  # noqa: E402

PARTS = {"depth": depth, "contributors": contributors, "campus": campus}
PAGE = HERE.parents[1] / "docs" / "explanation" / "conquest.md"
BEGIN, END = "<!-- begin testbed/queues -->\n", "<!-- end testbed/queues -->\n"


def write_docs(tables):
  """Replaces the tables of the page."""
  before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
  _, after = rest.split(END)
  text = f"On {datetime.date.today():%-d %B %Y}, {os.cpu_count()} cores:\n\n{tables}"
  PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--only", default=",".join(PARTS))
  parser.add_argument("--seconds", type=int, default=20)
  parser.add_argument("--out", type=pathlib.Path)
  parser.add_argument("--write-docs", action="store_true")
  options = parser.parse_args()
  out = PAGE.with_name("queues") if options.write_docs else options.out
  if out:
    out.mkdir(exist_ok=True)
  results, tables, missed = {}, [], []
  for name in options.only.split(","):
    lab.say(f"{name}: sends for {options.seconds} s…")
    results[name], misses = PARTS[name].run(options.seconds, pathlib.Path(name), out)
    tables.append(PARTS[name].table(results[name]))
    missed += [f"{name}: not as required: {text}" for text in misses]
  print("\n".join(tables), end="")
  if options.out:
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
  for text in missed:
    lab.say(f"queues: {text}")
  if options.write_docs and not missed:
    write_docs("\n".join(tables))
  return 1 if missed else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except (lab.Wrong, tapline_server.Wrong) as wrong:
    print(f"queues: {wrong}", file=sys.stderr)
    sys.exit(1)

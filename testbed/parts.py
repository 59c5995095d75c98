"""Runs the parts of an experiment in the experiment's namespaces, and reports the results (see parts.sh).

A part is a module with two functions. run(seconds, folder, out) writes figures to `out`, unless it is None, and CSV with
details to `folder`; it returns results for JSON, and the unmet requirements. table(results) returns Markdown.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import sys

import programs
import tapline_server

EXPLANATIONS = pathlib.Path(__file__).resolve().parents[1] / "docs" / "explanation"


def write_docs(page, experiment, tables):
  """Replaces the tables between the experiment's markers in a page of the docs."""
  begin, end = f"<!-- begin testbed/{experiment} -->\n", f"<!-- end testbed/{experiment} -->\n"
  before, rest = page.read_text(encoding="utf-8").split(begin)
  _, after = rest.split(end)
  text = f"On {datetime.date.today():%-d %B %Y}, {os.cpu_count()} cores:\n\n{tables}"
  page.write_text(before + begin + text + end + after, encoding="utf-8")


def run(experiment, parts, page):
  """Runs the parts that the arguments name. Returns the exit code."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--only", default=",".join(parts))
  parser.add_argument("--seconds", type=int, default=20)
  parser.add_argument("--out", type=pathlib.Path)
  parser.add_argument("--write-docs", action="store_true")
  options = parser.parse_args()
  out = EXPLANATIONS / experiment if options.write_docs else options.out
  if out:
    out.mkdir(exist_ok=True)
  results, tables, missed = {}, [], []
  for name in options.only.split(","):
    programs.say(f"{name}: sends for {options.seconds} s…")
    results[name], misses = parts[name].run(options.seconds, pathlib.Path(name), out)
    tables.append(parts[name].table(results[name]))
    missed += [f"{name}: requirement not met: {text}" for text in misses]
  print("\n".join(tables), end="")
  if options.out:
    for path in pathlib.Path().glob("*/*.csv"):
      shutil.copy(path, options.out)
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
  for text in missed:
    programs.say(f"{experiment}: {text}")
  if options.write_docs and not missed:
    write_docs(EXPLANATIONS / page, experiment, "\n".join(tables))
  return 1 if missed else 0


def main(experiment, parts, page):
  """Runs an experiment with these parts, and exits. --write-docs updates its tables in docs/explanation/`page`."""
  try:
    sys.exit(run(experiment, parts, page))
  except (programs.Wrong, tapline_server.Wrong) as wrong:
    print(f"{experiment}: {wrong}", file=sys.stderr)
    sys.exit(1)

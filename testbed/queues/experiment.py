#!/usr/bin/python3
"""Runs the parts of the experiment in the namespaces of sandbox.sh, and reports the results (see run)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import campus  # noqa: E402
import contributors  # noqa: E402
import depth  # noqa: E402
import parts  # noqa: E402

if __name__ == "__main__":
  parts.main("queues", {"depth": depth, "contributors": contributors, "campus": campus}, "conquest.md")

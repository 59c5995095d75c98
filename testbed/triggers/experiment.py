#!/usr/bin/python3
"""Runs the parts of the experiment in the namespaces of sandbox.sh, and reports the results (see run)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import congestion  # noqa: E402
import errors  # noqa: E402
import flood  # noqa: E402
import losses  # noqa: E402
import parts  # noqa: E402

if __name__ == "__main__":
  parts.main("triggers", {"congestion": congestion, "losses": losses, "flood": flood, "errors": errors}, "trumpet.md")

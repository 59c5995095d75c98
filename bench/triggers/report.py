#!/usr/bin/env python3
"""Converts the JSON of bench_triggers --part feasible to feasible.csv and SVG plots next to it: feasible-windows.svg and
feasible-flows.svg, the rate that a core sustains by triggers per packet, and feasible-groups.svg, by groups, as in Trumpet's
Figure 13. Prints the points at which the model is off by more than a quarter.

  python3 bench/triggers/report.py FILE"""
import csv
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testbed"))
from plot import Chart

COLUMNS = ["panel", "line", "x", "million_packets_per_second", "late", "match_sets", "groups_a_window", "engine_ns", "model_ns", "model_error"]
AXES = {"windows": "triggers per packet", "flows": "triggers per packet", "groups": "flows, each with its own group"}


def points_of(path):
  with open(path, encoding="utf-8") as file:
    points = [row for row in json.load(file) if row["part"] == "feasible" and "panel" in row]
  if not points:
    sys.exit(f"error: {path} has no rows of the part feasible: write it with bench_triggers --json --part feasible")
  return points


def write_csv(points, path):
  with open(path, "w", newline="", encoding="utf-8") as file:
    writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(points)


def chart(points, panel):
  own = [point for point in points if point["panel"] == panel]
  xs = [point["x"] for point in own]
  top = max(point["million_packets_per_second"] for point in own)
  chart = Chart("Rate that a core sustains", AXES[panel], "million packets/s", (min(xs), max(xs)), top, log_x=True)
  for line in dict.fromkeys(point["line"] for point in own):
    chart.line(line, [(point["x"], point["million_packets_per_second"]) for point in own if point["line"] == line])
  chart.line("14.88: 10 Gb/s of 64-byte frames", [(min(xs), 14.88), (max(xs), 14.88)])
  return chart


def main():
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  points = points_of(sys.argv[1])
  folder = os.path.dirname(os.path.abspath(sys.argv[1]))
  write_csv(points, os.path.join(folder, "feasible.csv"))
  for panel in AXES:
    with open(os.path.join(folder, f"feasible-{panel}.svg"), "w", encoding="utf-8") as file:
      file.write(chart(points, panel).svg())
  far = [point for point in points if abs(point["model_error"]) > 0.25]
  print(f"{len(points) - len(far)} of {len(points)} points within 25 % of the model")
  for point in far:
    print(f"{point['panel']}, {point['line']}, {point['x']:g}: {point['engine_ns']:.1f} ns, model {point['model_ns']:.1f} ns")


if __name__ == "__main__":
  main()

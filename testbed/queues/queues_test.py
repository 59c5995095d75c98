#!/usr/bin/env python3
"""Tests the experiment: its evaluators with synthetic packets, and each part for a few seconds with the kernel's
queue."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]
import contributors  # noqa: E402
import depth  # noqa: E402
import truth  # noqa: E402
from network_tests import NetworkTest  # noqa: E402


def row(arrival_ns, departure_ns, size):
  return {"arrival_ns": arrival_ns, "departure_ns": departure_ns, "bytes": size}


class EvaluatorsTest(unittest.TestCase):
  def test_a_packet_finds_those_that_left_since_its_arrival(self):
    # Flow 1 leaves at 10, 20 and 40, flow 2 at 30. The last packet arrived after the first one had left.
    left = [(1, 0, 10, 100), (1, 5, 20, 200), (2, 6, 30, 400), (1, 15, 40, 800)]
    rows = truth.evaluate(left)
    self.assertEqual([(row.queue_bytes, row.own_bytes) for row in rows], [(0, 0), (100, 100), (300, 0), (600, 200)])
    self.assertEqual([rows[3].contributes(share) for share in (0.3, 0.4)], [True, False])

  def test_equal_packets_match_first_in_first_out(self):
    frame, other_frame = bytes(34) + b"\0\7" + bytes(8), bytes(34) + b"\0\10" + bytes(8)
    arrivals = [(1, 50, frame), (2, 60, other_frame), (3, 50, frame), (4, 50, frame)]
    left, lost = truth.matched(arrivals, [(11, 50, frame), (12, 60, other_frame), (13, 50, frame)])
    self.assertEqual(left, [(7, 1, 11, 50), (8, 2, 12, 60), (7, 3, 13, 50)])
    self.assertEqual(lost, 1)
    with self.assertRaisesRegex(ValueError, "never arrived"):
      truth.matched([], [(11, 50, frame)])

  def test_a_packet_that_was_stamped_late_is_out_of_order(self):
    left = [(1, arrival_ns, 10**7 + i, 100) for i, arrival_ns in enumerate((0, 2_000_000, 900_000, 1_000_000, 2_500_000))]
    self.assertEqual(truth.out_of_order(left), 1)

  def test_a_backlog_outside_of_the_depths_during_its_poll_is_an_error(self):
    rows = [row(10, 30, 100), row(20, 40, 50)]
    polls = [(12, 15, 100), (12, 25, 150), (12, 25, 120), (12, 15, 90), (12, 15, 170), (35, 38, 50), (50, 60, 7)]
    self.assertEqual(depth.errors(rows, polls), [0, 0, 0, 10, 70, 0, 7])

  def test_precision_and_recall(self):
    def pair(reported, contributing):
      return {"estimate": 90 * reported, "queue_bytes": 100}, truth.Passed(1, 0, 1, 100, 80 * contributing)
    pairs = [pair(True, True), pair(True, True), pair(True, False), pair(False, True), pair(False, False)]
    self.assertEqual(contributors.score(pairs, "estimate", 0.5), (2 / 3, 2 / 3))


class ArgumentsTest(unittest.TestCase):
  def test_wrong_arguments(self):
    for arguments, words in ((["--seconds", "0"], "--seconds takes a whole number from 1 to 999"),
                             (["--only", "width"], "--only takes depth, contributors or campus"),
                             (["--out"], "--out needs a value"),
                             (["--write-docs", "--out", "x"], "can't be used together"),
                             (["--only", "depth", "--write-docs"], "--write-docs takes all parts"), (["now"], "unknown argument 'now'")):
      run = subprocess.run([HERE / "run", *arguments], capture_output=True, text=True, check=False)
      self.assertEqual(run.returncode, 2, run.stderr)
      self.assertIn(words, run.stderr)


class KernelTest(NetworkTest):
  """Runs the parts, which compare the results with the kernel's counters and with the naive evaluator."""

  def run_part(self, part, seconds):
    with tempfile.TemporaryDirectory() as folder:
      run = subprocess.run([HERE / "run", "--only", part, "--seconds", str(seconds), "--out", folder], capture_output=True, text=True,
                           timeout=120, check=False, env={**os.environ, "TAPLINE_JAVA_OPTS": "-XX:TieredStopAtLevel=1"})
      self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
      files = sorted(path.name for path in pathlib.Path(folder).iterdir())
      return json.loads((pathlib.Path(folder) / "results.json").read_text())[part], files

  def test_depth_and_drops(self):
    result, files = self.run_part("depth", 2)
    self.assertEqual(files, ["figure14.csv", "figure14.svg", "results.json"])
    self.assertGreater(result["kernel_dropped"], 0)
    self.assertGreater(result["polls"], 500)

  def test_contributing_flows(self):
    result, files = self.run_part("contributors", 1)
    self.assertEqual(files, ["figure13-precision.svg", "figure13-recall.svg", "figure13.csv", "results.json"])
    self.assertGreater(result["compared"], 1000)
    recalls = {name: min(recall for *_, recall in points) for name, points in result["scores"].items()}
    self.assertGreater(recalls["weighted"], recalls["complete windows"])

  def test_overlapping_throughput_tests(self):
    if not (ROOT / "build" / "java" / "lib").is_dir():
      self.skipTest("bin/tapline is not built")
    result, _ = self.run_part("campus", 6)
    self.assertEqual(result["culprits"], [6001, 6002, 6003, 6004, 6005])
    self.assertRegex(result["printed"], r" [2-5] flows to 10\.41\.0\.3 filled the queue together \(incast\)")


if __name__ == "__main__":
  unittest.main(verbosity=2)

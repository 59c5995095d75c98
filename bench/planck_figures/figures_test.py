#!/usr/bin/env python3
"""Tests the tables and plots of bench/planck without ns-3."""
import os
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from estimates import largest_fall
from figures import PARTS
from results import Row, Runs, steps
from tables import replace_block, table


def made_up_results():
  """Returns the results of a run with every series that tapline-mirroring prints, with a few points each."""
  curves = ("burst", "gap", "sender_gap", "delay", "ready", "load_ready", "rolling", "estimate", "low", "high", "truth")
  figures = ("bursts_of_one", "gaps_within_13", "gap_mean", "gap_deviation", "unfairness", "lost", "throughput_mean", "bursts_within",
             "bursts_error", "all_within", "tcp_steady_error", "tcp_steady_width", "tcp_filling_bias", "udp_error",
             "load_error", "load_within", "load_width")
  quantiles = ("delay_quantile", "throughput_quantile", "ready_quantile", "ready_quantile_with_slow_start", "load_ready_quantile")
  return {**{name: [(1, 0.5), (2, 1)] for name in curves}, **{name: [(0, 0.25)] for name in figures},
          **{name: [(share, 90) for share in (0, 0.5, 0.99, 0.999, 1)] for name in quantiles}}


class FiguresTest(unittest.TestCase):
  def test_every_part_has_rows_and_plots(self):
    for name, part in PARTS.items():
      for quick in (True, False):
        figures = part(quick, 2)
        self.assertEqual(len(figures.commands()), len(set(figures.commands())), name)
        runs = Runs({command: made_up_results() for command in figures.commands()})
        self.assertTrue(figures.rows(runs), name)
        for chart in figures.charts(runs).values():
          xml.etree.ElementTree.fromstring(chart.svg())

  def test_missed_target_is_marked(self):
    self.assertEqual(Row("a", "1", "2", "<= 1", False).cells(), ["a", "1", "2", "<= 1", "**missed**"])
    self.assertEqual(Row("a", "1", "2").cells(), ["a", "1", "2", "", ""])

  def test_runs(self):
    runs = Runs({"one": {"delay": [(0, 10), (0.5, 20)]}, "two": {"delay": [(0, 30)]}, "none": {}})
    self.assertEqual(runs.value("one", "delay", 0.5), 20)
    self.assertEqual(runs.mean(["one", "two", "none"], "delay"), 20)
    self.assertEqual(runs.curve("one", "delay", scale=10, largest=4), [(0, 10)])

  def test_largest_fall(self):
    self.assertEqual(largest_fall([0, 4, 8, 6, 10, 5]), 0.5)
    self.assertEqual(largest_fall([1, 2, 3]), 0)

  def test_steps(self):
    self.assertEqual(steps([(1, 0.5), (3, 1)]), [(1, 0), (1, 0.5), (3, 0.5), (3, 1)])

  def test_only_the_block_of_a_page_is_replaced(self):
    page = "before\n<!-- begin bench/planck -->\nold\n<!-- end bench/planck -->\nafter\n"
    self.assertEqual(replace_block(page, table(["a"], [["b"]]) + "\n"),
                     "before\n<!-- begin bench/planck -->\n| a |\n|---|\n| b |\n<!-- end bench/planck -->\nafter\n")


if __name__ == "__main__":
  unittest.main()

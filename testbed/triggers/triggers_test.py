#!/usr/bin/env python3
"""Tests the experiment: its evaluators with synthetic packets, and each part for a second with real traffic."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]
import comparison  # noqa: E402
import congestion  # noqa: E402
import errors  # noqa: E402
import losses  # noqa: E402
import truth  # noqa: E402
from network_tests import NetworkTest  # noqa: E402
from truth import MS, Condition, Met  # noqa: E402

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 80)
TOTAL = Condition("total", "", sum, lambda values: sum(values) > 10, rises=True)


class Item(int):
  """A number with a time, which the evaluator accepts as an item."""

  def __new__(cls, time_ns, value):
    item = super().__new__(cls, value)
    item.time_ns = item.latest_ns = time_ns
    return item

  def until(self, latest_ns):
    self.latest_ns = latest_ns
    return self


def frame(source, target, seq=0, flags=truth.ACK, payload=b""):
  addresses = bytes(map(int, f"{source[0]}.{target[0]}".split(".")))
  tcp = struct.pack("!HHIIBBHHH", source[1], target[1], seq, 0, 0x50, flags, 0, 0, 0) + payload
  return bytes(12) + struct.pack("!HBBHHHBBH", 0x800, 0x45, 0, 20 + len(tcp), 1, 0, 64, truth.TCP, 0) + addresses + tcp


def packets(*timed_frames):
  """Returns the packets that the evaluator reads from a capture of these frames, given as (time in ns, frame)."""
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "made.pcap"
    path.write_bytes(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(data), len(data)) + data for time_ns, data in timed_frames))
    return truth.packets_in(path)


def event(window_end_ns, value, ready_ns, trigger=0):
  return {"trigger": trigger, "group": None, "window_end_ns": window_end_ns, "value": value, "ready_ns": ready_ns, "certain": True,
          "incomplete": False}


class EvaluatorTest(unittest.TestCase):
  def test_a_window_meets_a_condition_from_the_item_on_that_made_it_true(self):
    items = [Item(1 * MS, 6), Item(2 * MS, 7), Item(3 * MS, 1), Item(10 * MS, 10)]
    self.assertEqual(truth.evaluate(items, TOTAL), {(10 * MS, ""): Met((14,), 13, 2 * MS)})

  def test_overlapping_windows_share_items(self):
    condition = Condition("", "", sum, lambda values: sum(values) > 10, window_ns=30 * MS)
    met = truth.evaluate([Item(5 * MS, 6), Item(25 * MS, 7)], condition)
    self.assertEqual(met, {(30 * MS, ""): Met((13,), 13, 25 * MS)})
    members = truth.windows_of([Item(5 * MS, 6)], condition)
    self.assertEqual([end_ns // MS for end_ns, _ in members], [10, 20, 30])

  def test_an_item_of_two_times_may_be_in_two_windows(self):
    items = [Item(1 * MS, 9), Item(9 * MS, 3).until(10 * MS), Item(12 * MS, 8)]
    self.assertEqual(truth.evaluate(items, TOTAL), {(10 * MS, ""): Met((12,), 12, 9 * MS, sure=False),
                                                    (20 * MS, ""): Met((11,), 11, 12 * MS, sure=False)})
    sure = truth.evaluate([Item(1 * MS, 11), Item(9 * MS, 3).until(10 * MS)], TOTAL)
    self.assertEqual(sure, {(10 * MS, ""): Met((11, 14), 11, 1 * MS)})
    with self.assertRaises(truth.Ambiguous):
      truth.evaluate([Item(1 * MS, 1), Item(9 * MS, 3).until(20 * MS)], TOTAL)

  def test_the_times_of_two_captures(self):
    first, second, third = (bytes([i]) for i in range(3))
    # The second packet was timestamped before the first, and each capture timestamped the third packet itself.
    early = [(10, 60, first), (8, 60, second), (20, 60, third)]
    late = [(10, 60, first), (8, 60, second), (23, 60, third), (30, 60, first)]
    self.assertEqual(list(truth.stamped_twice(early, late)), [(10, 10, 60, first), (10, 10, 60, second), (20, 23, 60, third)])
    with self.assertRaises(truth.Ambiguous):
      list(truth.stamped_twice(early, late[:2]))

  def test_the_first_sender_is_the_client(self):
    there, back = packets((5, frame(CLIENT, SERVER, flags=truth.SYN)), (9, frame(SERVER, CLIENT, flags=truth.SYN | truth.ACK)))
    self.assertEqual((there.client, there.server), ("10.0.0.1 40000", "10.0.0.2 80"))
    self.assertEqual(there.flow(), back.flow())
    self.assertEqual([there.is_syn(), back.is_syn()], [True, False])

  def test_bytes_are_missing_before_a_segment_that_skips_some(self):
    begin = 2**32 - 15  # wraps
    sent = [(0, b"0123456789"), (20, b"456"), (10, b"abcdefghij"), (23, b""), (27, b"x")]
    made = packets(*((i, frame(CLIENT, SERVER, (begin + offset) % 2**32, payload=data)) for i, (offset, data) in enumerate(sent)))
    self.assertEqual([packet.missing_bytes for packet in made], [0, 10, 0, 0, 4])
    self.assertEqual([packet.payload() for packet in made], [data for _, data in sent])

  def test_time_does_not_go_back(self):
    made = packets((5, frame(CLIENT, SERVER)), (4, frame(CLIENT, SERVER)))
    self.assertEqual([packet.time_ns for packet in made], [5, 5])


class ComparisonTest(unittest.TestCase):
  ITEMS = (Item(1 * MS, 6), Item(2 * MS, 7), Item(3 * MS, 1))

  def summary(self, *events):
    found, = comparison.compare(self.ITEMS, [TOTAL], events)
    return comparison.summary(found)

  def test_an_event_in_each_window_that_met_the_condition(self):
    row = self.summary(event(10 * MS, 13, 3 * MS))
    self.assertEqual(comparison.missed([row]), [])
    self.assertEqual((row["met"], row["events"], row["ready_ms"]), (1, 1, {"p50": 1, "max": 1}))

  def test_differences(self):
    for events, key in (([], "missing"), ([event(10 * MS, 13, 3 * MS), event(20 * MS, 13, 13 * MS)], "surplus"),
                        ([event(10 * MS, 13, 3 * MS)] * 2, "surplus"), ([event(10 * MS, 12, 3 * MS)], "wrong_values"),
                        ([event(10 * MS, 13, 10 * MS)], "wrong_values"), ([event(10 * MS, 13, 1 * MS)], "wrong_times"),
                        ([event(10 * MS, 13, 11 * MS)], "wrong_times"), ([event(10 * MS, 13, 3 * MS) | {"certain": False}], "uncertain")):
      row = self.summary(*events)
      self.assertEqual(row[key], 1, (events, key))
      self.assertTrue(comparison.missed([row]))

  def test_delays_of_bursts(self):
    self.assertEqual(congestion.delays_of([0, 100 * MS, 200 * MS], [event(0, 0, 103 * MS), event(0, 0, 109 * MS)]), [None, 3, None])


class LossesTest(unittest.TestCase):
  def test_a_burst_is_reported_if_a_later_packet_shows_its_loss(self):
    arrivals = packets(*((i * MS, frame(CLIENT, SERVER, seq, payload=b"0123456789")) for i, seq in enumerate((0, 10, 20, 30, 40))),
                       (90 * MS, frame(CLIENT, SERVER, 40, truth.ACK | truth.PSH, payload=b"0123456789")))
    departures = packets(*((packet.time_ns, packet.frame) for i, packet in enumerate(arrivals) if i not in (1, 4)))
    group = departures[0].flow()
    for events, reported in (({(10 * MS, group): {}}, 1), ({}, 0)):
      account, dropped = losses.accounted(arrivals, departures, events)
      self.assertEqual([packet.seq for packet in dropped], [10, 40])
      self.assertEqual(account, {"bursts": 2, "dropped": 2, "lossy": 1, "visible": 1, "reported": reported, "causeless": 0})


class ErrorsTest(unittest.TestCase):
  def test_pairs_requests_with_responses(self):
    head = b"HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\n"
    answers = errors.answers_in(packets((1, frame(CLIENT, SERVER, 1, payload=b"GET /a HTTP/1.1\r\n\r\n")),
                                        (2, frame(SERVER, CLIENT, 1, payload=head)),
                                        (3, frame(SERVER, CLIENT, 1 + len(head), payload=b"abc"))))
    self.assertEqual(answers, [errors.Answer(3, 3, "/a", 500)])


class ArgumentsTest(unittest.TestCase):
  def test_wrong_arguments(self):
    for arguments, words in ((["--seconds", "1000"], "--seconds takes a whole number from 1 to 999"),
                             (["--only", "depth"], "triggers: --only takes congestion, losses, flood or errors"),
                             (["now"], "see testbed/triggers/run --help")):
      run = subprocess.run([HERE / "run", *arguments], capture_output=True, text=True, check=False)
      self.assertEqual(run.returncode, 2, run.stderr)
      self.assertIn(words, run.stderr)


class LinkTest(NetworkTest):
  """Runs the parts. They compare the monitor's events with captures on the same interface, so the outcome does not
  depend on timing."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not (ROOT / "build" / "java" / "lib").is_dir():
      raise unittest.SkipTest("bin/tapline is not built")

  def run_parts(self, *parts):
    with tempfile.TemporaryDirectory() as folder:
      run = subprocess.run([HERE / "run", "--only", ",".join(parts), "--seconds", "1", "--out", folder], capture_output=True, text=True,
                           timeout=240, check=False)
      self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
      files = {path.name for path in pathlib.Path(folder).iterdir()}
      for part in parts:
        self.assertLessEqual({f"{part}.csv", f"{part}.svg", f"{part}-windows.csv"}, files)
      return json.loads((pathlib.Path(folder) / "results.json").read_text())

  def test_conditions_on_packets(self):
    results = self.run_parts("congestion", "losses", "flood")
    self.assertGreaterEqual(results["congestion"]["bursts"], 1)
    self.assertGreater(results["losses"]["lossy"], 10)
    self.assertGreater(results["flood"]["spoofed"], 1000)

  def test_conditions_on_tuples(self):
    self.assertGreater(self.run_parts("errors")["errors"]["errors"], 10)


if __name__ == "__main__":
  unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Tests copies.py with packets whose times are known."""
import unittest

from copies import EPISODE_NS, Copy, errors, matched, onsets, without_waiting

SIZE = 1000
SERVICE_NS = 1_000_000
LINK = 8_000_000  # bits per second
LATE_NS = 50_000  # constant offset of the taps


def row(arrival_ns, departure_ns):
  return {"arrival_ns": arrival_ns, "departure_ns": departure_ns, "bytes": SIZE}


def crossing(arrivals, flow=b"f"):
  """Returns the arrivals and the departures of packets that arrive at these times and are sent one after another."""
  before, after, free_ns = [], [], 0
  for number, time_ns in enumerate(arrivals):
    free_ns = max(free_ns, time_ns) + SERVICE_NS
    key = number.to_bytes(4, "big") + flow
    before.append(Copy(time_ns, SIZE, key, flow, "10.0.0.1", b""))
    after.append(Copy(free_ns - SERVICE_NS + LATE_NS, SIZE, key, flow, "10.0.0.1", b""))
  return before, after


class QueueCopiesTest(unittest.TestCase):
  def test_packets_without_a_departure_are_not_in_the_queue(self):
    before, after = crossing([0] * 10)
    pairs = matched(before, after[:4] + after[5:], LINK)
    self.assertEqual([after.key for _, after, _ in pairs], [copy.key for copy in after[:4] + after[5:]])
    self.assertEqual([time_ns for _, _, time_ns in pairs], [i * SERVICE_NS for i in range(9)], "the link never pauses")

  def test_packets_that_may_still_wait_at_the_end_have_not_arrived(self):
    before, after = crossing([0] * 10)
    self.assertEqual(without_waiting(before, after[:4] + after[5:8]), before[:8])
    self.assertEqual(without_waiting(before, []), [])

  def test_a_packet_leaves_when_the_link_has_sent_the_one_before_it(self):
    before, after = crossing([0] * 10)
    after[2:6] = [copy._replace(time_ns=after[5].time_ns) for copy in after[2:6]]
    self.assertEqual([time_ns for _, _, time_ns in matched(before, after, LINK)], [i * SERVICE_NS for i in range(10)])

  def test_a_packet_has_left_when_it_is_stamped(self):
    before, after = crossing([0] * 10)
    self.assertEqual([time_ns for _, _, time_ns in matched(before, after, LINK // 2)], [i * SERVICE_NS for i in range(10)])

  def test_errors_are_differences_to_the_polls(self):
    rows = [row(0, i * SERVICE_NS) for i in range(10)]
    polls = [(-2, -1, 0), (500_000, 500_001, 9 * SIZE), (1_500_000, 1_500_001, 7 * SIZE), (20_000_000, 20_000_001, 0)]
    self.assertEqual(errors(rows, polls), [(9 * SIZE, 0), (7 * SIZE, SIZE)])

  def test_a_condition_begins_once_in_an_episode(self):
    again_ns = 10 * EPISODE_NS
    pairs = matched(*crossing([0] * 30 + [again_ns] * 30), LINK)
    events = onsets(pairs, 3 * SERVICE_NS, 0.5)
    self.assertEqual([event["time_ns"] for event in events], [3 * SERVICE_NS, again_ns + 3 * SERVICE_NS])
    self.assertEqual(onsets(pairs, 20 * SERVICE_NS, 0.5), [], "true for ten packets only")

  def test_the_share_is_that_of_the_flow(self):
    before, after = crossing([0] * 30)
    flows = [b"a", b"b", b"c"]
    before, after = ([copy._replace(flow=flows[i % 3]) for i, copy in enumerate(side)] for side in (before, after))
    self.assertEqual(onsets(matched(before, after, LINK), 0, 0.6), [])
    self.assertEqual(len(onsets(matched(before, after, LINK), 0, 0.3)), 1)


if __name__ == "__main__":
  unittest.main()

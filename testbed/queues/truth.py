"""Determines from two captures the queue that each packet found, packet by packet. Shares no code with Tapline."""
import collections
import struct
from dataclasses import dataclass

REORDERING_NS = 1_000_000  # maximum difference between a tap's order and the queue's that Tapline permits


@dataclass(frozen=True)
class Passed:
  """A packet that left. Times are in ns. When it arrived, the queue had queue_bytes, own_bytes of them from its own
  flow."""
  flow: int  # source port
  arrival_ns: int
  departure_ns: int
  queue_bytes: int
  own_bytes: int

  def contributes(self, share):
    """Returns True if the packet's flow had at least this share of the queue that the packet found."""
    return self.queue_bytes > 0 and self.own_bytes >= share * self.queue_bytes


def matched(arrivals, departures):
  """Returns (flow, arrival, departure, bytes) of the packets that left, in order, and the number of packets that never
  left.

  Equal packets match first in, first out. Raises ValueError if a packet left that never arrived."""
  waiting = collections.defaultdict(collections.deque)
  for time_ns, _, frame in arrivals:
    waiting[frame].append(time_ns)
  left = []
  for time_ns, size, frame in departures:
    if not waiting[frame]:
      raise ValueError(f"the packet that left at {time_ns} ns never arrived")
    left.append((struct.unpack_from("!H", frame, 34)[0], waiting[frame].popleft(), time_ns, size))
  return left, sum(map(len, waiting.values()))


def out_of_order(left):
  """Counts the packets that arrived more than REORDERING_NS before one that left earlier, which is possible because several
  cores timestamp and forward packets."""
  latest_ns = count = 0
  for _, arrival_ns, _, _ in left:
    count += arrival_ns < latest_ns - REORDERING_NS
    latest_ns = max(latest_ns, arrival_ns)
  return count


def evaluate(left):
  """Returns a Passed for each packet. A packet found those that left before it did, but after it had arrived (ConQuest,
  definition 3.1)."""
  result = []
  for i, (flow, arrival_ns, departure_ns, _) in enumerate(left):
    queue_bytes = own_bytes = 0
    before = i
    while before > 0 and left[before - 1][2] >= arrival_ns:
      before -= 1
      queue_bytes += left[before][3]
      own_bytes += left[before][3] if left[before][0] == flow else 0
    result.append(Passed(flow, arrival_ns, departure_ns, queue_bytes, own_bytes))
  return result

#!/usr/bin/env python3
"""Compares copies from both sides of queues with the kernel's backlog, for the tests of queries with AT.

  copies.py POLLS LINK_BITS_PER_S DELAY_NS SHARE CAPTURE=MARK,...  ...

Reads captures of copies (nanosecond pcap) and the polls of backlog.py, in which the first device has mark 1, the second
mark 2, and so on. Prints a line of JSON for each queue: the number of packets that arrived, left and were matched,
without packets that may still wait when the capture ends; the number of arrivals by source address; for each poll at which the queue was not empty, according to
the kernel or to the copies, the kernel's bytes and the error of the bytes that Tapline computes from the copies; the
number of polls that took longer than 200 us, which are left out; and the sources and times at which flows began to meet
the condition on delay and share.
"""
import collections
import json
import pathlib
import socket
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import depth  # noqa: E402
import lab  # noqa: E402
from pcap_file import packets_of, write_packets  # noqa: E402

MARK = bytes.fromhex("027a9100")
ETHERNET, UDP = 14, 17
EPISODE_NS = 300_000_000  # a condition begins again after it was false for this long
LONGEST_POLL_NS = 200_000  # the time in which a link of 100 Mb/s sends two packets
LASTING_NS = 20_000_000  # two intervals of the query: a tuple reports the packet that waited longest, not each packet

Copy = collections.namedtuple("Copy", "time_ns size key flow source frame")


def copies_of(path):
  """Returns the copies of UDP packets in a capture, by mark: lists of arrivals and of departures."""
  queues = collections.defaultdict(lambda: ([], []))
  for time_ns, size, frame in packets_of(path):
    if frame[:4] != MARK or frame[ETHERNET + 9] != UDP:
      continue
    mark = int.from_bytes(frame[4:6], "big")
    ip = frame[ETHERNET:]
    header = (ip[0] & 15) * 4
    copy = Copy(time_ns, size, ip[4:6] + ip[12:20] + ip[header:header + 16], ip[12:20] + ip[header:header + 4], socket.inet_ntoa(ip[12:16]), frame)
    queues[mark // 2][mark % 2].append(copy)
  return queues


def matched(arrivals, departures, link_bits_per_s):
  """Returns (arrival, departure, departure time) of each matched packet, in order of departure.

  The link sends one packet after another, and does not pause while packets wait. So a packet leaves once it has arrived
  and the link has sent the previous packet, but no later than its timestamp. The taps' constant offset is
  subtracted."""
  waiting = collections.defaultdict(collections.deque)
  for copy in arrivals:
    waiting[copy.key].append(copy)
  pairs = [(waiting[copy.key].popleft(), copy) for copy in departures if waiting[copy.key]]
  offset_ns = min((after.time_ns - before.time_ns for before, after in pairs), default=0)
  result, sent_ns = [], 0
  for before, after in pairs:
    time_ns = min(max(before.time_ns, sent_ns), after.time_ns - offset_ns)
    sent_ns = time_ns + after.size * 8e9 / link_bits_per_s
    result.append((before, after, round(time_ns)))
  return result


def without_waiting(arrivals, departures):
  """Returns the arrivals up to the last one that left: those after it may still wait when the capture ends."""
  left = {copy.key for copy in departures}
  last = max((number for number, copy in enumerate(arrivals) if copy.key in left), default=-1)
  return arrivals[:last + 1]


def passages(arrivals, departures, link_bits_per_s):
  """Returns the rows and the totals that queue_passages prints for these copies."""
  with tempfile.TemporaryDirectory() as folder:
    files = {side: pathlib.Path(folder) / side for side in ("arrivals", "departures")}
    for side, copies in (("arrivals", arrivals), ("departures", departures)):
      write_packets(files[side], [(copy.time_ns, copy.size, copy.frame) for copy in copies])
    return lab.passages(files, link_bits_per_s)


def is_short(poll):
  """Returns False if the poll was interrupted for so long that the queue's length may have changed several times."""
  return poll[1] - poll[0] <= LONGEST_POLL_NS


def errors(rows, polls):
  """Returns (polled bytes, error of the bytes computed from the rows) for each poll at which the queue was not empty,
  according to the poll or to the rows."""
  contents = depth.Depth(rows)
  return [(poll[2], error) for poll, error in zip(polls, depth.errors(rows, polls))
          if poll[2] > 0 or contents.between(*poll[:2])[1] > 0]


def onsets(pairs, delay_ns, share):
  """Returns the source and time of the first departure of each episode in which packets meet the condition, for
  episodes that last at least LASTING_NS.

  Evaluates ConQuest's definition 3.1 independently of the parsers.
  """
  own, all_bytes, first, episodes = collections.Counter(), 0, 0, collections.defaultdict(list)
  for number, (before, after, time_ns) in enumerate(pairs):
    while first < number and pairs[first][2] < before.time_ns:
      own[pairs[first][1].flow] -= pairs[first][1].size
      all_bytes -= pairs[first][1].size
      first += 1
    waited_ns = time_ns - before.time_ns
    if waited_ns >= delay_ns and own[after.flow] >= share * all_bytes > 0:
      of_source = episodes[after.source]
      if not of_source or time_ns - of_source[-1][1] > EPISODE_NS:
        of_source.append([time_ns, time_ns])
      of_source[-1][1] = time_ns
    own[after.flow] += after.size
    all_bytes += after.size
  return [{"source": source, "time_ns": begin_ns} for source, of_source in episodes.items() for begin_ns, end_ns in of_source
      if end_ns - begin_ns >= LASTING_NS]


def compare(polls_path, link_bits_per_s, delay_ns, share, captures):
  polls = collections.defaultdict(list)
  with open(polls_path, encoding="ascii") as file:
    for line in file:
      before_ns, after_ns, size, port = line.split()
      polls[port].append((int(before_ns), int(after_ns), int(size)))
  ports = dict(enumerate(polls, 1))
  for capture in captures:
    path, _, marks = capture.partition("=")
    queues = copies_of(pathlib.Path(path))
    for mark in map(int, marks.split(",")):
      arrivals, departures = queues[mark]
      arrivals = without_waiting(arrivals, departures)
      rows, totals = passages(arrivals, departures, link_bits_per_s)
      short_polls = [poll for poll in polls[ports[mark]] if is_short(poll)]
      differences = errors(rows, short_polls)
      print(json.dumps({"mark": mark, "port": ports[mark], "arrived": len(arrivals), "left": len(departures),
                        "sources": collections.Counter(copy.source for copy in arrivals), "matched": totals["matched"],
                        "long_polls": len(polls[ports[mark]]) - len(short_polls), "bytes": [size for size, _ in differences], "errors": [error for _, error in differences],
                        "onsets": onsets(matched(arrivals, departures, link_bits_per_s), delay_ns, share)}))


def main():
  if len(sys.argv) < 6:
    sys.exit(__doc__)
  compare(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])


if __name__ == "__main__":
  main()

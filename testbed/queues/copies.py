#!/usr/bin/env python3
"""Compares copies of queues with the kernel's counters, for the tests of queries with AT.

  copies.py POLLS DELAY_NS SHARE CAPTURE=MARK,...  ...

Reads captures of copies (nanosecond pcap) and the polls of backlog.py, whose devices it takes in the order of the marks.
Prints a line of JSON for each queue: the packets that arrived and left, the error of the contents that follow from the
copies at each poll, in bytes, and the times at which a flow first met the condition on delay and share.
"""
import collections
import json
import pathlib
import socket
import sys

import truth

MARK = bytes.fromhex("027a9100")
ETHERNET, UDP = 14, 17
EPISODE_NS = 300_000_000  # a condition that was false for so long begins again
LASTING_NS = 20_000_000  # two intervals of the query: a tuple reports the packet that waited longest, not each packet


Copy = collections.namedtuple("Copy", "time_ns size key flow source")


def copies_of(path):
  """Returns the copies in a capture by mark: lists of arrivals and of departures."""
  queues = collections.defaultdict(lambda: ([], []))
  for time_ns, size, frame in truth.packets_of(path):
    if frame[:4] != MARK or frame[ETHERNET + 9] != UDP:
      continue
    mark = int.from_bytes(frame[4:6], "big")
    ip = frame[ETHERNET:]
    header = (ip[0] & 15) * 4
    copy = Copy(time_ns, size, ip[4:6] + ip[12:20] + ip[header:header + 16], ip[12:20] + ip[header:header + 4], socket.inet_ntoa(ip[12:16]))
    queues[mark // 2][mark % 2].append(copy)
  return queues


def matched(arrivals, departures):
  """Returns pairs of the views of a packet in order of departure, with the taps' constant difference subtracted."""
  waiting = collections.defaultdict(collections.deque)
  for copy in arrivals:
    waiting[copy.key].append(copy)
  pairs = [(waiting[copy.key].popleft(), copy) for copy in departures if waiting[copy.key]]
  offset_ns = min((after.time_ns - before.time_ns for before, after in pairs), default=0)
  return pairs, offset_ns


def errors(pairs, offset_ns, polls):
  """Returns, for each poll that saw packets or followed the copies' packets, its bytes and the error of the copies' contents."""
  events = [(before.time_ns, before.size) for before, _ in pairs]
  events += [(after.time_ns - offset_ns, -after.size) for _, after in pairs]
  events.sort()
  found, contents, at = [], 0, 0
  for time_ns, size in polls:
    while at < len(events) and events[at][0] <= time_ns:
      contents += events[at][1]
      at += 1
    if size > 0 or contents > 0:
      found.append((size, contents - size))
  return found


def onsets(pairs, offset_ns, delay_ns, share):
  """Returns the source and time of each departure by which the condition began to be true, if it was true for LASTING_NS.

  Evaluates definition 3.1 independently of the parsers.
  """
  own, all_bytes, first, episodes = collections.Counter(), 0, 0, collections.defaultdict(list)
  for number, (before, after) in enumerate(pairs):
    while first < number and pairs[first][1].time_ns - offset_ns < before.time_ns:
      own[pairs[first][1].flow] -= pairs[first][1].size
      all_bytes -= pairs[first][1].size
      first += 1
    waited_ns = after.time_ns - offset_ns - before.time_ns
    if waited_ns >= delay_ns and own[after.flow] >= share * all_bytes > 0:
      of_source = episodes[after.source]
      if not of_source or after.time_ns - of_source[-1][1] > EPISODE_NS:
        of_source.append([after.time_ns, after.time_ns])
      of_source[-1][1] = after.time_ns
    own[after.flow] += after.size
    all_bytes += after.size
  return [{"source": source, "time_ns": begin_ns} for source, of_source in episodes.items() for begin_ns, end_ns in of_source
      if end_ns - begin_ns >= LASTING_NS]


def compare(polls_path, delay_ns, share, captures):
  polls = collections.defaultdict(list)
  with open(polls_path, encoding="ascii") as file:
    for line in file:
      before_ns, after_ns, size, port = line.split()
      polls[port].append(((int(before_ns) + int(after_ns)) // 2, int(size)))
  ports = dict(enumerate(polls, 1))
  for capture in captures:
    path, _, marks = capture.partition("=")
    queues = copies_of(pathlib.Path(path))
    for mark in map(int, marks.split(",")):
      arrivals, departures = queues[mark]
      pairs, offset_ns = matched(arrivals, departures)
      found = errors(pairs, offset_ns, polls[ports[mark]])
      print(json.dumps({"mark": mark, "port": ports[mark], "arrived": len(arrivals), "left": len(departures), "matched": len(pairs),
               "bytes": [size for size, _ in found], "errors": [error for _, error in found],
               "onsets": onsets(pairs, offset_ns, delay_ns, share)}))


def main():
  if len(sys.argv) < 5:
    sys.exit(__doc__)
  compare(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])


if __name__ == "__main__":
  main()

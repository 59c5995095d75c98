"""Naively evaluates conditions on captured packets, keeping all items of each window. Shares no code with Tapline."""
import collections
import socket
import struct
from dataclasses import dataclass
from typing import Callable, Optional

from pcap_file import packets_of

TCP, UDP = 6, 17
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MS = 1_000_000


@dataclass(frozen=True)
class Packet:
  """A packet of TCP or UDP over IPv4. An end is "ADDRESS PORT"; the client is the end that sent first.

  The kernel timestamps TCP packets separately for each socket that captures them. A socket that captures between two
  others timestamps a packet between `time_ns` and `latest_ns`."""
  time_ns: int
  latest_ns: int
  frame: bytes  # as captured
  frame_bytes: int  # on the wire
  protocol: int
  source: str
  client: str
  server: str
  flags: int
  seq: int
  payload_offset: int  # in the frame
  payload_bytes: int
  missing_bytes: int  # between the highest earlier byte of this direction and the packet's first byte

  def payload(self):
    return self.frame[self.payload_offset:self.payload_offset + self.payload_bytes]

  def is_syn(self):
    return self.flags & (SYN | ACK) == SYN

  def flow(self):
    (client, client_port), (server, server_port) = self.client.split(), self.server.split()
    return f"src_ip={client} src_port={client_port} dst_ip={server} dst_port={server_port}"


@dataclass(frozen=True)
class Condition:
  """A trigger in the query language, and the same condition in Python."""
  name: str
  text: str
  value: Callable[[list], float]  # computes the value from a group's items in a window
  holds: Callable[[list], bool]
  group: Callable[[object], Optional[str]] = lambda item: ""  # None: the item is not counted
  every_ns: int = 10 * MS
  window_ns: int = 10 * MS
  rises: bool = False  # True if it stays true within a window once it is true, so the event does not wait for the window's end


@dataclass(frozen=True)
class Met:
  """A window in which a condition was true or, unless `sure`, may have been true: a packet near a boundary may belong
  to either window."""
  values: tuple  # one for each set of items that the window may contain
  lowest: float  # value when the condition became true
  true_ns: int  # time of the item that made the condition true
  sure: bool = True


class Ambiguous(Exception):
  """The captures do not agree on the order of packets, or their times are too far apart."""


def stamped_twice(early, late):
  """Returns (earliest time in ns, latest time, bytes on the wire, frame) of each packet in `early`, which `late` must also
  contain.

  Raises times so that they never decrease in capture order: a packet that was timestamped when it entered a core's queue
  may be captured after one that was timestamped on capture."""
  waiting, latest_ns = collections.defaultdict(collections.deque), 0
  for time_ns, _, frame in late:
    latest_ns = max(latest_ns, time_ns)
    waiting[frame].append(latest_ns)
  earliest_ns = latest_ns = 0
  for time_ns, size, frame in early:
    if not waiting[frame]:
      raise Ambiguous("a capture lacks packets of the other")
    earliest_ns, latest_ns = max(earliest_ns, time_ns), max(latest_ns, waiting[frame].popleft())
    yield earliest_ns, latest_ns, size, frame


def packets_in(path, later=None):
  """Reads the packets of a capture, or of two captures on one interface; `later` is the one with the later times."""
  captured = packets_of(path)
  stamped = stamped_twice(captured, packets_of(later) if later else captured)
  clients, highest, packets = {}, {}, []
  for time_ns, latest_ns, size, frame in stamped:
    if frame[12:14] != b"\x08\x00" or frame[23] not in (TCP, UDP):
      continue
    transport = 14 + 4 * (frame[14] & 15)
    end = 14 + struct.unpack_from("!H", frame, 16)[0]
    source, target = (f"{socket.inet_ntoa(frame[start:start + 4])} {struct.unpack_from('!H', frame, transport + port)[0]}"
                      for start, port in ((26, 0), (30, 2)))
    flags = seq = missing = 0
    payload = transport + 8
    if frame[23] == TCP:
      seq, _, offset, flags = struct.unpack_from("!IIBB", frame, transport + 4)
      payload = transport + 4 * (offset >> 4)
      missing = missing_before(highest, (source, target), seq, end - payload)
    client = clients.setdefault((frame[23], *sorted((source, target))), source)
    server = target if client == source else source
    packets.append(Packet(time_ns, latest_ns, frame, size, frame[23], source, client, server, flags, seq, payload, end - payload, missing))
  return packets


def missing_before(highest, direction, seq, payload_bytes):
  """Returns the number of bytes skipped before a segment, and updates the direction's highest sequence number. Sequence
  numbers wrap."""
  if payload_bytes == 0:
    return 0
  ahead = (seq - highest.setdefault(direction, seq) + 2**31) % 2**32 - 2**31
  highest[direction] = (highest[direction] + max(0, ahead + payload_bytes)) % 2**32
  return max(0, ahead)


def windows_of(items, condition):
  """Returns the items that each window and group may contain, by (end of the window in ns, group)."""
  windows = collections.defaultdict(list)
  for item in items:
    group = condition.group(item)
    if group is None:
      continue
    first_end_ns = (item.time_ns // condition.every_ns + 1) * condition.every_ns
    last_end_ns = item.latest_ns // condition.every_ns * condition.every_ns + condition.window_ns
    for end_ns in range(first_end_ns, last_end_ns + 1, condition.every_ns):
      windows[end_ns, group].append(item)
  return windows


def contents_of(members, begin_ns, end_ns):
  """Returns each list of items that the window may contain. Since times are in order, such a list has a suffix of the
  items that may lie on either side of the window's beginning, and a prefix of those at its end."""
  before = [item for item in members if item.time_ns < begin_ns]
  after = [item for item in members if item.latest_ns >= end_ns]
  if any(item.latest_ns >= end_ns for item in before):
    raise Ambiguous("the times of a packet are further apart than a window")
  inside = members[len(before):len(members) - len(after)]
  return [before[first:] + inside + after[:count] for first in range(len(before) + 1) for count in range(len(after) + 1)]


def crossing(members, condition):
  """Returns the number of items after which the condition is true and stays true. REQUIRES: it is true after the last
  item."""
  count = len(members)
  while count > 1 and condition.holds(members[:count - 1]):
    count -= 1
  return count


def evaluate(items, condition):
  """Returns a Met for each (end, group) in which the condition is or may be true."""
  met = {}
  for (end_ns, group), members in windows_of(items, condition).items():
    possible = contents_of(members, end_ns - condition.window_ns, end_ns)
    meeting = [content for content in possible if content and condition.holds(content)]
    if meeting:
      first = [content[:crossing(content, condition)] for content in meeting]
      met[end_ns, group] = Met(tuple(map(condition.value, meeting)), min(map(condition.value, first)),
                               min(content[-1].time_ns for content in first), len(meeting) == len(possible))
  return met

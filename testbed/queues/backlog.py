#!/usr/bin/python3
"""Polls the backlog of devices' root qdiscs every millisecond until SIGTERM, through netlink.

  backlog.py KIND DEVICE...

Prints a line for each poll: the time in ns before and after it, the backlog in bytes between these times, and the
device.
"""
import signal
import socket
import struct
import sys
import time

PERIOD_NS = 1_000_000
RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLM_F_REQUEST, NLM_F_ECHO = 1, 8
NLMSG_ERROR = 2
TC_H_ROOT = 0xFFFFFFFF
TCA_KIND, TCA_STATS2 = 1, 7
TCA_STATS_QUEUE = 3
HEADER = struct.Struct("=IHHII")
QDISC = struct.Struct("=BxxxiIII")


def attributes(data):
  """Returns a netlink message's attributes by type."""
  result, offset = {}, 0
  while offset + 4 <= len(data):
    size, kind = struct.unpack_from("=HH", data, offset)
    result[kind & 0x3FFF] = data[offset + 4:offset + size]
    offset += (size + 3) & ~3
  return result


class Qdisc:
  """A device's root qdisc, which must be of the given kind."""

  def __init__(self, device, kind):
    self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    self._socket.bind((0, 0))
    self._socket.settimeout(5)
    self._request = HEADER.pack(HEADER.size + QDISC.size, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 1, 0) + \
        QDISC.pack(0, socket.if_nametoindex(device), 0, TC_H_ROOT, 0)
    self._kind = kind.encode() + b"\0"

  def backlog(self):
    """Returns the queue's length in bytes. Raises OSError if the kernel refuses, or the qdisc is of another kind."""
    self._socket.send(self._request)
    answer = self._socket.recv(65536)
    kind = HEADER.unpack_from(answer)[1]
    if kind == NLMSG_ERROR:
      code, = struct.unpack_from("=i", answer, HEADER.size)
      raise OSError(-code, "the kernel refused a request for the qdisc")
    values = attributes(answer[HEADER.size + QDISC.size:])
    if kind != RTM_NEWQDISC or values[TCA_KIND] != self._kind:
      raise OSError(f"the root qdisc is not {self._kind[:-1].decode()}")
    _, backlog = struct.unpack_from("=II", attributes(values[TCA_STATS2])[TCA_STATS_QUEUE])
    return backlog


def main():
  stopped = []
  signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
  qdiscs = {device: Qdisc(device, sys.argv[1]) for device in sys.argv[2:]}
  polls = []
  due_ns = time.monotonic_ns()
  while not stopped:
    for device, qdisc in qdiscs.items():
      before_ns = time.time_ns()
      backlog = qdisc.backlog()
      polls.append((before_ns, time.time_ns(), backlog, device))
    due_ns = max(due_ns + PERIOD_NS, time.monotonic_ns())
    time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
  sys.stdout.writelines("%d %d %d %s\n" % poll for poll in polls)


if __name__ == "__main__":
  main()

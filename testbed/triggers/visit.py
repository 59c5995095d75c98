#!/usr/bin/python3
"""visit.py TARGET PORT SECONDS: opens connections and closes them again.

Opens one connection every 10 ms and, every half second, a crowd of 150 as fast as possible.
"""
import socket
import sys
import time

EVERY_S, CROWD_EVERY, CROWD = 0.01, 50, 150


def main():
  target, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
  begin_s = time.monotonic()
  for number in range(int(seconds / EVERY_S)):
    time.sleep(max(0, begin_s + number * EVERY_S - time.monotonic()))
    for _ in range(CROWD if number % CROWD_EVERY == CROWD_EVERY - 1 else 1):
      with socket.create_connection((target, port)) as connection:
        connection.sendall(b"hello")


if __name__ == "__main__":
  main()

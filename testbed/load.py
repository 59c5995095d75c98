#!/usr/bin/python3
"""Requests pages at random times until SIGTERM, each on a separate connection.

A page is PATTERN or PATTERN:FIRST:COUNT, such as /video/{:04}:1:1000 for /video/0001 to /video/1000; each request draws one of the
patterns, all with equal probability, and one of its numbers. The client does not wait for responses, so a slow server does not slow
it down. Prints the responses as JSON: {"statuses": {"200": 612}, "patterns": {"/video/{:04}": 612}}. Exit code 1 if a response is not
200 or a connection fails.
"""
import argparse
import asyncio
import collections
import json
import random
import signal
import sys


async def fetch(address, path):
  """Returns the status of one GET as a string, or the error."""
  try:
    reader, writer = await asyncio.open_connection(address, 80)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: www.example\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read(-1)
    writer.close()
    return answer.split(b" ", 2)[1].decode()
  except (OSError, IndexError) as problem:
    return repr(problem)


class Pages:
  """Draws random paths, and counts them by pattern."""

  def __init__(self, patterns, seed):
    self._rng = random.Random(seed)
    self._patterns = [pattern.rsplit(":", 2) if "{" in pattern else [pattern] for pattern in patterns]
    self.counts = collections.Counter()

  def draw(self):
    pattern, *numbers = self._rng.choice(self._patterns)
    self.counts[pattern] += 1
    first, count = (int(n) for n in numbers) if numbers else (0, 1)
    return pattern.format(self._rng.randint(first, first + count - 1))

  def pause(self, rate):
    return self._rng.expovariate(rate)


async def run(address, rate, pages):
  loop = asyncio.get_running_loop()
  stopped = asyncio.Event()
  loop.add_signal_handler(signal.SIGTERM, stopped.set)
  due = loop.time()
  requests = []
  while not stopped.is_set():
    due += pages.pause(rate)
    await asyncio.sleep(max(0.0, due - loop.time()))
    requests.append(asyncio.create_task(fetch(address, pages.draw())))
  return await asyncio.gather(*requests)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("address")
  parser.add_argument("patterns", nargs="+", metavar="PATTERN")
  parser.add_argument("--rate", type=float, required=True, help="mean requests per second")
  parser.add_argument("--seed", type=int, default=7)
  options = parser.parse_args()
  pages = Pages(options.patterns, options.seed)
  statuses = collections.Counter(asyncio.run(run(options.address, options.rate, pages)))
  print(json.dumps({"statuses": statuses, "patterns": pages.counts}))
  return 0 if set(statuses) == {"200"} else 1


if __name__ == "__main__":
  sys.exit(main())

#!/usr/bin/python3
"""Asks for pages /video/0001, /video/0002, … at random times until SIGTERM, each on a connection of its own.

The load does not wait for answers, so a slow server does not slow the client. Exit code 1 if an answer is not 200 or a
connection fails. Prints a JSON line of what came: {"200": 612}.
"""
import argparse
import asyncio
import collections
import json
import random
import signal
import sys


async def fetch(address, page):
  """The status of one GET as a text, or what went wrong."""
  try:
    reader, writer = await asyncio.open_connection(address, 80)
    writer.write(f"GET /video/{page:04} HTTP/1.1\r\nHost: videos.example\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read(-1)
    writer.close()
    return answer.split(b" ", 2)[1].decode()
  except (OSError, IndexError) as problem:
    return repr(problem)


async def run(options):
  rng = random.Random(options.seed)
  loop = asyncio.get_running_loop()
  stopped = asyncio.Event()
  loop.add_signal_handler(signal.SIGTERM, stopped.set)
  due = loop.time()
  requests = []
  while not stopped.is_set():
    due += rng.expovariate(options.rate)
    await asyncio.sleep(max(0.0, due - loop.time()))
    page = rng.randint(options.first, options.first + options.pages - 1)
    requests.append(asyncio.create_task(fetch(options.address, page)))
  return await asyncio.gather(*requests)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("address")
  parser.add_argument("--rate", type=float, required=True, help="mean requests per second")
  parser.add_argument("--pages", type=int, required=True, help="how many different ones")
  parser.add_argument("--first", type=int, default=1, help="the first of them")
  parser.add_argument("--seed", type=int, default=7)
  counts = collections.Counter(asyncio.run(run(parser.parse_args())))
  print(json.dumps(counts))
  return 0 if set(counts) == {"200"} else 1


if __name__ == "__main__":
  sys.exit(main())

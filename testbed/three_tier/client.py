#!/usr/bin/python3
"""Requests pages at random times (Poisson arrivals), each over a separate connection. Product pages follow Zipf's law.

The load does not wait for responses, so a slow server does not slow the client. Exit code 1 if a response is neither
200 nor 404, or a connection fails.
"""
import argparse
import asyncio
import collections
import itertools
import random
import sys

PRODUCTS = 300
BESTSELLERS_SHARE = 0.012
GONE_SHARE = 0.004  # products that are no longer sold
FAVICON_SHARE = 0.003


class Pages:
  """Draws URLs: mostly product pages, by Zipf's law with exponent 1, and occasionally another page."""

  def __init__(self, rng):
    self._rng = rng
    # Popularity must not follow the product number, since sorting by number would then be mistaken for a ranking.
    self._ids = rng.sample(range(1, PRODUCTS + 1), PRODUCTS)
    self._weights = list(itertools.accumulate(1 / rank for rank in range(1, PRODUCTS + 1)))

  def draw(self):
    u = self._rng.random()
    for share, url in ((BESTSELLERS_SHARE, "/bestsellers"), (FAVICON_SHARE, "/favicon.ico")):
      if u < share:
        return url
      u -= share
    if u < GONE_SHARE:
      return f"/product/{self._rng.randint(9000, 9003)}"
    return f"/product/{self._rng.choices(self._ids, cum_weights=self._weights)[0]}"


async def fetch(address, port, url):
  """Returns the status of one GET. Raises OSError if the connection fails, ValueError if the response is truncated."""
  reader, writer = await asyncio.open_connection(address, port)
  try:
    writer.write(f"GET {url} HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: shop-client\r\n"
                 "Accept: text/html\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read(-1)
  finally:
    writer.close()
  head, _, body = answer.partition(b"\r\n\r\n")
  lines = head.split(b"\r\n")
  length = next((int(l.split(b":")[1]) for l in lines if l.lower().startswith(b"content-length:")), None)
  if length is None or length != len(body):
    raise ValueError(f"{url}: body of {len(body)} bytes, announced {length}")
  return int(lines[0].split()[1])


async def run(options):
  rng = random.Random(options.seed)
  pages = Pages(rng)
  loop = asyncio.get_running_loop()
  start = due = loop.time()
  requests = []
  while True:
    due += rng.expovariate(options.rate)
    if due > start + options.seconds:
      break
    await asyncio.sleep(max(0.0, due - loop.time()))
    requests.append(asyncio.create_task(fetch(options.address, options.port, pages.draw())))
  return await asyncio.gather(*requests, return_exceptions=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("address")
  parser.add_argument("--port", type=int, default=80)
  parser.add_argument("--seconds", type=float, default=50)
  parser.add_argument("--rate", type=float, default=52, help="mean requests per second")
  parser.add_argument("--seed", type=int, default=7)
  results = asyncio.run(run(parser.parse_args()))
  counts = collections.Counter(r if isinstance(r, int) else repr(r) for r in results)
  print("answers:", ", ".join(f"{n} x {kind}" for kind, n in counts.most_common()))
  return 0 if counts and set(counts) <= {200, 404} else 1


if __name__ == "__main__":
  sys.exit(main())

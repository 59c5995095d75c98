#!/usr/bin/python3
"""Runs the experiment: starts Tapline's server, two queries and the updater, then the clients, and reports the outcome.

Runs inside the namespaces created by sandbox.sh, in its working folder. Exit code 1 if the experiment fails.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import plot  # noqa: E402
from tapline_server import TAPLINE, Client, Server, Wrong, get, until  # noqa: E402

RANKING = "PARSE http_get FROM * TO proxy:80 LIMIT 1h SAMPLE * PROCESS (top-k: k=20, w=5s, s=1s)"
LOADS = ("PARSE http_get FROM proxy TO web1:80, web2:80, web3:80 LIMIT 1h SAMPLE *"
         " PROCESS (group-count: group=dst_ip, w=1s, s=1s)")
WEBS = {"10.30.0.11": "web1", "10.30.0.12": "web2", "10.30.0.13": "web3"}
PROXY = "10.30.0.10"
HOT_FIRST, HOT_PAGES = 501, 10
SETTLED_S = 4  # minimum time during which three servers share the load


class Updater:
  """Runs tapline replicate, and records its changes: (time, servers, pages, reason)."""

  def __init__(self, query):
    self.changes = []
    self._process = subprocess.Popen([TAPLINE, "replicate", query, "--pool", str(HERE / "pool.yaml"), "--json"],
                                     stdout=subprocess.PIPE, text=True)
    self._reader = threading.Thread(target=self._read)
    self._reader.start()

  def _read(self):
    for line in self._process.stdout:
      change = json.loads(line)
      self.changes.append((time.time(), change["servers"], change["pages"], change["reason"]))

  def servers(self):
    if self._process.poll() is not None:
      raise Wrong("tapline replicate has ended")
    return self.changes[-1][1] if self.changes else 1

  def end(self):
    self._process.terminate()
    if self._process.wait(60) != 0:
      raise Wrong("tapline replicate failed")
    self._reader.join()


def check_content():
  """Checks that each server returns the same content for every hot page."""
  for page in range(HOT_FIRST, HOT_FIRST + HOT_PAGES):
    bodies = {get(f"http://{address}/video/{page:04}") for address in WEBS}
    if len(bodies) != 1:
      raise Wrong(f"/video/{page:04} is not the same on all servers")


def check_no_copies():
  left = [str(file) for web in ("web2", "web3") for file in pathlib.Path(web).glob("pages/**/*") if file.is_file()]
  if left:
    raise Wrong(f"copies are left: {left}")


def logged():
  """Returns the number of the load balancer's requests in each server's log."""
  counts = {}
  for web in WEBS.values():
    lines = [json.loads(line) for line in pathlib.Path(web, "access.jsonl").read_text().splitlines()]
    counts[web] = sum(line["client"] == PROXY for line in lines)
  return counts


def counted(rows):
  """Returns Tapline's request counts by server and second: {web: {second: requests}}."""
  counts = {web: {} for web in WEBS.values()}
  for row in rows:
    counts[WEBS[row["key"]["dst_ip"]]][row["window_start_ns"] // 10**9] = row["value"]
  return counts


class Times:
  """Start times of the phases, in seconds since the epoch."""

  def __init__(self):
    self.begin = time.time()
    self.hot = self.after = self.end = None


def experiment(options):
  """Returns (times, changes, counts by server and second)."""
  server = Server("--redis", "10.30.0.1:6379", "--clear", "redis")
  ranking, loads = server.submit(RANKING, LOADS)
  updater = Updater(ranking)
  times = Times()
  moderate = Client("client1", PROXY, 50, "/video/{:04}:1:1000")
  until("one server at the end of the calm phase", lambda: updater.servers() == 1, options.calm)
  times.hot = time.time()
  fast = Client("client2", PROXY, 250, f"/video/{{:04}}:{HOT_FIRST}:{HOT_PAGES}")
  until("three servers", lambda: updater.servers() == 3)
  check_content()
  until("the rush is over", lambda: True, max(SETTLED_S, times.hot + options.hot - time.time()))
  requests = sum(fast.end().values())
  times.after = time.time()
  until("one server", lambda: updater.servers() == 1, options.after)
  requests += sum(moderate.end().values())
  times.end = time.time()
  updater.end()
  check_no_copies()
  rows, totals = server.stop(loads)
  server.end()
  counts = counted(rows)
  sums = {web: sum(seconds.values()) for web, seconds in counts.items()}
  if totals["dropped"]:
    raise Wrong(f"Tapline lost packets: {totals['dropped']}")
  if sums != logged() or sum(sums.values()) != requests:
    raise Wrong(f"requests: the clients made {requests}, the servers logged {logged()}, Tapline counted {sums}")
  check_balance(times, updater.changes, counts)
  return times, updater.changes, counts


def check_balance(times, changes, counts):
  """Checks that, while three servers are in use, the second and third get equal shares of the requests (within 10 %),
  and the first gets one to three times as many."""
  three = next(when for when, servers, _, _ in changes if servers == 3)
  web1, web2, web3 = (sum(seconds.get(s, 0) for s in range(int(three) + 1, int(times.after))) for seconds in counts.values())
  if abs(web2 - web3) > 0.1 * web2 or not web2 < web1 < 3 * web2:
    raise Wrong(f"requests are not split as expected among the three servers: {web1}, {web2}, {web3}")


def table(times, changes, counts):
  """Formats each server's requests per second between consecutive events."""
  servers = [(times.begin, 1)] + [(change[0], change[1]) for change in changes]
  bounds = sorted([when for when, _ in servers] + [times.hot, times.after, times.end])
  lines = [f"{'seconds':>12}  {'load':<5}  {'servers':>7}  {'web1':>6}  {'web2':>6}  {'web3':>6}   requests/s"]
  for begin, end in itertools.pairwise(bounds):
    load = "hot" if times.hot <= begin < times.after else "calm"
    number = [n for when, n in servers if when <= begin][-1]
    whole = range(int(begin) + 1, int(end))
    if not whole:
      continue
    rates = [sum(counts[web].get(second, 0) for second in whole) / len(whole) for web in WEBS.values()]
    lines.append(f"{begin - times.begin:5.1f}–{end - times.begin:6.1f}  {load:<5}  {number:>7}  " +
                 "  ".join(f"{rate:6.1f}" for rate in rates))
  return "\n".join(lines)


def write_figures(folder, times, changes, counts):
  first, last = int(times.begin) + 1, int(times.end)
  seconds = range(first, last)
  points = {web: [(s - first, counts[web].get(s, 0)) for s in seconds] for web in WEBS.values()}
  csv = ["second,web1,web2,web3"]
  csv += [f"{s - first},{','.join(str(counts[web].get(s, 0)) for web in WEBS.values())}" for s in seconds]
  (folder / "figure-17.csv").write_text("\n".join(csv) + "\n")
  csv = ["seconds,servers,pages,reason"]
  csv += [f'{when - first:.1f},{servers},{pages},"{reason}"' for when, servers, pages, reason in changes]
  (folder / "figure-17-servers.csv").write_text("\n".join(csv) + "\n")
  top = max(y for line in points.values() for _, y in line)
  chart = plot.Chart("Popular pages on more servers (Figure 17)", "seconds", "requests per second", (0, last - first), top, marks=True)
  for web, line in points.items():
    chart.line(web, line)
  chart.mark(times.hot - first, "ten hot pages")
  chart.mark(times.after - first, "their end")
  for when, servers, _, _ in changes:
    chart.mark(when - first, "1 server" if servers == 1 else f"{servers} servers")
  (folder / "figure-17.svg").write_text(chart.svg())


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--figures", type=pathlib.Path)
  parser.add_argument("--calm", type=int, default=10)
  parser.add_argument("--hot", type=int, default=25)
  parser.add_argument("--after", type=int, default=20)
  options = parser.parse_args()
  try:
    times, changes, counts = experiment(options)
  except Wrong as wrong:
    print(f"popularity: {wrong}", file=sys.stderr)
    # Skips the clean-up: threads and child processes end with the namespaces.
    sys.stderr.flush()
    os._exit(1)
  for when, servers, pages, reason in changes:
    print(f"{when - times.begin:5.1f} s: {servers} server{'s' * (servers > 1)}, {pages} pages on more than one; {reason}")
  print("\n" + table(times, changes, counts) + "\n")
  if options.figures:
    write_figures(options.figures, times, changes, counts)
  print("Servers:", ", ".join(str(n) for n, _ in itertools.groupby([1] + [servers for _, servers, _, _ in changes])))
  print(f"Content: the {HOT_PAGES} pages on web2 and web3 were identical to web1's, and all copies were removed")
  print("Balance: web2 and web3 got equal shares of the requests")
  print("Requests: Tapline counted all that the web servers logged, and no others")


if __name__ == "__main__":
  main()

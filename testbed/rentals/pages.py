#!/usr/bin/python3
"""Reproduces Figures 12 to 15: runs queries on pages under load, plots the rows, and compares them with the logs.

Runs inside the namespaces created by sandbox.sh, in its working folder. Exit code 1 if a check fails.
"""
import argparse
import collections
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import plot  # noqa: E402
from tapline_server import Client, Server, Wrong, until  # noqa: E402

WEB = "10.40.0.80"
TIERS = "PARSE tcp_conn_time FROM * TO web:80, db:3306 LIMIT 500s SAMPLE * PROCESS (diff-group: group=destIP)"
PAGES = "PARSE (tcp_conn_time, http_get(url=template)) FROM * TO web:80 LIMIT 500s SAMPLE * PROCESS (diff-group: group=get)"
STATEMENTS = "PARSE mysql_query(statement=template) FROM * TO db:3306 LIMIT 500s SAMPLE * PROCESS (diff-group: group=statement)"
FASTEST = ("PARSE http_get(url=template) FROM * TO web:80 LIMIT 500s SAMPLE *"
           " PROCESS (top-k: k=5, by=response_time_ns, agg=min, order=asc, w=1h, s=1h)")
PATTERNS = ("/films", "/film/{}:1:1000", "/customer/{}:1:600", "/overdue", "/overdue-bug")
RATE = 20
NS_PER_MS = 1e6
MIN_NS = 1000  # start of the logarithmic axis


def by_key(rows, field):
  """Returns each key's last row, which covers the whole query."""
  return {row["key"][field]: row for row in rows}


def log_of_pages(requests):
  """Waits until the application has logged all requests, and returns its log."""
  def lines():
    return [json.loads(line) for line in pathlib.Path("app.jsonl").read_text().splitlines()]
  until("the application has logged all requests", lambda: len(lines()) == requests)
  return lines()


def check(requested, log, pages, statements, dropped):
  if any(dropped):
    raise Wrong(f"Tapline lost something: {dropped}")
  seen = {page: row["distribution"]["count"] for page, row in pages.items()}
  if seen != requested:
    raise Wrong(f"requests: the client made {requested}, Tapline counted {seen}")
  made = sum(line["statements"] for line in log)
  counted = sum(row["distribution"]["count"] for row in statements.values())
  if counted != made or len(statements) != 6:
    raise Wrong(f"statements: the application made {made} of 6 kinds, Tapline counted {counted} of {len(statements)}")


def experiment(seconds):
  """Returns the rows of three queries, by tier, page and statement, and the fastest page according to the fourth
  query."""
  server = Server()
  queries = server.submit(TIERS, PAGES, STATEMENTS, FASTEST)
  client = Client("client", WEB, RATE, *PATTERNS)
  until("the load", lambda: True, seconds)
  requested = {pattern.replace("{}", "{id}"): count for pattern, count in client.end().items()}
  log = log_of_pages(sum(requested.values()))
  results = [server.stop(query) for query in queries]
  server.end()
  tiers, pages, statements = (by_key(results[i][0], field) for i, field in enumerate(("dst_ip", "url", "statement")))
  statements.pop("", None)  # commands without a statement, such as login and quit
  check(requested, log, pages, statements, [totals["dropped"] for _, totals in results])
  return tiers, pages, statements, min(results[3][0], key=lambda row: row["value"])["key"]["url"]


def lower(bound):
  """Returns the previous histogram bound; there are two bounds per octave."""
  if bound <= 4:
    return bound - 1
  return bound * 3 // 4 if bound & (bound - 1) == 0 else bound * 2 // 3


def bars(histogram):
  """Returns (low, high, count) of each bar, with bounds in ms."""
  return [(max(lower(bar["le"]), MIN_NS) / NS_PER_MS, max(bar["le"], MIN_NS) / NS_PER_MS, bar["count"])
          for bar in histogram]


def cdf(histogram):
  """Returns points (ms, share of the values that are at most this)."""
  total, seen = sum(bar["count"] for bar in histogram), 0
  points = [(max(lower(histogram[0]["le"]), MIN_NS) / NS_PER_MS, 0.0)]
  for bar in histogram:
    seen += bar["count"]
    points.append((max(bar["le"], MIN_NS) / NS_PER_MS, seen / total))
  return points


def merged(rows):
  """Merges the histograms of several rows."""
  counts = collections.Counter()
  for row in rows:
    for bar in row["distribution"]["histogram"]:
      counts[bar["le"]] += bar["count"]
  return [{"le": le, "count": counts[le]} for le in sorted(counts)]


def write_histogram(folder, name, title, quantity, histogram):
  rows = bars(histogram)
  csv = "above_ms,at_most_ms,count\n" + "".join(f"{low:.6f},{high:.6f},{count}\n" for low, high, count in rows)
  (folder / f"{name}.csv").write_text(csv)
  chart = plot.Chart(title, "milliseconds", quantity, (rows[0][0], rows[-1][1]), max(row[2] for row in rows), log_x=True)
  chart.bars(quantity, rows)
  (folder / f"{name}.svg").write_text(chart.svg())


def write_cdf(folder, name, title, rows):
  lines = {page: cdf(row["distribution"]["histogram"]) for page, row in rows.items()}
  csv = "page,at_most_ms,share\n" + "".join(f'"{page}",{x:.6f},{y:.6f}\n' for page, points in lines.items() for x, y in points)
  (folder / f"{name}.csv").write_text(csv)
  xs = [x for points in lines.values() for x, _ in points]
  chart = plot.Chart(title, "milliseconds", "share of requests", (min(xs), max(xs)), 1, log_x=True)
  for page, points in lines.items():
    chart.line(page, points)
  (folder / f"{name}.svg").write_text(chart.svg())


def write_figures(folder, tiers, pages, statements):
  write_histogram(folder, "figure-12", "Response times at the client (Figure 12)", "connections",
                  tiers[WEB]["distribution"]["histogram"])
  good = {page: row for page, row in sorted(pages.items()) if not page.endswith("-bug")}
  write_cdf(folder, "figure-13", "Response times of pages (Figure 13)", good)
  write_cdf(folder, "figure-14", "A page and a copy of it with a bug (Figure 14)",
            {page: pages[page] for page in ("/overdue", "/overdue-bug")})
  write_histogram(folder, "figure-15", "Times of SQL statements (Figure 15)", "statements", merged(statements.values()))


def table(head, rows):
  lines = [f"{'requests':>8} {'mean ms':>9} {'p50':>9} {'p95':>9}  {head}"]
  for key, row in sorted(rows.items(), key=lambda item: item[1]["value"]):
    spread = row["distribution"]
    times = " ".join(f"{spread[name] / NS_PER_MS:9.3f}" for name in ("mean", "p50", "p95"))
    lines.append(f"{spread['count']:8} {times}  {key[:100]}")
  return "\n".join(lines) + "\n"


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--figures", type=pathlib.Path)
  parser.add_argument("--seconds", type=int, default=40)
  options = parser.parse_args()
  try:
    tiers, pages, statements, fastest = experiment(options.seconds)
  except Wrong as wrong:
    print(f"rentals: {wrong}", file=sys.stderr, flush=True)
    os._exit(1)  # threads and child processes end with the namespaces
  print(table("connections to", tiers))
  print(table("page", pages))
  print(table("statement", statements))
  if options.figures:
    write_figures(options.figures, tiers, pages, statements)
  print("Fastest page:", fastest)
  print("Pages: Tapline counted exactly the client's requests, page by page")
  print("Statements: Tapline counted exactly the application's statements")


if __name__ == "__main__":
  main()

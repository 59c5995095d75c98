#!/usr/bin/python3
"""Measures the cost of monitoring as MariaDB's queries per second under mariadb-slap.

Each round measures Tapline, the general log, the slow log with a limit of 0 s, and none of them, in rotating order. The
database and its client share one core. Tapline runs on another core, as on a separate host, but its packets are copied
on the database's core. Logs are in memory. Runs inside the namespaces of sandbox.sh.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from tapline_server import Server, Wrong  # noqa: E402

QUERY = ("PARSE mysql_query(statement=template) FROM * TO db:3306 LIMIT 500s SAMPLE *"
         " PROCESS (diff-group: group=statement, w=1s, s=1s)")
STATEMENT = "SELECT title FROM rentals.film WHERE id = 7"
MODES = ("none", "tapline", "slow log", "general log")
QUERIES, CLIENTS = 30000, 4
DATABASE_CORE, TAPLINE_CORE = "0", "1"


def sql(statement):
  subprocess.run(["mariadb", "--no-defaults", "--socket", "db_log/socket", "-u", "root", "-e", statement], check=True)


def switch(mode):
  """Selects the log for new connections, and empties the log files."""
  sql(f"SET GLOBAL long_query_time = 0; SET GLOBAL slow_query_log = {int(mode == 'slow log')};"
      f" SET GLOBAL general_log = {int(mode == 'general log')}")
  for log in pathlib.Path("db").glob("*.log"):
    os.truncate(log, 0)


def cpu_seconds(pid):
  fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
  return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def burst(pid):
  """Returns queries per second and the database's CPU time per query in microseconds."""
  before = cpu_seconds(pid)
  printed = subprocess.run(
      ["taskset", "-c", DATABASE_CORE, "ip", "netns", "exec", "client", "mariadb-slap", "--no-defaults", "--host=10.40.0.30",
       "--user=web", "--password=web", f"--concurrency={CLIENTS}", f"--number-of-queries={QUERIES}", "--create-schema=rentals",
       f"--query={STATEMENT}"], check=True, capture_output=True, text=True).stdout
  seconds = float(re.search(r"Average number of seconds to run all queries: ([0-9.]+)", printed)[1])
  return QUERIES / seconds, 1e6 * (cpu_seconds(pid) - before) / QUERIES


def measure(mode, server, pid):
  """Returns (queries per second, CPU microseconds per query, share of the queries that Tapline counted)."""
  switch(mode)
  queries = server.submit(QUERY) if mode == "tapline" else []
  rate, cpu = burst(pid)
  counted = 0
  for query in queries:
    rows, _ = server.stop(query)
    counted = sum(row["distribution"]["count"] for row in rows if row["key"]["statement"].startswith("SELECT title"))
  return rate, cpu, counted / QUERIES


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--figures", type=pathlib.Path)
  parser.add_argument("--rounds", type=int, default=10)
  options = parser.parse_args()
  pid = int(pathlib.Path("db_log/pid").read_text())
  subprocess.run(["taskset", "-a", "-c", "-p", DATABASE_CORE, str(pid)], check=True, stdout=subprocess.DEVNULL)
  figures = {mode: [] for mode in MODES}
  try:
    server = Server(prefix=("taskset", "-c", TAPLINE_CORE))
    for mode in MODES:  # to warm up caches and JIT compilers
      measure(mode, server, pid)
    for round_number in range(options.rounds):
      for turn in range(len(MODES)):
        mode = MODES[(round_number + turn) % len(MODES)]
        figures[mode].append(measure(mode, server, pid))
    server.end()
  except Wrong as wrong:
    print(f"rentals: {wrong}", file=sys.stderr, flush=True)
    os._exit(1)  # threads and child processes end with the namespaces
  report(figures, options.figures)


def report(figures, folder):
  csv = ["mode,queries_per_second,ratio,least_ratio,most_ratio,database_us_per_query,cpu_ratio,counted"]
  print(f"{'':12} {'queries/s':>9} {'ratio':>6}  {'min–max':>11} {'database µs/query':>18} {'ratio':>6} {'counted':>8}")
  for mode, bursts in figures.items():
    ratios = [one[0] / base[0] for one, base in zip(bursts, figures["none"])]
    cpus = [one[1] / base[1] for one, base in zip(bursts, figures["none"])]
    rate, cpu, counted = (statistics.median(one[i] for one in bursts) for i in range(3))
    seen = f"{100 * counted:.1f} %" if mode == "tapline" else ""
    print(f"{mode:12} {rate:9,.0f} {statistics.median(ratios):6.3f}  {min(ratios):.3f}–{max(ratios):.3f} {cpu:18.2f}"
          f" {statistics.median(cpus):6.3f} {seen:>8}")
    csv.append(f"{mode},{rate:.0f},{statistics.median(ratios):.4f},{min(ratios):.4f},{max(ratios):.4f},{cpu:.3f},"
               f"{statistics.median(cpus):.4f},{counted:.4f}")
  print(f"Medians of {len(figures['none'])} bursts of {QUERIES:,} queries each; ratios to the same round's burst without monitoring or logs.")
  if folder:
    (folder / "cost.csv").write_text("\n".join(csv) + "\n")


if __name__ == "__main__":
  main()

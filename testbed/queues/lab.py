"""Sends flows through the queue that sandbox.sh sets up, captures both sides, and polls the kernel's backlog."""
import json
import pathlib
import subprocess

import programs
import truth
from pcap_file import packets_of

HERE = pathlib.Path(__file__).resolve().parent
RATE_BYTES_PER_S = 100_000_000 // 8
LIMIT_BYTES = 500_000
FULL_NS = LIMIT_BYTES * 1_000_000_000 // RATE_BYTES_PER_S  # the wait behind a full queue
SOURCE, TARGET = "10.41.0.2", "10.41.0.3"
DEVICE = "to-target"  # its queue is measured
FRAME_BYTES = 1514  # maximum size


def receiver():
  return programs.server("target", HERE.parent / "receive.py", TARGET)


def send(flows, seconds):
  programs.await_senders([programs.send(flows, ("source", SOURCE), TARGET, seconds)])
  if programs.qdisc(DEVICE)["backlog"] != 0:
    raise programs.Wrong("the queue is not empty after the last packet")


def captured(flows, seconds, folder):
  """Sends the flows. Returns both captures, the polls (before ns, after ns, backlog) and the increase of each of the
  queue's counters."""
  folder.mkdir(exist_ok=True)
  files = {side: folder / f"{side}.pcap" for side in ("arrivals", "departures")}
  polls = folder / "polls.txt"
  before = programs.qdisc(DEVICE)
  with receiver(), programs.capture("to-source", "in", files["arrivals"]) as arrivals, \
      programs.capture("to-target", "out", files["departures"]) as departures, open(polls, "w", encoding="utf-8") as file:
    for dump in (arrivals, departures):
      programs.await_line(dump, "listening on")
    with programs.program("/usr/bin/python3", "-B", str(HERE / "backlog.py"), "tbf", "to-target", stdout=file) as poller:
      send(flows, seconds)
    if poller.returncode != 0:
      raise programs.Wrong(f"the queue can't be polled: {poller.printed}")
  for dump in (arrivals, departures):
    if programs.lost_packets(dump):
      raise programs.Wrong(f"tcpdump lost packets: {dump.printed}")
  counters = {key: value - before[key] for key, value in programs.qdisc(DEVICE).items()}
  return files, [tuple(map(int, line.split()[:3])) for line in polls.read_text().splitlines()], counters


def passages(files, link_bits_per_s=0, window_ns=None):
  """Returns the rows that queue_passages prints, which show the queue that each departing packet found, and the totals.

  If the link's speed is given, departures that were timestamped too late are corrected. `window_ns` is the length of
  the sketch's windows; by default, a quarter of the longest wait."""
  command = [programs.BUILD / "queue_passages", "--link", str(link_bits_per_s), files["arrivals"], files["departures"]]
  command += [] if window_ns is None else [str(window_ns)]
  run = subprocess.run(command, capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise programs.Wrong(run.stderr)
  names, *lines = run.stdout.splitlines()
  rows = [dict(zip(names.split(","), (float(cell) if "." in cell else int(cell) for cell in line.split(",")))) for line in lines]
  return rows, json.loads(run.stderr)


def not_accounted(totals, counters, files):
  """Returns the unmet requirements on the totals of queue_passages."""
  left, _ = truth.matched(packets_of(files["arrivals"]), packets_of(files["departures"]))
  required = {
      "all departures are matched, except for packets that arrived out of order":
          totals["departures"] == totals["matched"] + totals["never_came"] == counters["packets"]
          and totals["never_came"] <= truth.out_of_order(left) and totals["evicted"] == 0,
      "the packets that never left are those that the kernel dropped":
          totals["never_left"] - totals["never_came"] == counters["drops"],
  }
  return [text for text, met in required.items() if not met]


def tuples(files, parser):
  """Returns the tuples of a parser that reads both captures."""
  taps = [part for side, path in files.items() for part in ("--tap", f"switch:1:{side}={path}")]
  run = subprocess.run([programs.BUILD / "tapline-monitor", "--parser", parser, *taps, "--output", "json", "--hugepages", "never"],
                       capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise programs.Wrong(run.stderr)
  return [json.loads(line) for line in run.stdout.splitlines()]

"""Sends flows through the queue that sandbox.sh sets up, captures both sides, and polls the kernel's backlog."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import truth

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "bin"
RATE_BYTES_PER_S = 100_000_000 // 8
LIMIT_BYTES = 500_000
SOURCE, TARGET = "10.41.0.2", "10.41.0.3"
FRAME_BYTES = 1514  # largest
SETTLE_S = 0.5
# One core sends and receives: a packet that is stamped on one core may enter the queue after a later one of another core.
SENDING_CORE = str(min(os.sched_getaffinity(0)))


class Wrong(Exception):
  """The experiment failed."""


def inside(namespace, *command):
  return ["taskset", "-c", SENDING_CORE, "ip", "netns", "exec", namespace, "/usr/bin/python3", "-B", *command]


def qdisc():
  """Returns the counters of the queue since it was made: packets, bytes and drops."""
  printed = subprocess.run(["tc", "-s", "-j", "qdisc", "show", "dev", "to-target", "root"], check=True, capture_output=True).stdout
  return {key: json.loads(printed)[0][key] for key in ("packets", "bytes", "drops", "backlog")}


@contextlib.contextmanager
def program(*command, stdout=None):
  """Runs a program while the body runs, then ends it with SIGTERM."""
  process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
  process.printed = ""
  try:
    yield process
    process.send_signal(signal.SIGTERM)
    process.printed = process.communicate(timeout=60)[1]
  finally:
    process.kill()
    process.wait()


def capture(device, direction, path):
  return program("tcpdump", "-i", device, "-Q", direction, "-s", "128", "--immediate-mode", "-B", "65536", "-j", "host",
                 "--time-stamp-precision", "nano", "-Z", "root", "-w", str(path), "ip")


def await_line(process, text):
  """Waits until the program has written the text on standard error."""
  for line in process.stderr:
    if text in line:
      return
  raise Wrong(f"{process.args[0]} ended before it was ready")


@contextlib.contextmanager
def receiver():
  with program(*inside("target", HERE / "receive.py", TARGET), stdout=subprocess.PIPE) as process:
    if process.stdout.readline() != "ready\n":
      raise Wrong("the receiver did not start")
    yield


def send(flows, seconds):
  subprocess.run(inside("source", HERE / "send.py", SOURCE, TARGET, str(seconds)), input=json.dumps(flows), text=True, check=True)
  time.sleep(SETTLE_S)
  if qdisc()["backlog"] != 0:
    raise Wrong("the queue is not empty after the last packet")


def captured(flows, seconds, folder):
  """Sends the flows. Returns both captures, the polls (before ns, after ns, backlog) and the growth of the queue's counters."""
  folder.mkdir(exist_ok=True)
  files = {side: folder / f"{side}.pcap" for side in ("arrivals", "departures")}
  polls = folder / "polls.txt"
  before = qdisc()
  with receiver(), capture("to-source", "in", files["arrivals"]) as arrivals, \
      capture("to-target", "out", files["departures"]) as departures, open(polls, "w", encoding="utf-8") as file:
    for dump in (arrivals, departures):
      await_line(dump, "listening on")
    with program("/usr/bin/python3", "-B", str(HERE / "backlog.py"), "tbf", "to-target", stdout=file) as poller:
      send(flows, seconds)
    if poller.returncode != 0:
      raise Wrong(f"the queue can't be polled: {poller.printed}")
  for dump in (arrivals, departures):
    if not re.search(r"^0 packets dropped by kernel", dump.printed, re.MULTILINE):
      raise Wrong(f"tcpdump lost packets: {dump.printed}")
  counters = {key: value - before[key] for key, value in qdisc().items()}
  return files, [tuple(map(int, line.split()[:3])) for line in polls.read_text().splitlines()], counters


def passages(files, link_bits_per_s=0):
  """Returns what each departure found in the queue, as rows of queue_passages, and its totals.

  With the speed of the link, departures that were stamped too late are corrected."""
  command = [BUILD / "queue_passages", "--link", str(link_bits_per_s), files["arrivals"], files["departures"]]
  run = subprocess.run(command, capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise Wrong(run.stderr)
  names, *lines = run.stdout.splitlines()
  rows = [dict(zip(names.split(","), (float(cell) if "." in cell else int(cell) for cell in line.split(",")))) for line in lines]
  return rows, json.loads(run.stderr)


def not_accounted(totals, counters, files):
  """Returns the requirements on the totals of queue_passages that are not met."""
  left, _ = truth.matched(truth.packets_of(files["arrivals"]), truth.packets_of(files["departures"]))
  required = {
      "all departures are matched": totals["departures"] == totals["matched"] + totals["never_came"] == counters["packets"]
      and totals["never_came"] <= truth.out_of_order(left) and totals["evicted"] == 0,
      "the packets that never left are those that the kernel dropped":
          totals["never_left"] - totals["never_came"] == counters["drops"],
  }
  return [text for text, met in required.items() if not met]


def tuples(files, parser):
  """Returns the tuples of a parser that reads both captures."""
  taps = [part for side, path in files.items() for part in ("--tap", f"switch:1:{side}={path}")]
  run = subprocess.run([BUILD / "tapline-monitor", "--parser", parser, *taps, "--output", "json", "--hugepages", "never"],
                       capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise Wrong(run.stderr)
  return [json.loads(line) for line in run.stdout.splitlines()]


def say(text):
  print(text, file=sys.stderr, flush=True)

"""Runs programs for experiments in namespaces: senders, receivers, captures."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bin"
SETTLE_S = 0.5
# One core sends and receives. With several, a packet that is timestamped on one core might enter the queue after a
# packet with a later timestamp from another core.
SENDING_CORE = str(min(os.sched_getaffinity(0)))


class Wrong(Exception):
  """The experiment failed."""


def say(text):
  print(text, file=sys.stderr, flush=True)


def inside(namespace, *command):
  """Returns the command that runs a Python program on a host."""
  return ["taskset", "-c", SENDING_CORE, "ip", "netns", "exec", namespace, "/usr/bin/python3", "-B", *map(str, command)]


@contextlib.contextmanager
def program(*command, stdout=None):
  """Runs a program while the body runs, then ends it with SIGTERM. Afterwards, `printed` is its standard error."""
  process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
  process.printed = ""
  try:
    yield process
    process.send_signal(signal.SIGTERM)
    process.printed = process.communicate(timeout=60)[1]
  finally:
    process.kill()
    process.wait()


@contextlib.contextmanager
def server(namespace, *command):
  """Runs a Python program on a host while the body runs. The program must print "ready" when it is."""
  with program(*inside(namespace, *command), stdout=subprocess.PIPE) as process:
    if process.stdout.readline() != "ready\n":
      raise Wrong(f"{command[0]} did not start")
    yield


def capture(device, direction, path, snapshot_bytes=128, prefix=()):
  """Captures a device's IPv4 packets, with the kernel's times in ns."""
  return program(*prefix, "tcpdump", "-i", device, "-Q", direction, "-s", str(snapshot_bytes), "--immediate-mode", "-B", "65536",
                 "-j", "host", "--time-stamp-precision", "nano", "-Z", "root", "-w", str(path), "ip")


def await_line(process, text):
  """Waits until the program has written a line that contains the text to standard error."""
  for line in process.stderr:
    if text in line:
      return
  raise Wrong(f"{process.args[0]} ended before it was ready")


def lost_packets(dump):
  """Returns True if the capture, which has ended, lost packets."""
  return not re.search(r"^0 packets dropped by kernel", dump.printed, re.MULTILINE)


def qdisc(device, prefix=()):
  """Returns the counters of a device's queue since its creation (packets, bytes, drops), and its backlog."""
  printed = subprocess.run([*prefix, "tc", "-s", "-j", "qdisc", "show", "dev", device, "root"], check=True, capture_output=True).stdout
  return {key: json.loads(printed)[0][key] for key in ("packets", "bytes", "drops", "backlog")}


def send(flows, source, target, seconds):
  """Starts send.py at `source` (namespace, address), and returns the process."""
  namespace, address = source
  process = subprocess.Popen(inside(namespace, HERE / "send.py", address, target, str(seconds)), stdin=subprocess.PIPE, text=True)
  process.stdin.write(json.dumps(flows))
  process.stdin.close()
  return process


def await_senders(senders):
  for sender in senders:
    if sender.wait() != 0:
      raise Wrong("a sender failed")
  time.sleep(SETTLE_S)

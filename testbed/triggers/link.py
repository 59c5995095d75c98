"""Tests a query's triggers on the receiver's interface while hosts send over the link, and captures the same packets.

Runs on the receiver.
"""
import contextlib
import json
import pathlib
import subprocess
from dataclasses import dataclass

import comparison
import programs
import truth
from programs import Wrong

HERE = pathlib.Path(__file__).resolve().parent
TAPLINE = HERE.parents[1] / "bin" / "tapline"
RECEIVER = "10.42.0.2"
SENDERS = [("left", "10.42.0.3"), ("right", "10.42.0.4"), ("third", "10.42.0.5")]
INTERFACE, QUEUE = "eth0", "to-receiver"
IN_SWITCH = ("ip", "netns", "exec", "switch")
PORT = 7000  # the port on which receive.py listens
ATTEMPTS = 3


class Lost(Exception):
  """The monitor, the server or a capture reports losses, probably because the machine was too busy."""


class Events(list):
  """A run's events. `late` is the number of packets that the monitor received after it had passed their time, and
  counted at a later time than the captures show."""
  late = 0


@dataclass(frozen=True)
class Outcome:
  """One run: the packets (or other items) that the evaluator read from the receiver's captures, and their comparisons
  with the events."""
  items: list
  comparisons: list  # one for each condition
  arrivals: pathlib.Path  # a capture on the switch
  dropped: int  # number of packets, as the queue counted them


def query_of(parser, conditions):
  """Returns a query with the conditions as triggers on the parser's tuples."""
  return f"PARSE {parser} TO * LIMIT 1h SAMPLE * PROCESS " + ", ".join(f"(trigger: {condition.text})" for condition in conditions)


def compile_plan(query, path):
  """Writes a query's plan, as `tapline explain` prints it. Raises Wrong if the monitor would not test all its
  triggers."""
  run = subprocess.run([TAPLINE, "explain", "--json", query], capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise Wrong(f"tapline explain failed: {run.stderr}")
  if len(json.loads(run.stdout).get("triggers", [])) != query.count("(trigger:"):
    raise Wrong(f"the monitor does not test all triggers on packets: {query}")
  path.write_text(run.stdout, encoding="utf-8")


@contextlib.contextmanager
def monitor(query, folder):
  """Runs a query on packets in a monitor while the body runs. Yields Events, which it fills after the body has ended. May
  raise Lost."""
  plan, tuples, events = folder / "plan.json", folder / "tuples.json", Events()
  compile_plan(query, plan)
  command = [programs.BUILD / "tapline-monitor", "--interface", INTERFACE, "--plan", plan, "--output", "json", "--status", "json",
             "--hugepages", "never", "--memory-mib", "128"]
  with open(tuples, "w", encoding="utf-8") as file, programs.program(*command, stdout=file) as process:
    programs.await_line(process, '"ready"')
    yield events
  accounting = json.loads(process.printed.splitlines()[-1])["accounting"]
  counts, = accounting["queries"].values()
  lost = sum(accounting["lost"].values()) + sum(count for unit in counts["dropped"].values() for count in unit.values())
  if lost > 0:
    raise Lost(f"the monitor lost {lost} packets or tuples")
  events.late = sum(tap["late"] for tap in accounting["taps"])
  events += map(json.loads, tuples.read_text(encoding="utf-8").splitlines())


def end_windows():
  """Sends a packet whose time ends all windows of the run."""
  flow = {"protocol": "udp", "port": 49000, "bytes": 1, "size": 1, "every_s": 1, "phase_s": 0}
  programs.await_senders([programs.send([flow], SENDERS[0], RECEIVER, 0.1)])


def attempt(tested, send, snapshot_bytes, folder):
  """Calls send() within `tested`, a context that yields events, such as monitor(). Returns the events and three captures: two
  at the receiver in both directions, with the earlier and the later times, and one before the queue. May raise Lost."""
  early, late, arrivals = (folder / f"{name}.pcap" for name in ("early", "late", "arrivals"))
  with programs.server("receiver", HERE.parent / "receive.py", RECEIVER), \
      programs.capture("br0", "in", arrivals, prefix=IN_SWITCH) as before_queue, \
      programs.capture(INTERFACE, "inout", late, snapshot_bytes) as first:
    for dump in (before_queue, first):
      programs.await_line(dump, "listening on")
    # The kernel passes packets to the most recently opened socket first, and each socket timestamps some packets
    # itself.
    with tested as events, programs.capture(INTERFACE, "inout", early, snapshot_bytes) as last:
      programs.await_line(last, "listening on")
      send()
      end_windows()
  for dump in (before_queue, first, last):
    if programs.lost_packets(dump):
      raise Lost(f"tcpdump lost packets: {dump.printed}")
  return events, early, late, arrivals


def run(parser, conditions, send, folder, *, items_in=lambda packets: packets, limit_bytes=500_000, snapshot_bytes=128, test=monitor):
  """Calls send() while the monitor tests the conditions as triggers on the parser's tuples. Returns an Outcome.

  items_in() converts packets to the items that the conditions count; test(query, folder) returns the context manager
  that tests a query."""
  folder.mkdir(exist_ok=True)
  subprocess.run([*IN_SWITCH, "tc", "qdisc", "replace", "dev", QUEUE, "root", "tbf", "rate", "100mbit", "burst", "5kb", "limit",
                  str(limit_bytes)], check=True)
  query = query_of(parser, conditions)
  for number in range(1, ATTEMPTS + 1):
    try:
      before = programs.qdisc(QUEUE, IN_SWITCH)["drops"]
      events, early, late, arrivals = attempt(test(query, folder), send, snapshot_bytes, folder)
      items = items_in(truth.packets_in(early, late))
      found = comparison.compare(items, conditions, events)
      if events.late > 0 and comparison.missed(comparison.summaries_of(found)):
        raise Lost(f"{events.late} packets reached the monitor late")
      return Outcome(items, found, arrivals, programs.qdisc(QUEUE, IN_SWITCH)["drops"] - before)
    except (Lost, truth.Ambiguous) as disturbance:
      programs.say(f"{disturbance}; attempt {number} of {ATTEMPTS}")
  raise Wrong(f"all {ATTEMPTS} attempts were disturbed: is the machine busy?")

"""Runs a query in a `tapline server` on the receiver, and follows the query's events as clients do."""
import contextlib
import json
import threading
import time
import urllib.request

import link
from tapline_server import URL, Server

QUIET_S = 0.3


class Follower:
  """Reads a query's events from the server, and adds `received_ns`, the time at which each event arrived here."""

  def __init__(self, query):
    self.events, self.counted = [], {"received": 0, "missing": 0, "interrupted": 0}
    self._answer = urllib.request.urlopen(f"{URL}/api/v1/queries/{query}/events", timeout=60)
    self._thread = threading.Thread(target=self._read)
    self._thread.start()

  def _read(self):
    name = b""
    for line in self._answer:
      if line.startswith(b"event: "):
        name = line.strip()
      elif line.startswith(b"data: ") and name == b"event: events":
        batch = json.loads(line[6:])
        self.counted = {key: batch[key] for key in self.counted}
        self.events += [event["fields"] | {"made_ns": event["made_ns"], "received_ns": time.time_ns()} for event in batch["events"]]

  def join(self):
    """Waits until the event stream has ended, which happens when the query ends."""
    self._thread.join(60)
    self._answer.close()


@contextlib.contextmanager
def served(query, folder):
  """Runs a query in a server while the body runs. Yields Events, which it fills after the body has ended. May raise
  Lost."""
  del folder
  server, events = Server(inputs=("--interface", link.INTERFACE)), link.Events()
  try:
    number, = server.submit(query)
    follower = Follower(number)
    yield events
    _, totals = server.stop(number)
    follower.join()
  finally:
    server.end()
  if sum(totals["dropped"].values()) > 0 or follower.counted["missing"] or follower.counted["interrupted"]:
    raise link.Lost(f"the query lost data: {totals['dropped']}, {follower.counted}")
  events += follower.events

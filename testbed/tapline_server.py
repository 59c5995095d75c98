"""Starts a `tapline server` on a network of namespaces.sh, runs queries and reads their rows, for experiments."""
import json
import pathlib
import signal
import subprocess
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TAPLINE = str(HERE.parent / "bin/tapline")
URL = "http://127.0.0.1:8480"
MAX_SECONDS = 120


class Wrong(Exception):
  """The experiment failed, or its outcome is not as expected."""


def get(url):
  with urllib.request.urlopen(url, timeout=30) as answer:
    return answer.read()


def until(awaited, condition, min_s=0.0):
  """Waits until a condition is true, but at least min_s seconds. Raises Wrong if it is still false MAX_SECONDS later."""
  begin = time.time()
  while time.time() < begin + min_s or not condition():
    if time.time() > begin + MAX_SECONDS + min_s:
      raise Wrong(f"not within {MAX_SECONDS} s: {awaited}")
    time.sleep(0.05)


class Server:
  """A tapline server that captures on the switch, or at its taps (--tap)."""

  def __init__(self, *options, prefix=(), inputs=("--interface", "br0", "--inventory", "inventory.yaml")):
    self.process = subprocess.Popen([*prefix, TAPLINE, "server", *inputs, *options],
                                    stdout=subprocess.PIPE, text=True)
    if not self.process.stdout.readline().startswith("listening on "):
      raise Wrong("tapline server did not start")

  def submit(self, *queries):
    """Submits queries, waits until they run, and returns their IDs."""
    ids = []
    for query in queries:
      request = urllib.request.Request(f"{URL}/api/v1/queries", query.encode(), {"Content-Type": "text/plain"}, method="POST")
      with urllib.request.urlopen(request, timeout=60) as answer:
        ids.append(json.loads(answer.read())["id"])
    for query in ids:
      until(f"query {query} runs", lambda: self.query(query)["state"] == "running")
    return ids

  @staticmethod
  def query(query):
    return json.loads(get(f"{URL}/api/v1/queries/{query}"))

  def stop(self, query):
    """Stops a query. Returns all its rows and its totals."""
    urllib.request.urlopen(urllib.request.Request(f"{URL}/api/v1/queries/{query}", method="DELETE"), timeout=30).close()
    until(f"query {query} has ended", lambda: self.query(query)["state"] == "stopped")
    rows, after = [], ""
    while True:
      page = json.loads(get(f"{URL}/api/v1/queries/{query}/results?after={after}"))
      if not page["rows"]:
        return rows, self.query(query)["totals"]
      rows += page["rows"]
      after = page["last_entry"]

  def end(self):
    self.process.terminate()
    self.process.wait(60)


class Client:
  """Runs load.py on a host."""

  def __init__(self, host, address, rate, *patterns):
    self._process = subprocess.Popen(
        ["ip", "netns", "exec", host, "setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3", "-B", "load.py",
         address, "--rate", str(rate), *patterns], stdout=subprocess.PIPE, text=True)

  def end(self):
    """Stops the load. Returns the number of requests by pattern. Raises Wrong unless all were answered with 200."""
    self._process.send_signal(signal.SIGTERM)
    printed, _ = self._process.communicate(timeout=60)
    if self._process.returncode != 0:
      raise Wrong(f"a client received wrong responses: {printed}")
    return json.loads(printed)["patterns"]

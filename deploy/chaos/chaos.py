#!/usr/bin/env python3
"""Kills and freezes a cluster's containers in turn, under known input, and tells how long results stay away and what is missing.

For each fault a query counts requests by URL, and a client asks for one page after the other, each with a number of its own.
Then the container is killed (and started again 5 s later, as a supervisor would) or stands still for 10 s. Back again is when a
request that began after the fault is counted: by the same query, or, if that has failed, by the next one that is taken. At the
end each answered request should have been counted once. Exit code 1 if something does not come back, or counts twice.
"""
import argparse
import http.client
import subprocess
import sys
import threading
import time

from check import CLUSTER, Front, compose

PATIENCE_S = 120
KILLED_S = 5
FROZEN_S = 10
SETTLE_S = 15
WARM = 3
QUERY = "PARSE http_get FROM * TO web-1:80 LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"
ONE_OF_EACH = ["zookeeper-1", "kafka-1", "jobmanager-1", "taskmanager-1", "redis", "control-1", "control-2", "front", "switch",
               "monitor-1", "web-1-multilog"]
# One page after the other; of each its number, the second in which it began, and the status.
ASK = """for ((i = 0; ; i++)); do
  [[ ! -e /tmp/{name} ]] || exit 0
  began=$EPOCHREALTIME
  echo "$i $began $(curl -s -o /dev/null -w '%{{http_code}}' --max-time 20 http://10.0.0.11/{name}/$i)"
  sleep 0.1
done"""


class Requests:
    """A client that asks all the time. `answered` is when each answered request began, by its URL."""

    def __init__(self, name):
        self.name = name
        self.answered = {}
        command = [CLUSTER, "compose", "exec", "-T", "client-1-shopper", "bash", "-c", ASK.format(name=name)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            number, began, status = line.split()
            if status == "200":
                self.answered[f"/{self.name}/{number}"] = float(began)

    def stop(self):
        compose("exec", "-T", "client-1-shopper", "touch", f"/tmp/{self.name}")
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join(timeout=5)


class Watched:
    """A query, and what it has counted."""

    def __init__(self, front):
        self.front = front
        self.counts = {}
        self.after = ""
        self.dropped = {}
        self.id = None

    def ask(self, method, path, body=None):
        """As the front does; status 0 while nobody answers."""
        try:
            return self.front.ask(method, path, body)
        except (OSError, http.client.HTTPException):
            return 0, {}

    def submit(self):
        _, answer = self.ask("POST", "/api/v1/queries", {"query": QUERY})
        self.id, self.counts, self.after = answer.get("id"), {}, ""
        return self.id is not None

    def state(self):
        """Its state, "unknown" while nobody can tell; and why it failed."""
        status, known = self.ask("GET", f"/api/v1/queries/{self.id}")
        if status == 404:
            return "failed", "the server does not know it any more"
        return known.get("state", "unknown"), known.get("error", "")

    def read(self):
        while self.id:
            _, page = self.ask("GET", f"/api/v1/queries/{self.id}/results{self.after}")
            for row in page.get("rows", []):
                url = row["key"]["url"]
                self.counts[url] = self.counts.get(url, 0) + row["value"]
            if not page.get("rows"):
                return
            self.after = "?after=" + page["last_entry"]
            self.dropped = page.get("completeness", {}).get("dropped", {})

    def stop(self):
        if self.id:
            self.ask("DELETE", f"/api/v1/queries/{self.id}")


def within(seconds, holds):
    """How long until it held; None if it never did."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if holds():
            return time.monotonic() - began
        time.sleep(0.2)
    return None


def begin(query):
    """A query that runs, within the patience."""
    return within(PATIENCE_S, lambda: query.submit() and within(30, lambda: query.state()[0] == "running") is not None)


def strike(service, action):
    compose("kill" if action == "kill" else "pause", service)


def mend(service, action):
    time.sleep(KILLED_S if action == "kill" else FROZEN_S)
    compose("start" if action == "kill" else "unpause", service)


class Fault:
    """One fault and what came of it."""

    def __init__(self, front, service, action):
        self.service, self.action = service, action
        self.query = Watched(front)
        self.requests = Requests(f"{service}-{action}-{int(time.time())}")
        self.failed = ""

    def counted_since(self, moment):
        """Whether a request that began later is counted; a query that has failed is followed by another."""
        self.query.read()
        if any(began > moment and url in self.query.counts for url, began in list(self.requests.answered.items())):
            return True
        state, error = self.query.state()
        if state in ("failed", "stopped", "finished"):
            self.failed = self.failed or error or state
            begin(self.query)
        return False

    def run(self):
        """The table's row; None for the time if it did not come back."""
        try:
            if begin(self.query) is None or within(PATIENCE_S, lambda: self.counted_since(0)) is None:
                return None, "no query runs", {}
            time.sleep(WARM)
            first = min(began for url, began in self.requests.answered.items() if url in self.query.counts)
            strike(self.service, self.action)
            moment = time.time()
            mending = threading.Thread(target=mend, args=(self.service, self.action))
            mending.start()
            back = within(PATIENCE_S, lambda: self.counted_since(moment))
            mending.join()
            time.sleep(WARM)
            self.requests.stop()
            return back, *self.account(first, moment)
        finally:
            self.requests.stop()
            self.query.stop()

    def account(self, first, moment):
        """In words what is missing of the requests since the first that was counted, and what the completeness says is lost."""
        wanted = {url for url, began in self.requests.answered.items() if began >= first}

        def complete():
            self.query.read()
            return wanted <= self.query.counts.keys()

        if not self.failed:
            within(SETTLE_S, complete)
        twice = [url for url in wanted if self.query.counts.get(url, 0) > 1]
        missing = sorted(self.requests.answered[url] - moment for url in wanted - self.query.counts.keys())
        said = f"{len(missing)} of {len(wanted)} missing"
        if missing:
            said += f", begun {missing[0]:.1f} to {missing[-1]:.1f} s after the fault"
        if self.failed:
            said = f"query failed: {self.failed}"
        return said + (f", {len(twice)} TWICE" if twice else ""), self.query.dropped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="containers, separated by commas; default: one of each kind", default=",".join(ONE_OF_EACH))
    parser.add_argument("--actions", help="kill,pause", default="kill,pause")
    options = parser.parse_args()
    front = Front()
    wrong = 0
    print("| Container | Fault | Counted again after | Requests | Completeness says |\n|---|---|---|---|---|", flush=True)
    for service in options.only.split(","):
        for action in options.actions.split(","):
            back, said, dropped = Fault(front, service, action).run()
            wrong += back is None or "TWICE" in said
            after = "NOT WITHIN 2 MIN" if back is None else f"{back:.1f} s"
            print(f"| {service} | {action} | {after} | {said} | {dropped or 'nothing lost'} |", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

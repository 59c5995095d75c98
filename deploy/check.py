#!/usr/bin/env python3
"""Looks whether a cluster that is up does what it is for, from outside, as a user would.

Through the front (TLS, token): a query is submitted, its mirror rules come; a known number of requests is sent between
containers; each is counted once; the query ends, and its rules are gone; a host's MultiLog has the headers. A request without
the token, or without TLS, gets nothing. Exit code 1 and a reason if not.
"""
import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

CLUSTER = Path(__file__).with_name("cluster")
MIRROR = "cookie=0x7a91020000000000/0xffffff0000000000"
PATIENCE_S = 90
ROUNDS = 5
PER_ROUND = {"a": 6, "b": 3, "c": 1}
QUERY = "PARSE http_get FROM * TO web-1:80 LIMIT 10m SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"


def compose(*words):
    """What a `docker compose` command prints."""
    done = subprocess.run([CLUSTER, "compose", *words], capture_output=True, text=True, timeout=PATIENCE_S)
    require(done.returncode == 0, f"compose {' '.join(words)}: {done.stderr}")
    return done.stdout


def require(holds, message):
    if not holds:
        sys.exit(f"error: {message}")


def await_that(what, holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        require(time.monotonic() < deadline, f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.5)


class Front:
    """The cluster's REST interface, as it is reached from this host."""

    def __init__(self):
        self.port = compose("port", "control", "8443").rsplit(":", 1)[1].strip()
        self.token = compose("exec", "-T", "front", "cat", "/secrets/front/token").strip()
        self.trusted = ssl.create_default_context(cadata=compose("exec", "-T", "front", "cat", "/secrets/front/ca.pem"))

    def ask(self, method, path, body=None, token=True):
        """The status, and the answer's JSON if it is any."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method)
        if token:
            request.add_header("Authorization", "Bearer " + self.token)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, context=self.trusted, timeout=PATIENCE_S) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else {}
        except urllib.error.HTTPError as refused:
            return refused.code, {}

    def get(self, path):
        status, answer = self.ask("GET", path)
        require(status == 200, f"GET {path}: {status}")
        return answer

    def answers_plain(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=PATIENCE_S) as answer:
                return answer.status == 200
        except (urllib.error.HTTPError, OSError):
            return False


def mirror_rules():
    """Those of the first switch."""
    flows = compose("exec", "-T", "switch", "ovs-ofctl", "-O", "OpenFlow14", "dump-flows", "switch-1", MIRROR)
    return [line for line in flows.splitlines() if "priority=" in line]


def counted(front, query, pages):
    """By page, how often the query counted it."""
    counts = dict.fromkeys(pages, 0)
    after = ""
    while True:
        page = front.get(f"/api/v1/queries/{query}/results{after}")
        for row in page["rows"]:
            url = row["key"]["url"]
            if url in counts:
                counts[url] += row["value"]
        if not page["rows"]:
            return counts
        after = "?after=" + page["last_entry"]


def state(front, query):
    known = front.get("/api/v1/queries/" + query)
    require(known["state"] != "failed", f"the query failed: {known['error']}")
    return known["state"]


def check_doors(front):
    require(front.ask("GET", "/api/v1/queries", token=False)[0] == 401, "who has no token is answered")
    require(not front.answers_plain(), "who speaks no TLS is answered")


def check_query(front):
    status, submitted = front.ask("POST", "/api/v1/queries", {"query": QUERY})
    require(status == 201, f"the query is not taken: {status}")
    query = submitted["id"]
    await_that("the query runs", lambda: state(front, query) == "running")
    require(mirror_rules(), "the query runs, but the switch mirrors nothing")

    name = "check-" + query.rsplit("-", 1)[1]
    wanted = {f"/{name}/{page}": times * ROUNDS for page, times in PER_ROUND.items()}
    answered = compose("exec", "-T", "client-1-shopper", "requests", "http://10.0.0.11", str(ROUNDS), name)
    require(int(answered) == sum(wanted.values()), f"only {answered.strip()} requests were answered")
    await_that(f"{wanted} are counted", lambda: counted(front, query, wanted) == wanted)

    front.ask("DELETE", "/api/v1/queries/" + query)
    await_that("the query stops", lambda: state(front, query) == "stopped")
    require(counted(front, query, wanted) == wanted, "what was counted changed at the end")
    await_that("its mirror rules go", lambda: not mirror_rules())
    return sum(wanted.values())


def check_drilldown(front):
    status, found = front.ask("POST", "/api/v1/drilldown", {"filter": "dst_port == 80", "limit": 10})
    require(status == 200 and len(found["rows"]) == 10, f"no headers: {status} {found}")
    require("web-1" in found["nodes"], f"not from web-1: {found['nodes']}")


def main():
    front = Front()
    check_doors(front)
    requests = check_query(front)
    check_drilldown(front)
    print(f"{requests} requests between containers, each mirrored and counted once; rules gone; headers found; doors closed")


if __name__ == "__main__":
    main()

"""A query over known input. Its results are polled while it runs, and read in full once it has ended."""
import collections
import http.client
import json
import threading
import time
import urllib.error
import urllib.request

from truth import Window

REQUEST_TIMEOUT_S = 6
READ_ALL_S = 60
# The query's state is polled once in this many rounds.
STATE_EACH = 8
ENDED = ("failed", "stopped", "finished")


def call(front, method, path, body=None):
    """Sends a request; returns status 0 if the reverse proxy does not answer."""
    try:
        return front.call(method, path, body, timeout_s=REQUEST_TIMEOUT_S)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}


class Query:
    """One query, and the URLs that it has counted."""

    def __init__(self, front, text):
        self.front, self.text = front, text
        self.id, self.began, self.error = None, 0.0, ""
        self.after = ""
        self.counted = set()

    def call(self, method, path, body=None):
        return call(self.front, method, path, body)

    def submit(self):
        status, answer = self.call("POST", "/api/v1/queries", {"query": self.text})
        self.id, self.began = answer.get("id"), time.time()
        return status == 201

    def state(self):
        """Returns the query's state: "failed" if the server does not know it, "unknown" if there is no response."""
        status, known = self.call("GET", f"/api/v1/queries/{self.id}")
        if status == 404:
            self.error = "the server does not know the query"
            return "failed"
        if known.get("state") == "failed":
            self.error = known.get("error", "")
        return known.get("state", "unknown")

    def read(self):
        """Reads the rows that were added since the last call."""
        while True:
            _, page = self.call("GET", f"/api/v1/queries/{self.id}/results{self.after}")
            rows = page.get("rows", [])
            self.counted |= {row["key"]["url"] for row in rows}
            self.after = "?after=" + page["last_entry"] if rows else self.after
            if not page.get("more"):
                return

    def windows(self):
        """Returns all stored windows, or none if the server no longer knows the query. REQUIRES: the query has
        ended."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.front.port}/api/v1/queries/{self.id}/events")
        request.add_header("Authorization", "Bearer " + self.front.operator)
        try:
            with urllib.request.urlopen(request, context=self.front.trusted, timeout=READ_ALL_S) as stream:
                return [window for window in map(window_of, stream) if window]
        except urllib.error.HTTPError:
            return []

    def stop(self):
        """Requests the end of the query. Returns True once it has ended."""
        self.call("DELETE", f"/api/v1/queries/{self.id}")
        return self.state() in ENDED


def window_of(line):
    """Parses a window from a line of an event stream; returns None for other lines."""
    text = line.decode()
    if not text.startswith('data: {"processor"'):
        return None
    event = json.loads(text[len("data: "):])
    counts = collections.Counter()
    for row in event["rows"]:
        counts[row["key"]["url"]] += row["value"]
    partial = [row["key"]["url"] for row in event["rows"] if row["key"]["partial"]]
    return Window(event["window_start_ns"], event["window_end_ns"], counts, event["completeness"], partial)


class Watch:
    """Polls a query's results continuously, and submits another query if it ends. Another thread may read them."""

    def __init__(self, front, text, clients):
        self.front, self.text, self.clients = front, text, clients
        self.query = None
        self.ended = []
        self.newest = {}
        self.oldest_s = 0.0
        self.stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        turn = 0
        while not self.stopping:
            if self.query is None:
                self.begin()
            else:
                self.query.read()
                self.look()
            if self.query and turn % STATE_EACH == 0 and self.query.state() in ENDED:
                self.ended.append(self.query)
                self.query = None
            turn += 1
            time.sleep(0.25)

    def failure_reason(self):
        """Describes the state of the queries and clients, to explain why no requests are counted."""
        failed = [query.error or "ended" for query in self.ended]
        progress = ", ".join(f"{client.web} answered {len(client.answered)}" for client in self.clients)
        now = f"the query is {self.query.state()}" if self.query else "no query is accepted"
        return f"{now}; earlier ones: {failed}; {progress}; {self.seen_of_it()}"

    def seen_of_it(self):
        """Returns the state of the query and of the nodes, as the server reports it."""
        of_query = call(self.front, "GET", f"/api/v1/queries/{self.query.id}") if self.query else None
        return f"query: {of_query}; nodes: {call(self.front, 'GET', '/api/v1/nodes')}"

    def begin(self):
        query = Query(self.front, self.text)
        if query.submit():
            self.query = query

    def look(self):
        self.oldest_s = max(self.oldest_s, self.lag_s())
        for client in self.clients:
            began = [request.began for url, request in list(client.answered.items())[-400:] if url in self.query.counted]
            self.newest[client.web] = max([self.newest.get(client.web, 0.0), *began])

    def lag_s(self):
        """Returns the age of the newest counted request, for the web server where this is largest."""
        return time.time() - min(self.newest.get(client.web, 0.0) for client in self.clients)

    def counted_since(self, moment):
        return min(self.newest.get(client.web, 0.0) for client in self.clients) > moment

    def drilled_since(self, moment):
        """Returns True if each web server's host returns headers of packets captured after this time."""
        body = {"filter": "dst_port == 80", "from_ns": int(moment * 1e9), "limit": 1}
        answers = [call(self.front, "POST", "/api/v1/drilldown", body | {"nodes": [client.web]}) for client in self.clients]
        return all(status == 200 and answer["rows"] and not answer["missing"] for status, answer in answers)

    def stop(self, timeout_s):
        """Ends the current query. Returns all queries, or None if the last one does not end in time."""
        self.stopping = True
        self.thread.join(timeout=60)
        deadline = time.monotonic() + timeout_s
        while self.query and not self.query.stop():
            if time.monotonic() > deadline:
                return None
            time.sleep(0.5)
        return self.ended + ([self.query] if self.query else [])

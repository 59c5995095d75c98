"""A query over known input, read while it runs as people read it, and in whole when it has ended."""
import collections
import http.client
import json
import threading
import time
import urllib.error
import urllib.request

from truth import Window

ASK_S = 6
READ_ALL_S = 60
# Whether a query has failed is asked once in so many times.
STATE_EACH = 8
ENDED = ("failed", "stopped", "finished")


def ask(front, method, path, body=None):
    """Status 0 while nobody answers."""
    try:
        return front.ask(method, path, body, patience_s=ASK_S)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}


class Query:
    """One query and what has been seen of it. `dropped` is what the whole query's completeness told last."""

    def __init__(self, front, text):
        self.front, self.text = front, text
        self.id, self.began, self.error = None, 0.0, ""
        self.after = ""
        self.counted = set()

    def ask(self, method, path, body=None):
        return ask(self.front, method, path, body)

    def submit(self):
        status, answer = self.ask("POST", "/api/v1/queries", {"query": self.text})
        self.id, self.began = answer.get("id"), time.time()
        return status == 201

    def state(self):
        """"unknown" while nobody can tell."""
        status, known = self.ask("GET", f"/api/v1/queries/{self.id}")
        if status == 404:
            self.error = "the server does not know it any more"
            return "failed"
        if known.get("state") == "failed":
            self.error = known.get("error", "")
        return known.get("state", "unknown")

    def read(self):
        """Adds what was counted since."""
        while True:
            _, page = self.ask("GET", f"/api/v1/queries/{self.id}/results{self.after}")
            rows = page.get("rows", [])
            self.counted |= {row["key"]["url"] for row in rows}
            self.after = "?after=" + page["last_entry"] if rows else self.after
            if not page.get("more"):
                return

    def windows(self):
        """All that are kept; none if the server has forgotten it. REQUIRES: it has ended."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.front.port}/api/v1/queries/{self.id}/events")
        request.add_header("Authorization", "Bearer " + self.front.operator)
        try:
            with urllib.request.urlopen(request, context=self.front.trusted, timeout=READ_ALL_S) as stream:
                return [window for window in map(window_of, stream) if window]
        except urllib.error.HTTPError:
            return []

    def stop(self):
        """Whether it has ended."""
        self.ask("DELETE", f"/api/v1/queries/{self.id}")
        return self.state() in ENDED


def window_of(line):
    """Of a line of an event stream the window that it tells of; None if it is something else."""
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
    """Reads all the time what a query has counted; if it fails, submits another. Thread-safe for one who asks."""

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

    def why(self):
        """In words, why nothing may be counted."""
        failed = [query.error or "ended" for query in self.ended]
        asked = ", ".join(f"{client.web} answered {len(client.answered)}" for client in self.clients)
        now = f"the query is {self.query.state()}" if self.query else "no query is taken"
        return f"{now}; earlier ones: {failed}; {asked}; {self.seen_of_it()}"

    def seen_of_it(self):
        """What the server knows of the query, and of its hosts."""
        of_query = ask(self.front, "GET", f"/api/v1/queries/{self.query.id}") if self.query else None
        return f"query: {of_query}; nodes: {ask(self.front, 'GET', '/api/v1/nodes')}"

    def begin(self):
        query = Query(self.front, self.text)
        if query.submit():
            self.query = query

    def look(self):
        self.oldest_s = max(self.oldest_s, self.lag_s())
        for client in self.clients:
            began = [each.began for url, each in list(client.answered.items())[-400:] if url in self.query.counted]
            self.newest[client.web] = max([self.newest.get(client.web, 0.0), *began])

    def lag_s(self):
        """How old the newest request is that is counted, of the web server of which that is longest ago."""
        return time.time() - min(self.newest.get(client.web, 0.0) for client in self.clients)

    def counted_since(self, moment):
        return min(self.newest.get(client.web, 0.0) for client in self.clients) > moment

    def drilled_since(self, moment):
        """Whether each web server's host gives headers of packets that are later."""
        body = {"filter": "dst_port == 80", "from_ns": int(moment * 1e9), "limit": 1}
        answers = [ask(self.front, "POST", "/api/v1/drilldown", body | {"nodes": [client.web]}) for client in self.clients]
        return all(status == 200 and answer["rows"] and not answer["missing"] for status, answer in answers)

    def stop(self, patience_s):
        """All queries there were, ended. None if the last does not end."""
        self.stopping = True
        self.thread.join(timeout=60)
        deadline = time.monotonic() + patience_s
        while self.query and not self.query.stop():
            if time.monotonic() > deadline:
                return None
            time.sleep(0.5)
        return self.ended + ([self.query] if self.query else [])

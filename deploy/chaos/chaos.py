#!/usr/bin/env python3
"""Kills, freezes and disconnects containers of a running cluster, one at a time and two at once, under known input.

Throughout, one query counts requests by URL and reports completeness, second by second, while clients request numbered
pages of each web server, one after another. After each fault, the program reports for how long results were missing. At
the end, every window is compared with the clients' logs: no request may be counted twice or in a wrong second, and the
window's completeness must report each missing request. The exit code is 1 if this is violated, if a component does not
recover, or if a query fails.
"""
import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import report  # noqa: E402
from check import CLUSTER, Front  # noqa: E402
from episode import TIMEOUT_S, Episode, within_s  # noqa: E402
from faults import KINDS, Containers, default_list, kinds_of  # noqa: E402
from truth import SECOND_NS, Client, losses, missing, too_much, within  # noqa: E402
from watch import Watch  # noqa: E402

SETTLE_S = 8
QUERY = "PARSE http_get FROM * TO {} LIMIT 3h SAMPLE * PROCESS (group-count: group=(url, partial), w=1s, s=1s)"
WEBS = {"web-1": "10.0.0.11", "web-2": "10.0.0.12"}


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Judgement:
    """Compares the windows of all queries with all requests, and attributes each mismatch to the fault before it."""

    def __init__(self, clients, episodes):
        self.clients, self.episodes = clients, episodes
        self.answered = {url: request for client in clients for url, request in client.answered.items()}
        self.read = []
        self.totals = {"requests": len(self.answered), "windows": 0, "whole": 0, "reported": 0, "unreported": 0, "more": 0}

    def sent(self, url):
        return any(client.sent(url) for client in self.clients)

    def at(self, moment):
        """Returns the latest fault that began by a second after this time, or the first fault if none did."""
        before = [episode for episode in self.episodes if episode.struck <= moment + 1]
        return before[-1] if before else self.episodes[0]

    def add(self, query, until):
        """Compares a query's windows with the requests between its first window and `until`, or its last window if the
        query failed."""
        windows = query.windows()
        self.read += windows
        if not windows:
            return
        for mistake in too_much(windows, self.answered, self.sent):
            self.totals["more"] += 1
            self.at(mistake.time).wrong.append(f"{mistake.url} {mistake.what}".strip())
        begin = min(window.end for window in windows) / SECOND_NS
        end = until if not query.error else max(window.start for window in windows) / SECOND_NS
        self.add_missing(windows, within(self.answered, begin, end))

    def add_missing(self, windows, asked):
        less, unreported = set(), {}
        for request in asked.values():
            self.at(request.began).asked += 1
        for request, reported in missing(windows, asked):
            episode = self.at(request.began)
            less.add(int(request.ended))
            self.totals["reported" if reported else "unreported"] += 1
            episode.named += 1 if reported else 0
            for reason, count in reported.items():
                episode.reported[reason] = max(count, episode.reported.get(reason, 0))
            if not reported:
                unreported.setdefault(episode, []).append(request.began - episode.struck)
        for episode, after in unreported.items():
            episode.wrong.append(f"{len(after)} requests, {after[0]:.1f} to {after[-1]:.1f} s after the fault, are missing without any report")
        self.totals["windows"] += len(windows)
        self.totals["whole"] += sum(1 for window in windows if window.start // SECOND_NS not in less and not losses(window.completeness))


def run(options, containers, episodes):
    """Returns the clients, the queries (None if the last one does not end), the end of the input, and the injected
    faults."""
    webs = {web: address for web, address in WEBS.items() if web in containers.services()}
    name = f"chaos-{int(time.time())}"
    front = Front()
    clients = [Client(CLUSTER, name, web, address) for web, address in webs.items()]
    watch = Watch(front, QUERY.format(", ".join(f"{web}:80" for web in webs)), clients)
    happened = []
    began = time.monotonic()
    try:
        if within_s(TIMEOUT_S, lambda: watch.query and watch.counted_since(0)) is None:
            sys.exit(f"error: before any fault, the requests of some web server are not counted; {watch.failure_reason()}")
        for episode in episodes:
            if time.monotonic() - began > 60 * options.minutes:
                break
            happened.append(episode)
            say(f"{episode} …")
            episode.run(containers, watch)
            say(report.progress(episode))
    except KeyboardInterrupt:
        say("stopped; judging the results so far")
        for last in happened[-1:]:
            last.wrong.append("stopped before the end")
    finally:
        for client in clients:
            client.stop()
        until = time.time()
        time.sleep(SETTLE_S)
        queries = watch.stop(TIMEOUT_S)
    return clients, queries, until, happened


def judge(clients, queries, until, episodes):
    judgement = Judgement(clients, episodes)
    for query in queries:
        judgement.add(query, until)
    return judgement


def faults_of(options, size):
    targets = options.only.split(",") if options.only else default_list(size)
    return [Episode(target, kind) for target in targets for kind in options.kinds.split(",") if kind in kinds_of(target)]


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="containers, separated by commas; NAME+NAME for two together; default: all, and pairs of a kind")
    parser.add_argument("--kinds", help="kinds of faults to inject", default=",".join(KINDS))
    parser.add_argument("--minutes", type=float, default=180, help="time during which faults are injected")
    parser.add_argument("--results", type=Path, default=Path("build/chaos"), help="folder for chaos.md, chaos.json and read.json (the data behind the verdict)")
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = options_of()
    containers = Containers(os.environ.get("TAPLINE_PROJECT", "tapline"))
    size = "full" if "web-2" in containers.services() else "small"
    clients, queries, until, episodes = run(options, containers, faults_of(options, size))
    if queries is None:
        sys.exit(f"error: the query does not end within {TIMEOUT_S} s")
    judgement = judge(clients, queries, until, episodes)
    print(report.write(options.results, size, episodes, judgement.totals))
    report.keep_input(options.results, judgement.answered, judgement.read)
    broken = [episode for episode in episodes if episode.wrong]
    for episode in broken:
        print(f"BROKEN by {episode}: {report.wrong_words(episode)}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

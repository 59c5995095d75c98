"""What a client asked, what a query counted, and whether the one is the other.

The client numbers its requests, so each URL is asked for once, and writes down when each began and ended by the clock that
monitors have, too. Nothing of Tapline's is asked what is right: a window must have counted a request that was answered once, in a
window that the time from its begin to its end touches. What is missing must be told of by the completeness of such a window. So must be
what comes later: a request whose answer was lost is counted, as partial, once the monitor waits for it no longer.
"""
import collections
import subprocess
import threading

SECOND_NS = 1_000_000_000
# Between the clock's reading and the packet.
TOLERANCE_S = 0.02
# Of the container that asks by itself, too: how often is not known. And what has no URL at all: of an answer whose request came before
# a monitor began to watch there is a tuple, which says that it is partial.
UNNUMBERED = "/shop/"
# Reasons that tell of time rather than of a number of packets or tuples.
WHOLE_WINDOW = {"monitor_replaced"}
# Found out some seconds after the packets were lost, more if nobody could be told meanwhile.
LATE = "mirror_lost"
LATE_S = 40
# One page after the other; of each its number, when it began and ended, and the status.
ASK = """for ((i = {first}; ; i++)); do
  [[ ! -e /tmp/{name}.stop ]] || exit 0
  began=$EPOCHREALTIME
  echo "$i begins"
  status=$(curl -s -o /dev/null -w '%{{http_code}}' --max-time 8 {url}/$i)
  echo "$i $began $EPOCHREALTIME $status"
  sleep 0.1
done"""

Request = collections.namedtuple("Request", "url web began ended")
# `partial` are the URLs of which only the request was seen, or only the answer.
Window = collections.namedtuple("Window", "start end counts completeness partial", defaults=[()])
Mistake = collections.namedtuple("Mistake", "time what url")


class Client:
    """Asks one web server all the time, also after it was killed itself. Thread-safe for one who reads."""

    def __init__(self, cluster, name, web, address):
        self.cluster, self.name, self.web, self.address = cluster, f"{name}-{web}", web, address
        self.answered = {}
        self.begun = -1
        self.stopping = False
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def url(self, number):
        return f"/{self.name}/{number}"

    def execute(self, script):
        return subprocess.Popen([self.cluster, "compose", "exec", "-T", "client-1-shopper", "bash", "-c", script],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self):
        while not self.stopping:
            script = ASK.format(first=self.begun + 2 if self.begun >= 0 else 0, name=self.name, url=f"http://{self.address}/{self.name}")
            process = self.execute(script)
            for line in process.stdout:
                self.note(line.split())
            process.wait()
            threading.Event().wait(1)

    def note(self, words):
        if len(words) == 2:
            self.begun = int(words[0])
        elif len(words) == 4 and words[3] == "200":
            url = self.url(int(words[0]))
            self.answered[url] = Request(url, self.web, float(words[1]), float(words[2]))

    def sent(self, url):
        """Whether it can have been asked for."""
        number = url.rpartition("/")[2]
        return url.startswith(f"/{self.name}/") and number.isdigit() and int(number) <= self.begun + 1

    def stop(self):
        self.stopping = True
        self.execute(f"touch /tmp/{self.name}.stop").wait(timeout=60)
        self.thread.join(timeout=30)


def losses(completeness):
    """Reasons and numbers that a window's completeness tells of; "silent" for monitors that it did not wait for."""
    told = {reason: count for reason, count in completeness.get("dropped", {}).items() if count > 0}
    if completeness.get("silent"):
        told["silent"] = len(completeness["silent"])
    return told


def touches(window, request):
    return window.start / SECOND_NS <= request.ended + TOLERANCE_S and request.began - TOLERANCE_S < window.end / SECOND_NS


def gave_up(window, request):
    """Whether it tells of a request of before whose answer never came to the monitor."""
    return request.url in window.partial and window.start / SECOND_NS > request.ended


def too_much(windows, answered, sent):
    """What was counted and should not have been."""
    mistakes = []
    seen = {}
    starts = collections.Counter(window.start for window in windows)
    mistakes += [Mistake(start / SECOND_NS, f"the window came {times} times", "") for start, times in starts.items() if times > 1]
    for window in windows:
        begin = window.start / SECOND_NS
        for url, value in window.counts.items():
            if not url or url.startswith(UNNUMBERED):
                continue
            if not sent(url):
                mistakes.append(Mistake(begin, "counted, but never asked for", url))
            elif value != 1 or url in seen:
                mistakes.append(Mistake(begin, f"counted {value + seen.get(url, 0):g} times", url))
            elif url in answered and not touches(window, answered[url]) and not gave_up(window, answered[url]):
                mistakes.append(Mistake(begin, "counted in a window in which it was not under way", url))
            seen[url] = seen.get(url, 0) + value
    return mistakes


def missing(windows, answered):
    """Requests that no window counted in time, in order; of each the losses told by the windows that it touches, empty if none tells."""
    counted = {url for window in windows for url in window.counts if url in answered and touches(window, answered[url])}
    room = {window.start: sum(losses(window.completeness).values()) for window in windows}
    found = []
    for request in sorted((each for each in answered.values() if each.url not in counted), key=lambda each: each.began):
        told = {}
        for window in windows:
            if not told and touches(window, request):
                told = explain(losses(window.completeness), room, window.start)
            elif not told and 0 <= window.start / SECOND_NS - request.ended <= LATE_S:
                late = {reason: count for reason, count in losses(window.completeness).items() if reason == LATE}
                told = explain(late, room, window.start)
        found.append((request, told))
    return found


def explain(told, room, start):
    """Losses that have room for one more that is missing."""
    whole = WHOLE_WINDOW | {"silent"}
    if whole & told.keys():
        return told
    if not told or room[start] <= 0:
        return {}
    room[start] -= 1
    return told


def within(answered, begin, end):
    """Those that can't but belong to the time from begin to end."""
    return {url: each for url, each in answered.items() if each.began >= begin and each.ended <= end}

"""Compares a client's requests with a query's counts.

The client numbers its requests, so each URL is requested once, and records when each began and ended, by the same clock
as the monitors. The verdict does not rely on Tapline: each answered request must be counted once, in a window that
overlaps the time from its start to its end. If it is missing, the completeness of such a window must report losses. The
same applies to a request whose response was lost: it is counted later, as partial, when the monitor's timeout expires.
"""
import collections
import subprocess
import threading

SECOND_NS = 1_000_000_000
# Maximum time between the client's clock reading and the packet.
TOLERANCE_S = 0.02
# URL prefix of the shopper, which sends an unknown number of requests. Rows without a URL are also ignored: a response
# whose request preceded the start of the capture yields a partial tuple without a URL.
UNNUMBERED = "/shop/"
# Loss reasons that concern a whole window, not a number of packets or tuples.
WHOLE_WINDOW = {"monitor_replaced"}
# The control plane detects this loss seconds after it happens, and reports it even later if the controller was
# unreachable.
LATE = "mirror_lost"
LATE_S = 40
# Requests pages sequentially; prints each request's number, start, end and status.
POLL_SCRIPT = """for ((i = {first}; ; i++)); do
  [[ ! -e /tmp/{name}.stop ]] || exit 0
  began=$EPOCHREALTIME
  echo "$i begins"
  status=$(curl -s -o /dev/null -w '%{{http_code}}' --max-time 8 {url}/$i)
  echo "$i $began $EPOCHREALTIME $status"
  sleep 0.1
done"""

Request = collections.namedtuple("Request", "url web began ended")
# `partial` lists the URLs for which only the request or only the response was captured.
Window = collections.namedtuple("Window", "start end counts completeness partial", defaults=[()])
Mistake = collections.namedtuple("Mistake", "time what url")


class Client:
    """Requests a web server's pages continuously, and resumes after its own container was killed. Another thread may
    read the requests."""

    def __init__(self, cluster, name, web, address):
        self.cluster, self.name, self.web, self.address = cluster, f"{name}-{web}", web, address
        self.answered = {}
        self.begun = -1
        self.stopping = False
        self.thread = threading.Thread(target=self.poll, daemon=True)
        self.thread.start()

    def url(self, number):
        return f"/{self.name}/{number}"

    def execute(self, script):
        return subprocess.Popen([self.cluster, "compose", "exec", "-T", "client-1-shopper", "bash", "-c", script],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def poll(self):
        while not self.stopping:
            script = POLL_SCRIPT.format(first=self.begun + 2 if self.begun >= 0 else 0, name=self.name, url=f"http://{self.address}/{self.name}")
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
        """Returns True if the URL may have been requested."""
        number = url.rpartition("/")[2]
        return url.startswith(f"/{self.name}/") and number.isdigit() and int(number) <= self.begun + 1

    def stop(self):
        self.stopping = True
        self.execute(f"touch /tmp/{self.name}.stop").wait(timeout=60)
        self.thread.join(timeout=30)


def losses(completeness):
    """Returns the losses in a window's completeness by reason; "silent" counts monitors for which the window did not
    wait."""
    reported = {reason: count for reason, count in completeness.get("dropped", {}).items() if count > 0}
    if completeness.get("silent"):
        reported["silent"] = len(completeness["silent"])
    return reported


def touches(window, request):
    return window.start / SECOND_NS <= request.ended + TOLERANCE_S and request.began - TOLERANCE_S < window.end / SECOND_NS


def gave_up(window, request):
    """Returns True if the window counts an earlier request as partial, since its response never reached the monitor."""
    return request.url in window.partial and window.start / SECOND_NS > request.ended


def too_much(windows, answered, sent):
    """Returns the overcounts: unknown or repeated URLs, wrong windows, and repeated windows."""
    mistakes = []
    seen = {}
    starts = collections.Counter(window.start for window in windows)
    mistakes += [Mistake(start / SECOND_NS, f"the window was emitted {times} times", "") for start, times in starts.items() if times > 1]
    for window in windows:
        begin = window.start / SECOND_NS
        for url, value in window.counts.items():
            if not url or url.startswith(UNNUMBERED):
                continue
            if not sent(url):
                mistakes.append(Mistake(begin, "counted, but never requested", url))
            elif value != 1 or url in seen:
                mistakes.append(Mistake(begin, f"counted {value + seen.get(url, 0):g} times", url))
            elif url in answered and not touches(window, answered[url]) and not gave_up(window, answered[url]):
                mistakes.append(Mistake(begin, "counted in a window in which it was not in progress", url))
            seen[url] = seen.get(url, 0) + value
    return mistakes


def missing(windows, answered):
    """Returns the requests that no overlapping window counted, each with the reported losses that explain it, or {}."""
    counted = {url for window in windows for url in window.counts if url in answered and touches(window, answered[url])}
    room = {window.start: sum(losses(window.completeness).values()) for window in windows}
    faults = []
    for request in sorted((answer for answer in answered.values() if answer.url not in counted), key=lambda answer: answer.began):
        reported = {}
        for window in windows:
            if not reported and touches(window, request):
                reported = explain(losses(window.completeness), room, window.start)
            elif not reported and 0 <= window.start / SECOND_NS - request.ended <= LATE_S:
                late = {reason: count for reason, count in losses(window.completeness).items() if reason == LATE}
                reported = explain(late, room, window.start)
        faults.append((request, reported))
    return faults


def explain(reported, room, start):
    """Returns the losses if they can explain one more missing request, else {}."""
    whole = WHOLE_WINDOW | {"silent"}
    if whole & reported.keys():
        return reported
    if not reported or room[start] <= 0:
        return {}
    room[start] -= 1
    return reported


def within(answered, begin, end):
    """Returns the requests that began and ended between begin and end."""
    return {url: request for url, request in answered.items() if request.began >= begin and request.ended <= end}

"""Reports HTTP errors from the tuples of http_get, in windows of 10 ms and in overlapping windows of 100 ms."""
import collections
import re
import statistics
import subprocess
from dataclasses import dataclass

import comparison
import link
import programs
import truth
from served import served
from plot import Chart
from truth import MS, Condition

SNAPSHOT_BYTES = 4000
DRAWN_MS = 2000


@dataclass(frozen=True)
class Answer:
  """A request with its response. `time_ns` is the time of the packet with the response's last byte (see Packet)."""
  time_ns: int
  latest_ns: int
  url: str
  status: int


def share_of_errors(answers):
  return sum(answer.status >= 500 for answer in answers) / len(answers)


ERRORS = Condition("errors", 'when="count >= 2", only="status >= 500", group=url, every=10ms', len, lambda answers: len(answers) >= 2,
                   lambda answer: f"url={answer.url}" if answer.status >= 500 else None, rises=True)
SHARE = Condition("share", 'when="share(status >= 500) > 0.2", group=url, w=100ms, every=10ms', share_of_errors,
                  lambda answers: share_of_errors(answers) > 0.2, lambda answer: f"url={answer.url}", window_ns=100 * MS)


def send(seconds):
  with programs.server("receiver", link.HERE / "web.py", "serve", link.RECEIVER):
    programs.await_senders([subprocess.Popen(programs.inside(namespace, link.HERE / "web.py", "request", link.RECEIVER, seconds, seed))
                            for seed, (namespace, _) in enumerate(link.SENDERS)])


def answers_in(packets):
  """Pairs requests with responses in the byte streams. Raises Ambiguous if a stream has a gap: this part's queue drops
  no packets, so the capture lost some."""
  requests, responses, answers = collections.defaultdict(collections.deque), collections.defaultdict(bytes), []
  for packet in packets:
    if packet.protocol != truth.TCP or not packet.server.endswith(" 80"):
      continue
    if packet.missing_bytes > 0:
      raise truth.Ambiguous("the captured streams have a gap")
    connection = packet.client, packet.server
    if packet.source == packet.client:
      requests[connection] += re.findall(rb"GET (\S+) HTTP/1.1\r\n", packet.payload())
      continue
    responses[connection] += packet.payload()
    head, separator, rest = responses[connection].partition(b"\r\n\r\n")
    if separator and len(rest) >= (length := int(re.search(rb"Content-Length: (\d+)", head)[1])):
      answers.append(Answer(packet.time_ns, packet.latest_ns, requests[connection].popleft().decode(), int(head.split()[1])))
      responses[connection] = rest[length:]
  return answers


def draw(answers, share, folder):
  """Draws the error share of the page that fails, and the events' values."""
  middle_ns = (answers[0].time_ns + answers[-1].time_ns - DRAWN_MS * MS) // 2
  begin_ns = middle_ns - middle_ns % SHARE.every_ns
  ends = range(begin_ns, begin_ns + DRAWN_MS * MS, SHARE.every_ns)
  group = f"url={max(answers, key=lambda answer: answer.status).url}"
  windows = truth.windows_of(answers, SHARE)
  series = {"from the capture": [share_of_errors(windows[end_ns, group]) if windows[end_ns, group] else 0 for end_ns in ends],
            "value of the event": [share.events[end_ns, group]["value"] if (end_ns, group) in share.events else 0 for end_ns in ends]}
  chart = Chart("Responses with an error in the last 100 ms", "time (ms)", "share", (0, DRAWN_MS), 1)
  for name, values in series.items():
    chart.line(name, [((end_ns - begin_ns) / MS, value) for end_ns, value in zip(ends, values)])
  (folder / "errors.svg").write_text(chart.svg(), encoding="utf-8")
  rows = zip(ends, *series.values())
  lines = ["time_ms,captured,event", *(f"{(end_ns - begin_ns) / MS:.0f},{captured:.4f},{value:.4f}" for end_ns, captured, value in rows)]
  (folder / "errors.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(seconds, folder, out):
  """Sends the requests and compares. Returns the results and the unmet requirements."""
  outcome = link.run("http_get", (ERRORS, SHARE), lambda: send(seconds), folder, items_in=answers_in, snapshot_bytes=SNAPSHOT_BYTES,
                     test=served)
  answers, found = outcome.items, outcome.comparisons
  summaries = comparison.summaries_of(found)
  result = {"triggers": summaries, "responses": len(answers), "errors": sum(answer.status >= 500 for answer in answers),
            "received_ms": statistics.median(found[0].delays_ms("received_ns") or [0])}
  comparison.write_windows(outcome.comparisons, folder / "errors-windows.csv")
  if out:
    draw(answers, found[1], out)
  return result, comparison.missed(summaries)


def table(result):
  return comparison.section(
      f"**HTTP errors.** {result['responses']:,} responses, {result['errors']:,} of them errors of one page. A client of the server "
      f"received the events of the first trigger {result['received_ms']:.1f} ms (median) after the response that met it.",
      result["triggers"])

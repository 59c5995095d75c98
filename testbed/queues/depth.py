"""Compares the queue's depth and drops, as the taps show them, with the kernel's (ConQuest's Figure 14)."""
import bisect
import itertools
import statistics

import lab
from plot import Chart

# Bursts from eight connections and three flows of datagrams, which together exceed the queue. The last flow's datagrams
# are fragmented.
FLOWS = [{"protocol": "tcp", "port": 5001 + i, "bytes": 150_000, "every_s": 0.25, "phase_s": 0.03 * i} for i in range(8)] + [
    {"protocol": "udp", "port": 6001 + i, "bytes": burst, "every_s": every_s, "phase_s": 0.05 * i, "size": size}
    for i, (burst, every_s, size) in enumerate(((150_000, 0.097, 1400), (300_000, 0.311, 1400), (450_000, 0.503, 4000)))]
DRAWN_NS = 1_000_000_000


class Depth:
  """The bytes in the queue over time, computed from the arrivals and departures of the packets that left."""

  def __init__(self, rows):
    changes = sorted([(row["arrival_ns"], row["bytes"]) for row in rows] + [(row["departure_ns"], -row["bytes"]) for row in rows])
    self._times = [time_ns for time_ns, _ in changes]
    self._depths = [0, *itertools.accumulate(change for _, change in changes)]

  def between(self, begin_ns, end_ns):
    """Returns the minimum and maximum depth between these times."""
    first, last = bisect.bisect_right(self._times, begin_ns), bisect.bisect_right(self._times, end_ns)
    depths = self._depths[first:last + 1]
    return min(depths), max(depths)


def errors(rows, polls):
  """Returns, for each poll, by how many bytes the kernel's backlog was outside the range of depths during the poll."""
  depth = Depth(rows)
  result = []
  for before_ns, after_ns, backlog in polls:
    lowest, highest = depth.between(before_ns, after_ns)
    result.append(max(0, lowest - backlog, backlog - highest))
  return result


def percentile(values, percent):
  return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def drawn(rows, polls):
  """Returns (ms, delay from the taps in ms) for one packet per ms, and (ms, backlog / rate in ms), both for the middle
  second."""
  begin_ns = (polls[0][0] + polls[-1][0] - DRAWN_NS) // 2
  delays = sorted(((row["arrival_ns"] - begin_ns) / 1e6, (row["departure_ns"] - row["arrival_ns"]) / 1e6) for row in rows
                  if 0 <= row["arrival_ns"] - begin_ns < DRAWN_NS)
  backlogs = [((before_ns - begin_ns) / 1e6, 1000 * backlog / lab.RATE_BYTES_PER_S) for before_ns, _, backlog in polls
              if 0 <= before_ns - begin_ns < DRAWN_NS]
  return list({int(ms): (ms, delay) for ms, delay in delays}.values()), backlogs


def draw(rows, polls, folder):
  delays, backlogs = drawn(rows, polls)
  chart = Chart("Queueing delay at 100 Mb/s", "time (ms)", "ms", (0, DRAWN_NS / 1e6), max(delay for _, delay in delays))
  chart.line("wait, from taps", delays)
  chart.line("kernel's backlog / rate", backlogs)
  (folder / "figure14.svg").write_text(chart.svg(), encoding="utf-8")
  lines = [f"{name},{ms:.3f},{value:.3f}" for name, points in (("taps", delays), ("kernel", backlogs)) for ms, value in points]
  (folder / "figure14.csv").write_text("\n".join(["source,time_ms,delay_ms", *lines]) + "\n", encoding="utf-8")


def run(seconds, folder, out):
  """Sends the flows and compares. Returns the results and the unmet requirements."""
  files, polls, counters = lab.captured(FLOWS, seconds, folder)
  rows, totals = lab.passages(files)
  sums = {key: sum(tuple_row[key] for tuple_row in lab.tuples(files, "queue_depth"))
           for key in ("packets", "lost", "never_came", "ambiguous", "evicted")}
  misses = errors(rows, polls)
  result = {
      "arrived": totals["arrivals"], "left": totals["departures"], "matched": totals["matched"], "never_left": totals["never_left"],
      "queue_depth": sums, "kernel_left": counters["packets"], "kernel_dropped": counters["drops"],
      "longest_ms": max(row["departure_ns"] - row["arrival_ns"] for row in rows) / 1e6,
      "polls": len(polls), "poll_us": statistics.median(after_ns - before_ns for before_ns, after_ns, _ in polls) / 1e3,
      "error_bytes": {"p50": percentile(misses, 50), "p99": percentile(misses, 99), "max": max(misses)}}
  if out:
    draw(rows, polls, out)
  return result, lab.not_accounted(totals, counters, files) + missed(result)


def missed(result):
  depth, error = result["queue_depth"], result["error_bytes"]
  required = {
      "the kernel dropped packets": result["kernel_dropped"] > 0,
      "queue_depth has the same totals":
          (depth["packets"], depth["lost"], depth["never_came"]) == (result["left"], result["never_left"], result["left"] - result["matched"]),
      "the median error of the depth is 0": error["p50"] == 0,
      "99 % of the errors are at most one packet": error["p99"] <= lab.FRAME_BYTES,
      "no error exceeds three packets": error["max"] <= 3 * lab.FRAME_BYTES,
  }
  return [text for text, met in required.items() if not met]


def table(result):
  error = result["error_bytes"]
  return f"""Queue depth and drops, with bursts of eight TCP connections and three UDP flows, one of them fragmented:

| | Taps | Kernel |
|---|---|---|
| packets that left | {result["matched"]:,} of {result["left"]:,} matched | {result["kernel_left"]:,} |
| packets that never left | {result["never_left"]:,} | {result["kernel_dropped"]:,} dropped |
| longest wait | {result["longest_ms"]:.1f} ms | |
| depth in bytes, at {result["polls"]:,} polls of the backlog | differs by p50 {error["p50"]:,}, p99 {error["p99"]:,}, max {error["max"]:,} | |
"""

"""Measures the precision and recall with which the exact answer and the sketch find the packets of flows that contribute to the queue
(ConQuest's Figure 13)."""
import lab
import truth
from pcap_file import packets_of
from programs import Wrong
from plot import Chart

# Section 6.3: ten steady flows and three with periodic bursts, at a hundredth of the paper's rates.
STEADY_MBIT = (0.1, 0.2, 0.35, 0.65, 1.2, 2.2, 4, 7.5, 14, 26)
BURSTS = ((20_000, 0.023), (100_000, 0.097), (400_000, 0.311))
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
ANSWERS = {"own_bytes": "exact", "complete": "complete windows", "with_current": "with current", "weighted": "weighted"}
REQUIRED = 0.99


def steady(port, mbit):
  """Returns a flow of datagrams at equal intervals; slow flows send small datagrams."""
  size = 200 if mbit < 1 else 1400
  return {"protocol": "udp", "port": port, "bytes": size, "size": size, "every_s": size * 8 / (mbit * 1e6), "phase_s": 0.001 * (port % 10)}


FLOWS = [steady(5001 + i, mbit) for i, mbit in enumerate(STEADY_MBIT)] + [
    {"protocol": "udp", "port": 6001 + i, "bytes": size, "every_s": every_s, "phase_s": 0.05 + 0.02 * i, "size": 1400}
    for i, (size, every_s) in enumerate(BURSTS)]


def score(pairs, key, share):
  """Returns an answer's precision and recall over pairs (row, truth)."""
  hits = alarms = contributing = 0
  for row, true in pairs:
    reported = row[key] > 0 and row[key] >= share * row["queue_bytes"]
    contributes = true.contributes(share)
    hits += reported and contributes
    alarms += reported
    contributing += contributes
  return hits / max(alarms, 1), hits / max(contributing, 1)


def pairs_of(files, rows, totals):
  """Returns (row, truth) of packets that waited for at least an eighth of the wait behind a full queue. Raises Wrong if rows
  and truth don't correspond."""
  left, _ = truth.matched(packets_of(files["arrivals"]), packets_of(files["departures"]))
  left.sort(key=lambda packet: packet[2])
  evaluated = truth.evaluate(left)
  by_departure = {(row["departure_ns"], row["src_port"]): row for row in rows}
  pairs = [(by_departure.get((truth_row.departure_ns, truth_row.flow)), truth_row) for truth_row in evaluated]
  unknown = sum(row is None for row, _ in pairs)
  if unknown != totals["never_came"]:
    raise Wrong(f"Tapline reports other departures than the capture has: {unknown} are missing")
  return [(row, truth_row) for row, truth_row in pairs
          if row is not None and truth_row.departure_ns - truth_row.arrival_ns >= lab.FULL_NS / 8]


def run(seconds, folder, out):
  """Sends the flows and compares. Returns the results and the unmet requirements."""
  files, _, counters = lab.captured(FLOWS, seconds, folder)
  # Not a quarter of the longest measured wait: if the machine stalls, packets wait longer than behind a full queue.
  rows, totals = lab.passages(files, window_ns=lab.FULL_NS // 4)
  pairs = pairs_of(files, rows, totals)
  scores = {name: [(share, *score(pairs, key, share)) for share in SHARES] for key, name in ANSWERS.items()}
  equal = sum(row["own_bytes"] == true.own_bytes and row["queue_bytes"] == true.queue_bytes for row, true in pairs)
  result = {"left": totals["departures"], "compared": len(pairs), "equal": equal, "window_ms": totals["window_ns"] / 1e6,
            "dropped": counters["drops"], "scores": scores,
            "mean_error_bytes": {name: sum(abs(row[key] - true.own_bytes) for row, true in pairs) / len(pairs)
                                 for key, name in ANSWERS.items()}}
  if out:
    draw(scores, out)
  lowest = min(min(precision, recall) for _, precision, recall in scores["exact"])
  unaccounted = lab.not_accounted(totals, counters, files)
  if lowest < REQUIRED:
    unaccounted.append(f"precision and recall of the exact answer are at least {REQUIRED}")
  return result, unaccounted


def draw(scores, folder):
  lines = ["answer,alpha,precision,recall"]
  for place, measure in enumerate(("precision", "recall"), 1):
    chart = Chart(f"{measure.capitalize()} of contributing flows", "alpha (%)", f"{measure} (%)", (0.1, 30), 100, log_x=True)
    for name, points in scores.items():
      chart.line(name, [(100 * point[0], 100 * point[place]) for point in points])
    (folder / f"figure13-{measure}.svg").write_text(chart.svg(), encoding="utf-8")
  for name, points in scores.items():
    lines += [f"{name},{share},{precision:.5f},{recall:.5f}" for share, precision, recall in points]
  (folder / "figure13.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(result):
  shown = (0.001, 0.01, 0.1, 0.3)
  lines = [f"Contributing flows: {result['compared']:,} packets that waited for at least {lab.FULL_NS / 8e6:.1f} ms, an eighth of the wait behind a",
           "full queue, with ten steady and three bursty flows. The sketch has h=4, R=2, C=64 and windows of",
           f"{result['window_ms']:.1f} ms. The exact answer equals the naive one, in bytes, for {100 * result['equal'] / result['compared']:.2f} % of these packets.", "",
           "| Precision, recall in % | " + " | ".join(f"at {100 * share:g} %" for share in shown) + " | Mean error in kB |",
           "|---" * (len(shown) + 2) + "|"]
  for name, points in result["scores"].items():
    cells = [f"{100 * precision:.1f}, {100 * recall:.1f}" for share, precision, recall in points if share in shown]
    lines.append(f"| {name} | " + " | ".join(cells) + f" | {result['mean_error_bytes'][name] / 1000:.2f} |")
  return "\n".join(lines) + "\n"

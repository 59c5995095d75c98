"""Finds the root cause of congestion: a UDP burst on the path of two TCP flows (Trumpet's use case)."""
import statistics

import comparison
import link
import programs
import truth
from plot import Chart
from truth import MS, UDP, Condition

FLOW_MBIT = 12  # rate of a TCP flow
BURST_BYTES, BURST_EVERY_S, DATAGRAM_BYTES = 512_000, 0.5, 1400
LIMIT_BYTES = 150_000  # so small that the burst makes the TCP flows lose packets
CAUSE_MS = 20  # maximum time from the burst's first packet until its flow is reported
BURST_GAP_NS = 100 * MS
DRAWN_MS = (-40, 80)
BIN_MS = 2


def frame_bytes(packets):
  return sum(packet.frame_bytes for packet in packets)


def missing_bytes(packets):
  return sum(packet.missing_bytes for packet in packets)


def exceeds(value, threshold):
  return lambda packets: value(packets) > threshold


FULL = Condition("full", 'when="sum(bytes) > 90KB", every=10ms', frame_bytes, exceeds(frame_bytes, 90_000), rises=True)
VICTIM = Condition("victim", 'when="sum(missing_bytes) > 0", group=flow, every=10ms', missing_bytes, exceeds(missing_bytes, 0),
                   truth.Packet.flow, rises=True)
CAUSE = Condition("cause", 'when="sum(bytes) > 50KB", group=flow, every=10ms', frame_bytes, exceeds(frame_bytes, 50_000),
                  truth.Packet.flow, rises=True)


def send(seconds):
  def tcp(port):
    return {"protocol": "tcp", "port": port, "bytes": 1_000_000, "every_s": 0, "phase_s": 0, "pace_mbit": FLOW_MBIT}
  burst = {"protocol": "udp", "port": 46001, "bytes": BURST_BYTES, "every_s": BURST_EVERY_S, "phase_s": 0.3, "size": DATAGRAM_BYTES}
  flows = [tcp(5001), tcp(5002), burst]
  programs.await_senders([programs.send([flow], sender, link.RECEIVER, seconds) for flow, sender in zip(flows, link.SENDERS)])


def bursts_of(packets):
  """Returns the times of the bursts' first packets, and the set of the bursts' flows."""
  datagrams = [packet for packet in packets if packet.protocol == UDP and packet.payload_bytes == DATAGRAM_BYTES]
  begins = [packet.time_ns for before, packet in zip([None, *datagrams], datagrams)
            if before is None or packet.time_ns - before.time_ns > BURST_GAP_NS]
  return begins, {packet.flow() for packet in datagrams}


def delays_of(begins, events):
  """Returns, for each burst, the ms until its first event was ready, or None if there was no event."""
  ready = sorted(event["ready_ns"] for event in events)
  ends = [*begins[1:], ready[-1] + 1 if ready else 0]
  return [next(((time_ns - begin_ns) / MS for time_ns in ready if begin_ns <= time_ns < end_ns), None)
          for begin_ns, end_ns in zip(begins, ends)]


def draw(packets, begins, cause, folder):
  begin_ns = begins[len(begins) // 2]
  chart = Chart("A burst of datagrams on the path of two TCP flows", "time (ms)", "Mb/s", DRAWN_MS, 100, marks=True)
  lines = ["flow,time_ms,mbit_per_s"]
  for name, client in (("TCP 1", "5001"), ("TCP 2", "5002"), ("UDP", "46001")):
    bins = dict.fromkeys(range(*DRAWN_MS, BIN_MS), 0)
    for packet in packets:
      start_ms = (packet.time_ns - begin_ns) // (BIN_MS * MS) * BIN_MS
      if packet.client.endswith(" " + client) and packet.source == packet.client and start_ms in bins:
        bins[start_ms] += packet.frame_bytes * 8 / 1000 / BIN_MS
    chart.line(name, [(ms + BIN_MS / 2, rate) for ms, rate in bins.items()])
    lines += [f"{name},{ms},{rate:.2f}" for ms, rate in bins.items()]
  chart.mark(0, "first datagram")
  ready = min((event["ready_ns"] for event in cause.events.values() if event["ready_ns"] >= begin_ns), default=None)
  if ready:
    chart.mark((ready - begin_ns) / MS, "event names the flow")
  (folder / "congestion.svg").write_text(chart.svg(), encoding="utf-8")
  (folder / "congestion.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(seconds, folder, out):
  """Sends the flows and compares. Returns the results and the unmet requirements."""
  outcome = link.run("packets", (FULL, VICTIM, CAUSE), lambda: send(seconds), folder, limit_bytes=LIMIT_BYTES)
  packets, (_, victim, cause) = outcome.items, outcome.comparisons
  begins, flows = bursts_of(packets)
  delays = delays_of(begins, cause.events.values())
  summaries = comparison.summaries_of(outcome.comparisons)
  result = {"triggers": summaries, "packets": len(packets), "dropped": outcome.dropped, "bursts": len(begins),
            "cause_ms": delays,
            "named": sorted({group for _, group in cause.events}), "sent_by": sorted(flows),
            "victims": sorted({group for _, group in victim.events})}
  comparison.write_windows(outcome.comparisons, folder / "congestion-windows.csv")
  if out:
    draw(packets, begins, cause, out)
  return result, comparison.missed(summaries) + missed(result)


def missed(result):
  required = {"only the flow of the bursts is named": result["named"] == result["sent_by"],
              "it is named after each burst": None not in result["cause_ms"],
              "some TCP flow lost packets": result["dropped"] > 0 and len(result["victims"]) > 0}
  return [text for text, met in required.items() if not met]


def table(result):
  delays = [ms for ms in result["cause_ms"] if ms is not None]
  in_time = sum(ms <= CAUSE_MS for ms in delays)
  return comparison.section(
      f"**Congestion.** Two TCP flows of {FLOW_MBIT} Mb/s each, and {result['bursts']} bursts of {BURST_BYTES // 1000} kB in datagrams; "
      f"{result['packets']:,} packets at the receiver, {result['dropped']:,} dropped by the queue. In {in_time} of "
      f"{result['bursts']} bursts, the sending flow was named within {CAUSE_MS} ms of the first packet "
      f"(median {statistics.median(delays or [0]):.1f} ms, at most {max(delays, default=0):.1f} ms), and no other flow was named.", result["triggers"])

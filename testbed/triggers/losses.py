"""Finds bursts that lose packets in a short queue (Trumpet's use case), and compares the reported losses with the
packets that the queue dropped."""
import bisect
import collections
import itertools

import comparison
import link
import programs
import truth
from plot import Chart
from truth import MS, Condition

LIMIT_BYTES = 32_000
BURSTS = ((20_000, 0.05, 0.0), (60_000, 0.11, 0.02), (120_000, 0.23, 0.04))  # bytes, interval and phase of each host's flows
BURST_GAP_NS = 20 * MS
DRAWN_MS = 1000
BURST_BYTES, LOSS_SHARE = 15_000, 0.1


def frame_bytes(packets):
  return sum(packet.frame_bytes for packet in packets)


def missing_bytes(packets):
  return sum(packet.missing_bytes for packet in packets)


def lost_in_burst(packets):
  payload_bytes = sum(packet.payload_bytes for packet in packets)
  return frame_bytes(packets) > BURST_BYTES and payload_bytes > 0 and missing_bytes(packets) / payload_bytes > LOSS_SHARE


LOST = Condition("lost", 'when="sum(missing_bytes) > 0", group=flow, every=10ms', missing_bytes,
                 lambda packets: missing_bytes(packets) > 0, truth.Packet.flow, rises=True)
BURST = Condition("burst", 'when="sum(bytes) > 15KB and sum(missing_bytes) / sum(payload_bytes) > 0.1", group=flow, every=10ms',
                  frame_bytes, lost_in_burst, truth.Packet.flow)


def send(seconds):
  def flow(host, number):
    size, every_s, phase_s = BURSTS[number]
    return {"protocol": "tcp", "port": 41_000 + 100 * host + number, "bytes": size, "every_s": every_s, "phase_s": phase_s}
  programs.await_senders([programs.send([flow(host, number) for number in range(len(BURSTS))], sender, link.RECEIVER, seconds)
                          for host, sender in enumerate(link.SENDERS)])


def to_receiver(packets):
  return [packet for packet in packets if packet.server.startswith(link.RECEIVER + " ") and packet.source == packet.client]


def dropped_by_queue(arrivals, departures):
  """Returns the packets that arrived but never left, in order. Equal frames match first in, first out."""
  left = collections.Counter(packet.frame for packet in departures)
  dropped = []
  for packet in arrivals:
    if left[packet.frame] > 0:
      left[packet.frame] -= 1
    else:
      dropped.append(packet)
  return dropped


class Bursts:
  """Each flow's bursts, as they arrived at the queue."""

  def __init__(self, arrivals):
    self._begins, latest_ns = collections.defaultdict(list), {}
    for packet in arrivals:
      if packet.payload_bytes == 0:
        continue
      if packet.time_ns - latest_ns.get(packet.flow(), -BURST_GAP_NS) >= BURST_GAP_NS:
        self._begins[packet.flow()].append(packet.time_ns)
      latest_ns[packet.flow()] = packet.time_ns

  def count(self):
    return sum(map(len, self._begins.values()))

  def of_packet(self, packet):
    """Returns an identifier of the packet's burst: the flow, and the number of the burst."""
    return packet.flow(), bisect.bisect_right(self._begins[packet.flow()], packet.time_ns)


def shown(packet, dropped):
  """Returns the dropped packets whose bytes a received packet skips, which reveals their loss."""
  begin = packet.seq - packet.missing_bytes
  return [lost for lost in dropped if lost.time_ns < packet.time_ns and (lost.seq - begin) % 2**32 < packet.missing_bytes]


def accounted(arrivals, departures, events):
  """Counts the bursts that lost packets in the queue, those whose loss the receiver could detect, and those that events
  report. Returns these and other counts, and the dropped packets."""
  bursts, dropped = Bursts(arrivals), dropped_by_queue(arrivals, departures)
  of_flow = collections.defaultdict(list)
  for packet in dropped:
    of_flow[packet.flow()].append(packet)
  visible, reported, causeless = set(), set(), 0
  for packet in departures:
    if packet.missing_bytes == 0:
      continue
    skipped = {bursts.of_packet(lost) for lost in shown(packet, of_flow[packet.flow()])}
    causeless += not skipped
    visible |= skipped
    window_end_ns = (packet.time_ns // LOST.every_ns + 1) * LOST.every_ns
    reported |= skipped if (window_end_ns, packet.flow()) in events else set()
  return {"bursts": bursts.count(), "dropped": len(dropped), "lossy": len({bursts.of_packet(packet) for packet in dropped}),
          "visible": len(visible), "reported": len(reported), "causeless": causeless}, dropped


def draw(dropped, lost, folder):
  """Draws the cumulative bytes dropped in the middle second, and those that events report as missing."""
  middle_ns = (dropped[0].time_ns + dropped[-1].time_ns - DRAWN_MS * MS) // 2
  begin_ns = middle_ns - middle_ns % LOST.every_ns
  changes = {"dropped by the queue": [(packet.time_ns, packet.payload_bytes) for packet in dropped],
             "missing, in windows with events": [(end_ns - 1, max(lost.met[end_ns, group].values)) for end_ns, group in lost.common()]}
  series = {name: [0] * (DRAWN_MS // 10 + 1) for name in changes}
  for name, sizes in changes.items():
    for time_ns, size in sizes:
      if begin_ns <= time_ns < begin_ns + DRAWN_MS * MS:
        series[name][(time_ns - begin_ns) // LOST.every_ns + 1] += size / 1000
  totals = {name: list(itertools.accumulate(sizes)) for name, sizes in series.items()}
  chart = Chart(f"Bytes lost in a queue of {LIMIT_BYTES // 1000} kB", "time (ms)", "kB", (0, DRAWN_MS), max(map(max, totals.values())))
  for name, sizes in totals.items():
    chart.line(name, [(10 * i, size) for i, size in enumerate(sizes)])
  (folder / "losses.svg").write_text(chart.svg(), encoding="utf-8")
  rows = enumerate(zip(*totals.values()))
  lines = ["time_ms,dropped_kB,missing_kB", *(f"{10 * i},{lost_kb:.3f},{missing_kb:.3f}" for i, (lost_kb, missing_kb) in rows)]
  (folder / "losses.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(seconds, folder, out):
  """Sends the flows and compares. Returns the results and the unmet requirements."""
  outcome = link.run("packets", (LOST, BURST), lambda: send(seconds), folder, limit_bytes=LIMIT_BYTES)
  packets, (lost, _) = outcome.items, outcome.comparisons
  summaries = comparison.summaries_of(outcome.comparisons)
  account, dropped = accounted(to_receiver(truth.packets_in(outcome.arrivals)), to_receiver(packets), lost.events)
  result = {"triggers": summaries, "packets": len(packets), "kernel_dropped": outcome.dropped, **account}
  comparison.write_windows(outcome.comparisons, folder / "losses-windows.csv")
  if out:
    draw(dropped, lost, out)
  return result, comparison.missed(summaries) + missed(result)


def missed(result):
  required = {"the captures lack the packets that the kernel dropped": result["dropped"] == result["kernel_dropped"] > 0,
              "each burst whose loss the receiver could see is reported": result["reported"] == result["visible"] > 0,
              "missing bytes were dropped by the queue": result["causeless"] == 0}
  return [text for text, met in required.items() if not met]


def table(result):
  return comparison.section(
      f"**Bursts with losses.** Nine TCP flows send bursts of 20, 60 and 120 kB into a queue of {LIMIT_BYTES // 1000} kB. "
      f"{result['lossy']:,} of {result['bursts']:,} bursts lost packets, {result['dropped']:,} in total (the kernel counted "
      f"{result['kernel_dropped']:,}). In {result['visible']:,} of the bursts, a later packet revealed the loss to the "
      f"receiver; events reported {result['reported']:,} of these bursts. The others lost only their last packets, or "
      "retransmissions.", result["triggers"])

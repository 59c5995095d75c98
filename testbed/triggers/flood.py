"""Distinguishes a SYN flood with spoofed sources from a crowd of real connections (Trumpet's use case)."""
import subprocess

import comparison
import link
import programs
import truth
from plot import Chart
from truth import FIN, MS, Condition

FLOOD_EVERY_S, FLOOD_SYNS, FLOOD_PER_S = 0.4, 800, 8000
DRAWN_MS = 1200
ATTACKED = f"dst_ip={link.RECEIVER}"


def syns(packets):
  return sum(packet.is_syn() for packet in packets)


def fins(packets):
  return sum(packet.flags & FIN != 0 for packet in packets)


def server_address(packet):
  return "dst_ip=" + packet.server.split()[0]


MANY = Condition("many", 'when="count(syn) > 30", group=dst_ip, every=10ms', syns, lambda packets: syns(packets) > 30, server_address,
                 rises=True)
FLOOD = Condition("flood", 'when="count(syn) > 30 and count(syn) > 3 * count(fin)", group=dst_ip, every=10ms', syns,
                  lambda packets: syns(packets) > 30 and syns(packets) > 3 * fins(packets), server_address)


def send(seconds):
  spoof = [link.HERE / "spoof.py", link.RECEIVER, link.PORT, seconds, FLOOD_EVERY_S, FLOOD_SYNS, FLOOD_PER_S]
  visit = [link.HERE / "visit.py", link.RECEIVER, link.PORT, seconds]
  programs.await_senders([subprocess.Popen(programs.inside("third", *spoof)), subprocess.Popen(programs.inside("left", *visit))])


def is_spoofed(packet):
  return packet.client.startswith(("198.18.", "198.19."))


def draw(packets, found, folder):
  """Draws the middle of the run in windows of 10 ms, and the first event of each series of consecutive ones."""
  middle_ns = (packets[0].time_ns + packets[-1].time_ns - DRAWN_MS * MS) // 2
  begin_ns = middle_ns - middle_ns % FLOOD.every_ns
  windows = {begin_ns + i * FLOOD.every_ns: [] for i in range(DRAWN_MS // 10)}
  for packet in packets:
    windows.get(packet.time_ns - packet.time_ns % FLOOD.every_ns, []).append(packet)
  spoofed = [syns(filter(is_spoofed, members)) for members in windows.values()]
  series = {"SYNs of real connections": [syns(members) - count for members, count in zip(windows.values(), spoofed)],
            "spoofed SYNs": spoofed, "FINs": [fins(members) for members in windows.values()]}
  highest = max(map(max, series.values()))
  chart = Chart("A server under SYN floods and crowds", "time (ms)", "packets in 10 ms", (0, DRAWN_MS), highest, marks=True)
  for name, counts in series.items():
    chart.line(name, [(10 * i + 5, count) for i, count in enumerate(counts)])
  ends = {end_ns for end_ns, _ in found.events}
  for end_ns in sorted(ends):
    if end_ns - FLOOD.every_ns not in ends and begin_ns < end_ns < begin_ns + DRAWN_MS * MS:
      chart.mark((end_ns - begin_ns) / MS, "event")
  (folder / "flood.svg").write_text(chart.svg(), encoding="utf-8")
  lines = ["time_ms," + ",".join(series), *(f"{10 * i}," + ",".join(map(str, row)) for i, row in enumerate(zip(*series.values())))]
  (folder / "flood.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(seconds, folder, out):
  """Sends the packets and compares. Returns the results and the unmet requirements."""
  outcome = link.run("packets", (MANY, FLOOD), lambda: send(seconds), folder)
  packets, (many, flood) = outcome.items, outcome.comparisons
  summaries = comparison.summaries_of(outcome.comparisons)
  spoofed = {(packet.time_ns // FLOOD.every_ns + 1) * FLOOD.every_ns for packet in packets if is_spoofed(packet)}
  result = {"triggers": summaries, "packets": len(packets), "syns": syns(packets), "spoofed": sum(map(is_spoofed, packets)),
            "crowds": len({end_ns for end_ns, _ in many.met} - {end_ns for end_ns, _ in flood.met}),
            "named": sorted({group for _, group in flood.events}),
            "outside": sum(end_ns not in spoofed for end_ns, _ in flood.events)}
  comparison.write_windows(outcome.comparisons, folder / "flood-windows.csv")
  if out:
    draw(packets, flood, out)
  return result, comparison.missed(summaries) + missed(result)


def missed(result):
  required = {"only the attacked server is named": result["named"] == [ATTACKED],
              "windows without a spoofed SYN have no event of the flood": result["outside"] == 0}
  return [text for text, met in required.items() if not met]


def table(result):
  return comparison.section(
      f"**SYN flood.** {result['spoofed']:,} spoofed SYNs, in floods of 0.1 s, among {result['syns'] - result['spoofed']:,} real "
      f"connections. {result['crowds']:,} windows had a crowd of real connections, which the second condition does not report.",
      result["triggers"])

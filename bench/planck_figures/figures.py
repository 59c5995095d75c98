"""Planck's figures: the runs that each figure needs, its table, and its plots. Times in commands are simulated time."""
from congestion import Congestion
from estimates import Errors, Readiness, SlowStart
from results import SCHEDULES, SMALL, Chart, Row, percent, steps

# The buffer of a 1 Gb/s switch. One congested port can occupy 0.75 MB of it.
SLOW = "gigabits=1 buffer=4e6 alpha=0.23"


class Sampling:
  """Figures 5 to 7. With a window of about one bandwidth-delay product, senders' links are idle at times, as in the paper."""
  title = "Figures 5 to 7: one packet of each flow at a time"

  def __init__(self, quick, seeds):
    self._counts = (5, 13) if quick else range(1, 14)
    self._times = "ms=5 from=3" if quick else "ms=16 from=8"

  def _run(self, flows, schedule):
    return f"sampling flows={flows} schedule={schedule} window=250000 {self._times}"

  def commands(self):
    return [self._run(flows, schedule) for schedule in SCHEDULES for flows in self._counts]

  def rows(self, runs):
    rows = []
    for schedule, name in SCHEDULES.items():
      largest = self._run(13, schedule)
      bar = schedule == "round_robin"
      ones, gaps = runs.value(largest, "bursts_of_one"), runs.value(largest, "gaps_within_13")
      rows += [
          Row(f"Bursts of one packet, 13 flows, {name}", "> 96 %", percent(ones), ">= 96 %" if bar else "", ones >= 0.96 if bar else None),
          Row(f"Gaps of at most 13 MTU, {name}", "> 85 %", percent(gaps), ">= 85 %" if bar else "", gaps >= 0.85 if bar else None),
          Row(f"Mean gap and deviation, 13 flows, MTU, {name}", "12 expected; 28",
              f"{runs.value(largest, 'gap_mean'):.1f}; {runs.value(largest, 'gap_deviation'):.1f}"),
          Row(f"Samples of the most and least sampled flow, {name}", "", f"{runs.value(largest, 'unfairness'):.2f} : 1")]
    linear = [abs(runs.value(self._run(flows, "round_robin"), "gap_mean") - (flows - 1)) for flows in self._counts if flows > 4]
    rows.append(Row("Largest deviation from a line above 4 flows, MTU, round robin", "linear", f"{max(linear):.2f}", "<= 1", max(linear) <= 1))
    return rows

  def charts(self, runs):
    bursts = Chart("Burst lengths of samples, 13 flows", "MTU", "share", (0, 8), 1)
    gaps = Chart("Gaps between a flow's samples, 13 flows", "MTU", "share", (0, 80), 1)
    means = Chart("Mean gap between a flow's samples", "flows", "MTU", (1, 13), 20)
    for schedule, name in SCHEDULES.items():
      largest = self._run(13, schedule)
      bursts.line(name, [(0, 0), *steps(runs.curve(largest, "burst", largest=8)), (8, 1)])
      gaps.line(name, steps(runs.curve(largest, "gap", largest=80)))
      means.line(name, [(flows, runs.value(self._run(flows, schedule), "gap_mean")) for flows in self._counts])
    gaps.line("idle times of the senders", steps(runs.curve(self._run(13, "round_robin"), "sender_gap", largest=80)))
    means.line("flows - 1", [(flows, flows - 1) for flows in self._counts])
    return {"figure5.svg": bursts, "figure6.svg": means, "figure7.svg": gaps}


class Latency:
  """Figures 8 and 9."""
  title = "Figures 8 and 9, section 5.2: delay of samples, from the first bit on the sender's link"

  def __init__(self, quick, seeds):
    self._factors = (1.5, 2.5) if quick else (1.2, 1.4, 1.6, 1.8, 2, 2.25, 2.5)
    deep = "ms=34 from=28" if quick else "ms=50 from=35"
    short = "ms=10 from=7" if quick else "ms=30 from=15"
    self._saturated = {
        f"10 Gb/s, 4 MB, {name}": f"latency flows=3 schedule={schedule} {deep}" for schedule, name in SCHEDULES.items()}
    self._saturated.update({
        f"1 Gb/s, 0.75 MB, {name}": f"latency flows=3 schedule={schedule} {SLOW} ms=140 from=110" for schedule, name in SCHEDULES.items()})
    self._saturated["10 Gb/s, 32 kB, round robin"] = f"latency flows=3 {SMALL} {short}"
    self._idle = {rate: f"latency flows=1 factor=0.001 gigabits={rate} ms=200 from=0" for rate in (10, 1)}
    self._queues = {f"4 MB, {name}": f"schedule={schedule} {deep}" for schedule, name in SCHEDULES.items()}
    self._queues["32 kB, round robin"] = f"{SMALL} {short}"

  def _run(self, factor, queue):
    return f"latency flows=4 factor={factor} {self._queues[queue]}"

  def commands(self):
    return [*self._saturated.values(), *self._idle.values(), *(self._run(factor, queue) for queue in self._queues for factor in self._factors)]

  def rows(self, runs):
    bars = {"10 Gb/s, 4 MB": (3200, 3500, "3.2 to 3.5 ms"), "1 Gb/s, 0.75 MB": (6000, 6500, "6 to 6.5 ms"), "10 Gb/s, 32 kB": (0, 100, "< 100 us")}
    papers = {"10 Gb/s, 4 MB": "3.5 ms", "1 Gb/s, 0.75 MB": "just over 6 ms", "10 Gb/s, 32 kB": ""}
    rows = []
    for name, command in self._saturated.items():
      kind = name.rsplit(",", 1)[0]
      low, high, bar = bars[kind]
      median = runs.value(command, "delay_quantile", 0.5)
      shown = f"{median / 1000:.2f} ms" if median > 1000 else f"{median:.0f} us"
      rows.append(Row(f"Median, 3 saturated flows, {name}", papers[kind], shown, bar, low <= median <= high))
    for queue in self._queues:
      delays = [runs.value(self._run(factor, queue), "delay_quantile", 0.5) for factor in self._factors]
      rows.append(Row(f"Medians at factors {self._factors[0]} to {self._factors[-1]}, 10 Gb/s, {queue}", "flat" if "4 MB" in queue else "",
                      f"{min(delays):,.0f} to {max(delays):,.0f} us", "within 10 %", max(delays) <= 1.1 * min(delays)))
    for rate, paper, largest in ((10, "75 to 150 us", 150), (1, "80 to 450 us", 450)):
      delay = runs.value(self._idle[rate], "delay_quantile", 1)
      rows.append(Row(f"Idle network, {rate} Gb/s, largest", paper, f"{delay:.0f} us", f"<= {largest} us", delay <= largest))
    return rows

  def charts(self, runs):
    cdf = Chart("Delay of samples, 3 saturated flows", "ms", "share", (0, 8), 1)
    names = ("4 MB, round robin", "4 MB, FIFO", "1 Gb/s, round robin", "1 Gb/s, FIFO", "32 kB")
    for name, command in zip(names, self._saturated.values()):
      curve = runs.curve(command, "delay", 0.001)
      cdf.line(name, [(curve[0][0], 0), *curve])
    factors = Chart("Median delay of samples by oversubscription factor, 10 Gb/s", "factor", "ms", (1, 2.5), 4)
    for queue in self._queues:
      factors.line(queue, [(factor, runs.value(self._run(factor, queue), "delay_quantile", 0.5) / 1000) for factor in self._factors])
    return {"figure8.svg": cdf, "figure9.svg": factors}


PARTS = {"congestion": Congestion, "sampling": Sampling, "latency": Latency,
         "slow-start": SlowStart, "errors": Errors, "readiness": Readiness}

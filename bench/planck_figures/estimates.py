"""Figures 10 to 12: the runs that each needs, its table, and its plots."""
from results import SCHEDULES, SMALL, Chart, Row, percent, steps


class SlowStart:
  """Figure 10. CUBIC's HyStart, which ends slow start early, is off."""
  title = "Figure 10: a flow in slow start"

  def __init__(self, quick):
    self._run = f"slow-start flows=1 hystart=no ms={4 if quick else 8}"

  def commands(self):
    return [self._run]

  def rows(self, runs):
    falls = {series: largest_fall([y for _, y in runs.curve(self._run, series)]) for series in ("rolling", "estimate")}
    within, error = runs.value(self._run, "bursts_within"), runs.value(self._run, "bursts_error")
    return [Row("Rolling average over 200 us, largest fall below an earlier value", "0 to 2 times the rate", percent(falls["rolling"])),
            Row("Estimates by bursts, likewise", "smooth", percent(falls["estimate"]), "<= 5 %", falls["estimate"] <= 0.05),
            Row("Mean error", "", percent(error), "<= 5 %", error <= 0.05),
            Row("True rates within the bounds", "no bounds", percent(within), ">= 95 %", within >= 0.95)]

  def charts(self, runs):
    chart = Chart("A flow in slow start: rate when it is known", "ms", "Gb/s", (0, 4), 10)
    for name, series in (("rolling average, 200 us", "rolling"), ("by bursts", "estimate"), ("lower bound", "low"), ("upper bound", "high"),
                         ("sent", "truth")):
      chart.line(name, runs.curve(self._run, series, most=4))
    return {"figure10.svg": chart}


def largest_fall(values):
  """Returns the largest fall below an earlier value, as a share of that value."""
  highest, fall = 0, 0
  for value in values:
    highest = max(highest, value)
    fall = max(fall, 1 - value / highest) if highest > 0 else fall
  return fall


class Errors:
  """Figure 11, and bounds of all estimates: while the queue fills, and of UDP."""
  title = "Figure 11: errors of rates, relative to the bytes that the sender put on its link in the same time"

  def __init__(self, quick):
    self._factors = (1.5, 2.5) if quick else (1.2, 1.4, 1.6, 1.8, 2, 2.25, 2.5)
    self._seeds = (1,) if quick else (1, 2, 3)
    self._queues = {}
    for schedule, name in SCHEDULES.items():
      self._queues[f"32 kB, {name}"] = f"schedule={schedule} {SMALL} " + ("ms=15 from=8" if quick else "ms=40 from=10")
      self._queues[f"4 MB, {name}"] = f"schedule={schedule} " + ("ms=40 from=30" if quick else "ms=70 from=35")
    self._flows = {"TCP": "flows=4", "a third UDP": "flows=6 udp=2"}

  def _runs(self, queue, flows, factor):
    return [f"errors {self._flows[flows]} factor={factor} seed={seed} {self._queues[queue]}" for seed in self._seeds]

  def commands(self):
    return [each for queue in self._queues for flows in self._flows for factor in self._factors for each in self._runs(queue, flows, factor)]

  def rows(self, runs):
    rows = []
    for queue in self._queues:
      for flows in self._flows:
        every = [self._runs(queue, flows, factor) for factor in self._factors]
        error = [runs.mean(each, "tcp_steady_error") for each in every]
        within = [runs.mean(each, "all_within") for each in every]
        width = [runs.mean(each, "tcp_steady_width") for each in every]
        rows += [Row(f"Mean error of TCP flows once steady, at the worst factor: {queue}, {flows}", "3 %", percent(max(error), 2), "<= 1 %",
                     max(error) <= 0.01),
                 Row(f"True rates within the bounds, at the worst factor; width once steady: {queue}, {flows}", "no bounds",
                     f"{percent(min(within))}; {percent(max(width))}", ">= 95 %", min(within) >= 0.95)]
      udp = [runs.mean(self._runs(queue, "a third UDP", factor), "udp_error") for factor in self._factors]
      filling = [runs.mean(self._runs(queue, "TCP", factor), "tcp_filling_bias") for factor in self._factors]
      rows += [Row(f"Mean error of UDP flows, at the worst factor: {queue}", "none", percent(max(udp))),
               Row(f"Bias of TCP flows while the queue fills, at the worst factor: {queue}", "", percent(min(filling)))]
    return rows

  def charts(self, runs):
    chart = Chart("Mean error of TCP flows' rates by oversubscription factor", "factor", "%", (1, 2.5), 3.5)
    for queue in self._queues:
      chart.line(queue, [(factor, 100 * runs.mean(self._runs(queue, "TCP", factor), "tcp_steady_error")) for factor in self._factors])
    chart.line("Planck", [(1.2, 3), (2.5, 3)])
    return {"figure11.svg": chart}


class Readiness:
  """Figure 12 and the measurement delay of Table 1."""
  title = "Figure 12, Table 1: from a packet's first bit to the estimate of its burst, mirror queue of 32 kB"
  HELIOS_MS = 77.4

  def __init__(self, quick):
    short, long = ("ms=20 from=15", "ms=80 from=50") if quick else ("ms=30 from=15", "ms=200 from=50")
    self._runs = {f"{rate} Gb/s, {name}": f"readiness flows=3 schedule={schedule} {SMALL} gigabits={rate} {short if rate == 10 else long}"
                  for rate in (10, 1) for schedule, name in SCHEDULES.items()}

  def commands(self):
    return list(self._runs.values())

  def rows(self, runs):
    rows = []
    for name, command in self._runs.items():
      fast = name.startswith("10 ")
      low, median, most = (runs.value(command, "ready_quantile", share) for share in (0, 0.5, 1))
      slow_start = runs.value(command, "ready_quantile_with_slow_start", 1)
      bar = 850 if fast else 1150
      met = most <= bar and (median <= 550 or not fast)
      rows += [Row(f"Least, median, most: {name}", "275 to 850 us" if fast else "280 to 1,150 us", f"{low:.0f}, {median:.0f}, {most:.0f} us",
                   ("median <= 550, " if fast else "") + f"all <= {bar:,} us", met),
               Row(f"Most, with slow start: {name}", "", f"{slow_start:,.0f} us"),
               Row(f"Median delay of samples in it: {name}", "75 to 150 us" if fast else "80 to 450 us",
                   f"{runs.value(command, 'delay_quantile', 0.5):.0f} us")]
    most = runs.value(self._runs["10 Gb/s, round robin"], "ready_quantile", 1)
    rows.append(Row("Helios' 77.4 ms over the most at 10 Gb/s", "291 times (least)", f"{self.HELIOS_MS * 1000 / most:.0f} times"))
    return rows

  def charts(self, runs):
    chart = Chart("From a packet's first bit until its burst's rate is known, 32 kB", "us", "share", (0, 1200), 1)
    for name, command in self._runs.items():
      chart.line(name, steps(runs.curve(command, "ready")))
    return {"figure12.svg": chart}

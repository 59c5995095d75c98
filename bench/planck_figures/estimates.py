"""Figures 10 to 12: the runs that each figure needs, its table, and its plots."""
from results import SCHEDULES, SMALL, Chart, Row, percent, steps


class SlowStart:
  """Figure 10. CUBIC's HyStart, which ends slow start early, is off."""
  title = "Figure 10: a flow in slow start"

  def __init__(self, quick, seeds):
    self._run = f"slow-start flows=1 hystart=no ms={4 if quick else 8}"

  def commands(self):
    return [self._run]

  def rows(self, runs):
    falls = {series: largest_fall([y for _, y in runs.curve(self._run, series)]) for series in ("rolling", "estimate")}
    within, error = runs.value(self._run, "bursts_within"), runs.value(self._run, "bursts_error")
    return [Row("Rolling average over 200 us, largest fall below an earlier value", "0 to 2 times the rate", percent(falls["rolling"])),
            Row("Burst-based estimates, largest fall below an earlier value", "smooth", percent(falls["estimate"]), "<= 5 %", falls["estimate"] <= 0.05),
            Row("Mean error", "", percent(error), "<= 5 %", error <= 0.05),
            Row("True rates within the bounds", "no bounds", percent(within), ">= 95 %", within >= 0.95)]

  def charts(self, runs):
    chart = Chart("A flow in slow start: rate when it is known", "ms", "Gb/s", (0, 4), 10)
    for name, series in (("rolling average, 200 us", "rolling"), ("by bursts", "estimate"), ("lower bound", "low"), ("upper bound", "high"),
                         ("sent", "truth")):
      chart.line(name, runs.curve(self._run, series, largest=4))
    return {"figure10.svg": chart}


def largest_fall(values):
  """Returns the largest drop below an earlier value, as a share of that value."""
  highest, fall = 0, 0
  for value in values:
    highest = max(highest, value)
    fall = max(fall, 1 - value / highest) if highest > 0 else fall
  return fall


class Errors:
  """Figure 11, and the bounds of all estimates, including those while the queue fills and those of UDP flows."""
  title = "Figure 11: errors of rates, relative to the bytes that the sender put on its link in the same time"

  def __init__(self, quick, seeds):
    self._factors = (1.5, 2.5) if quick else (1.2, 1.4, 1.6, 1.8, 2, 2.25, 2.5)
    self._seeds = range(1, seeds + 1)
    self._queues = {}
    for schedule, name in SCHEDULES.items():
      self._queues[f"32 kB, {name}"] = f"schedule={schedule} {SMALL} " + ("ms=15 from=8" if quick else "ms=40 from=10")
      self._queues[f"4 MB, {name}"] = f"schedule={schedule} " + ("ms=40 from=30" if quick else "ms=70 from=35")
    self._flows = {"TCP": "flows=4", "a third UDP": "flows=6 udp=2"}

  def _runs(self, queue, flows, factor):
    return [f"errors {self._flows[flows]} factor={factor} seed={seed} {self._queues[queue]}" for seed in self._seeds]

  def commands(self):
    return [command for queue in self._queues for flows in self._flows for factor in self._factors for command in self._runs(queue, flows, factor)]

  def rows(self, runs):
    rows = []
    for queue in self._queues:
      for flows in self._flows:
        every = [self._runs(queue, flows, factor) for factor in self._factors]
        error = [runs.mean(flow_runs, "tcp_steady_error") for flow_runs in every]
        within = [runs.mean(flow_runs, "all_within") for flow_runs in every]
        width = [runs.mean(flow_runs, "tcp_steady_width") for flow_runs in every]
        rows += [Row(f"Mean error of TCP flows once steady, at the worst factor: {queue}, {flows}", "3 %", percent(max(error), 2), "<= 1 %",
                     max(error) <= 0.01),
                 Row(f"True rates within the bounds, and width of the bounds once steady, at the worst factor: {queue}, {flows}", "no bounds",
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
  title = "Figure 12, Table 1: from a packet's first bit to the estimate that includes it, mirror queue of 32 kB"
  HELIOS_US = 77_400

  def __init__(self, quick, seeds):
    rates, loads = {10: "ms=30 from=15", 1: "ms=200 from=50"}, {10: "every=100 ms=30", 1: "every=500 ms=200"}
    if quick:
      rates, loads = {10: "ms=20 from=15", 1: "ms=80 from=50"}, {10: "every=100 ms=20", 1: "every=500 ms=50"}
    self._rates = {(speed, name): f"readiness flows=3 schedule={schedule} {SMALL} gigabits={speed} {rates[speed]}"
                   for speed in (10, 1) for schedule, name in SCHEDULES.items()}
    self._loads = {(speed, name): f"loads flows=3 schedule={schedule} {SMALL} gigabits={speed} {loads[speed]}"
                   for speed in (10, 1) for schedule, name in SCHEDULES.items()}

  def commands(self):
    return [*self._rates.values(), *self._loads.values()]

  def rows(self, runs):
    rows = []
    for (speed, name), command in self._loads.items():
      kind = f"link loads every {'100' if speed == 10 else '500'} us, {speed} Gb/s, {name}"
      error, within, width = (percent(runs.value(command, f"load_{figure}")) for figure in ("error", "within", "width"))
      rows += [self._times(runs, kind, speed, command, "load_ready_quantile"),
               Row(f"Mean error and width of bounds as a share of the link; true loads within: {kind}", "", f"{error}, {width}; {within}",
                   ">= 95 % within", runs.value(command, "load_within") >= 0.95)]
    for (speed, name), command in self._rates.items():
      slow_start, delay = runs.value(command, "ready_quantile_with_slow_start", 1), runs.value(command, "delay_quantile", 0.5)
      rows += [self._times(runs, f"rates by bursts, {speed} Gb/s, {name}", speed, command, "ready_quantile"),
               Row(f"Max, with slow start: rates by bursts, {speed} Gb/s, {name}", "", f"{slow_start:,.0f} us"),
               Row(f"Median delay of samples: {speed} Gb/s, {name}", "75 to 150 us" if speed == 10 else "80 to 450 us", f"{delay:.0f} us")]
    largest = runs.value(self._loads[10, "round robin"], "load_ready_quantile", 1)
    return [*rows, Row("Helios' 77.4 ms divided by the maximum at 10 Gb/s, link loads", "291 times (min)", f"{self.HELIOS_US / largest:.0f} times")]

  def _times(self, runs, kind, speed, command, series):
    low, median, largest = (runs.value(command, series, share) for share in (0, 0.5, 1))
    shown = f"{low:.0f}, {median:.0f}, {largest:,.0f} us"
    if speed == 10:
      return Row(f"Min, median, max: {kind}", "275 to 850 us", shown, "median <= 550, all <= 850 us", median <= 550 and largest <= 850)
    return Row(f"Min, median, max: {kind}", "280 to 1,150 us", shown, "all <= 1,150 us", largest <= 1150)

  def charts(self, runs):
    chart = Chart("From a packet's first bit to its estimate, queue of 32 kB, round robin", "us", "share", (0, 1200), 1)
    for title, commands, series in (("load", self._loads, "load_ready"), ("rate", self._rates, "ready")):
      for speed in (10, 1):
        chart.line(f"{title}, {speed} Gb/s", steps(runs.curve(commands[speed, "round robin"], series)))
    return {"figure12.svg": chart}

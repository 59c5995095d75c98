"""Figures 2 to 4: the effect of mirroring on the packets that are mirrored."""
from results import SMALL, Chart, Row, percent

MIRRORS = {"no mirroring": "mirrored=no", "mirror queue as long as the switch permits": "", "mirror queue of 32 kB": SMALL}


class Congestion:
  """The experiment in which two hosts send to each congested port, with windows of 4 MB."""
  title = "Figures 2 to 4: effect of mirroring on the packets that are mirrored"

  def __init__(self, quick, seeds):
    self._ports = (3,) if quick else (1, 5, 9)
    self._seeds = range(1, seeds + 1)
    self._times = "ms=40 from=20" if quick else "ms=60 from=30"

  def _runs(self, mirror, ports):
    return [f"congestion congested={ports} window=4000000 seed={seed} {self._times} {MIRRORS[mirror]}".strip() for seed in self._seeds]

  def commands(self):
    return [run for ports in reversed(self._ports) for mirror in MIRRORS for run in self._runs(mirror, ports)]

  def _of_each(self, runs, mirror, series, share=0):
    return [runs.mean(self._runs(mirror, ports), series, share) for ports in self._ports]

  def _change(self, runs, mirror, series, share=0):
    """Returns the largest ratio of the series' means to those without mirroring, over the numbers of ports."""
    plain = self._of_each(runs, "no mirroring", series, share)
    return max(mirrored / max(1e-9, plain_value) for plain_value, mirrored in zip(plain, self._of_each(runs, mirror, series, share)))

  def rows(self, runs):
    rows = []
    for mirror in MIRRORS:
      lost = self._of_each(runs, mirror, "lost")
      mean = sum(lost) / len(lost)
      rows.append(Row(f"Loss, mean and largest by ports: {mirror}", "< 0.12 %" if mirror != "no mirroring" else "lower",
                      f"{percent(mean, 3)}, {percent(max(lost), 3)}", "< 0.12 %" if "32 kB" in mirror else "",
                      mean < 0.0012 if "32 kB" in mirror else None))
    for mirror in list(MIRRORS)[1:]:
      small = "32 kB" in mirror
      for share, name, paper in ((0.5, "Median", "lower"), (0.99, "99th percentile of", "lower"), (0.999, "99.9th percentile of", "higher")):
        increase = self._change(runs, mirror, "delay_quantile", share)
        rows.append(Row(f"{name} delay over that without mirroring, worst port count: {mirror}", paper, f"{increase:.3f}",
                        "<= 1.02" if small else "", increase <= 1.02 if small else None))
      for series, share, name in (("throughput_mean", 0, "Mean"), ("throughput_quantile", 0.5, "Median")):
        plain = self._of_each(runs, "no mirroring", series, share)
        lowest = min(mirrored / plain_value for plain_value, mirrored in zip(plain, self._of_each(runs, mirror, series, share)))
        rows.append(Row(f"{name} throughput over that without mirroring, worst port count: {mirror}", "unaffected", f"{lowest:.3f}",
                        ">= 0.995" if small else "", lowest >= 0.995 if small else None))
      rows.append(self._slowest(runs, mirror, small))
    return rows

  def _slowest(self, runs, mirror, small):
    """Compares the 0.1 percentile of the throughput, which can be 0 in 10 ms, by number of ports."""
    plain, here = (self._of_each(runs, which, "throughput_quantile", 0.001) for which in ("no mirroring", mirror))
    met = all(mirrored >= 0.995 * plain_value for plain_value, mirrored in zip(plain, here))
    text = " and ".join(", ".join(f"{value:.2f}" for value in values) for values in (plain, here))
    return Row(f"0.1 percentile of throughput by ports, Gb/s, without and with mirroring: {mirror}", "unaffected", text,
               ">= 0.995 of it" if small else "", met if small else None)

  def charts(self, runs):
    loss = Chart("Loss of packets that are mirrored", "congested ports", "%", (1, 9), 0.3)
    delay = Chart("Median delay of packets that are mirrored", "congested ports", "ms", (1, 9), 4)
    tail = Chart("99.9th percentile of the delay", "congested ports", "ms", (1, 9), 8)
    flows = Chart("Mean throughput of flows", "congested ports", "Gb/s", (1, 9), 6)
    for mirror, name in zip(MIRRORS, ("no mirroring", "mirroring", "mirroring, 32 kB")):
      for chart, series, share, scale in ((loss, "lost", 0, 100), (delay, "delay_quantile", 0.5, 0.001),
                                          (tail, "delay_quantile", 0.999, 0.001), (flows, "throughput_mean", 0, 1)):
        chart.line(name, list(zip(self._ports, [scale * y for y in self._of_each(runs, mirror, series, share)])))
    return {"figure2.svg": loss, "figure3.svg": delay, "figure3-tail.svg": tail, "figure4.svg": flows}

"""Results of tapline-mirroring, rows of tables that compare them with the paper, and charts drawn with
testbed/plot.py."""
import os
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testbed"))
from plot import Chart

__all__ = ["Chart", "Row", "Runs", "SCHEDULES", "SMALL", "percent", "steps"]

SCHEDULES = {"round_robin": "round robin", "fifo": "FIFO"}  # schedules of the mirror port
SMALL = "queue=32768"  # limit of the mirror port's queue, in bytes

@dataclass
class Row:
  """A measured figure and the paper's. `met` is True if the figure reaches its target, and None if there is no
  target."""
  name: str
  paper: str
  here: str
  bar: str = ""
  met: bool = None

  def cells(self):
    verdict = {None: "", True: "met", False: "**missed**"}[self.met]
    return [self.name, self.paper, self.here, self.bar, verdict]


class Runs:
  """Results by command: {series: points (x, y)}."""

  def __init__(self, results):
    self._results = results

  def value(self, command, series, x=0):
    """Returns a run's figure, or the value of a curve at x; 0 if the run has neither."""
    return next((y for known_x, y in self._results[command].get(series, []) if abs(known_x - x) < 1e-9), 0)

  def mean(self, commands, series, x=0):
    """Returns the mean over the runs that have this figure."""
    having = [command for command in commands if series in self._results[command]]
    return sum(self.value(command, series, x) for command in having) / max(1, len(having))

  def curve(self, command, series, scale=1, largest=None):
    """Returns a curve with its x values multiplied by `scale`, without the points beyond `largest`."""
    points = [(x * scale, y) for x, y in self._results[command].get(series, [])]
    return [point for point in points if largest is None or point[0] <= largest]


def percent(share, digits=1):
  return f"{100 * share:.{digits}f} %"


def steps(points):
  """Returns the points of a cumulative distribution as steps."""
  return [corner for (_, low), (x, y) in zip([(0, 0), *points], points) for corner in ((x, low), (x, y))]

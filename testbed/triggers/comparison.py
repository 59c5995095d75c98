"""Compares a monitor's events with those expected from the captures, and writes both."""
import collections
import math
import statistics
import textwrap
from dataclasses import dataclass

import truth
from truth import MS


@dataclass(frozen=True)
class Comparison:
  """One condition's windows, by (end in ns, group): those that met the condition (`met`) and those that have events."""
  condition: truth.Condition
  met: dict
  events: dict
  repeated: int  # further events of a window that already has one

  def missing(self):
    return sorted(key for key, met in self.met.items() if met.sure and key not in self.events)

  def surplus(self):
    return sorted(self.events.keys() - self.met.keys())

  def common(self):
    return sorted(self.met.keys() & self.events.keys())

  def wrong_values(self):
    """Returns the windows whose event has a wrong value. An event that did not wait for the window's end may have any
    value between the first that met the condition and the final one."""
    return [key for key in self.common() if not self._has_right_value(self.met[key], self.events[key])]

  def _has_right_value(self, met, event):
    if event["value"] is None:
      return False
    if self.condition.rises and event["ready_ns"] < event["window_end_ns"]:
      return met.lowest <= event["value"] <= max(met.values)
    return any(math.isclose(event["value"], value) for value in met.values)

  def wrong_times(self):
    """Returns the windows whose event was ready before the condition was true, or after the window's end."""
    return [key for key in self.common() if not self.met[key].true_ns <= self.events[key]["ready_ns"] <= key[0]]

  def uncertain(self):
    return [key for key, event in self.events.items() if not event["certain"] or event["incomplete"]]

  def onsets(self):
    """Returns the windows that met the condition and have an event. If windows overlap, only returns those whose
    predecessor did not meet the condition: in the others, it may have been true from the start."""
    overlapping = self.condition.window_ns > self.condition.every_ns
    return [(end_ns, group) for end_ns, group in self.common()
            if not overlapping or (end_ns - self.condition.every_ns, group) not in self.met]

  def delays_ms(self, name):
    """Returns the delays between the packet that made the condition true and the named time of the event: ready_ns
    (packet time) or received_ns (when the client received it)."""
    return [(self.events[key][name] - self.met[key].true_ns) / MS for key in self.onsets()]


def compare(items, conditions, events):
  """Compares the events of each condition with the expected ones. A condition's index is its trigger's number."""
  found = []
  for number, condition in enumerate(conditions):
    own = [event for event in events if event["trigger"] == number]
    keys = collections.Counter((event["window_end_ns"], event["group"] or "") for event in own)
    by_window = {(event["window_end_ns"], event["group"] or ""): event for event in reversed(own)}
    found.append(Comparison(condition, truth.evaluate(items, condition), by_window, sum(keys.values()) - len(keys)))
  return found


def summary(comparison):
  """Returns a comparison's figures for results.json."""
  ready = comparison.delays_ms("ready_ns") or [0]
  sure = sum(met.sure for met in comparison.met.values())
  return {"name": comparison.condition.name, "trigger": comparison.condition.text, "met": sure, "unsure": len(comparison.met) - sure,
          "events": len(comparison.events) + comparison.repeated, "missing": len(comparison.missing()),
          "surplus": len(comparison.surplus()) + comparison.repeated, "wrong_values": len(comparison.wrong_values()),
          "wrong_times": len(comparison.wrong_times()), "uncertain": len(comparison.uncertain()),
          "ready_ms": {"p50": statistics.median(ready), "max": max(ready)}}


def summaries_of(comparisons):
  return [summary(compared) for compared in comparisons]


def missed(summaries):
  """Returns the requirements that the comparisons do not meet."""
  found = []
  for row in summaries:
    required = {"the condition held in some windows": row["met"] > 0, "each window in which it held has an event": row["missing"] == 0,
                "no other window has one": row["surplus"] == 0, "values are those of the capture": row["wrong_values"] == 0,
                "events are ready between the packet that made the condition true and the window's end": row["wrong_times"] == 0,
                "events are certain": row["uncertain"] == 0}
    found += [f"{row['name']}: {text}" for text, met in required.items() if not met]
  return found


def write_windows(comparisons, path):
  """Writes a CSV with a line for each window that met a condition or has an event."""
  ends = [end_ns for compared in comparisons for end_ns, _ in compared.met.keys() | compared.events.keys()]
  lines = ["condition,window_end_ms,group,value,event_value,true_ms,ready_ms"]
  for comparison in comparisons:
    for key in sorted(comparison.met.keys() | comparison.events.keys()):
      met, event = comparison.met.get(key), comparison.events.get(key)
      times = [f"{(time_ns - min(ends)) / MS:.3f}" if time_ns else ""
               for time_ns in (key[0], met and met.true_ns, event and event["ready_ns"])]
      values = [f"{value:.6g}" if value is not None else "" for value in (met and max(met.values), event and event["value"])]
      lines.append(",".join([comparison.condition.name, times[0], key[1], *values, *times[1:]]))
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def section(text, summaries):
  """Returns the text as a Markdown paragraph, followed by a table of the triggers."""
  lines = [textwrap.fill(text, 120, break_on_hyphens=False), "",
           "| Trigger | Windows that met it | Events | Missing, surplus, wrong values | Ready after the packet that met it: median, max |",
           "|---|---|---|---|---|"]
  for row in summaries:
    unsure = f", {row['unsure']} more may have" if row["unsure"] else ""
    lines.append(f"| `{row['trigger']}` | {row['met']:,}{unsure} | {row['events']:,} "
                 f"| {row['missing']}, {row['surplus']}, {row['wrong_values']} "
                 f"| {row['ready_ms']['p50']:.1f}, {row['ready_ms']['max']:.1f} ms |")
  return "\n".join(lines) + "\n"

"""Draws SVG charts: lines with a legend and marks on the x axis, or bars. Standard library only."""
import html
import math

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 60, 50
LETTER = 7  # approximate width of a character at the default font size
# The dash patterns distinguish the lines even without colours.
STYLES = [("#d55e00", ""), ("#0072b2", "7 3"), ("#009e73", "2 3"), ("#7f6000", "9 3 2 3"), ("#cc79a7", "4 4")]


def ceiling(value):
  """Returns the smallest round number that is at least the value, for the end of an axis."""
  power = 10 ** math.floor(math.log10(value)) if value > 0 else 1
  return next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value)


class Chart:
  """One chart. Lines, bars and marks must be added before svg() is called. marks=True reserves room above y_top for the
  marks' text."""

  def __init__(self, title, x_label, y_label, x_range, y_top, log_x=False, marks=False):
    self._parts, self._legend, self._log_x = [], [], log_x
    self._x_range, self._y_top = x_range, ceiling(1.4 * y_top if marks else y_top)
    self._text((LEFT + WIDTH - RIGHT) / 2, 22, title, size=15)
    self._text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label)
    self._text(16, HEIGHT / 2, y_label, rotate=True)
    for i in range(6):
      value = self._y_top * i / 5
      self._segment(LEFT, self._y(value), WIDTH - RIGHT, self._y(value), "#dddddd")
      self._text(LEFT - 8, self._y(value) + 4, f"{value:g}", anchor="end")
    for value in self._x_ticks():
      self._segment(self._x(value), HEIGHT - BOTTOM, self._x(value), HEIGHT - BOTTOM + 4, "#222222")
      self._text(self._x(value), HEIGHT - BOTTOM + 18, f"{value:g}")
    self._segment(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#222222")

  def _x_ticks(self):
    low, high = self._x_range
    if self._log_x:
      exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
      return [v for e in exponents for v in (10.0 ** e, 3 * 10.0 ** e) if low <= v <= high]
    power = 10 ** math.floor(math.log10((high - low) / 8))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= (high - low) / 8)
    return [low + i * step for i in range(int((high - low) / step) + 1)]

  def _x(self, value):
    low, high = self._x_range
    if self._log_x:
      low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
    return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

  def _y(self, value):
    return HEIGHT - BOTTOM - value / self._y_top * (HEIGHT - TOP - BOTTOM)

  def _text(self, x, y, text, anchor="middle", size=12, rotate=False):
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if rotate else ""
    self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="#222222"{turn}>'
                       f"{html.escape(text)}</text>")

  def _segment(self, x1, y1, x2, y2, colour, dash="", width=1):
    self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                       f'stroke-width="{width}" stroke-dasharray="{dash}"/>')

  def line(self, name, points):
    """Adds a line through points (x, y), which must be sorted by x."""
    colour, dash = STYLES[len(self._legend) % len(STYLES)]
    path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
    self._parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
    self._name(name, colour, dash)

  def bars(self, name, bars):
    """Adds bars (low, high, value) that span low to high on the x axis."""
    colour, _ = STYLES[len(self._legend) % len(STYLES)]
    for low, high, value in bars:
      left, right = self._x(low), self._x(high)
      self._parts.append(f'<rect x="{left:.1f}" y="{self._y(value):.1f}" width="{max(1, right - left - 1):.1f}" '
                         f'height="{self._y(0) - self._y(value):.1f}" fill="{colour}" fill-opacity="0.75"/>')
    self._name(name, colour, "")

  def _name(self, name, colour, dash):
    self._legend.append((name, colour, dash))

  def _draw_legend(self):
    """Draws the legend as a row above the chart, unless there is only one name, for which the axis label suffices."""
    if len(self._legend) < 2:
      return
    x = LEFT
    for name, colour, dash in self._legend:
      self._segment(x, TOP - 18, x + 28, TOP - 18, colour, dash, 2)
      self._text(x + 34, TOP - 14, name, anchor="start")
      x += 34 + LETTER * len(name) + 20

  def mark(self, x, text):
    """Adds a vertical line with a label."""
    position = self._x(x)
    self._segment(position, TOP, position, HEIGHT - BOTTOM, "#888888", "3 3")
    self._text(position - 4, TOP + 4, text, anchor="end", size=11, rotate=True)

  def svg(self):
    self._draw_legend()
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(self._parts) + "\n</svg>\n")

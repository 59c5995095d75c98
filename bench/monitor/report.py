#!/usr/bin/env python3
"""Converts bench_monitor's JSON to a table on standard output, and to SVG plots next to the file:
figure5-MODE-CORES.svg (throughput by packet size), flows.svg (cost by number of flows), time.svg (cost by run time)."""
import json
import math
import os
import sys

WIDTH, HEIGHT = 620, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 180, 40, 52
COLOURS = {"tcp_flow_key": "#1b6ca8", "tcp_conn_time": "#c1440e", "tcp_pkt_size": "#3a7d34", "http_get": "#7b3fa0",
           "testpmd rxonly": "#777777"}
LINE_GIGABITS = 10
# Frame sizes at which the paper's monitor reached line rate (NetAlytics section 6.1).
PAPER = [("tcp_conn_time", 128), ("http_get", 256)]


class Plot:
    """A chart with logarithmic or linear axes; each line is a list of (x, y)."""

    def __init__(self, title, x_label, y_label, xs, y_max, log_x=True, log_y=False, y_min=None):
        self.parts = []
        self.log_x, self.log_y = log_x, log_y
        self.x_range = (min(xs), max(xs))
        self.y_range = ((y_min or 1) if log_y else 0, y_max)
        self.labels = []
        self.text(LEFT, 22, title, size=15, weight="bold")
        self.text(LEFT + self.plot_width() / 2, HEIGHT - 12, x_label, anchor="middle")
        self.text(16, TOP + self.plot_height() / 2, y_label, anchor="middle", rotate=-90)
        for x in xs:
            self.line([(x, self.y_range[0]), (x, y_max)], "#eeeeee", raw=True)
            label = f"{x:,}" if x < 10000 else f"10{chr(0x2070 + int(math.log10(x)))}" if math.log10(x) % 1 == 0 else f"{x:,}"
            self.text(self.x(x), HEIGHT - BOTTOM + 18, label, anchor="middle")
        for y in self.y_ticks():
            self.line([(xs[0], y), (xs[-1], y)], "#eeeeee", raw=True)
            self.text(LEFT - 8, self.y(y) + 4, f"{y:g}", anchor="end")

    def plot_width(self):
        return WIDTH - LEFT - RIGHT

    def plot_height(self):
        return HEIGHT - TOP - BOTTOM

    def y_ticks(self):
        low, high = self.y_range
        if self.log_y:
            return [t for e in range(-2, 5) for t in (10 ** e, 2 * 10 ** e, 5 * 10 ** e) if low <= t <= high]
        step = 10 ** math.floor(math.log10(high))
        step = next(s for s in (step / 5, step / 2, step) if high / s <= 10)
        return [i * step for i in range(int(high / step) + 1)]

    def place(self, value, bounds, logarithmic):
        low, high = (math.log(b) for b in bounds) if logarithmic else bounds
        value = math.log(max(value, bounds[0])) if logarithmic else value
        return (value - low) / (high - low)

    def x(self, value):
        return LEFT + self.place(value, self.x_range, self.log_x) * self.plot_width()

    def y(self, value):
        return TOP + (1 - self.place(min(value, self.y_range[1]), self.y_range, self.log_y)) * self.plot_height()

    def text(self, x, y, text, anchor="start", size=12, weight="normal", rotate=0, colour="#222222"):
        turn = f' transform="rotate({rotate} {x:.1f} {y:.1f})"' if rotate else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
                          f'text-anchor="{anchor}" fill="{colour}"{turn}>{text}</text>')

    def line(self, points, colour, label=None, dash="", raw=False):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          f'stroke-width="{1 if raw else 2}"{style}/>')
        if raw:
            return
        if not dash:
            for x, y in points:
                self.parts.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>')
        if label:
            self.labels.append((self.y(points[-1][1]), label, colour))

    def mark(self, x, y, text, colour):
        self.parts.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="6" fill="none" stroke="{colour}" '
                          f'stroke-width="2"/>')
        self.text(self.x(x) + 8, self.y(y) - 8, text, colour=colour, size=11)

    def svg(self):
        """Returns the SVG. Places labels at the ends of lines, and moves them apart where they would overlap."""
        places, below = [], 0
        for y, label, colour in sorted(self.labels):
            below = max(y + 4, below + 15)
            places.append([below, label, colour])
        above = HEIGHT - BOTTOM + 4
        for place in reversed(places):
            place[0] = min(place[0], above)
            above = place[0] - 15
        for x, label, colour in places:
            self.text(WIDTH - RIGHT + 10, x, label, colour=colour)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
                f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>' + "\n".join(self.parts) + "</svg>\n")


def named(rows, key):
    """Groups rows by name, or by key(row) if key is not None, in order of first appearance."""
    by_name = {}
    for row in rows:
        if row:
            by_name.setdefault(row["name"] if key is None else key(row), []).append(row)
    return by_name


def line_packets(size):
    return LINE_GIGABITS * 1e9 / 8 / (size + 20) / 1e6


def figure5(rows, mode, cores):
    rows = [row for row in rows if row and (row["mode"], row["cores"]) == (mode, cores)]
    sizes = sorted({row["bytes"] for row in rows})
    top = 200
    plot = Plot(f"Throughput by packet size: {mode}, {cores} core{'s' if cores > 1 else ''}", "packet size (bytes, with checksum)",
                "million packets per second", sizes, top, log_y=True, y_min=0.5)
    plot.line([(size, line_packets(size)) for size in sizes], "#222222", "10 GbE", dash="6 3")
    for (name, flows), group in named(rows, lambda row: (row["name"], row["flows"])).items():
        points = [(row["bytes"], row["packets_per_second"] / 1e6) for row in group]
        label = name if name == "testpmd rxonly" else f"{name}, {flows:,}"
        plot.line(points, COLOURS[name], label if flows == 1000 else f"{name}, 1 M", dash="" if flows == 1000 else "2 3")
    for name, size in PAPER:
        plot.mark(size, line_packets(size), f"paper: {name}", COLOURS[name])
    return plot.svg()


def flows_plot(rows):
    counts = sorted({row["flows"] for row in rows if row})
    top = max(row["added_cycles"] for row in rows if row) * 1.1
    plot = Plot("Cost by number of flows", "flows", "TSC cycles added per packet", counts, max(top, 2000), log_y=True,
                y_min=20)
    for name, group in named(rows, None).items():
        plot.line([(row["flows"], row["added_cycles"]) for row in group], COLOURS[name],
                  f"{name}, {group[0]['bytes']} B")
    return plot.svg()


def time_plot(rows):
    top = max(max(row["cycles_by_second"]) for row in rows if row) * 1.2
    seconds = range(1, max(len(row["cycles_by_second"]) for row in rows if row) + 1)
    plot = Plot("Cost by run time", "seconds", "TSC cycles per packet, in total", list(seconds), top, log_x=False)
    for row in rows:
        if row:
            plot.line(list(zip(seconds, row["cycles_by_second"])), COLOURS[row["name"]], f"{row['name']}, {row['bytes']} B")
    return plot.svg()


def table(rows):
    print(f"{'mode':<18}{'cores':>5}  {'':<16}{'bytes':>6}{'flows':>10}{'Mpps':>8}{'of 10 GbE':>11}{'cycles':>9}{'receive':>9}{'added':>8}")
    for row in rows:
        if not row:
            continue
        added = (f"{row['receive_cycles']:>9.1f}{row['added_cycles']:>8.1f}" if "added_cycles" in row else "")
        print(f"{row['mode']:<18}{row['cores']:>5}  {row['name']:<16}{row['bytes']:>6}{row['flows']:>10,}{row['packets_per_second'] / 1e6:>8.1f}"
              f"{row['share_of_10gbe']:>11.0%}{row['cycles_per_packet']:>9.1f}{added}")


def main():
    path = sys.argv[1]
    with open(path) as file:
        results = json.load(file)
    table(results["figure5"])
    for target in results["targets"]:
        print(f"{target['name']} at {target['bytes']} B adds {target['added_cycles']:.1f} cycles, "
              f"target {target['target_cycles']:.0f}: {'met' if target['met'] else 'missed'}")
    folder = os.path.dirname(os.path.abspath(path))
    modes = sorted({(row["mode"], row["cores"]) for row in results["figure5"] if row})
    plots = {f"figure5-{mode}-{cores}.svg": figure5(results["figure5"], mode, cores) for mode, cores in modes}
    plots |= {"flows.svg": flows_plot(results["flows"]) if results["flows"] else None,
             "time.svg": time_plot(results["time"]) if results["time"] else None}
    for name, svg in plots.items():
        if svg:
            with open(os.path.join(folder, name), "w") as file:
                file.write(svg)
            print(f"plot: {os.path.relpath(os.path.join(folder, name))}")


if __name__ == "__main__":
    main()

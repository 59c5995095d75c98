#!/usr/bin/env python3
"""Measures the live input rate of the whole pipeline by number of processes (NetAlytics' Figure 6).

A unit is the paper's minimum of four processes: a monitor, a broker, and two workers (Flink task managers of one slot), with
the broker's log on a RAM disk; one job manager and one Redis serve all units. Each monitor reads http_zipf repeatedly, with
current times and different addresses each time, as fast as it can, for SECONDS; the query ranks URLs (http_get, top-k over
10 s, each second). The rate is the number of captured packets divided by the time until the last window is in Redis; a short
run beforehand warms up the JVMs. Nothing may be lost: the job's count is compared with that of the monitors.

CPU time is reported by stage. From it, a model, labelled as such, derives the rate that one core per process would
sustain."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

from services import ROOT, TICKS_PER_SECOND, ClusterBroker, FlinkCluster, Redis, cpu_seconds, free_port

from testing.monitor_process import MONITOR
from testing.traffic import BINARIES, create_topic

WARM_UP_S = 20
JOB_DEADLINE_S = 300
REASONS = 5
STAGES = ("monitor", "broker", "workers")


def plan(query, units):
    monitors = [{"id": f"m{i}", "partition": i} for i in range(units)]
    processor = {"name": "top-k", "parser": "http_get", "key": ["url"], "value": {"count": {}, "unit": "count"},
                 "ranking": {"k": 10}, "window": {"size": "10s", "slide": "1s"}}
    return {"format": 1, "query": query, "epoch": 1, "parsers": ["http_get"], "topic": "tapline.tuples." + query,
            "monitors": monitors, "processors": [processor]}


class Feed:
    """A monitor that reads a capture repeatedly for a given time."""

    def __init__(self, capture, seconds, number, plan_file, brokers):
        self.source = subprocess.Popen([os.path.join(BINARIES, "pcap_loop"), capture, str(seconds)], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
        self.monitor = subprocess.Popen(
            [MONITOR, "--status", "json", "--pcap", "/dev/stdin", "--plan", plan_file, "--monitor-id", f"m{number}",
             "--output", "kafka", "--brokers", brokers], stdin=self.source.stdout, stderr=subprocess.PIPE)
        self.source.stdout.close()

    def finish(self):
        """Returns the monitor's accounting and its CPU seconds. Raises AssertionError with the monitor's reason if it failed."""
        account, reasons = None, []
        for line in self.monitor.stderr:
            event = parse_event(line)
            if event["event"] == "end":
                account = event["accounting"]
            elif event["event"] in ("warning", "error"):
                reasons.append(event["message"])
        _, status, usage = os.wait4(self.monitor.pid, 0)
        self.monitor.returncode = os.waitstatus_to_exitcode(status)
        self.source.wait()
        if self.monitor.returncode or account is None:
            raise AssertionError(f"a monitor ended with exit code {self.monitor.returncode}: "
                                 f"{'; '.join(reasons[-REASONS:]) or 'it gave no reason'}")
        return account, usage.ru_utime + usage.ru_stime


def parse_event(line):
    """Parses a line of the monitor's standard error. A line that is not an event, such as a sanitizer's, counts as an
    error."""
    try:
        return json.loads(line)
    except ValueError:
        return {"event": "error", "message": line.decode(errors="replace").strip()}


class Pipeline:
    def __init__(self, folder, units, capture):
        self.folder, self.units, self.capture, self.runs = folder, units, capture, 0

    def __enter__(self):
        controller = free_port()
        self.brokers = [ClusterBroker(os.path.join(self.folder, f"broker-{i + 1}"), i + 1, controller)
                        for i in range(self.units)]
        for broker in self.brokers:
            broker.await_ready()
        self.address = ",".join(broker.address for broker in self.brokers)
        self.redis = Redis().__enter__()
        os.makedirs(os.path.join(self.folder, "flink"))
        self.flink = FlinkCluster(os.path.join(self.folder, "flink"), 2 * self.units).__enter__()
        self.jar = self.flink.upload()
        return self

    def __exit__(self, *_):
        self.flink.__exit__()
        self.redis.__exit__()
        for broker in self.brokers:
            broker.__exit__()

    def cpu(self):
        return {"broker": sum(cpu_seconds(broker.process) for broker in self.brokers),
                "workers": sum(cpu_seconds(worker) for worker in self.flink.workers),
                "other": cpu_seconds(self.flink.processes[0]) + cpu_seconds(self.redis.process)}

    def run(self, seconds):
        self.runs += 1
        query = f"end-to-end-{self.runs}"
        wanted = plan(query, self.units)
        path = os.path.join(self.folder, query + ".json")
        with open(path, "w") as file:
            json.dump(wanted, file)
        create_topic(self.address, wanted["topic"], self.units)
        job = self.flink.run(self.jar, "--plan", json.dumps(wanted), "--brokers", self.address, "--redis",
                             f"127.0.0.1:{self.redis.port}", "--parallelism", str(2 * self.units))
        while self.flink.state(job) != "RUNNING":
            time.sleep(0.1)
        before, begin, host = self.cpu(), time.monotonic(), host_busy_seconds()
        feeds = [Feed(self.capture, seconds, i, path, self.address) for i in range(self.units)]
        ends = [feed.finish() for feed in feeds]
        fed = time.monotonic()
        waiting = self.unread(query, ends)
        while (state := self.flink.state(job)) == "RUNNING" and time.monotonic() < begin + JOB_DEADLINE_S:
            time.sleep(0.05)
        end = time.monotonic()
        if state != "FINISHED":
            raise AssertionError(f"the job is {state}; see {self.folder}")
        cpu = {name: value - before[name] for name, value in self.cpu().items()} | {"monitor": sum(used for _, used in ends)}
        others = host_busy_seconds() - host - sum(cpu.values())
        return self.row(query, ends, cpu, end - begin, fed - begin, waiting, others)

    def counted(self, query):
        return int(self.redis.hash(f"tapline:query:{query}:totals").get("tuples", 0))

    def unread(self, query, ends):
        return sum(account["queries"][query]["tuples_out"] for account, _ in ends) - self.counted(query)

    def row(self, query, ends, cpu, seconds, fed_s, waiting, others):
        accounts = [account for account, _ in ends]
        tuples = sum(account["queries"][query]["tuples_out"] for account in accounts)
        if self.counted(query) != tuples:
            raise AssertionError(f"the job counted {self.counted(query)} of {tuples} tuples")
        packets = sum(account["packets_received"] for account in accounts)
        captured = sum(account["bytes_received"] for account in accounts)
        return {"processes": 4 * self.units, "units": self.units, "seconds": seconds, "fed_seconds": fed_s, "packets": packets,
                "captured_bytes": captured, "tuples": tuples, "waiting_at_end": waiting, "gbps": 8e-9 * captured / seconds,
                "tuples_per_second": tuples / seconds, "cpu_seconds": cpu,
                "cpu_us_per_tuple": {name: 1e6 * used / tuples for name, used in cpu.items()},
                "cpu_seconds_of_others": others, "saturated": saturated(cpu, others, seconds, waiting, tuples)}


def host_busy_seconds():
    """Returns how many seconds all cores together have been busy since boot."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, interrupt, soft = (int(field) for field in file.readline().split()[1:8])
    return (user + nice + system + interrupt + soft) / TICKS_PER_SECOND


def saturated(cpu, others, seconds, waiting, tuples):
    """Describes the bottleneck. `others` is the CPU time of all processes outside the pipeline, including the feeds."""
    cores, used = os.cpu_count(), sum(cpu.values())
    busiest = max(STAGES, key=lambda stage: cpu[stage])
    busy = (used + others) / seconds
    words = [f"{'the cores' if busy > 0.9 * cores else 'nothing'}: {busy:.2f} of {cores} busy, the pipeline {used / seconds:.2f}",
             f"most of that {busiest} ({100 * cpu[busiest] / used:.0f} %)"]
    if waiting > 0:
        words.append(f"{100 * waiting / tuples:.0f} % waited in the broker when capture ended")
    return ", ".join(words)


def model(row, units):
    """Models the rate of `units` units with one core per process; the slowest stage is the limit."""
    cost = row["cpu_us_per_tuple"]
    share = {"monitor": units, "broker": units, "workers": 2 * units}
    rates = {stage: 1e6 * share[stage] / cost[stage] for stage in STAGES}
    slowest = min(rates, key=rates.get)
    per_tuple = 8e-9 * row["captured_bytes"] / row["tuples"]
    return {"processes": 4 * units, "gbps": rates[slowest] * per_tuple, "tuples_per_second": rates[slowest],
            "limited_by": slowest}


def svg(rows, models):
    """Draws the measured and the modelled rates by number of processes."""
    width, height, left, bottom = 640, 360, 60, 50
    max_x = max(row["processes"] for row in rows + models)
    max_y = 4 * math.ceil(max(row["gbps"] for row in rows + models) / 4)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']

    def place(row):
        return (left + row["processes"] / max_x * (width - left - 30),
                height - bottom - row["gbps"] / max_y * (height - bottom - 40))

    def text(x, y, words, anchor="middle"):
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>')

    text(width / 2, 20, "Captured traffic that the pipeline carries, by processes")
    text(width / 2, height - 10, "processes: 1 monitor, 1 broker, 2 workers a unit")
    for i in range(5):
        value = max_y * i / 4
        _, y = place({"processes": 0, "gbps": value})
        parts.append(f'<path d="M{left} {y:.1f}H{width - 30}" stroke="#ddd"/>')
        text(left - 6, y + 4, f"{value:g}", "end")
    for model in models:
        text(place(model)[0], height - bottom + 18, model["processes"])
    text(left, 36, "Gb/s")
    for points, colour, dash, name, y in ((rows, "#0072b2", "", f"measured, {os.cpu_count()} cores for all of it", 52),
                                          (models, "#d55e00", ' stroke-dasharray="5 3"', "model: a core for each process", 70)):
        line = " L".join(f"{x:.1f} {point_y:.1f}" for x, point_y in map(place, points))
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{point_y:.1f}" r="3" fill="{colour}"/>' for x, point_y in map(place, points)]
        parts.append(f'<path d="M{left + 20} {y}h26" stroke="{colour}"{dash}/>')
        text(left + 52, y + 4, name, "start")
    return "\n".join(parts + ["</svg>", ""])


def measure(units, seconds, capture, base):
    folder = os.path.join(base, str(units))
    os.makedirs(folder)
    with Pipeline(folder, units, capture) as pipeline:
        pipeline.run(min(WARM_UP_S, seconds))
        row = pipeline.run(seconds)
    shutil.rmtree(folder)
    return row


def table(rows, models):
    lines = [f"{'processes':>9}  {'Gb/s':>6}  {'tuples/s':>9}  {'monitor':>7}  {'broker':>6}  {'workers':>7}  {'other':>5}  saturated"]
    for row in rows:
        cost = row["cpu_us_per_tuple"]
        lines.append(f"{row['processes']:>9}  {row['gbps']:>6.2f}  {row['tuples_per_second']:>9,.0f}  {cost['monitor']:>7.2f}  "
                     f"{cost['broker']:>6.2f}  {cost['workers']:>7.2f}  {cost['other']:>5.2f}  {row['saturated']}")
    lines.append("Stages: microseconds of CPU per tuple. A core for each process (a model, from these costs with 4 processes):")
    lines += [f"{model_row['processes']:>9}  {model_row['gbps']:>6.2f}  {model_row['tuples_per_second']:>9,.0f}  limited by {model_row['limited_by']}"
              for model_row in models]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="tapline bench end-to-end", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", default="1,2,3,4", help="numbers of units, separated by commas [1,2,3,4]")
    parser.add_argument("--seconds", type=float, default=30, help="duration of the capture in seconds [30]")
    parser.add_argument("--out", metavar="DIR", help="write JSON and SVG to this folder")
    parser.add_argument("--json", action="store_true", help="print rows as JSON lines")
    parser.add_argument("--ram", default="/dev/shm", help="RAM disk for the broker's log [/dev/shm]")
    arguments = parser.parse_args()
    captures = os.environ.get("TAPLINE_CAPTURES", os.path.join(ROOT, "..", "shared", "traces"))
    source = os.path.join(captures, "generated", "http_zipf.pcap.zst")
    if not os.path.exists(source):
        sys.exit(f"error: {source} does not exist: set TAPLINE_CAPTURES")
    rows = []
    with tempfile.TemporaryDirectory(prefix="tapline-end-to-end-", dir=arguments.ram) as base:
        capture = os.path.join(base, "http_zipf.pcap")
        subprocess.run(["zstd", "-qdf", source, "-o", capture], check=True)
        for units in (int(unit) for unit in arguments.units.split(",")):
            rows.append(measure(units, arguments.seconds, capture, base))
            print(json.dumps(rows[-1]) if arguments.json else f"{rows[-1]['processes']} processes: {rows[-1]['gbps']:.2f} Gb/s",
                  file=sys.stdout if arguments.json else sys.stderr, flush=True)
    models = [model(rows[0], processes) for processes in (1, 2, 3, 4)]
    if not arguments.json:
        print(table(rows, models))
    if arguments.out:
        os.makedirs(arguments.out, exist_ok=True)
        with open(os.path.join(arguments.out, "end-to-end.json"), "w") as file:
            json.dump({"cores": os.cpu_count(), "rows": rows, "model": models}, file, indent=1)
            file.write("\n")
        with open(os.path.join(arguments.out, "end-to-end.svg"), "w") as file:
            file.write(svg(rows, models))


if __name__ == "__main__":
    main()

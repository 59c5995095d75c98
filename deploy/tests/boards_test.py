#!/usr/bin/env python3
"""Tests the Grafana dashboards: each panel has a known type, does not overlap others, and has a query that Prometheus can
parse, over metrics listed in the reference. MultiLog's metrics are compared with a real node's; MetricsTest compares the
control plane's.

Without promtool, the test logs that it does not check the queries' syntax."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "monitors"))
from testing.free_ports import free_port  # noqa: E402

TYPES = {"bargauge", "stat", "table", "timeseries"}
NAME = re.compile(r"\b(?:tapline|jvm)_[a-z_]+\b")
COLUMNS = 24


def require(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def check_panel(board, panel, taken, sources):
    where = f"{board}, panel {panel['title']}"
    require(panel["type"] in TYPES, f"{where}: type {panel['type']}")
    require(panel["datasource"]["uid"] in sources, f"{where}: no such data source")
    place = panel["gridPos"]
    cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
    require(cells and place["x"] + place["w"] <= COLUMNS and not cells & taken, f"{where}: is not within the grid, or on top of another")
    taken |= cells
    require(panel["targets"] and all(target["expr"] for target in panel["targets"]), f"{where}: has no query")
    return [target["expr"] for target in panel["targets"]]


def check_syntax(queries):
    """Checks each query as a Prometheus rule, with values for Grafana's variables."""
    if not shutil.which("promtool"):
        print("promtool is missing: the syntax of queries is not checked")
        return
    rules = [{"record": f"q{i}", "expr": re.sub(r"\$\w+", "x", query.replace("$__rate_interval", "1m"))} for i, query in enumerate(queries)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"groups": [{"name": "boards", "rules": rules}]}, file)
        file.flush()
        checked = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
    require(checked.returncode == 0, checked.stdout + checked.stderr)


def scraped(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def served_by_node():
    """Returns the names of the metrics that a MultiLog node serves. Its filter drops all headers, so that drop counters
    are among them."""
    capture, port = sorted((ROOT / "testbed/captures").glob("*.pcap*"))[0], free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [ROOT / "build/bin/tapline-multilog", "--pcap", capture, "--filter", "protocol == 255", "--memory-mib", "64"]
        node = subprocess.Popen(command + ["--listen", f"unix:{folder}/node", "--metrics", f"127.0.0.1:{port}"])
        try:
            deadline = time.monotonic() + 60
            while "tapline_multilog_dropped_total{" not in (text := scraped(port)):
                require(node.poll() is None and time.monotonic() < deadline, f"the node reports no dropped headers: {text}")
                time.sleep(0.1)
            return set(NAME.findall(text))
        finally:
            node.kill()
            node.wait()


def main():
    reference = (ROOT / "docs/reference/metrics.md").read_text()
    sources = re.findall(r"uid: (\w+)", (ROOT / "deploy/grafana/datasources/prometheus.yaml").read_text())
    queries = []
    for file in sorted((ROOT / "deploy/grafana/boards").glob("*.json")):
        board, taken = json.loads(file.read_text()), set()
        for panel in board["panels"]:
            queries += check_panel(file.name, panel, taken, sources)
    require(len(queries) > 10, "too few panels")
    check_syntax(queries)
    names = set(NAME.findall(" ".join(queries)))
    unlisted = {name for name in names if f"`{name}" not in reference}
    require(not unlisted, f"docs/reference/metrics.md does not list {sorted(unlisted)}")
    missing = {name for name in names if name.startswith("tapline_multilog")} - served_by_node()
    require(not missing, f"a node does not serve {sorted(missing)}")
    print(f"{len(queries)} queries, {len(names)} metrics")


main()

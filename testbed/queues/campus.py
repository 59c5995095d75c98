"""Diagnoses a border router's queue that overlapping throughput tests fill although the mean load is low (ConQuest,
section 6), using a server and its taps."""
import json
import subprocess
import time

import lab
from programs import Wrong, qdisc
from tapline_server import TAPLINE, URL, Server, get

QUEUE = "border:1"
QUERY = f"PARSE queue_burst(delay=5ms) FROM * TO * AT {QUEUE} LIMIT 1h SAMPLE * PROCESS (top-k: w=1s)"
INPUTS = ("--tap", f"{QUEUE}:arrivals=to-source", "--tap", f"{QUEUE}:departures=to-target")
TESTS, FIRST_TEST, FIRST_OTHER = 5, 6001, 5001
OTHERS, OTHER_MBIT = 20, 0.1
TEST_MBIT = 1.6  # mean rate of each test
OUT_OF_ORDER = 2  # packets that may count as lost because several cores timestamped them out of order
TIMEOUT_S = 10
MAIN_SHARE = 0.05  # minimum share of a main culprit


def flows(seconds):
  """Returns five tests, which run every ten seconds and start within 0.2 s of each other, and 20 slow flows of small
  datagrams."""
  every_s = min(10, seconds)
  tests = [{"protocol": "tcp", "port": FIRST_TEST + i, "bytes": int(TEST_MBIT * 1e6 / 8 * every_s), "every_s": every_s,
            "phase_s": 0.5 + 0.05 * i} for i in range(TESTS)]
  others = [{"protocol": "udp", "port": FIRST_OTHER + i, "bytes": 200, "size": 200, "every_s": 200 * 8 / (OTHER_MBIT * 1e6),
             "phase_s": 0.0007 * i} for i in range(OTHERS)]
  return tests + others


def diagnose():
  run = subprocess.run([TAPLINE, "diagnose", "queue", QUEUE], capture_output=True, text=True, check=False)
  if run.returncode != 0:
    raise Wrong(f"tapline diagnose queue failed: {run.stderr}")
  return run.stdout


def bursts():
  """Returns the queue's report, whose text `tapline diagnose queue` prints."""
  return json.loads(get(f"{URL}/api/v1/queues/{QUEUE.replace(':', '/')}"))


def lost(report):
  return sum(burst["lost"] for burst in report["bursts"])


def port_of(flow):
  return int(flow["source"].rsplit(":", 1)[1])


def measure(seconds):
  """Sends traffic while a query measures the queue.

  Returns the report as parsed JSON and as text, the increase of each of the queue's counters, and the number of copies
  that the monitor lost.
  """
  server = Server(inputs=INPUTS)
  try:
    query, = server.submit(QUERY)
    before = qdisc(lab.DEVICE)
    with lab.receiver():
      lab.send(flows(seconds), seconds)
    counters = {key: value - before[key] for key, value in qdisc(lab.DEVICE).items()}
    end_s = time.monotonic() + TIMEOUT_S
    while lost(bursts()) < counters["drops"] and time.monotonic() < end_s:
      time.sleep(0.1)
    _, totals = server.stop(query)  # ends the last burst
    return bursts(), diagnose(), counters, totals["dropped"].get("kernel_missed", 0)
  finally:
    server.end()


def summary(report, counters, copies_lost, seconds):
  """Returns the results for JSON: the main culprits and the victims by port, and the counts of Tapline and of the
  kernel."""
  worst = max(report["bursts"], key=lambda burst: burst["victims"], default={"culprits": [], "victim_flows": []})
  full = [burst for burst in report["bursts"] if burst["peak_bytes"] >= lab.LIMIT_BYTES / 2]  # a stalled CPU may delay small flows
  culprits = {port_of(flow) for burst in full for flow in burst["culprits"] if flow["share"] >= MAIN_SHARE}
  return {"load_percent": 100 * counters["bytes"] / (lab.RATE_BYTES_PER_S * seconds), "bursts": len(report["bursts"]),
          "longest_ms": max((burst["delay_ns"] for burst in report["bursts"]), default=0) / 1e6,
          "waited_too_long": sum(burst["victims"] for burst in report["bursts"]),
          "culprits": sorted(culprits), "shares": {port_of(flow): flow["share"] for flow in worst["culprits"]},
          "victims": sorted(port_of(flow) for flow in worst["victim_flows"]),
          "lost": lost(report), "copies_lost": copies_lost, "kernel_dropped": counters["drops"], "verdict": report["verdict"]}


def missed(result):
  tests = list(range(FIRST_TEST, FIRST_TEST + TESTS))
  others = set(range(FIRST_OTHER, FIRST_OTHER + OTHERS))
  required = {"the flows that filled the queue are the five tests": result["culprits"] == tests,
              "the victims are other flows": bool(others & set(result["victims"])) and set(result["victims"]) <= others | set(tests),
              "the packets that never left are those that the kernel dropped":
                  abs(result["lost"] - result["kernel_dropped"]) <= OUT_OF_ORDER + result["copies_lost"] and result["kernel_dropped"] > 0,
              "the mean load is about 10 %": 5 <= result["load_percent"] <= 15}
  return [text for text, met in required.items() if not met]


def run(seconds, folder, out):
  """Sends the flows and diagnoses the queue. Returns the results and the unmet requirements."""
  del folder, out  # This part draws no figure.
  report, verdict, counters, copies_lost = measure(seconds)
  result = summary(report, counters, copies_lost, seconds)
  result["printed"] = verdict
  return result, missed(result)


def table(result):
  tests = ", ".join(f"{100 * result['shares'].get(port, 0):.0f} %" for port in result["culprits"])
  return f"""Five throughput tests that overlap, with {OTHERS} small flows at {result["load_percent"]:.0f} % mean load, diagnosed by `tapline diagnose queue`:

| | `diagnose queue` | Sent, or counted by the kernel |
|---|---|---|
| flows that filled the queue | {len(result["culprits"])}, with {tests} of the bytes in the worst burst | {TESTS} tests |
| victims of the worst burst | {len(result["victims"])} flows (at most 8 are listed) | {OTHERS} small flows |
| packets that waited for 5 ms or longer | {result["waited_too_long"]:,}, up to {result["longest_ms"]:.1f} ms, in {result["bursts"]} burst{"s" if result["bursts"] != 1 else ""} | |
| packets that never left | {result["lost"]:,} | {result["kernel_dropped"]:,} dropped |
"""

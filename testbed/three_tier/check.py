#!/usr/bin/python3
"""Compares Tapline's tuples of three_tier.pcap.zst with summary.csv and with the servers' own logs.

  check.py --monitor build/bin/tapline-monitor    runs the monitor over the capture
  check.py --tuples FILE                          reads JSON lines of tcp_conn_time and http_get; - is standard input

Tapline must report:
  - as many connections between two hosts as summary.csv (from tshark) lists, each closed by both sides;
  - their mean and median duration, from SYN to second FIN, within 0.01 ms, since both use the same timestamps;
  - requests to the proxy per method, host, URL and status, and per client port, exactly as in nginx's log;
  - requests to the application servers per server, client port, URL and status, exactly as in their logs.
Exit code 0: all agree, 1: they differ, or the monitor failed, 2: usage error. Needs the program zstd.
"""
import argparse
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE_MS = 0.01
PROXY_PORT, APP_PORT = 80, 8080


def parse_lines(lines):
  return [json.loads(line) for line in lines if line.strip()]


def read_log(name):
  """Reads a compressed log in this script's folder."""
  text = subprocess.run(["zstd", "-dcq", HERE / name], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
  return parse_lines(text.splitlines())


def read_hosts():
  """Returns {address: name} from inventory.yaml, whose hosts have one address each."""
  hosts = {}
  for line in (HERE / "inventory.yaml").read_text(encoding="utf-8").splitlines():
    name, colon, addresses = line.strip().partition(": [")
    if colon:
      hosts[addresses.rstrip("]")] = name
  return hosts


def run_monitor(program):
  command = [program, "--parser", "tcp_conn_time,http_get", "--pcap", HERE / "three_tier.pcap.zst", "--output", "json"]
  done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
  if done.returncode:
    sys.exit(f"check.py: {program} ended with exit code {done.returncode}")
  return parse_lines(done.stdout.splitlines())


def connections_of(tuples):
  """Returns {flow ID: {event: tuple}}, and error messages for connections that have an event twice."""
  flows, found = collections.defaultdict(dict), []
  for t in tuples:
    if t["event"] in flows[t["flow_id"]]:
      found.append(f"two {t['event']} events of flow {t['flow_id']}")
    flows[t["flow_id"]][t["event"]] = t
  return flows, found


def event_time_ns(t):
  """Returns the event's time, which for some events precedes the time at which it became certain."""
  return t["time_ns"] - t["certain_after_ns"]


def check_connections(tuples, expected_rows):
  """Returns error messages for differences between tcp_conn_time tuples and the rows of summary.csv."""
  flows, found = connections_of(tuples)
  durations = collections.defaultdict(list)
  for flow_id, events in flows.items():
    if "syn" not in events or "fin" not in events or events["fin"]["outcome"] != "closed":
      found.append(f"flow {flow_id} was not opened by a SYN and closed by both sides: events {sorted(events)}")
      continue
    start, end = events["syn"], events["fin"]
    group = start["src_ip"], start["dst_ip"], start["dst_port"]
    durations[group].append((event_time_ns(end) - event_time_ns(start)) / 1e6)
  for row in expected_rows:
    group = row["src_ip"], row["dst_ip"], int(row["dst_port"])
    found += compare_group(row, durations.pop(group, []))
  return found + [f"{len(d)} connections of {group}, which summary.csv does not have" for group, d in durations.items()]


def compare_group(row, durations_ms):
  tier, count = row["tier"], int(row["connections"])
  if len(durations_ms) != count:
    return [f"{tier}: {len(durations_ms)} connections, not {count}"]
  found = []
  for column, value_ms in (("mean_ms", statistics.mean(durations_ms)), ("median_ms", statistics.median(durations_ms))):
    if abs(value_ms - float(row[column])) > TOLERANCE_MS:
      found.append(f"{tier}: {column} {value_ms:.6f}, not {row[column]}")
  return found


def compare_counts(label, got, expected):
  """Returns error messages for differences between two multisets."""
  got, expected = collections.Counter(got), collections.Counter(expected)
  if not expected:
    return [f"{label}: the log is empty"]
  return ([f"{label}: {n} too many of {key}" for key, n in (got - expected).items()]
          + [f"{label}: {n} missing of {key}" for key, n in (expected - got).items()])


def check_requests(tuples, nginx, apps, hosts):
  """Returns error messages for differences between http_get tuples and the logs."""
  found = [f"incomplete request: {t}" for t in tuples if t["partial"]]
  found += [f"request to port {t['dst_port']}, on which no web server listens: {t}" for t in tuples
            if t["dst_port"] not in (PROXY_PORT, APP_PORT)]
  to_proxy = [t for t in tuples if t["dst_port"] == PROXY_PORT]
  to_apps = [t for t in tuples if t["dst_port"] == APP_PORT]
  found += compare_counts("requests per URL at the proxy",
                          [(t["method"], t["host"], t["url"], t["status"]) for t in to_proxy],
                          [(l["method"], l["host"], l["url"], l["status"]) for l in nginx])
  found += compare_counts("requests per client port at the proxy",
                          [(t["src_port"], t["url"], t["status"]) for t in to_proxy],
                          [(l["client_port"], l["url"], l["status"]) for l in nginx])
  return found + compare_counts(
      "requests at the application servers",
      [(hosts.get(t["dst_ip"], t["dst_ip"]), t["src_port"], t["url"], t["status"]) for t in to_apps],
      [(l["app"], l["proxy_port"], l["url"], l["status"]) for l in apps if l["kind"] == "page"])


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  source = parser.add_mutually_exclusive_group(required=True)
  source.add_argument("--monitor", help="the program tapline-monitor")
  source.add_argument("--tuples", type=argparse.FileType(encoding="utf-8"), help="file of tuples as JSON lines")
  options = parser.parse_args()
  tuples = run_monitor(options.monitor) if options.monitor else parse_lines(options.tuples)
  with open(HERE / "summary.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
  connection_tuples = [t for t in tuples if t["parser"] == "tcp_conn_time"]
  request_tuples = [t for t in tuples if t["parser"] == "http_get"]
  found = check_connections(connection_tuples, rows) + check_requests(
      request_tuples, read_log("three_tier.nginx_access.jsonl.zst"), read_log("three_tier.app.jsonl.zst"), read_hosts())
  for problem in found[:20]:
    print("check.py:", problem, file=sys.stderr)
  if found:
    print(f"check.py: {len(found)} differences", file=sys.stderr)
    return 1
  print(f"{len(connection_tuples)} tcp_conn_time and {len(request_tuples)} http_get tuples agree with tshark and logs")
  return 0


if __name__ == "__main__":
  sys.exit(main())

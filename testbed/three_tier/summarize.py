#!/usr/bin/python3
"""Checks a new capture against the servers' logs and writes the ground truth table, summary.csv.

tshark decodes the packets, so the table is independent of Tapline's parsers. A connection lasts from its SYN to
the second of its FINs (the later of the first FIN of each side). Exit code 1, with reasons, if the capture and the
logs differ, a packet occurs twice, a connection is incomplete, or the effect that the capture should show is missing.
"""
import argparse
import collections
import csv
import dataclasses
import json
import re
import statistics
import struct
import subprocess
import sys

TIERS = (("client-proxy", "client", "proxy", 80), ("proxy-app1", "proxy", "app1", 8080),
         ("proxy-app2", "proxy", "app2", 8080), ("app1-db", "app1", "db", 3306), ("app2-db", "app2", "db", 3306),
         ("app1-cache", "app1", "cache", 11211), ("app2-cache", "app2", "cache", 11211))
FIELDS = ("frame.time_epoch", "tcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.flags", "frame.len",
          "tcp.analysis.retransmission", "http.request.method", "mysql.query", "memcache.command")
FIN, SYN, RST, ACK = 1, 2, 4, 16


@dataclasses.dataclass
class Connection:
  """A connection as tshark decodes it. Times are in ns since the epoch; bytes count whole frames in both directions."""
  client: tuple = None
  server: tuple = None
  syn_ns: int = None
  fin_ns: dict = dataclasses.field(default_factory=dict)  # {sender: time of its first FIN}
  packets: int = 0
  bytes: int = 0
  requests: int = 0
  resets: int = 0
  retransmissions: int = 0

  @property
  def whole(self):
    return self.syn_ns is not None and len(self.fin_ns) == 2 and not self.resets

  @property
  def duration_ms(self):
    return (max(self.fin_ns.values()) - self.syn_ns) / 1e6


def read_connections(pcap):
  """Returns all TCP connections of a capture file."""
  command = ["tshark", "-n", "-r", pcap, "-Y", "tcp", "-T", "fields", "-E", "separator=\t", "-E", "aggregator=\x1f"]
  for field in FIELDS:
    command += ["-e", field]
  connections = collections.defaultdict(Connection)
  with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tshark:
    for line in tshark.stdout:
      add_packet(connections, line.rstrip("\n").split("\t"))
  if tshark.returncode:
    sys.exit(f"tshark ended with {tshark.returncode}")
  return list(connections.values())


def add_packet(connections, columns):
  time, stream, src_ip, src_port, dst_ip, dst_port, flags, length, retransmission, *requests = columns
  connection = connections[stream]
  sender, receiver, flags = (src_ip, int(src_port)), (dst_ip, int(dst_port)), int(flags, 16)
  seconds, fraction = time.split(".")
  time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
  if flags & SYN and not flags & ACK and connection.syn_ns is None:
    connection.client, connection.server, connection.syn_ns = sender, receiver, time_ns
  if flags & FIN:
    connection.fin_ns.setdefault(sender, time_ns)
  connection.packets += 1
  connection.bytes += int(length)
  connection.resets += bool(flags & RST)
  connection.retransmissions += bool(retransmission)
  connection.requests += sum(len(r.split("\x1f")) for r in requests if r)


def repeated_frames(pcap):
  """Returns how many frames of a pcap file (nanoseconds, little endian) equal a frame less than 1 ms earlier."""
  seen, repeated = {}, 0
  with open(pcap, "rb") as file:
    if file.read(24)[:4] != b"\x4d\x3c\xb2\xa1":
      sys.exit(f"{pcap} is not a nanosecond pcap file")
    while header := file.read(16):
      seconds, nanoseconds, length, _ = struct.unpack("<IIII", header)
      frame, time_ns = file.read(length), seconds * 10**9 + nanoseconds
      repeated += time_ns - seen.get(frame, 0) < 10**6
      seen[frame] = time_ns
  return repeated


def read_log(path):
  with open(path, encoding="utf-8") as file:
    return [json.loads(line) for line in file]


def read_hosts(path):
  """Returns {name: address} from an inventory whose hosts have one address each."""
  with open(path, encoding="utf-8") as file:
    return dict(re.findall(r"^  (\w+): \[([\d.]+)\]$", file.read(), re.MULTILINE))


def ports_in_logs(hosts, nginx, apps):
  """Returns {(client address, server address): the client ports of their connections in the servers' logs}."""
  ports = collections.defaultdict(list)
  for line in nginx:
    ports[line["client"], hosts["proxy"]].append(line["client_port"])
  for line in apps:
    app = hosts[line["app"]]
    if line["kind"] == "page":
      ports[hosts["proxy"], app].append(line["proxy_port"])
    for call in line["calls"]:
      ports[app, hosts[call["to"]]].append(call["port"])
  return ports


def problems(connections, logged_ports, pcap):
  """Returns the faults in the capture as a list of messages."""
  found = []
  if repeated := repeated_frames(pcap):
    found.append(f"{repeated} frames occur twice")
  if broken := [c for c in connections if not c.whole]:
    return found + [f"{len(broken)} connections lack their SYN or a FIN, or were reset: {broken[0]}"]
  if wrong := [c for c in connections if c.requests != 1]:
    found.append(f"{len(wrong)} connections do not carry exactly one request: {wrong[0]}")
  captured_ports = collections.defaultdict(list)
  for c in connections:
    captured_ports[c.client[0], c.server[0]].append(c.client[1])
  for pair in sorted(captured_ports.keys() | logged_ports.keys()):
    captured, logged = collections.Counter(captured_ports[pair]), collections.Counter(logged_ports[pair])
    if captured != logged:
      found.append(f"{pair}: {captured.total()} connections captured, {logged.total()} logged; "
                   f"only captured: {list(captured - logged)[:5]}, only logged: {list(logged - captured)[:5]}")
  return found


def table(connections, hosts):
  """Returns the rows of summary.csv, one per tier and pair of hosts."""
  groups = collections.defaultdict(list)
  for c in connections:
    groups[c.client[0], c.server].append(c)
  rows = []
  for tier, source, destination, port in TIERS:
    group = groups.pop((hosts[source], (hosts[destination], port)), [])
    durations = [c.duration_ms for c in group] or [0]
    rows.append({
        "tier": tier, "src_ip": hosts[source], "dst_ip": hosts[destination], "dst_port": port,
        "connections": len(group), "mean_ms": round(statistics.mean(durations), 6), 
        "median_ms": round(statistics.median(durations), 6),
        "packets": sum(c.packets for c in group), "bytes": sum(c.bytes for c in group),
        "retransmissions": sum(c.retransmissions for c in group)})
  if groups:
    sys.exit(f"connections that belong to no tier: {list(groups)[:5]}")
  return rows


def missing_effects(rows):
  """Prints the ratios of NetAlytics section 7.1. Returns a message for each one that this capture does not
  reproduce."""
  by_tier, found = {row["tier"]: row for row in rows}, []
  for what, upper, lower, column, low, high in (
      ("connection time, proxy to app1 over proxy to app2", "proxy-app1", "proxy-app2", "mean_ms", 3, 5.5),
      ("connection time, app1 to db over app2 to db", "app1-db", "app2-db", "mean_ms", 0.7, 1.4),
      ("bytes, app1 to db over app2 to db", "app1-db", "app2-db", "bytes", 2.5, 4.5),
      ("bytes, app2 to cache over app1 to cache", "app2-cache", "app1-cache", "bytes", 3, 5)):
    ratio = by_tier[upper][column] / max(by_tier[lower][column], 1e-9)
    print(f"  {what}: {ratio:.2f}")
    if not low <= ratio <= high:
      found.append(f"{what} is {ratio:.2f}, not {low} to {high}; try again on a less busy machine")
  return found


def write_table(rows, path):
  with open(path, "w", encoding="utf-8", newline="") as file:
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  for option in ("--inventory", "--pcap", "--nginx", "--output"):
    parser.add_argument(option, required=True)
  parser.add_argument("--app", action="append", required=True, help="log of an application server; repeat")
  options = parser.parse_args()
  hosts = read_hosts(options.inventory)
  apps = [line for path in options.app for line in read_log(path)]
  connections = read_connections(options.pcap)
  found = problems(connections, ports_in_logs(hosts, read_log(options.nginx), apps), options.pcap)
  if not found:
    rows = table(connections, hosts)
    write_table(rows, options.output)
    with open(options.output, encoding="utf-8") as file:
      print(file.read(), end="")
    found = missing_effects(rows)
  for problem in found:
    print("summarize.py:", problem, file=sys.stderr)
  return 1 if found else 0


if __name__ == "__main__":
  sys.exit(main())

#!/usr/bin/python3
"""Cuts http_small.pcap.zst and tcp_small.pcap.zst, with their truth, and protocols_small.pcap.zst out of the project's larger generated
captures.

  cut.py [FOLDER]    FOLDER contains http_zipf.pcap.zst, tcp_clean.pcap.zst, their logs, and the captures of the other protocols
                     (default: generated/ under TAPLINE_CAPTURES, or under ../shared/traces next to the repository)

It takes whole connections, one or more of each kind. Needs tshark and zstd. README.md describes the truth files.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# {kind of client: tshark's stream numbers of the connections in the large capture}
HTTP_STREAMS = {
    "no request": [0], "pipelined": [17], "ab, HTTP/1.0 with Host": [18], "split in small segments": [138],
    "methods": [413], "post": [735], "chunked post": [1031], "100-continue": [1263], "errors": [1493],
    "conditional, range, gzip": [1528], "HTTP/1.0": [1529], "long header fields": [1530], "reset by client": [1536],
    "half-closed by client": [1537], "unknown version": [1538], "refused": [1539], "slow": [1540],
    "space in URL": [1553]}
TCP_STREAMS = {
    "echo": [0, 1, 3], "bulk": [27], "onebyte": [65], "rst": [22, 16], "halfclose": [86], "zerowin": [2],
    "keepalive": [18], "refused": [10, 53], "dropped": [7, 25]}
# {capture: stream numbers of one or two ordinary connections}
PROTOCOL_STREAMS = {"memcached_mix": [89], "mysql_mix": [59, 87], "redis_mix": [107], "h2c": [4]}
FIELDS = ("tcp.stream", "frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.flags", "frame.len")
FIN, SYN, RST, ACK = 1, 2, 4, 16


def unpack(source, target):
  subprocess.run(["zstd", "-dqf", "--long=27", source, "-o", target], check=True)


def read_jsonl(path):
  if path.suffix == ".zst":
    lines = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
  else:
    lines = path.read_text(encoding="utf-8")
  return [json.loads(line) for line in lines.splitlines()]


def tshark(*arguments):
  return subprocess.run(["tshark", "-n", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                        encoding="utf-8").stdout


def cut(folder, source, streams, name, scratch):
  """Writes NAME.pcap.zst. Returns each connection's kind and packets (dictionaries of FIELDS)."""
  kinds = {str(number): kind for kind, numbers in streams.items() for number in numbers}
  large, small = scratch / "large.pcap", scratch / "small.pcap"
  unpack(folder / f"{source}.pcap.zst", large)
  wanted = "tcp.stream in {" + ", ".join(kinds) + "}"
  columns = [argument for field in FIELDS for argument in ("-e", field)]
  packets = tshark("-r", large, "-Y", wanted, "-T", "fields", *columns)
  tshark("-r", large, "-Y", wanted, "-F", "pcap", "-w", small)
  subprocess.run(["zstd", "-qf", "-19", small, "-o", HERE / f"{name}.pcap.zst"], check=True)
  connections = collections.defaultdict(list)
  for line in packets.splitlines():
    packet = dict(zip(FIELDS, line.split("\t")))
    connections[packet["tcp.stream"]].append(packet)
  if connections.keys() != kinds.keys():
    sys.exit(f"{source}: no connections {kinds.keys() - connections.keys()}; the numbers are those of another capture")
  return [(kinds[number], connections[number]) for number in connections]


def to_ns(text):
  seconds, fraction = text.split(".")
  return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def life(packets):
  """Returns a connection's endpoints, outcome, times and size, derived from its packets."""
  fins, end_ns, outcome, answered = set(), None, None, False
  for packet in packets:
    flags, sender = int(packet["tcp.flags"], 16), packet["tcp.srcport"]
    if flags & FIN:
      fins.add(sender)
    if flags & RST and outcome is None:
      outcome, end_ns = ("reset" if answered else "refused"), to_ns(packet["frame.time_epoch"])
    elif len(fins) == 2 and outcome is None:
      outcome, end_ns = "closed", to_ns(packet["frame.time_epoch"])
    answered |= flags & (SYN | ACK) == SYN | ACK
  first = packets[0]
  return {"client": first["ip.src"], "client_port": int(first["tcp.srcport"]), "server": first["ip.dst"],
          "server_port": int(first["tcp.dstport"]), "outcome": outcome or "unanswered",
          "syn_ns": to_ns(first["frame.time_epoch"]), "end_ns": end_ns, "packets": len(packets),
          "bytes": sum(int(packet["frame.len"]) for packet in packets)}


def during(connection, packets, time_s):
  """Returns True if a logged time falls within the connection. The port alone does not identify a connection, since
  ports are reused."""
  return connection["syn_ns"] / 1e9 - 0.1 <= time_s <= to_ns(packets[-1]["frame.time_epoch"]) / 1e9 + 0.1


def write_truth(name, records):
  with open(HERE / f"{name}.jsonl", "w", encoding="utf-8") as file:
    file.writelines(json.dumps(record) + "\n" for record in records)


def cut_http(folder, scratch):
  records, log = [], read_jsonl(folder / "http_zipf.nginx_access.jsonl.zst")
  for kind, packets in cut(folder, "http_zipf", HTTP_STREAMS, "http_small", scratch):
    connection = life(packets)
    requests = [
        {"number": line["nreq"], "method": line["method"], "url": line["uri"], "status": line["status"],
         "request_bytes": line["request_length"], "response_bytes": line["bytes_sent"]}
        for line in log if line["client"] == connection["client"] and line["cport"] == connection["client_port"]
        and during(connection, packets, line["end_ts"])]
    records.append({"kind": kind, **connection, "requests": requests})
  write_truth("http_small", records)


def cut_tcp(folder, scratch):
  records, log = [], read_jsonl(folder / "tcp_clean.client_conns.jsonl")
  for kind, packets in cut(folder, "tcp_clean", TCP_STREAMS, "tcp_small", scratch):
    connection = life(packets)
    logged = [line for line in log
              if line["cport"] == connection["client_port"] and during(connection, packets, line["end"])]
    if [line["kind"] for line in logged] != ([] if kind in ("refused", "dropped") else [kind]):
      sys.exit(f"the client's log of port {connection['client_port']} does not say {kind}: {logged}")
    sizes = {"sent": logged[0]["sent"], "received": logged[0]["received"]} if logged else {}
    records.append({"kind": kind, **connection, **sizes})
  write_truth("tcp_small", records)


def cut_protocols(folder, scratch):
  large, parts, small = scratch / "large.pcap", [], scratch / "small.pcap"
  for source, streams in PROTOCOL_STREAMS.items():
    unpack(folder / f"{source}.pcap.zst", large)
    parts.append(scratch / f"part_{source}.pcap")
    tshark("-r", large, "-Y", "tcp.stream in {" + ", ".join(map(str, streams)) + "}", "-F", "pcap", "-w", parts[-1])
  subprocess.run(["mergecap", "-F", "pcap", "-w", small, *parts], check=True)
  subprocess.run(["zstd", "-qf", "-19", small, "-o", HERE / "protocols_small.pcap.zst"], check=True)


def main():
  if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
    print(__doc__)
    return 2 if len(sys.argv) > 2 else 0
  captures = os.environ.get("TAPLINE_CAPTURES", HERE.parents[1] / "../shared/traces")
  folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(captures) / "generated")
  if not (folder / "http_zipf.pcap.zst").exists():
    print(f"cut.py: no http_zipf.pcap.zst in {folder}; name the folder, or set TAPLINE_CAPTURES", file=sys.stderr)
    return 1
  with tempfile.TemporaryDirectory() as scratch:
    cut_http(folder, pathlib.Path(scratch))
    cut_tcp(folder, pathlib.Path(scratch))
    cut_protocols(folder, pathlib.Path(scratch))
  return 0


if __name__ == "__main__":
  sys.exit(main())

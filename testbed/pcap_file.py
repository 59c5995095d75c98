"""Reads and writes captures, for evaluators that share no code with Tapline."""
import struct

MAGIC = 0xA1B23C4D  # times in nanoseconds
ETHERNET = 1


def packets_of(path):
  """Returns (time in ns, bytes on the wire, captured data) of each packet in a pcap with nanosecond timestamps."""
  data = path.read_bytes()
  if struct.unpack_from("<I", data)[0] != MAGIC:
    raise ValueError(f"{path} is not a pcap file with nanosecond timestamps")
  packets, offset = [], 24
  while offset < len(data):
    seconds, fraction, captured, size = struct.unpack_from("<IIII", data, offset)
    packets.append((seconds * 10**9 + fraction, size, data[offset + 16:offset + 16 + captured]))
    offset += 16 + captured
  return packets


def write_packets(path, packets):
  """Writes packets in the form that packets_of() returns."""
  with path.open("wb") as file:
    file.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, 65535, ETHERNET))
    for time_ns, size, captured in packets:
      file.write(struct.pack("<IIII", *divmod(time_ns, 10**9), len(captured), size) + captured)

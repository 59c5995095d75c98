"""Captures for tests: packets read from files, departures from a queue, files with several taps, and tshark's analysis of them. Standard library
only."""
import collections
import shutil
import struct
import subprocess

# Longer than `--duplicates drop` remembers packets.
LONGEST_WAIT_NS = 400_000_000


def packets_of(capture):
    """Returns (nanoseconds, frame) for each packet in a compressed pcap, in time order. The packets must not be
    truncated."""
    return sorted(read_pcap(capture), key=lambda packet: packet[0])


def read_pcap(capture):
    data = subprocess.run(["zstd", "-dc", capture], check=True, capture_output=True).stdout
    per_fraction = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    offset = 24
    while offset < len(data):
        seconds, fraction, captured, _ = struct.unpack_from("<IIII", data, offset)
        yield seconds * 10**9 + fraction * per_fraction, data[offset + 16:offset + 16 + captured]
        offset += 16 + captured


def through_queue(arrivals, ns_per_byte):
    """Returns the departures from a FIFO queue that drops packets that would leave later than LONGEST_WAIT_NS after they
    arrived."""
    free_ns, departures = 0, []
    for time_ns, frame in arrivals:
        leaves_ns = max(free_ns, time_ns) + int(len(frame) * ns_per_byte)
        if leaves_ns - time_ns > LONGEST_WAIT_NS:
            continue
        free_ns = leaves_ns
        departures.append((leaves_ns, frame))
    return departures


def departures_of(arrivals):
    """Returns the departures from a queue that is served at the mean rate of the arrivals, doubled until the queue drops at most a quarter of the
    packets."""
    ns_per_byte = max(arrivals[-1][0] - arrivals[0][0], 1) / sum(len(frame) for _, frame in arrivals)
    while len(departures := through_queue(arrivals, ns_per_byte)) < len(arrivals) * 3 / 4:
        ns_per_byte /= 2
    return departures


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(taps):
    """Returns a pcapng section with an interface for each tap, given as {name: packets}. Packets are in time order."""
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for name in taps:
        option = name.encode() + bytes(-len(name) % 4)
        out += block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 2, len(name)) + option + struct.pack("<HHB3x", 9, 1, 9) + bytes(4))
    ordered = sorted(((time_ns, i, frame) for i, packets in enumerate(taps.values()) for time_ns, frame in packets), key=lambda p: p[:2])
    blocks = [out]
    for time_ns, interface, frame in ordered:
        blocks.append(block(6, struct.pack("<IIIII", interface, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame)) + frame))
    return b"".join(blocks)


def nanosecond_pcap(packets):
    out = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for time_ns, frame in packets:
        out.append(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(frame), len(frame)) + frame)
    return b"".join(out)


def has_wireshark():
    return all(shutil.which(program) for program in ("tshark", "capinfos"))


def packet_count(path):
    """Returns the number of packets according to capinfos."""
    out = subprocess.run(["capinfos", "-cTMr", path], check=True, capture_output=True, text=True).stdout
    return int(out.split("\t")[1])


def tcp_totals(path):
    """Returns the numbers of TCP packets and bytes by interface name, according to tshark."""
    out = subprocess.run(["tshark", "-r", path, "-Y", "tcp", "-T", "fields", "-e", "frame.interface_name", "-e", "frame.len"],
                         check=True, capture_output=True, text=True).stdout
    totals = collections.defaultdict(lambda: [0, 0])
    for line in out.splitlines():
        interface, size = line.split("\t")
        totals[interface][0] += 1
        totals[interface][1] += int(size)
    return {interface: tuple(total) for interface, total in totals.items()}

"""A capture's TCP connections as plain streams, for evaluators that compare a parser's tuples with whole streams in
memory.

Shares no code with the parsers that it judges. Assumes that no bytes are missing and that whole connections fit into
memory; the first copy of each byte counts.
"""

import bisect
import collections
import ipaddress
import struct
import subprocess

Segment = collections.namedtuple("Segment", "time_ns source destination seq ack flags payload")
SYN, FIN, RST = 2, 1, 4
ETHERNET, NULL, LOOP, RAW, SLL = 1, 0, 108, 101, 113


def read(capture):
    data = capture.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dc", "--long=27", str(capture)], capture_output=True, check=True).stdout
    return data


def packets(data):
    """Yields (time in ns, link type, bytes) for each packet in a pcap or pcapng file."""
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        yield from packets_ng(data)
        return
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    unit_ns = 1 if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
    link, offset = struct.unpack_from(order + "I", data, 20)[0] & 0xffff, 24
    while offset + 16 <= len(data):
        seconds, fraction, captured, _ = struct.unpack_from(order + "IIII", data, offset)
        yield seconds * 10**9 + fraction * unit_ns, link, data[offset + 16:offset + 16 + captured]
        offset += 16 + captured


def packets_ng(data):
    order = "<" if data[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
    offset, interfaces = 0, []
    while offset + 12 <= len(data):
        kind, length = struct.unpack_from(order + "II", data, offset)
        if kind == 1:
            interfaces.append((struct.unpack_from(order + "H", data, offset + 8)[0], unit_of(data[offset + 16:offset + length - 4], order)))
        elif kind == 6:
            number, high, low, captured = struct.unpack_from(order + "IIII", data, offset + 8)
            link, per_second = interfaces[number]
            yield (high << 32 | low) * 10**9 // per_second, link, data[offset + 28:offset + 28 + captured]
        offset += length


def unit_of(options, order):
    """Returns the number of time units per second (option if_tsresol)."""
    offset = 0
    while offset + 4 <= len(options):
        code, length = struct.unpack_from(order + "HH", options, offset)
        if code == 9:
            resolution = options[offset + 4]
            return 2**(resolution & 127) if resolution & 128 else 10**resolution
        offset += 4 + (length + 3) // 4 * 4
    return 10**6


def network_of(link, frame):
    """Returns the IP datagram in a frame, or empty bytes."""
    if link == ETHERNET:
        offset = 12
        while frame[offset:offset + 2] == b"\x81\x00":
            offset += 4
        return frame[offset + 2:] if frame[offset:offset + 2] in (b"\x08\x00", b"\x86\xdd") else b""
    return frame[{NULL: 4, LOOP: 4, RAW: 0, SLL: 16}[link]:]


def segment_of(time_ns, ip):
    """Returns the TCP segment in a datagram, or None."""
    if len(ip) >= 20 and ip[0] >> 4 == 4 and ip[9] == 6:
        end = struct.unpack_from(">H", ip, 2)[0] or len(ip)
        tcp, source, destination = ip[(ip[0] & 15) * 4:end], ip[12:16], ip[16:20]
    elif len(ip) >= 40 and ip[0] >> 4 == 6 and ip[6] == 6:
        end = 40 + struct.unpack_from(">H", ip, 4)[0]
        tcp, source, destination = ip[40:end], ip[8:24], ip[24:40]
    else:
        return None
    source_port, destination_port, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
    return Segment(time_ns, (str(ipaddress.ip_address(source)), source_port),
                   (str(ipaddress.ip_address(destination)), destination_port), seq, ack, flags, tcp[(offset >> 4) * 4:])


def segments(capture):
    for time_ns, link, frame in packets(read(capture)):
        segment = segment_of(time_ns, network_of(link, frame))
        if segment is not None:
            yield segment


class Stream:
    """One direction: its bytes from the first one that was seen, and their arrival times."""

    def __init__(self):
        self.data = bytearray()
        self.pieces = []  # (offset, time) of new bytes, by offset
        self.base = None
        self.waiting = []

    def add(self, segment):
        if self.base is None:
            self.base = segment.seq + bool(segment.flags & SYN)
        if segment.payload:
            self.waiting.append(segment)
        while self.take():
            pass

    def take(self):
        for index, segment in enumerate(self.waiting):
            begin = (segment.seq - self.base + 2**31) % 2**32 - 2**31
            if begin <= len(self.data):
                new = segment.payload[len(self.data) - begin:]
                if new:
                    self.pieces.append((len(self.data), segment.time_ns))
                    self.data += new
                del self.waiting[index]
                return True
        return False

    def time_ns(self, offset):
        """Returns the arrival time of the byte at this offset."""
        return self.pieces[bisect.bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1][1]


def connections(capture, server_ports):
    """Returns {(client, server, number of earlier connections between them): (the client's stream, the server's)}. The
    server is the side with one of `server_ports`; a client's SYN after its data starts a new connection."""
    result, current, repeated_bytes = {}, {}, collections.Counter()
    for segment in segments(capture):
        asks = segment.destination[1] in server_ports
        ends = (segment.source, segment.destination) if asks else (segment.destination, segment.source)
        if ends[1][1] not in server_ports:
            continue
        is_new = segment.flags & SYN and asks and ends in current and current[ends][0].data
        if ends not in current or is_new:
            repeated_bytes[ends] += is_new
            current[ends] = (Stream(), Stream())
            result[(*ends, repeated_bytes[ends])] = current[ends]
        current[ends][0 if asks else 1].add(segment)
    return result

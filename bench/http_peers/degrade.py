"""Degrades a capture as a mirror port does: drops and delays packets. The same seed gives the same file."""
import random
import re
import struct

from offline_monitor import byte_order, records

REQUEST = re.compile(rb"GET (/\d+/page\d{7}) ")
RESPONSE = re.compile(rb"X-Page: (/\d+/page\d{7})\r\n")


def lose(packets, share, seed=1):
    chance = random.Random(seed)
    return [packet for packet in packets if chance.random() >= share]


def delay(packets, share, max_places, seed=1):
    """Delays a share of the packets by 1 to max_places positions. Times stay in order, because a tap timestamps packets
    on arrival."""
    chance = random.Random(seed)
    places = [index + (chance.randint(1, max_places) + 0.5 if chance.random() < share else 0) for index in range(len(packets))]
    order = sorted(range(len(packets)), key=places.__getitem__)
    return [(stamp[0], *packets[index][1:]) for stamp, index in zip(packets, order)]


DEGRADATIONS = {
    "clean": ("as captured", lambda packets: packets),
    "lossy": ("1 % of the packets lost", lambda packets: lose(packets, 0.01)),
    "late3": ("2 % of the packets 1 to 3 places late", lambda packets: delay(packets, 0.02, 3)),
    "late20": ("2 % of the packets 1 to 20 places late", lambda packets: delay(packets, 0.02, 20)),
}


def read(capture):
    """Returns (time, lengths, bytes) of each packet in a classic pcap file; time and lengths are in the file's
    encoding."""
    return [(header[:8], header[8:], data) for _, header, data in records(capture)]


def write(capture, path, packets):
    with open(capture, "rb") as source, open(path, "wb") as target:
        head = source.read(24)
        assert struct.unpack(byte_order(head) + "I", head[20:24])[0] == 1, "an Ethernet capture"
        target.write(head)
        for packet in packets:
            target.write(b"".join(packet))


def surviving_pairs(packets):
    """Returns the number of URLs whose request head and response head are both in the capture."""
    numbers = [{match[1] for *_, data in packets if (match := pattern.search(data))} for pattern in (REQUEST, RESPONSE)]
    return len(numbers[0] & numbers[1])

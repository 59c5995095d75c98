#!/usr/bin/env python3
"""Makes datagrams_small.pcap.zst: DNS with dnsmasq over UDP and TCP, pings, and datagrams to a closed port, all on the loopback interface.

Needs root, dnsmasq, ping and tcpdump. datagrams_small.jsonl has a line for each response that the clients received.
"""

import json
import pathlib
import random
import select
import socket
import struct
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SERVER = ("127.0.0.2", 53)
ZONE = ["--address=/web.example.test/192.0.2.7", "--address=/web.example.test/2001:db8::7", "--mx-host=example.test,mail.example.test,10",
        "--txt-record=example.test,hello", "--srv-host=_kv._tcp.example.test,kv.example.test,11211", "--local=/example.test/"]
QUESTIONS = [("web.example.test", 1), ("web.example.test", 28), ("a.web.example.test", 1), ("b.web.example.test", 28), ("example.test", 15),
             ("example.test", 16), ("_kv._tcp.example.test", 33), ("no-such-name.example.test", 1)]
random_numbers = random.Random(4)


def question(number, name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


def row(transport, port, message, name, kind):
    return {"transport": transport, "client_port": port, "id": struct.unpack_from(">H", message)[0], "name": name, "type": kind,
            "rcode": message[3] & 15, "answers": struct.unpack_from(">H", message, 6)[0], "bytes": len(message)}


def one_by_one(count):
    """Sends each question from a new socket, after the previous answer."""
    for _ in range(count):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(2)
            client.connect(SERVER)
            name, kind = random_numbers.choice(QUESTIONS)
            client.send(question(random_numbers.randrange(1 << 16), name, kind))
            yield row("udp", client.getsockname()[1], client.recv(4096), name, kind)


def many_at_once(count, window):
    """Keeps several questions open on one socket, as a resolver does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(SERVER)
        waiting, sent = {}, 0
        while sent < count or waiting:
            while sent < count and len(waiting) < window:
                number = random_numbers.choice([n for n in range(sent * 7, sent * 7 + 99) if n not in waiting])
                waiting[number] = random_numbers.choice(QUESTIONS)
                client.send(question(number, *waiting[number]))
                sent += 1
            if not select.select([client], [], [], 2)[0]:
                raise TimeoutError("no answer to " + str(waiting))
            message = client.recv(4096)
            yield row("udp", client.getsockname()[1], message, *waiting.pop(struct.unpack_from(">H", message)[0]))


def over_tcp(count):
    """Sends questions sequentially over one connection."""
    with socket.create_connection(SERVER, timeout=2) as client, client.makefile("rb") as stream:
        for number in range(count):
            name, kind = random_numbers.choice(QUESTIONS)
            message = question(number, name, kind)
            client.sendall(struct.pack(">H", len(message)) + message)
            yield row("tcp", client.getsockname()[1], stream.read(struct.unpack(">H", stream.read(2))[0]), name, kind)


def traffic():
    rows = list(one_by_one(60))
    for _ in range(3):
        rows += many_at_once(40, 6)
    for _ in range(4):
        rows += over_tcp(10)
    subprocess.run(["ping", "-q", "-c", "5", "-i", "0.2", SERVER[0]], check=True, stdout=subprocess.DEVNULL)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for _ in range(2):
            client.sendto(b"nobody reads this", (SERVER[0], 9))
            time.sleep(0.1)
    return rows


def main():
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "datagrams_small.pcap"
        server = subprocess.Popen(["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
                                   "--listen-address=" + SERVER[0], "--user=root", "--pid-file", *ZONE])
        dump = subprocess.Popen(["tcpdump", "-i", "lo", "-s", "0", "-U", "-Z", "root", "-w", str(capture), "host", SERVER[0]],
                                stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            rows = traffic()
            time.sleep(1)
        finally:
            for process in (dump, server):
                process.terminate()
                process.wait()
        (HERE / "datagrams_small.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        subprocess.run(["zstd", "-qf", "-19", str(capture), "-o", str(HERE / "datagrams_small.pcap.zst")], check=True)


if __name__ == "__main__":
    main()

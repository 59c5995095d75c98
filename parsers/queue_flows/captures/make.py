#!/usr/bin/env python3
"""Makes queue-arrivals.pcap.zst and queue-departures.pcap.zst: both sides of a port's queue.

There are three network namespaces: a sender, a router and a receiver. The router's port to the receiver is a token
bucket of 20 Mb/s with a queue of 30 kB. A probe flow sends throughout. A burst of one flow fills the queue, and later a
burst of two flows exceeds its capacity. Both interfaces of the router are captured, so both taps have the same clock.

Needs root, ip, tc, tcpdump and zstd.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE, ROUTER, TARGET = "tapline-source", "tapline-router", "tapline-target"

SEND = """
import socket, sys, time
def flow(port):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("10.99.1.2", port))
    one.connect(("10.99.2.2", 7000))
    return one
probe, first, second = flow(40001), flow(40002), flow(40003)
begin = time.monotonic()
for tick in range(100):
    time.sleep(max(0, begin + tick * 0.002 - time.monotonic()))
    probe.send(bytes(100))
    if tick == 30:
        for _ in range(12): first.send(bytes(1400))
    if tick == 60:
        for i in range(40): (first if i % 4 == 0 else second).send(bytes(1400))
"""

RECEIVE = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("10.99.2.2", 7000))
while True: one.recv(2000)
"""


def run(*command):
    subprocess.run(command, check=True)


def inside(namespace, *command):
    run("ip", "netns", "exec", namespace, *command)


def link(one, peer, network):
    run("ip", "link", "add", f"q{network}a", "netns", one, "type", "veth", "peer", "name", f"q{network}b", "netns", peer)
    for namespace, device, host in ((one, f"q{network}a", 1), (peer, f"q{network}b", 2)):
        inside(namespace, "ip", "address", "add", f"10.99.{network}.{host}/24", "dev", device)
        inside(namespace, "ip", "link", "set", device, "up")


def build():
    for namespace in (SOURCE, ROUTER, TARGET):
        run("ip", "netns", "add", namespace)
        inside(namespace, "ip", "link", "set", "lo", "up")
    link(ROUTER, SOURCE, 1)
    link(ROUTER, TARGET, 2)
    inside(ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    inside(SOURCE, "ip", "route", "add", "default", "via", "10.99.1.1")
    inside(TARGET, "ip", "route", "add", "default", "via", "10.99.2.1")
    inside(ROUTER, "tc", "qdisc", "add", "dev", "q2a", "root", "tbf", "rate", "20mbit", "burst", "2kb", "limit", "30kb")
    inside(SOURCE, "ping", "-q", "-c", "1", "10.99.2.2")  # resolves addresses


def capture(device, path):
    return subprocess.Popen(["ip", "netns", "exec", ROUTER, "tcpdump", "-i", device, "-s", "128", "-j", "host",
                             "--time-stamp-precision", "nano", "-U", "-Z", "root", "-w", str(path), "udp dst port 7000"],
                            stderr=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory() as folder:
        sides = {"arrivals": "q1a", "departures": "q2a"}
        files = {side: pathlib.Path(folder) / f"{side}.pcap" for side in sides}
        try:
            build()
            receiver = subprocess.Popen(["ip", "netns", "exec", TARGET, sys.executable, "-c", RECEIVE])
            dumps = [capture(device, files[side]) for side, device in sides.items()]
            time.sleep(2)
            inside(SOURCE, sys.executable, "-c", SEND)
            time.sleep(1)
            inside(ROUTER, "tc", "-s", "qdisc", "show", "dev", "q2a")  # prints the number of drops
            for process in (*dumps, receiver):
                process.terminate()
                process.wait()
        finally:
            for namespace in (SOURCE, ROUTER, TARGET):
                subprocess.run(["ip", "netns", "delete", namespace], stderr=subprocess.DEVNULL, check=False)
        for side, path in files.items():
            run("zstd", "-qf", "-19", str(path), "-o", str(HERE / f"queue-{side}.pcap.zst"))


if __name__ == "__main__":
    main()

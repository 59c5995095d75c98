#!/usr/bin/env python3
"""Makes marked.pcap.zst: pings over the loopback interface with two code points (one of them also with CE, and over
IPv6), and pings without a code point.

Needs root, ping and tcpdump.
"""

import pathlib
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Traffic classes: a code point (RFC 2474) and explicit congestion notification (RFC 3168).
EXPEDITED, EXPEDITED_CONGESTED, BULK, PLAIN = 46 << 2, 46 << 2 | 3, 8 << 2, 0


def ping(address, traffic_class, payload_bytes):
    subprocess.run(["ping", "-q", "-c", "2", "-i", "0.2", "-Q", str(traffic_class), "-s", str(payload_bytes), address],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "marked.pcap"
        dump = subprocess.Popen(["tcpdump", "-i", "lo", "-s", "0", "-U", "-Z", "root", "-w", str(capture), "icmp or icmp6"],
                                stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            ping("127.0.0.2", EXPEDITED, 959)
            ping("127.0.0.2", EXPEDITED_CONGESTED, 56)
            ping("127.0.0.2", BULK, 1400)
            ping("127.0.0.2", PLAIN, 56)
            ping("::1", EXPEDITED, 200)
            time.sleep(1)
        finally:
            dump.terminate()
            dump.wait()
        subprocess.run(["zstd", "-qf", "-19", str(capture), "-o", str(HERE / "marked.pcap.zst")], check=True)


if __name__ == "__main__":
    main()

"""Hand-written captures, and tapline-monitor as a process, for tests. Standard library only."""
import json
import os
import select
import ssl
import struct
import subprocess
import time

MONITOR = os.environ.get("TAPLINE_MONITOR", "build/bin/tapline-monitor")
DEADLINE_S = 30


def tcp_frame(src_port, flags=0x02, seq=1, payload=b"", dst_port=80):
    tcp = struct.pack(">HHIIBBHHH", src_port, dst_port, seq, 0, 0x50, flags, 1000, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return bytes.fromhex("020000000001") + bytes.fromhex("020000000002") + b"\x08\x00" + ip + tcp


def pcap(packets, link_type=1):
    """Returns a pcap file with these packets, each given as (seconds, frame)."""
    out = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link_type)
    for seconds, frame in packets:
        whole = int(seconds)
        out += struct.pack("<IIII", whole, int((seconds - whole) * 1e9), len(frame), len(frame)) + frame
    return out


def make_tls(folder):
    """Creates a certificate for 127.0.0.1, its key and a token. Returns flags with which a program serves metrics, and
    a TLS context and headers with which to scrape them."""
    own, key, token = (os.path.join(folder, name) for name in ("own.pem", "own.key", "token"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=own", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", own], check=True, capture_output=True)
    with open(token, "w") as file:
        file.write("0123456789abcdef\n")
    flags = ["--metrics-certificate", own, "--metrics-key", key, "--metrics-token-file", token]
    return flags, ssl.create_default_context(cafile=own), {"Authorization": "Bearer 0123456789abcdef"}


class Monitor:
    """A running monitor whose standard error is read as status events."""

    def __init__(self, *arguments, prefix=(), **popen):
        popen.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen([*prefix, MONITOR, "--status", "json", *arguments], stderr=subprocess.PIPE, **popen)
        self.events = []
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def _take(self, timeout_s):
        """Reads status events, waiting up to timeout_s for the first. Returns False at the end of the stream."""
        if not select.select([self.process.stderr], [], [], timeout_s)[0]:
            return True
        data = os.read(self.process.stderr.fileno(), 65536)
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                self.events.append(json.loads(line))
        return bool(data)

    def await_event(self, name, condition=lambda event: True):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            for event in self.events:
                if event["event"] == name and condition(event):
                    return event
            if not self._take(0.1):
                break
        raise AssertionError(f"no {name} event; there were {self.events}")

    def finish(self):
        """Waits until the monitor ends. Returns the exit code and standard output."""
        out = self.process.stdout.read() if self.process.stdout else b""
        while self._take(DEADLINE_S):
            pass
        return self.process.wait(DEADLINE_S), out

    def terminate(self):
        self.process.terminate()
        return self.finish()

    def event(self, name):
        matches = [event for event in self.events if event["event"] == name]
        assert len(matches) == 1, f"{len(matches)} {name} events: {self.events}"
        return matches[0]

    def cpu_seconds(self):
        """Returns the CPU time of the process so far."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*arguments, **popen):
    """Runs the monitor until it ends. Returns (exit code, standard output, standard error) as users see them."""
    done = subprocess.run([MONITOR, *arguments], capture_output=True, timeout=DEADLINE_S, **popen)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def balanced(accounting):
    """Returns True if a run's accounting identities hold."""
    gone = sum(accounting["undecodable"].values()) + sum(accounting["lost"].values()) + accounting["merged"] + accounting["repeated"]
    if accounting["packets_received"] != accounting["matched"] + accounting["unmatched"] + gone:
        return False
    for tap in accounting["taps"]:
        if tap["received"] != tap["passed"] + tap["repeated"] + sum(tap["undecodable"].values()) + sum(tap["lost"].values()):
            return False
    for query in accounting["queries"].values():
        dropped = query["dropped"]
        if query["packets_in"] != query["packets_out"] + sum(dropped["packets"].values()):
            return False
        if query["tuples_in"] != query["tuples_out"] + sum(dropped["tuples"].values()):
            return False
    return True

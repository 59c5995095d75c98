#!/usr/bin/env python3
"""Compares the ports that tapline-monitor infers from routes with those through which Open vSwitch forwarded each packet,
while routes change. Needs root and Open vSwitch; skipped otherwise.

    sender ──▶ 1 [ s1 ] 2..9 ──▶ captured: the truth
                  └ 10 ──▶ unmarked copies ──▶ tapline-monitor --tap s1=copies

The test acts as the controller: it announces a change to the monitor and awaits the confirmation, then changes the
switch, which also confirms, and sends the monitor the new routes. Each packet is a separate flow, so flow_rate reports
each packet's port. TAPLINE_ROUTE_PACKETS, TAPLINE_ROUTE_CHANGES and TAPLINE_ROUTE_PACKETS_PER_SECOND default to
20,000, 5 and 2,000."""
import collections
import ctypes
import json
import os
import pathlib
import random
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from testing.monitor_process import Monitor, balanced

PACKETS = int(os.environ.get("TAPLINE_ROUTE_PACKETS", "20000"))
CHANGES = int(os.environ.get("TAPLINE_ROUTE_CHANGES", "5"))
PACKETS_PER_SECOND = int(os.environ.get("TAPLINE_ROUTE_PACKETS_PER_SECOND", "2000"))
HOSTS = 250
SENDER = 0x020000000001
PORTS = range(2, 10)
COPIES = 10
# Open vSwitch confirms a change before it has replaced all of its cached flows.
SETTLE_NS = 200_000_000
PLAN = {"format": 1, "query": "q", "parsers": ["flow_rate"], "monitors": [{"id": "local-0"}], "sampling": {"mode": "OFF"},
        "arguments": [{"parser": "flow_rate", "name": "every", "value": "100000000"}]}
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


def mac(host):
    return 0x020000000100 + host


def mac_text(address):
    return address.to_bytes(6, "big").hex(":")


def datagram(host, number):
    """Returns a packet that is a separate flow, since its source address contains its number."""
    udp = struct.pack(">HHHH", 40000, 9, 18, 0) + bytes(10)
    ip = struct.pack(">BBHHHBBHI4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, 10 << 24 | number, bytes([11, 0, 0, host]))
    return mac(host).to_bytes(6, "big") + SENDER.to_bytes(6, "big") + b"\x08\x00" + ip + udp


class Switch:
    """Open vSwitch with one bridge in this namespace."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "OVS_RUNDIR": folder}
        database = os.path.join(folder, "conf.db")
        self.run("ovsdb-tool", "create", database, SCHEMA)
        self.daemons = []
        self.start("ovsdb-server", database, f"--remote=punix:{folder}/db.sock")
        self.vsctl("--no-wait", "init")
        self.start("ovs-vswitchd", f"unix:{folder}/db.sock")
        words = ["add-br", "s1", "--", "set", "bridge", "s1", "datapath_type=netdev", "fail_mode=secure"]
        for port in (1, *PORTS, COPIES):
            subprocess.run(["ip", "link", "add", f"p{port}", "type", "veth", "peer", "name", f"e{port}"], check=True)
            for device in (f"p{port}", f"e{port}"):
                subprocess.run(["sysctl", "-qw", f"net.ipv6.conf.{device}.disable_ipv6=1"], check=False)
                subprocess.run(["ip", "link", "set", device, "arp", "off", "up"], check=True)
            words += ["--", "add-port", "s1", f"p{port}", "--", "set", "interface", f"p{port}", f"ofport_request={port}"]
        self.vsctl(*words)

    def run(self, *command, text=None):
        subprocess.run(command, check=True, capture_output=True, env=self.environment, timeout=60,
                       input=None if text is None else text.encode())

    def vsctl(self, *words):
        self.run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=30", *words)

    def start(self, program, *arguments):
        pid_file = os.path.join(self.folder, program + ".pid")
        self.run(program, *arguments, f"--pidfile={pid_file}", f"--unixctl={self.folder}/{program}.ctl",
                 f"--log-file={self.folder}/{program}.log", "--detach", "--no-chdir", "-vconsole:off")
        self.daemons.append(int(pathlib.Path(pid_file).read_text()))

    def forward(self, routes):
        """Sets routes, given as {host: port}. Returns once the switch has confirmed them."""
        flows = [f"add table=1,dl_dst={mac_text(mac(host))} actions=output:{port}\n" for host, port in routes.items()]
        self.run("ovs-ofctl", "-O", "OpenFlow13", "--bundle", "add-flows", "s1", "-", text="".join(flows))

    def copy_everything(self):
        self.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", "s1", f"table=0,in_port=1 actions=output:{COPIES},goto_table:1")

    def close(self):
        for pid in reversed(self.daemons):
            os.kill(pid, 15)


class Capture(threading.Thread):
    """Records the port through which each packet left the switch, by the packet's number."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ports = {}
        self.sockets = {}
        self.done = threading.Event()
        for port in PORTS:
            link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
            link.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
            link.bind((f"e{port}", 0))
            self.sockets[link] = port

    def run(self):
        while True:
            ready = select.select(list(self.sockets), [], [], 0.1)[0]
            if not ready and self.done.is_set():
                return
            for link in ready:
                frame, address = link.recvfrom(2048)
                if address[2] != socket.PACKET_OUTGOING and frame[23] == 17:
                    self.ports[int.from_bytes(frame[27:30], "big")] = self.sockets[link]

    def finish(self):
        self.done.set()
        self.join()
        for link in self.sockets:
            link.close()
        return self.ports


class Sender(threading.Thread):
    """Sends numbered packets to random hosts at a constant rate."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sent = 0
        self.hosts = random.Random(2)

    def run(self):
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        link.bind(("e1", 0))
        begin = time.monotonic()
        while self.sent < PACKETS:
            due = min(PACKETS, int((time.monotonic() - begin) * PACKETS_PER_SECOND))
            while self.sent < due:
                link.send(datagram(self.hosts.randrange(HOSTS), self.sent))
                self.sent += 1
            time.sleep(0.001)
        link.close()


class RoutesTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        if not all(map(shutil.which, ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"))):
            self.skipTest("Open vSwitch is missing")
        # The kernel removes the namespace once this process and the switch have ended.
        if LIBC.unshare(CLONE_NEWNET) != 0:
            self.skipTest("no network namespaces here")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.switch = Switch(self.folder.name)
        self.addCleanup(self.switch.close)
        self.version = 0
        self.routes = {host: random.Random(host).choice(PORTS) for host in range(HOSTS)}

    def command(self, monitor, **command):
        monitor.process.stdin.write(json.dumps(command).encode() + b"\n")
        monitor.process.stdin.flush()

    def send_routes(self, monitor, changing=()):
        """Sends the monitor a new version of the routes, and awaits its confirmation."""
        self.version += 1
        routes = [{"mac": mac(host), "ports": [port], "changing": host in changing} for host, port in self.routes.items()]
        routes.append({"mac": SENDER, "ports": [1]})
        ports = [{"number": port, "bits_per_second": 1_000_000_000} for port in (1, *PORTS)]
        switch = {"name": "s1", "routes": routes, "ports": ports}
        self.command(monitor, routes={"version": self.version, "settle_ns": SETTLE_NS, "switches": [switch]})
        answer = monitor.await_event("routes", lambda event: event["version"] == self.version)
        self.assertEqual((answer["count"], answer["message"]), (HOSTS + 1, ""))

    def change(self, monitor, host):
        self.send_routes(monitor, changing={host})
        self.routes[host] = random.choice([port for port in PORTS if port != self.routes[host]])
        self.switch.forward({host: self.routes[host]})
        self.send_routes(monitor)

    def test_ports_are_those_by_which_the_switch_forwarded(self):
        self.switch.copy_everything()
        self.switch.forward(self.routes)
        capture = Capture()
        capture.start()
        with tempfile.TemporaryFile() as out, Monitor(
                "--tap", f"s1=e{COPIES}", "--control", "--output", "json", "--hugepages", "never",
                "--memory-mib", "128", "--idle-timeout-s", "5", stdin=subprocess.PIPE, stdout=out) as monitor:
            monitor.await_event("ready")
            self.command(monitor, assign={"plan": PLAN})
            monitor.await_event("query_added")
            self.send_routes(monitor)
            time.sleep(2 * SETTLE_NS / 1e9)
            sender = Sender()
            sender.start()
            changed = []
            for change in range(CHANGES):
                while sender.sent < PACKETS * (change + 0.5) / CHANGES:
                    time.sleep(0.01)
                changed.append(random.randrange(HOSTS))
                self.change(monitor, changed[-1])
            sender.join()
            monitor.await_event("progress", lambda event: event["packets"] >= PACKETS)
            self.assertEqual(monitor.terminate()[0], 0)
            monitor.process.stdin.close()
            truth = capture.finish()
            out.seek(0)
            rows = [row for row in map(json.loads, out) if row.get("parser") == "flow_rate"]
        accounting = monitor.event("end")["accounting"]
        self.assertTrue(balanced(accounting), accounting)
        inferred = {int.from_bytes(socket.inet_aton(row["src_ip"])[1:], "big"): row.get("output_port") for row in rows}
        self.assertEqual(len(rows), PACKETS, "each packet is a flow")
        self.assertEqual(sorted(inferred), list(range(PACKETS)))
        self.assertEqual(sorted(truth), list(range(PACKETS)), "the switch forwarded each packet")
        wrong = {number: (port, truth[number]) for number, port in inferred.items() if port not in (None, str(truth[number]))}
        self.assertEqual(wrong, {})
        self.assertEqual(collections.Counter(row.get("input_port") for row in rows), {"1": PACKETS})
        absent = sum(port is None for port in inferred.values())
        print(f"{PACKETS} packets, {CHANGES} changes: 0 wrong ports, {absent} absent ({absent / PACKETS:.3%}); "
              f"packets by port: {sorted(collections.Counter(truth.values()).items())}")
        self.assertLessEqual(absent, PACKETS * 0.001)
        dropped = accounting["queries"]["q"]["dropped"]["flows"]
        self.assertEqual(dropped, {"route_changing": absent} if absent else {})


if __name__ == "__main__":
    unittest.main(verbosity=2)

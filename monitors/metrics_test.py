#!/usr/bin/env python3
"""Tests the figures that tapline-monitor reports about itself while it plays a capture: /metrics and the tuples of
monitor_stats."""
import json
import os
import re
import socket
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from testing.free_ports import free_port
from testing.monitor_process import DEADLINE_S, Monitor, make_tls, pcap, run, tcp_frame

PACKETS = 400
ARP = bytes(12) + b"\x08\x06" + bytes(46)


def scrape(port):
    """Returns {name: {labels: value}}, with the labels as written."""
    figures = {}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            figures.setdefault(name.removeprefix("tapline_monitor_"), {})[labels or ""] = float(value)
    return figures


class MetricsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.capture = os.path.join(self.folder.name, "played.pcap")
        # Two seconds of packets, then a pause of a minute, during which the test reads the metrics.
        packets = [(1700000000 + 2 * i / PACKETS, ARP if i % 10 == 0 else tcp_frame(10000 + i)) for i in range(PACKETS)]
        with open(self.capture, "wb") as file:
            file.write(pcap([*packets, (1700000060, tcp_frame(1))]))

    def test_every_stage_is_shown_and_adds_up(self):
        port = free_port()
        with Monitor("--pcap", self.capture, "--speed", "1x", "--parser", "tcp_conn_time,tcp_pkt_size", "--output", "null",
                     "--metrics", f"127.0.0.1:{port}") as monitor:
            monitor.await_event("progress", lambda event: event["packets"] == PACKETS)
            deadline = time.monotonic() + DEADLINE_S
            while True:
                figures = scrape(port)
                if figures["batches_total"][""] > 0 and figures["packets_total"]['stage="received"'] == PACKETS:
                    break
                self.assertLess(time.monotonic(), deadline, figures)
                time.sleep(0.05)
        packets = figures["packets_total"]
        self.assertEqual(packets['stage="received"'],
                         sum(packets[f'stage="{stage}"'] for stage in ("matched", "unmatched", "merged", "held", "repeated")) +
                         sum(figures["packets_dropped_total"].values()))
        self.assertEqual(figures["packets_dropped_total"]['reason="not_ip"'], PACKETS / 10)
        taps = {labels.rsplit("stage=", 1)[1]: value for labels, value in figures["tap_packets_total"].items()}
        self.assertEqual(taps['"received"'], PACKETS)
        self.assertEqual(taps['"received"'], taps['"passed"'] + taps['"repeated"'] + sum(figures["tap_packets_dropped_total"].values()))
        self.assertEqual(figures["query_packets_total"]['query="local",stage="in"'], PACKETS * 0.9)
        self.assertEqual(figures["parser_packets_total"]['parser="tcp_conn_time"'], PACKETS * 0.9)
        self.assertEqual(figures["flows"][""], PACKETS * 0.9)
        self.assertEqual(figures["queries"][""], 1)
        self.assertGreater(figures["memory_bytes"]['of="process"'], 1 << 20)
        self.assertAlmostEqual(figures["data_reduction_ratio"][""],
                               figures["bytes_total"]['stage="received"'] / figures["batch_bytes_total"][""], places=3)

    def test_figures_equal_those_of_tuples(self):
        with Monitor("--pcap", self.capture, "--speed", "1x", "--parser", "monitor_stats,tcp_pkt_size") as monitor:
            monitor.await_event("progress", lambda event: event["packets"] == PACKETS)
            code, out = monitor.terminate()
        self.assertEqual(code, 0)
        tuples = [json.loads(line) for line in out.splitlines()]
        received = [row["value"] for row in tuples if row.get("metric") == "packets_total" and
                    row["labels"] == "stage=received"]
        self.assertGreaterEqual(len(received), 1)
        self.assertEqual(received, sorted(received))
        self.assertGreater(received[-1], 0)

    def test_an_unavailable_address(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            code, _, error = run("--pcap", self.capture, "--parser", "tcp_pkt_size", "--metrics", address)
        self.assertEqual(code, 1)
        self.assertIn(f"--metrics {address}: can't listen there", error)

    def test_over_tls_for_holders_of_the_token(self):
        port = free_port()
        flags, context, token = make_tls(self.folder.name)
        url = f"https://127.0.0.1:{port}/metrics"
        with Monitor("--pcap", self.capture, "--speed", "1x", "--parser", "tcp_pkt_size", "--output", "null",
                     "--metrics", f"0.0.0.0:{port}", *flags) as monitor:
            monitor.await_event("ready")
            with urllib.request.urlopen(urllib.request.Request(url, headers=token), timeout=10, context=context) as answer:
                self.assertIn("tapline_monitor_queries 1\n", answer.read().decode())
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(url, timeout=10, context=context)
            self.assertEqual(refused.exception.code, 401)
            refused.exception.close()
            self.assertEqual(monitor.terminate()[0], 0)

    def test_no_clear_text_beyond_loopback(self):
        arguments = ["--pcap", self.capture, "--parser", "tcp_pkt_size", "--output", "null", "--metrics", f"0.0.0.0:{free_port()}"]
        code, _, error = run(*arguments)
        self.assertEqual(code, 2)
        self.assertIn("--metrics-certificate", error)
        self.assertIn("--clear metrics", error)
        code, _, error = run(*arguments, "--clear", "metrics")
        self.assertEqual(code, 0, error)


if __name__ == "__main__":
    unittest.main(verbosity=2)

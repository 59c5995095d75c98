#!/usr/bin/env python3
"""Tests watch.py against a server that answers over TLS, or not at all."""
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from check import Front  # noqa: E402
from watch import Query, Watch, call  # noqa: E402


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one query, q1, which has failed."""

    def reply(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(201, {"id": "q1"})

    def do_GET(self):
        if self.path == "/api/v1/queries/q1":
            self.reply(200, {"state": "failed", "error": "no broker"})
        elif self.path.startswith("/api/v1/queries/q1/results"):
            rows = [{"key": {"url": "/a"}}] if "after" not in self.path else []
            self.reply(200, {"rows": rows, "last_entry": "1-0", "more": False})
        elif self.path == "/api/v1/nodes":
            self.reply(200, {"nodes": []})
        else:
            self.reply(404, {})

    def log_message(self, *_):
        pass


class WatchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        files = [f"{folder.name}/{name}" for name in ("key.pem", "certificate.pem")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        files[0], "-out", files[1], "-subj", "/CN=front", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, stderr=subprocess.DEVNULL)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files[1], files[0])
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.front = Front.__new__(Front)  # without a cluster
        self.front.port = self.server.server_port
        self.front.operator = "token"
        self.front.trusted = ssl.create_default_context(cafile=files[1])

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_a_query_is_submitted_and_read(self):
        query = Query(self.front, "PARSE …")
        self.assertTrue(query.submit())
        query.read()
        self.assertEqual(query.counted, {"/a"})
        self.assertEqual(query.state(), "failed")
        self.assertEqual(query.error, "no broker")

    def test_a_silent_server_has_status_0(self):
        self.server.socket.close()
        self.assertEqual(call(self.front, "GET", "/api/v1/nodes"), (0, {}))

    def test_a_failed_query_is_named(self):
        watch = Watch(self.front, "PARSE …", [])
        watch.stopping = True
        watch.thread.join(10)
        watch.ended = [Query(self.front, "PARSE …")]
        watch.ended[0].error = "no broker"
        self.assertIn("no broker", watch.failure_reason())
        self.assertIn("nodes: (200, {'nodes': []})", watch.failure_reason())


if __name__ == "__main__":
    unittest.main()

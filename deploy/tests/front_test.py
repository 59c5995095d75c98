#!/usr/bin/env python3
"""Tests the reverse proxy: real nginx with the real configuration, started as in its container, in front of two
simulated control planes that answer over TLS. Skipped (77) without nginx, or if users can't create namespaces."""
import asyncio
import json
import re
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "monitors")]
from front import OPERATOR, Front, make_certificates, possible  # noqa: E402
from testing.free_ports import free_port  # noqa: E402

STREAMS, STREAMS_PER_ADDRESS, REQUESTS, REQUESTS_PER_ADDRESS = 1024, 512, 768, 384
EVENTS = "/api/v1/queries/q1/events"
# Number of clients that connect at once: few enough for each to connect within ten seconds on a busy machine.
AT_ONCE = 32
TIMEOUT_S = 60


class ControlPlane:
    """Answers like a leading control plane or a following one."""

    def __init__(self, name, leads):
        self.name, self.leads = name, leads
        self.released = asyncio.Event()
        self.slow, self.serving = 0, set()

    async def start(self, folder, address, port):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "control.pem", folder / "control.key")
        self.server = await asyncio.start_server(self.serve, address, port, ssl=tls, backlog=2048)

    async def close(self):
        self.server.close()
        self.released.set()
        await asyncio.gather(*self.serving)

    async def serve(self, reader, writer):
        self.serving.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                method, path, _ = first.split()
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if line)}
                if headers.get("authorization") == "Bearer none":
                    self.say(writer, 401, "application/problem+json", b'{"type":"own"}')
                    return
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self.answer(writer, method, path, headers, body)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def answer(self, writer, method, path, headers, body):
        if path == EVENTS:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: connected\n\n")
            await writer.drain()
            await self.released.wait()
            raise asyncio.IncompleteReadError(b"", None)
        elif path == "/api/v1/queries/slow":
            self.slow += 1
            await self.released.wait()
            self.say(writer, 200, "text/plain", b"")
        elif method == "POST" and not self.leads:
            self.say(writer, 307, "application/problem+json", b"", f"Location: https://control-{3 - int(self.name[-1])}:8480{path}\r\n")
        elif path == "/api/v1/refused":
            self.say(writer, 400, "application/problem+json", b'{"type":"own"}')
        else:
            reply = {"name": self.name, "bytes": len(body), "from": headers.get("x-forwarded-for")}
            self.say(writer, 200, "application/json", json.dumps(reply).encode())

    @staticmethod
    def say(writer, status, kind, body, more=""):
        writer.write(f"HTTP/1.1 {status} .\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)


class Answer:
    """The reverse proxy's response: status, headers and body."""

    def __init__(self, head, body):
        self.status = int(head.split(None, 2)[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)}
        self.body = body


class FrontTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        # The container's user must be able to read the folder, which it does not own.
        cls.folder.chmod(0o755)
        make_certificates(cls.folder)

    async def asyncSetUp(self):
        # IsolatedAsyncioTestCase enables debug mode, whose cost would dominate the measurements.
        asyncio.get_running_loop().set_debug(False)
        control_port = free_port()
        self.first, self.second = ControlPlane("control-1", leads=False), ControlPlane("control-2", leads=True)
        await self.first.start(self.folder, "127.0.0.2", control_port)
        await self.second.start(self.folder, "127.0.0.3", control_port)
        self.front = Front(self.folder, free_port(), control_port, ["127.0.0.2", "127.0.0.3"])
        self.front.__enter__()
        self.writers = []

    async def asyncTearDown(self):
        for writer in self.writers:
            writer.transport.abort()
        self.front.__exit__()
        for plane in (self.first, self.second):
            await plane.close()

    def release(self):
        for plane in (self.first, self.second):
            plane.released.set()

    async def connect(self, address="127.0.0.1", tls=True):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.front.port, ssl=self.front.trusted if tls else None,
                                                       local_addr=(address, 0))
        self.writers.append(writer)
        return reader, writer

    async def head(self, request, address="127.0.0.1", tls=True):
        """Sends a request. Returns the connection's reader and the head of the response."""
        reader, writer = await self.connect(address, tls)
        writer.write(request if isinstance(request, bytes) else request.encode("latin-1"))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT_S)
        return reader, Answer(head.decode(), b"")

    async def call(self, request, **how):
        reader, answer = await self.head(request, **how)
        if "content-length" in answer.headers:
            answer.body = await reader.readexactly(int(answer.headers["content-length"]))
        return answer

    async def get(self, path, more="", **how):
        return await self.call(f"GET {path} HTTP/1.1\r\nHost: front\r\n{more}\r\n", **how)

    def assert_problem(self, answer, status, kind, instance=None):
        self.assertEqual((answer.status, answer.headers["content-type"]), (status, "application/problem+json"), answer.body)
        problem = json.loads(answer.body)
        self.assertEqual((problem["type"], problem["status"]), ("urn:tapline:problem:" + kind, status))
        self.assertTrue(problem["title"] and problem["detail"])
        self.assertEqual(answer.headers.get("retry-after"), "5" if status in (429, 503) else None)
        self.assertEqual(answer.headers["strict-transport-security"], "max-age=31536000")
        self.assertEqual(problem["instance"], problem["instance"] if instance is None else instance)

    async def open_streams(self, count, address):
        """Opens `count` event streams and returns their statuses."""
        async def one():
            _, answer = await self.head(f"GET {EVENTS} HTTP/1.1\r\nHost: front\r\n\r\n", address=address)
            return answer.status
        return [status for start in range(0, count, AT_ONCE)
                for status in await asyncio.gather(*(one() for _ in range(min(AT_ONCE, count - start))))]

    async def request_slowly(self, *addresses):
        """Starts the maximum number of concurrent requests from each address. They end when the control planes are
        released."""
        sources = [address for address in addresses for _ in range(REQUESTS_PER_ADDRESS)]
        waiting = []
        for start in range(0, len(sources), AT_ONCE):
            waiting += [asyncio.create_task(self.get("/api/v1/queries/slow", address=source)) for source in sources[start:start + AT_ONCE]]
            deadline = time.monotonic() + TIMEOUT_S
            while self.first.slow + self.second.slow < len(waiting):
                self.assertLess(time.monotonic(), deadline)
                await asyncio.sleep(0.01)
        return waiting

    async def assert_health(self):
        took = []
        reader, writer = await self.connect()
        for _ in range(31):
            began = time.monotonic()
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT_S)
            self.assertIn(b" 200 ", head)
            await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
            took.append(time.monotonic() - began)
        self.assertLess(sorted(took)[len(took) // 2], 0.1)

    async def test_keeps_all_streams_and_stays_healthy(self):
        self.assertEqual(await self.open_streams(STREAMS_PER_ADDRESS, "127.0.0.1"), [200] * STREAMS_PER_ADDRESS)
        self.assert_problem(await self.get(EVENTS), 429, "too-many-event-streams", EVENTS)
        rest = STREAMS - STREAMS_PER_ADDRESS
        self.assertEqual(await self.open_streams(rest, "127.0.0.4"), [200] * rest)
        self.assert_problem(await self.get(EVENTS, address="127.0.0.5"), 429, "too-many-event-streams", EVENTS)
        await self.assert_health()
        self.assertEqual((await self.get("/api/v1/queries")).status, 200)
        print(f"{STREAMS} streams: nginx has {self.front.resident_mib()} MiB", file=sys.stderr)

    async def test_stays_healthy_with_all_requests_and_connections_taken(self):
        waiting = await self.request_slowly("127.0.0.1", "127.0.0.4")
        self.assert_problem(await self.get("/api/v1/queries", address="127.0.0.5"), 429, "too-many-requests")
        await self.assert_health()
        idle = [await asyncio.open_connection("127.0.0.1", self.front.port) for _ in range(8500)]
        await self.assert_health()
        self.release()
        self.assertEqual({answer.status for answer in await asyncio.gather(*waiting)}, {200})
        self.assertEqual((await self.get("/api/v1/queries")).status, 200)
        for _, writer in idle:
            writer.transport.abort()

    async def test_one_address_has_its_share_of_requests(self):
        waiting = await self.request_slowly("127.0.0.1")
        self.assert_problem(await self.get("/api/v1/queries"), 429, "too-many-requests")
        self.assertEqual((await self.get("/api/v1/queries", address="127.0.0.4")).status, 200)
        self.release()
        await asyncio.gather(*waiting)

    async def test_rejected_clients_occupy_no_slot(self):
        # The body is never completed, which must not delay the refusal.
        request = f"GET {EVENTS} HTTP/1.1\r\nHost: front\r\nAuthorization: Bearer none\r\nContent-Length: 100000\r\n\r\nx"
        for _ in range(STREAMS_PER_ADDRESS + 1):
            _, answer = await self.head(request)
            self.assertEqual(answer.status, 401)

    async def test_own_errors_are_problem_documents(self):
        long = "a" * 9000
        self.assert_problem(await self.call("nonsense\r\n\r\n"), 400, "bad-request", "/")
        self.assert_problem(await self.call("GET / HTTP/1.1\r\n\r\n"), 400, "bad-request", "/")
        self.assert_problem(await self.call("GET / HTTP/1.1\r\nHost: front\r\n\r\n", tls=False), 400, "bad-request", "/")
        self.assert_problem(await self.call("TRACE /x HTTP/1.1\r\nHost: front\r\n\r\n"), 405, "method-not-allowed", "/x")
        self.assert_problem(await self.get("/" + long), 414, "uri-too-long")
        self.assert_problem(await self.get("/x", f"X-Long: {long}\r\n"), 431, "header-too-large", "/x")
        self.assert_problem(await self.get("/x", "Transfer-Encoding: gzip\r\n"), 501, "not-implemented", "/x")
        self.assert_problem(await self.call("GET /x HTTP/9.9\r\nHost: front\r\n\r\n"), 505, "http-version")
        self.assert_problem(await self.call("POST /x HTTP/1.1\r\nHost: front\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n"), 400,
                            "bad-request", "/x")
        for plane in (self.first, self.second):
            plane.server.close()
        self.assert_problem(await self.get('/api/v1/nodes/"x'), 503, "unavailable", "/")
        self.assert_problem(await self.get("/api/v1/queries?x=1"), 503, "unavailable", "/api/v1/queries")
        self.assert_problem(await self.get("/healthz"), 503, "unavailable", "/healthz")

    async def test_errors_of_control_planes_pass_through(self):
        answer = await self.get("/api/v1/refused")
        self.assertEqual((answer.status, answer.body), (400, b'{"type":"own"}'))

    async def test_bounds_bodies_as_the_server_does(self):
        source = (ROOT / "control-plane/src/main/java/io/tapline/control/rest/http/RequestBody.java").read_text()
        max_bytes = 1024 * int(re.search(r"MAX_BYTES = (\d+) \* 1024;", source)[1])
        post = "POST /api/v1/queries HTTP/1.1\r\nHost: front\r\n"
        for size in (1, max_bytes):
            answer = await self.call(f"{post}Content-Length: {size}\r\n\r\n{'x' * size}")
            self.assertEqual((answer.status, json.loads(answer.body)["bytes"]), (200, size))
        self.assert_problem(await self.call(f"{post}Content-Length: {max_bytes + 1}\r\n\r\n"), 413, "content-too-large", "/api/v1/queries")
        chunked = f"{post}Transfer-Encoding: chunked\r\n\r\n{max_bytes + 1:x}\r\n{'x' * (max_bytes + 1)}\r\n0\r\n\r\n"
        self.assert_problem(await self.call(chunked), 413, "content-too-large", "/api/v1/queries")

    async def test_forwards_to_the_leader_with_the_client_address(self):
        read = json.loads((await self.get("/api/v1/queries", "X-Forwarded-For: 1.2.3.4\r\n", address="127.0.0.4")).body)
        self.assertEqual((read["name"], read["from"]), ("control-1", "127.0.0.4"))
        request = "POST /api/v1/queries HTTP/1.1\r\nHost: front\r\nX-Forwarded-For: 1.2.3.4\r\nContent-Length: 2\r\n\r\n{}"
        written = json.loads((await self.call(request, address="127.0.0.4")).body)
        self.assertEqual(written, {"name": "control-2", "bytes": 2, "from": "127.0.0.4"})
        self.first.leads, self.second.leads = True, False
        self.assertEqual(json.loads((await self.call(request)).body)["name"], "control-1")

    async def test_follows_control_planes_that_move(self):
        self.front.move(["127.0.0.3", "127.0.0.2"])
        deadline = time.monotonic() + TIMEOUT_S
        while json.loads((await self.get("/api/v1/queries")).body)["name"] == "control-1":
            self.assertLess(time.monotonic(), deadline)
            await asyncio.sleep(0.1)

    async def test_accepts_only_modern_ciphers(self):
        def accepted(*options):
            return subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.front.port}", *options], input=b"",
                                  capture_output=True).returncode == 0

        self.assertTrue(accepted("-tls1_3"))
        self.assertTrue(accepted("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"))
        self.assertTrue(accepted("-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"))
        self.assertFalse(accepted("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"))
        old = subprocess.run(["openssl", "ciphers", "-tls1_2", "-s", "ALL:COMPLEMENTOFALL"], capture_output=True, text=True, check=True)
        for suite in set(old.stdout.strip().split(":")):
            if not re.fullmatch(r"ECDHE-ECDSA-(AES\d+-GCM-SHA\d+|CHACHA20-POLY1305)", suite):
                self.assertFalse(accepted("-tls1_2", "-cipher", suite + ":@SECLEVEL=0"), suite)

    async def test_boards_are_served_only_where_they_run(self):
        login = f"Authorization: Bearer {OPERATOR}\r\n"
        self.assert_problem(await self.get("/grafana/"), 404, "not-found", "/grafana/")
        self.assert_problem(await self.get("/prometheus/", login), 404, "not-found", "/prometheus/")
        refused = await self.get("/prometheus/graph")
        self.assert_problem(refused, 401, "no-token", "/prometheus/graph")
        self.assertEqual(refused.headers["www-authenticate"], 'Bearer realm="tapline"')


def main():
    if not shutil.which("nginx") or not possible():
        print("SKIPPED: nginx is missing, or users of this host can't create namespaces")
        sys.exit(77)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 20000:
        print(f"SKIPPED: a process may have {hard} files open, and 20,000 are needed for all clients and control planes")
        sys.exit(77)
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, hard))
    unittest.main()


main()

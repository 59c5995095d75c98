#!/usr/bin/env python3
"""Makes handshakes.pcap.zst: a client sends requests through a SOCKS proxy, all on loopback. Captures with tcpdump, so it needs root.

usage: make.py FILE
"""

import functools
import http.server
import os
import pathlib
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.parse


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data


def until_zero(connection):
    text = b""
    while not text.endswith(b"\0"):
        text += exactly(connection, 1)
    return text[:-1].decode()


class Proxy(socketserver.BaseRequestHandler):
    """A SOCKS proxy that accepts any password and connects to loopback, whichever host is requested."""

    def handle(self):
        version = exactly(self.request, 1)[0]
        port = self.version_5() if version == 5 else self.version_4()
        try:
            target = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            self.request.sendall(b"\5\5\0\1\0\0\0\0\0\0" if version == 5 else b"\0\x5b\0\0\0\0\0\0")
            return
        self.request.sendall(b"\5\0\0\1\0\0\0\0\0\0" if version == 5 else b"\0\x5a\0\0\0\0\0\0")
        back = threading.Thread(target=self.copy, args=(target, self.request))
        back.start()
        self.copy(self.request, target)
        back.join()

    def version_5(self):
        methods = exactly(self.request, exactly(self.request, 1)[0])
        if 2 in methods:
            self.request.sendall(b"\5\2")
            exactly(self.request, 1)
            exactly(self.request, exactly(self.request, 1)[0])
            exactly(self.request, exactly(self.request, 1)[0])
            self.request.sendall(b"\1\0")
        else:
            self.request.sendall(b"\5\0")
        kind = exactly(self.request, 4)[3]
        exactly(self.request, {1: 4, 4: 16}[kind] if kind != 3 else exactly(self.request, 1)[0])
        return struct.unpack(">H", exactly(self.request, 2))[0]

    def version_4(self):
        _, port, address = struct.unpack(">BH4s", exactly(self.request, 7))
        until_zero(self.request)
        if address[:3] == b"\0\0\0":
            until_zero(self.request)
        return port

    @staticmethod
    def copy(source, sink):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    proxy = serve(socketserver.ThreadingTCPServer(("127.0.0.1", 1080), Proxy))
    pages = serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages))
    capture = folder / "socks.pcap"
    tcpdump = subprocess.Popen(["tcpdump", "-i", "lo", "-U", "--immediate-mode", "-w", str(capture), "tcp", "port", str(proxy)], stderr=subprocess.PIPE)
    tcpdump.stderr.readline()  # tcpdump listens now
    curl = functools.partial(subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    page = "http://www.example.test"
    for proxy_url, port in (("socks5h://127.0.0.1", pages), ("socks5h://user:password@127.0.0.1", pages), ("socks5h://127.0.0.1", 1),
                            ("socks4a://127.0.0.1", pages), ("socks4a://127.0.0.1", 1)):
        scheme = urllib.parse.urlsplit(proxy_url).scheme
        curl(["curl", "--proxy", f"{proxy_url}:{proxy}", f"{page}:{port}/{scheme}/1", f"{page}:{port}/{scheme}/2"])
    tcpdump.send_signal(signal.SIGINT)
    tcpdump.wait()
    subprocess.run(["zstd", "-q", "-19", "-f", str(capture), "-o", sys.argv[1]], check=True)
    capture.unlink()
    os.rmdir(folder)


if __name__ == "__main__":
    main()

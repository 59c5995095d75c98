#!/usr/bin/env python3
"""Writes hanging_small.pcap.zst and .jsonl: an nginx whose upstream answers some requests and hangs on the others.

Needs root, nginx, tcpdump and zstd. Runs in a separate network namespace and leaves nothing behind.
"""

import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

PORT = 80
UPSTREAM = 8081
TIMEOUT_S = 0.4
ROUNDS = 20
HERE = pathlib.Path(__file__).resolve().parent

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
events {{}}
http {{
  log_format truth escape=json '{{"url":"$uri","status":$status,"client_port":$remote_port}}';
  access_log {folder}/log truth;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}
}}
"""


class Upstream(http.server.BaseHTTPRequestHandler):
    """Answers /page immediately, and every other /report after 100 ms. Never answers the other requests."""

    reports = 0

    def do_GET(self):
        if self.path == "/search":
            return self.hang()
        if self.path == "/report":
            Upstream.reports += 1
            if Upstream.reports % 2 == 0:
                return self.hang()
            time.sleep(0.1)
        body = b"here you are\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang(self):
        """Waits until nginx closes the connection because its client timed out."""
        self.connection.recv(1)
        self.close_connection = True

    def log_message(self, *_):
        pass


def request(url):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)
    try:
        connection.request("GET", url)
        connection.getresponse().read()
    except TimeoutError:
        pass
    finally:
        connection.close()


def wait_until(happened):
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.01)
    sys.exit("nothing happened within ten seconds")


def capture(folder):
    pcap = folder / "hanging.pcap"
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=PORT, upstream=UPSTREAM))
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", UPSTREAM), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    nginx = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])
    tcpdump = subprocess.Popen(
        ["tcpdump", "-i", "lo", "-U", "-w", str(pcap), "--immediate-mode", "tcp", "port", str(PORT)],
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (folder / "pid").exists() and pcap.exists() and pcap.stat().st_size > 0)
    for _ in range(ROUNDS):
        for url in ("/page", "/report", "/search"):
            request(url)
    log = folder / "log"
    wait_until(lambda: len(log.read_text().splitlines()) == 3 * ROUNDS)
    tcpdump.terminate()
    tcpdump.wait()
    nginx.terminate()
    nginx.wait()
    return pcap, log


def main():
    if os.environ.get("TAPLINE_HANGING_INSIDE") is None:
        environment = dict(os.environ, TAPLINE_HANGING_INSIDE="1")
        sys.exit(subprocess.call(["unshare", "-n", sys.executable, __file__], env=environment))
    subprocess.check_call(["ip", "link", "set", "lo", "up"])
    with tempfile.TemporaryDirectory() as name:
        pcap, log = capture(pathlib.Path(name))
        target = HERE / "hanging_small.pcap.zst"
        subprocess.check_call(["zstd", "-q", "-f", "-19", str(pcap), "-o", str(target)])
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    (HERE / "hanging_small.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()

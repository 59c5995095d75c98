#!/usr/bin/python3
"""A web server with a page that fails from time to time, and its clients.

  web.py serve ADDRESS                   prints "ready"; serves on port 80
  web.py request ADDRESS SECONDS SEED    requests pages over four connections, 50 times per second each, at random times

The server answers requests for FAILING_PAGE with 500 for FAILING_S of every PERIOD_S.
"""
import http.client
import http.server
import random
import sys
import threading
import time

PAGES = ("/", "/search", "/cart")
FAILING_PAGE, FAILING_S, PERIOD_S = "/cart", 0.15, 0.5
CONNECTIONS, REQUESTS_PER_S = 4, 50


class Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  disable_nagle_algorithm = True

  def do_GET(self):
    fails = self.path == FAILING_PAGE and time.monotonic() % PERIOD_S < FAILING_S
    body = bytes(400 if fails else 2000)
    self.send_response(500 if fails else 200)
    self.send_header("Content-Length", str(len(body)))
    self.end_headers()
    self.wfile.write(body)

  def log_message(self, *_):
    pass


def serve(address):
  with http.server.ThreadingHTTPServer((address, 80), Handler) as server:
    print("ready", flush=True)
    server.serve_forever()


def request(address, seconds, seed):
  chance = random.Random(seed)
  connection = http.client.HTTPConnection(address)
  end_s = time.monotonic() + seconds
  while time.monotonic() < end_s:
    time.sleep(chance.expovariate(REQUESTS_PER_S))
    connection.request("GET", chance.choice(PAGES))
    connection.getresponse().read()
  connection.close()


def main():
  action, address, *rest = sys.argv[1:]
  if action == "serve":
    serve(address)
  seconds, seed = float(rest[0]), int(rest[1])
  threads = [threading.Thread(target=request, args=(address, seconds, CONNECTIONS * seed + i)) for i in range(CONNECTIONS)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()


if __name__ == "__main__":
  main()

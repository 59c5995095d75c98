#!/usr/bin/python3
"""The application tier: serves pages from the cache or, on a miss, from the database. Opens a new connection for each
request to either.

A page older than --fresh-seconds is still served from the cache, and regenerated in the background. The fault of
NetAlytics section 7.1 is --wrong-key-share: that share of the lookups goes to keys that are never filled (`v2:...`, from
a renaming that was never finished), so the page comes from the database and is not stored either.

Log (standard output): one JSON line per page and per background refresh, with the calls that it made and their local
ports, which tie the line to connections in a capture. Times: start_s in seconds since the epoch, durations in ms.
"""
import argparse
import concurrent.futures
import html
import http.server
import json
import logging
import random
import re
import socket
import sys
import threading
import time

import pymysql

PRODUCT_SQL = ("SELECT p.name, p.price, p.description, (SELECT SUM(s.quantity) FROM sale s WHERE s.product_id = p.id)"
               " AS sold FROM product p WHERE p.id = %s")
BESTSELLERS_SQL = ("SELECT p.name, p.price, SUM(s.quantity) AS sold FROM sale s JOIN product p ON p.id = s.product_id"
                   " GROUP BY p.id ORDER BY sold DESC, p.name LIMIT 20")
PRODUCTS = 300


def query_for(path):
  """Returns a page's SQL statement and its arguments, or None if there is no such page."""
  if path == "/bestsellers":
    return BESTSELLERS_SQL, ()
  product = re.fullmatch(r"/product/(\d{1,9})", path)
  return (PRODUCT_SQL, (int(product[1]),)) if product else None


def render(rows):
  """Renders a query's rows as a page in bytes. Returns None if there are no rows."""
  if not rows:
    return None
  items = "".join("<p>" + "</p><p>".join(html.escape(str(column)) for column in row) + "</p>\n" for row in rows)
  return f"<!doctype html><title>Shop</title>\n{items}".encode()


class Calls:
  """Makes one page's calls to the other tiers, and records them for the log. Not thread-safe."""

  def __init__(self, options):
    self._options = options
    self.notes = []

  def cache_get(self, key):
    """Returns (page, its creation time in seconds since the epoch), or (None, 0)."""
    with self._connect("cache", self._options.cache, 11211) as (sock, note):
      note["command"] = "get"
      sock.sendall(f"get {key}\r\n".encode())
      with sock.makefile("rb") as answer:
        head = answer.readline().split()
        note["hit"] = head[0] == b"VALUE"
        if not note["hit"]:
          return None, 0
        page = answer.read(int(head[3]))
        answer.readline()
        answer.readline()  # the line END
        return page, int(head[2])

  def cache_set(self, key, page, made_s):
    """Stores a page with its creation time in memcached's 32-bit flags."""
    with self._connect("cache", self._options.cache, 11211) as (sock, note):
      note["command"] = "set"
      sock.sendall(f"set {key} {int(made_s)} 0 {len(page)}\r\n".encode() + page + b"\r\n")
      with sock.makefile("rb") as answer:
        note["stored"] = answer.readline() == b"STORED\r\n"

  def page_from_database(self, sql, arguments):
    with self._connect("db", self._options.db, 3306) as (sock, note):
      # autocommit=None: the client sends no SET, only the one statement.
      database = pymysql.connect(user="shop", password="shop", database="shop", autocommit=None, defer_connect=True)
      database.connect(sock)
      with database.cursor() as cursor:
        note["rows"] = cursor.execute(sql, arguments)
        rows = cursor.fetchall()
      database.close()
      return render(rows)

  def _connect(self, tier, address, port):
    return _Call(self.notes, tier, address, port)


class _Call:
  """Context manager for a connection to a tier and its entry in the log line."""

  def __init__(self, notes, tier, address, port):
    self._note = {"to": tier}
    notes.append(self._note)
    self._endpoint = (address, port)

  def __enter__(self):
    self._start = time.monotonic()
    self._sock = socket.create_connection(self._endpoint, timeout=10)
    self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    self._note["port"] = self._sock.getsockname()[1]
    return self._sock, self._note

  def __exit__(self, *_):
    self._sock.close()
    self._note["duration_ms"] = milliseconds_since(self._start)


def milliseconds_since(start):
  return round(1e3 * (time.monotonic() - start), 3)


class Site:
  """Generates pages. Thread-safe."""

  def __init__(self, options):
    self._options = options
    self._rng = random.Random(options.name)
    self._refreshing = set()
    self._lock = threading.Lock()

  def preload(self):
    """Fills the cache with every product. Random ages keep the pages from becoming stale simultaneously."""
    ages_s = [self._rng.uniform(0, self._options.fresh_seconds) for _ in range(PRODUCTS)]
    with concurrent.futures.ThreadPoolExecutor(4) as several:
      list(several.map(self._preload, range(1, PRODUCTS + 1), ages_s))

  def _preload(self, product, age_s):
    path, calls = f"/product/{product}", Calls(self._options)
    calls.cache_set(self._key(path), calls.page_from_database(*query_for(path)), time.time() - age_s)

  def page(self, path, calls):
    """Returns (page or None, cache result: "hit", "stale", "miss", or "none" if it made no look-up)."""
    query = query_for(path)
    if query is None:
      return None, "none"
    if self._draw_wrong_key():
      calls.cache_get("v2:" + self._key(path))
      return calls.page_from_database(*query), "miss"
    page, made_s = calls.cache_get(self._key(path))
    if page is None:
      return self._fill(path, calls), "miss"
    return page, "stale" if time.time() - made_s > self._options.fresh_seconds else "hit"

  def _fill(self, path, calls):
    page = calls.page_from_database(*query_for(path))
    if page is not None:
      calls.cache_set(self._key(path), page, time.time())
    return page

  def refresh_in_background(self, path):
    """Regenerates a page in a new thread, unless another thread is already doing so."""
    with self._lock:
      if path in self._refreshing:
        return
      self._refreshing.add(path)
    threading.Thread(target=self._refresh, args=(path,)).start()

  def _refresh(self, path):
    calls, start_s, start = Calls(self._options), time.time(), time.monotonic()
    try:
      self._fill(path, calls)
    finally:
      with self._lock:
        self._refreshing.discard(path)
      log(kind="refresh", app=self._options.name, start_s=start_s, url=path, duration_ms=milliseconds_since(start),
          calls=calls.notes)

  def _draw_wrong_key(self):
    with self._lock:
      return self._rng.random() < self._options.wrong_key_share

  @staticmethod
  def _key(path):
    return "page:" + path


def log(**fields):
  logging.info(json.dumps(fields))


class Handler(http.server.BaseHTTPRequestHandler):
  """Serves one GET per connection. The class attributes `site` and `options` are set before the server starts."""

  site = options = None
  server_version = "shop"
  sys_version = ""

  def do_GET(self):
    calls, start_s, start = Calls(self.options), time.time(), time.monotonic()
    page, cache = self.site.page(self.path, calls)
    status = 404 if page is None else 200
    self._answer(status, b"no such page\n" if page is None else page, cache)
    if cache == "stale":
      self.site.refresh_in_background(self.path)
    log(kind="page", app=self.options.name, start_s=start_s, request_id=self.headers.get("X-Request-Id", ""),
        proxy_port=self.client_address[1], url=self.path, status=status, cache=cache,
        duration_ms=milliseconds_since(start), calls=calls.notes)

  def _answer(self, status, body, cache):
    self.send_response(status)
    self.send_header("Content-Type", "text/html")
    self.send_header("Content-Length", str(len(body)))
    self.send_header("X-App", self.options.name)
    self.send_header("X-Cache", cache)
    self.end_headers()
    self.wfile.write(body)

  def log_message(self, *_):
    """Logs nothing: do_GET writes a more detailed line."""


class Server(http.server.ThreadingHTTPServer):
  request_queue_size = 128


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("name")
  parser.add_argument("--listen", default="0.0.0.0:8080")
  parser.add_argument("--db", required=True, help="address of the database")
  parser.add_argument("--cache", required=True, help="address of memcached")
  parser.add_argument("--fresh-seconds", type=float, default=12)
  parser.add_argument("--wrong-key-share", type=float, default=0.0, help="share of lookups with wrong keys, 0 to 1 (the misconfiguration)")
  parser.add_argument("--preload", action="store_true", help="fill the cache before listening")
  options = parser.parse_args()
  logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
  Handler.options, Handler.site = options, Site(options)
  if options.preload:
    Handler.site.preload()
  address, port = options.listen.split(":")
  Server((address, int(port)), Handler).serve_forever()


if __name__ == "__main__":
  main()

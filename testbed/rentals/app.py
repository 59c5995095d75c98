#!/usr/bin/python3
"""The web application of a DVD rental: each page shows the rows of its SQL statements, over a separate connection.

Log (standard output): one JSON line per page, with its statements and its duration: {"page": "/overdue", "statements": 1,
"duration_ms": 31.2}.
"""
import argparse
import html
import http.server
import json
import os
import re
import socket
import sys
import time

import pymysql

FILMS = "SELECT title, rate FROM film ORDER BY title LIMIT 20"
FILM = "SELECT title, days, rate FROM film WHERE id = %s"
OUT = "SELECT COUNT(*) FROM rental WHERE film = %s AND returned IS NULL"
CUSTOMER = "SELECT name FROM customer WHERE id = %s"
RENTALS = "SELECT f.title, r.rented, r.returned FROM rental r JOIN film f ON f.id = r.film WHERE r.customer = %s ORDER BY r.rented"
OVERDUE = ("SELECT c.name, COUNT(*), SUM(f.rate) AS owed FROM rental r JOIN film f ON f.id = r.film JOIN customer c ON"
           " c.id = r.customer WHERE IFNULL(r.returned, '2026-12-31') > r.rented + INTERVAL f.days DAY GROUP BY c.id ORDER BY owed DESC")


class Database:
  """Runs the statements of one page over one connection, which is opened for the first statement."""

  def __init__(self, address):
    self._address, self._connection, self.statements = address, None, 0

  def rows(self, statement, *arguments):
    if self._connection is None:
      # autocommit=None: the client sends no SET, only the page's statements.
      self._connection = pymysql.connect(user="web", password="web", database="rentals", autocommit=None, defer_connect=True)
      sock = socket.create_connection((self._address, 3306), timeout=30)
      sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      self._connection.connect(sock)
    self.statements += 1
    with self._connection.cursor() as cursor:
      cursor.execute(statement, arguments)
      return cursor.fetchall()

  def close(self):
    if self._connection is not None:
      self._connection.close()


def films(database):
  return database.rows(FILMS)


def film(database, number):
  return database.rows(FILM, number) + database.rows(OUT, number)


def customer(database, number):
  return database.rows(CUSTOMER, number) + database.rows(RENTALS, number)


def overdue(database):
  report = OVERDUE
  return database.rows(report) if report else []


def overdue_bug(database):
  """Does the same as overdue(), but with a misspelt variable: it never queries the database, although its page
  loads."""
  report = ""
  reprot = OVERDUE  # noqa: F841
  return database.rows(report) if report else []


PAGES = [(r"/films", films), (r"/film/(\d{1,9})", film), (r"/customer/(\d{1,9})", customer), (r"/overdue", overdue),
         (r"/overdue-bug", overdue_bug)]


class Handler(http.server.BaseHTTPRequestHandler):
  """Serves one GET per connection. `database` is set before the server starts."""

  database = None
  server_version, sys_version = "rentals", ""

  def do_GET(self):
    start = time.monotonic()
    connection = Database(self.database)
    try:
      for pattern, page in PAGES:
        match = re.fullmatch(pattern, self.path)
        if match:
          self._answer(200, page(connection, *(int(number) for number in match.groups())))
          break
      else:
        self._answer(404, [("no such page",)])
    finally:
      connection.close()
    line = json.dumps({"page": re.sub(r"\d+", "{id}", self.path), "statements": connection.statements,
                       "duration_ms": round(1e3 * (time.monotonic() - start), 3)})
    os.write(sys.stdout.fileno(), f"{line}\n".encode())  # one write, since threads share the file

  def _answer(self, status, rows):
    body = "<!doctype html><title>Rentals</title>\n" + "".join(
        "<p>" + "</p><p>".join(html.escape(str(cell)) for cell in row) + "</p>\n" for row in rows)
    self.send_response(status)
    self.send_header("Content-Type", "text/html")
    self.send_header("Content-Length", str(len(body.encode())))
    self.end_headers()
    self.wfile.write(body.encode())

  def log_message(self, *_):
    """Logs nothing: do_GET writes a more detailed line."""


class Server(http.server.ThreadingHTTPServer):
  request_queue_size = 128


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--listen", required=True, help="address")
  parser.add_argument("--db", required=True, help="address of the database")
  options = parser.parse_args()
  Handler.database = options.db
  Server((options.listen, 80), Handler).serve_forever()


if __name__ == "__main__":
  sys.exit(main())

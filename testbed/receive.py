#!/usr/bin/python3
"""receive.py ADDRESS: receives all datagrams and connections at ADDRESS, port 7000, and discards their bytes."""
import selectors
import socket
import sys


def main():
  selector = selectors.DefaultSelector()
  place = (sys.argv[1], 7000)
  datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  datagrams.bind(place)
  listener = socket.create_server(place)
  for one in (datagrams, listener):
    selector.register(one, selectors.EVENT_READ)
  print("ready", flush=True)
  while True:
    for key, _ in selector.select():
      if key.fileobj is listener:
        selector.register(listener.accept()[0], selectors.EVENT_READ)
      elif not key.fileobj.recv(1 << 16) and key.fileobj is not datagrams:
        selector.unregister(key.fileobj)
        key.fileobj.close()


if __name__ == "__main__":
  main()

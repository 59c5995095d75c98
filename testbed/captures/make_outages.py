#!/usr/bin/python3
"""Writes outage_dns_small and outage_mysql_small (.pcap.zst, .jsonl): a resolver whose upstream is dead, and a database that stops.

Needs root, dnsmasq, mariadb-server, python3-pymysql, tcpdump and zstd. Runs in a separate network namespace and leaves nothing behind.
Each line of a .jsonl file is a question or statement from the server's own log.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import pymysql

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 20
RESOLVER = ("127.0.0.2", 53)
DEAD_UPSTREAM = ("127.0.0.3", 5353)
DATABASE = ("127.0.0.4", 3306)
# Exceeds the 15 s for which the DNS parser waits for a response.
BEYOND_TIMEOUT_S = 16


def wait_until(happened):
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.01)
    sys.exit("nothing happened within ten seconds")


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def captured(name, address, folder):
    """Captures packets from and to the address, and writes the compressed capture next to this script."""
    pcap = folder / "capture"
    command = ["tcpdump", "-i", "lo", "-U", "-Z", "root", "-w", str(pcap), "--immediate-mode", "host", address]
    with running(command, stderr=subprocess.DEVNULL):
        wait_until(lambda: pcap.exists() and pcap.stat().st_size > 0)
        yield
        time.sleep(0.5)
    subprocess.check_call(["zstd", "-q", "-f", "-19", str(pcap), "-o", str(HERE / (name + ".pcap.zst"))])


def write(name, lines):
    (HERE / (name + ".jsonl")).write_text("".join(json.dumps(line) + "\n" for line in lines))


def request(number, name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.1)
        client.sendto(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1), RESOLVER)
        with contextlib.suppress(TimeoutError):
            client.recv(4096)


def resolver(folder):
    log = folder / "log"
    command = [
        "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--user=root",
        "--pid-file", "--log-queries", "--log-facility=" + str(log), "--listen-address=" + RESOLVER[0],
        "--address=/shop.test/192.0.2.7", "--server=%s#%d" % DEAD_UPSTREAM,
    ]  # fmt: skip
    # The upstream's socket is open but never read: for a closed port, the kernel would send ICMP errors.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream, running(command):
        upstream.bind(DEAD_UPSTREAM)
        wait_until(log.exists)
        time.sleep(0.5)
        with captured("outage_dns_small", RESOLVER[0], folder):
            for number in range(ROUNDS):
                request(3 * number, "www.shop.test")
                request(3 * number + 1, "img%d.shop.test" % number)
                request(3 * number + 2, "www.elsewhere.test")
            time.sleep(BEYOND_TIMEOUT_S)
            request(3 * ROUNDS, "www.shop.test")
        requested = re.findall(r"query\[A\] (\S+) from", log.read_text())
        answered = re.findall(r"config (\S+) is", log.read_text())
    write("outage_dns_small", [{"name": name, "answered": name in answered} for name in requested])


def connected():
    return pymysql.connect(host=DATABASE[0], port=DATABASE[1], user="shop", password="shop", read_timeout=1, ssl_disabled=True)


def query(client, table):
    with contextlib.suppress(pymysql.err.OperationalError), client.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM shop." + table)


def database(folder):
    data, log, unix_socket = folder / "data", folder / "general", folder / "socket"
    os.chmod(folder, 0o755)
    subprocess.check_call(
        ["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=%s" % data, "--skip-test-db"], stdout=subprocess.DEVNULL
    )
    command = [
        "mariadbd", "--no-defaults", "--user=root", "--datadir=%s" % data, "--socket=%s" % unix_socket, "--bind-address=" + DATABASE[0],
        "--port=%d" % DATABASE[1], "--pid-file=%s" % (folder / "pid"), "--skip-name-resolve",
    ]  # fmt: skip
    with running(command, stderr=subprocess.DEVNULL) as server:
        wait_until(unix_socket.exists)
        with contextlib.closing(pymysql.connect(unix_socket=str(unix_socket), user="root")) as owner, owner.cursor() as cursor:
            for statement in (
                "CREATE DATABASE shop", "CREATE TABLE shop.items (id INT)", "CREATE TABLE shop.orders (id INT)",
                "GRANT ALL ON shop.* TO shop IDENTIFIED BY 'shop'", "SET GLOBAL general_log_file = '%s', GLOBAL general_log = ON" % log,
            ):  # fmt: skip
                cursor.execute(statement)
        with captured("outage_mysql_small", DATABASE[0], folder):
            clients = [connected() for _ in range(ROUNDS // 2)]
            for client in clients:
                query(client, "items")
                query(client, "orders")
            answered = received(log)
            server.send_signal(signal.SIGSTOP)
            for client in clients:
                query(client, "orders")
                client.close()
        # Resumes the server, which then logs the statements still buffered in its connections.
        server.send_signal(signal.SIGCONT)
        wait_until(lambda: len(received(log)) == 3 * len(clients))
        statements = received(log)
    write("outage_mysql_small", [{"statement": text, "answered": number < len(answered)} for number, text in enumerate(statements)])


def received(log):
    return re.findall(r"Query\t(SELECT COUNT.*)", log.read_text())


def main():
    if os.environ.get("TAPLINE_OUTAGES_INSIDE") is None:
        environment = dict(os.environ, TAPLINE_OUTAGES_INSIDE="1")
        sys.exit(subprocess.call(["unshare", "-n", sys.executable, __file__], env=environment))
    subprocess.check_call(["ip", "link", "set", "lo", "up"])
    for outage in (resolver, database):
        with tempfile.TemporaryDirectory() as name:
            outage(pathlib.Path(name))


if __name__ == "__main__":
    main()

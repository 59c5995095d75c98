#!/usr/bin/env python3
"""Makes kafka_small.pcap.zst, the traffic between a real broker and two clients (librdkafka and the Java client), and
kafka_small.jsonl, the clients' logs of their requests.

Needs `make java`, librdkafka, tcpdump and permission to capture on the loopback interface. The broker's connections to
its controller use another port, so they are not in the capture.

usage: make.py [FOLDER]
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "monitors"))
from testing import kafka_broker  # noqa: E402

RDKAFKA = ctypes.CDLL("librdkafka.so.1")
PRODUCER, CONSUMER = 0, 1
SENT = re.compile(r"SEND\|(?P<client>[^#|]*)#.*\[thrd:(?P<thread>[^\]]*)\]: \S+: Sent (?P<api>\w+)Request \(v(?P<version>\d+), "
                  r"(?P<bytes>\d+) bytes @ \d+, CorrId (?P<id>-?\d+)\)")
RECEIVED = re.compile(r"RECV\|(?P<client>[^#|]*)#.*\[thrd:(?P<thread>[^\]]*)\]: \S+: Received (?P<api>\w+)Response \(v(?P<version>\d+), "
                      r"(?P<bytes>\d+) bytes, CorrId (?P<id>-?\d+), rtt (?P<rtt_ms>[\d.]+)ms")
# The Java client logs request types as constants, such as API_VERSIONS.
JAVA = re.compile(r"(?P<what>Sending (?P<sent>\w+) request with header|Received (?P<received>\w+) response from node (?P<from>\S+) for request with header) "
                  r"RequestHeader\(apiKey=\w+, apiVersion=(?P<version>\d+), clientId=(?P<client>[^,]*), correlationId=(?P<id>-?\d+)")
for name in ("conf_new", "topic_new", "new", "topic_conf_new", "consumer_poll", "topic_partition_list_new", "NewTopic_new",
             "queue_new", "queue_poll"):
    getattr(RDKAFKA, "rd_kafka_" + name).restype = ctypes.c_void_p


def pointer(function, *arguments):
    return ctypes.c_void_p(getattr(RDKAFKA, "rd_kafka_" + function)(*arguments))


class Client:
    def __init__(self, kind, broker, name, **settings):
        conf = pointer("conf_new")
        settings = {"bootstrap.servers": broker.address, "client.id": name, "debug": "protocol", "broker.address.family": "v4", **settings}
        for key, value in settings.items():
            error = ctypes.create_string_buffer(512)
            if RDKAFKA.rd_kafka_conf_set(conf, key.replace("_", ".").encode(), str(value).encode(), error, ctypes.c_size_t(512)) != 0:
                raise ValueError(error.value.decode())
        error = ctypes.create_string_buffer(512)
        self.handle = pointer("new", kind, conf, error, ctypes.c_size_t(512))
        if not self.handle:
            raise ValueError(error.value.decode())

    def close(self):
        RDKAFKA.rd_kafka_flush(self.handle, 5000)
        RDKAFKA.rd_kafka_destroy(self.handle)


def create_topic(client, name, partitions):
    error = ctypes.create_string_buffer(512)
    topic = pointer("NewTopic_new", name.encode(), partitions, 1, error, ctypes.c_size_t(512))
    topics = (ctypes.c_void_p * 1)(topic)
    queue = pointer("queue_new", client.handle)
    RDKAFKA.rd_kafka_CreateTopics(client.handle, topics, ctypes.c_size_t(1), None, queue)
    RDKAFKA.rd_kafka_queue_poll(queue, 10_000)


def produce(broker, name, topic, messages, **settings):
    client = Client(PRODUCER, broker, name, linger_ms=0, **settings)
    handle = pointer("topic_new", client.handle, topic.encode(), None)
    for message in messages:
        RDKAFKA.rd_kafka_produce(handle, ctypes.c_int32(-1), 2, message, ctypes.c_size_t(len(message)), None, ctypes.c_size_t(0), None)
        RDKAFKA.rd_kafka_poll(client.handle, 5)
    client.close()


def consume(broker, name, topic, messages, **settings):
    client = Client(CONSUMER, broker, name, group_id="group-of-" + name, auto_offset_reset="earliest", **settings)
    topics = pointer("topic_partition_list_new", 1)
    RDKAFKA.rd_kafka_topic_partition_list_add(topics, topic.encode(), ctypes.c_int32(-1))
    RDKAFKA.rd_kafka_subscribe(client.handle, topics)
    deadline, seen = time.monotonic() + 30, 0
    while seen < messages and time.monotonic() < deadline:
        message = pointer("consumer_poll", client.handle, 500)
        if message:
            seen += 1
            RDKAFKA.rd_kafka_message_destroy(message)
    RDKAFKA.rd_kafka_consumer_close(client.handle)
    client.close()


def traffic(broker):
    first = Client(PRODUCER, broker, "admin")
    create_topic(first, "orders", 2)
    create_topic(first, "payments", 1)
    create_topic(first, "orders", 2)  # already exists
    first.close()
    produce(broker, "shop-1", "orders", [b"order %d" % i for i in range(60)])
    produce(broker, "shop-2", "payments", [bytes([65 + i]) * 3000 for i in range(6)], compression_type="none", acks="all")
    produce(broker, "fire-and-forget", "payments", [b"nobody answers %d" % i for i in range(10)], acks="0")
    produce(broker, "exactly-once", "orders", [b"once %d" % i for i in range(5)], enable_idempotence="true")
    produce(broker, "lost", "no-such-topic", [b"x"], message_timeout_ms="600")
    consume(broker, "billing", "orders", 65)
    consume(broker, "audit", "payments", 16, fetch_wait_max_ms="50")


def requests_of(log):
    """Parses librdkafka's log. Returns a row per request, with the sizes of request and response as logged."""
    waiting, lines = {}, []
    for line in log.splitlines():
        sent, received = SENT.search(line), RECEIVED.search(line)
        if sent:
            row = {"client_id": sent["client"], "api": sent["api"], "version": int(sent["version"]), "correlation_id": int(sent["id"]),
                   "request_bytes": int(sent["bytes"]), "answered": False}
            waiting[sent["client"], sent["thread"], row["correlation_id"]] = row
            lines.append(row)
        if received:
            row = waiting.pop((received["client"], received["thread"], int(received["id"])))
            # For an unanswered request, librdkafka logs a response of 0 bytes.
            row.update(answered=int(received["bytes"]) > 0, response_bytes=int(received["bytes"]), rtt_ms=float(received["rtt_ms"]))
    return lines


def requests_of_java(log):
    """Parses the Java client's log, which contains no sizes."""
    waiting, lines = {}, []
    for line in log.splitlines():
        match = JAVA.search(line)
        if match and match["sent"]:
            row = {"client_id": match["client"], "api": match["sent"].title().replace("_", ""), "version": int(match["version"]),
                   "correlation_id": int(match["id"]), "answered": False}
            waiting[match["client"], row["correlation_id"]] = row
            lines.append(row)
        elif match:
            waiting.pop((match["client"], int(match["id"])))["answered"] = True
    return lines


def child(port):
    class Broker:
        address = f"127.0.0.1:{port}"
    traffic(Broker)


def java(address, folder):
    settings = pathlib.Path(folder) / "log4j2.properties"
    settings.write_text("appender.out.type = Console\nappender.out.name = out\nappender.out.layout.type = PatternLayout\n"
                        "appender.out.layout.pattern = %m%n\nrootLogger.level = debug\nrootLogger.appenderRef.out.ref = out\n")
    return subprocess.run(["java", f"-Dlog4j2.configurationFile={settings}", "-cp", str(pathlib.Path(kafka_broker.JARS) / "*"),
                           str(HERE / "Client.java"), address], capture_output=True, text=True, timeout=120, check=True)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--traffic":
        return child(int(sys.argv[2]))
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE)
    with tempfile.TemporaryDirectory() as folder, kafka_broker.Broker(folder) as broker:
        time.sleep(3)
        capture = pathlib.Path(folder) / "kafka_small.pcap"
        dump = subprocess.Popen(["tcpdump", "-i", "lo", "-s", "0", "-U", "-Z", "root", "-w", str(capture), "tcp", "port", str(broker.port)],
                                stderr=subprocess.DEVNULL)
        time.sleep(1)
        run = subprocess.run([sys.executable, __file__, "--traffic", str(broker.port)], capture_output=True, text=True, timeout=180, check=True)
        newest = java(broker.address, folder)
        time.sleep(1)
        dump.terminate()
        dump.wait()
        rows = requests_of(run.stderr) + requests_of_java(newest.stdout)
        (output / "kafka_small.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        subprocess.run(["zstd", "-q", "-f", "-19", str(capture), "-o", str(output / "kafka_small.pcap.zst")], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

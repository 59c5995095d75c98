"""A real Kafka broker in a separate process, from the jars that `make java` collects. Standard library only."""
import os
import signal
import socket
import subprocess
import time

from .free_ports import free_port, free_ports

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JARS = os.environ.get("TAPLINE_JARS", os.path.join(ROOT, "build", "java", "lib"))
DEADLINE_S = 120
STARTS = 3
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"  # brokers of one cluster have the same ID


def available():
    return os.path.isdir(JARS) and any(name.startswith("kafka-server") for name in os.listdir(JARS))


class Broker:
    """Context manager for a broker process. Formats the broker's log folder below `folder`, then starts it."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        self.log = open(os.path.join(self.folder, "broker.log"), "wb")
        self.port, controller = free_ports(2)
        path = os.path.join(self.folder, "broker.properties")
        with open(path, "w") as file:
            for name, value in self.settings(self.folder, controller).items():
                file.write(f"{name}={value}\n")
        formatting = self.java("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER, "-c", path)
        if formatting.wait(DEADLINE_S) != 0:
            raise AssertionError(f"the broker's folder was not formatted:\n{self.last_lines()}")
        self.process = self.java("kafka.Kafka", path)

    def settings(self, folder, controller):
        return {"process.roles": "broker,controller", "node.id": 1,
                "controller.quorum.voters": f"1@127.0.0.1:{controller}", "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "log.dirs": os.path.join(folder, "kafka"), "auto.create.topics.enable": "false",
                "num.network.threads": 1, "num.io.threads": 2, "message.max.bytes": 4 << 20,
                "offsets.topic.num.partitions": 1, "offsets.topic.replication.factor": 1,
                # A broker that a test has paused must not be mistaken for a dead one.
                "broker.session.timeout.ms": 600000}

    def java(self, *arguments):
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        return subprocess.Popen(["java", *options, "-cp", os.path.join(JARS, "*"), *arguments], stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def await_ready(self):
        """Returns when the port answers. If another process has taken a port since it was chosen, starts the broker
        on other ports. Raises AssertionError, with the end of the log, if the broker does not start."""
        deadline, starts = time.monotonic() + DEADLINE_S, 1
        while time.monotonic() < deadline:
            status = self.process.poll()
            if status is not None:
                if starts == STARTS or "Address already in use" not in self.last_lines():
                    raise AssertionError(f"the broker ended (status {status}):\n{self.last_lines()}")
                starts += 1
                self.log.close()
                self.start()
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the broker did not start within {DEADLINE_S} s:\n{self.last_lines()}")

    def last_lines(self, count=40):
        with open(self.log.name, errors="replace") as file:
            return "\n".join(file.read().splitlines()[-count:])

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self.await_ready()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()


class AuthorizingBroker(Broker):
    """A broker with a second listener, which requires a login (PLAIN). An authorizer lets `writer`, and clients of the
    first listener, do anything and other users nothing."""

    PASSWORDS = {"writer": "a-password", "stranger": "another"}

    def settings(self, folder, controller):
        self.login_port = free_port()
        users = " ".join(f'user_{user}="{password}"' for user, password in self.PASSWORDS.items())
        settings = super().settings(folder, controller)
        return settings | {
            "listeners": settings["listeners"] + f",LOGIN://127.0.0.1:{self.login_port}",
            "advertised.listeners": settings["advertised.listeners"] + f",LOGIN://127.0.0.1:{self.login_port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.login.plain.sasl.jaas.config":
                f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:writer"}

    @property
    def login_address(self):
        return f"127.0.0.1:{self.login_port}"

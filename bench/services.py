"""Runs brokers, a Flink session cluster, Redis and a Tapline server as separate processes, for measurements. Standard library only."""
import glob
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "monitors"))
from testing.free_ports import free_port, free_ports  # noqa: E402
from testing.kafka_broker import DEADLINE_S, JARS, Broker  # noqa: E402

SMALL_CAPTURE = os.path.join(ROOT, "testbed", "captures", "http_small.pcap.zst")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    """Returns the process's CPU seconds so far, in user and kernel mode."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


class ClusterBroker(Broker):
    """A broker in a cluster, whose first broker is also the controller."""

    def __init__(self, folder, node, controller):
        self.node, self.controller = node, controller
        os.makedirs(folder)
        super().__init__(folder)

    def settings(self, folder, _):
        settings = super().settings(folder, self.controller)
        settings |= {"node.id": self.node, "controller.quorum.voters": f"1@127.0.0.1:{self.controller}",
                     "log.segment.bytes": 64 << 20, "log.retention.check.interval.ms": 5000}
        if self.node > 1:
            settings |= {"process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{self.port}"}
        return settings

    def java(self, *arguments):
        # A long run needs the C2 compiler, so there is no -XX:TieredStopAtLevel.
        options = ["-Xmx512m", "-XX:+UseParallelGC", "-XX:-UsePerfData"]
        return subprocess.Popen(["java", *options, "-cp", os.path.join(JARS, "*"), *arguments], stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log)


class Redis:
    """Context manager for a Redis server without persistence."""

    def __enter__(self):
        self.port = free_port()
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
                                        stdout=subprocess.DEVNULL)
        return self

    def hash(self, key):
        with socket.create_connection(("127.0.0.1", self.port), 5) as link, link.makefile("rb") as answer:
            link.sendall(f"HGETALL {key}\r\n".encode())
            count = int(answer.readline()[1:])
            values = []
            for _ in range(count):
                length = int(answer.readline()[1:])
                values.append(answer.read(length + 2)[:-2].decode())
        return dict(zip(values[::2], values[1::2]))

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class FlinkCluster:
    """Context manager for a job manager and task managers with one slot each."""

    def __init__(self, folder, workers):
        self.folder, self.count = folder, workers
        rpc, rest = free_ports(2)
        self.rest = f"http://127.0.0.1:{rest}"
        self.settings = ["-Djobmanager.rpc.address=127.0.0.1", f"-Djobmanager.rpc.port={rpc}", f"-Drest.port={rest}",
                         "-Drest.address=127.0.0.1", f"-Dio.tmp.dirs={folder}"]
        self.processes = []

    def __enter__(self):
        with open(os.path.join(self.folder, "config.yaml"), "w") as file:
            file.write("parallelism.default: 1\n")
        self.start("jobmanager", "-Xmx512m", "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint")
        memory = {"framework.heap.size": 128, "task.heap.size": 384, "framework.off-heap.size": 128,
                  "task.off-heap.size": 0, "managed.size": 0, "network.min": 64, "network.max": 64,
                  "jvm-metaspace.size": 256, "jvm-overhead.min": 192, "jvm-overhead.max": 192}
        own = [f"-Dtaskmanager.memory.{name}={mib}m" for name, mib in memory.items()]
        for i in range(self.count):
            self.start(f"worker-{i}", "-Xmx512m", "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
                       "-Dtaskmanager.host=127.0.0.1", "-Dtaskmanager.numberOfTaskSlots=1", "-Dtaskmanager.cpu.cores=1", *own)
        deadline = time.monotonic() + 2 * DEADLINE_S
        while self.slots() < self.count:
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes):
                raise AssertionError(f"the session cluster did not start; see {self.folder}")
            time.sleep(0.2)
        return self

    def start(self, name, heap, main, *own):
        packages = ("lang", "net", "time", "util", "util.concurrent")
        options = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in packages]
        # The job's jar is uploaded, so it must not also be on the class path.
        jars = [jar for jar in glob.glob(os.path.join(JARS, "*.jar")) if "flink-jobs-" not in jar]
        jars += glob.glob(os.path.join(os.path.dirname(JARS), "session-cluster", "*.jar"))
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                ["java", heap, "-XX:+UseParallelGC", "-XX:+UseTransparentHugePages", "-XX:-UsePerfData", *options, "-cp",
                 ":".join(jars), main, "--configDir", self.folder, *self.settings, *own],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    @property
    def workers(self):
        return self.processes[1:]

    def ask(self, path, body=None, content="application/json"):
        request = urllib.request.Request(self.rest + path, data=body, headers={"Content-Type": content})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def slots(self):
        try:
            return self.ask("/overview")["slots-total"]
        except (urllib.error.URLError, OSError):
            return 0

    def upload(self):
        """Uploads the job's jar. Returns its name on the cluster."""
        jar, = glob.glob(os.path.join(JARS, "flink-jobs-*.jar"))
        with open(jar, "rb") as file:
            body = (b'--part\r\nContent-Disposition: form-data; name="jarfile"; filename="job.jar"\r\n'
                    b"Content-Type: application/x-java-archive\r\n\r\n" + file.read() + b"\r\n--part--\r\n")
        return os.path.basename(self.ask("/jars/upload", body, "multipart/form-data; boundary=part")["filename"])

    def run(self, jar, *arguments):
        """Submits the job. Returns its ID."""
        body = {"entryClass": "io.tapline.flink.job.QueryJob", "programArgsList": list(arguments)}
        return self.ask(f"/jars/{jar}/run", json.dumps(body).encode())["jobid"]

    def state(self, job):
        return self.ask("/jobs/" + job)["state"]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


class TaplineServer:
    """Context manager for a `tapline server` over the bundled capture or another source, with a separate temporary
    folder. If `tls` is given, it serves over TLS: the folder contains ca.pem, control.pem (a certificate for localhost)
    and control.key."""

    def __init__(self, port, *arguments, source=("--pcap", SMALL_CAPTURE), tls=None):
        self.url = f"http://127.0.0.1:{port}"
        self.trusted = None
        if tls:
            self.url = f"https://localhost:{port}"
            self.trusted = ssl.create_default_context(cafile=os.path.join(tls, "ca.pem"))
            arguments += ("--tls", "rest", "--tls-ca", os.path.join(tls, "ca.pem"), "--tls-certificate", os.path.join(tls, "control.pem"),
                          "--tls-key", os.path.join(tls, "control.key"))
        self.command = [os.path.join(ROOT, "bin", "tapline"), "server", *source, "--port", str(port), *arguments]

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.process = subprocess.Popen(self.command, env=dict(os.environ, TMPDIR=self.folder))
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_ready(self):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError("the server ended before it was ready")
            try:
                urllib.request.urlopen(self.url + "/readyz", timeout=1, context=self.trusted)
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the server was not ready within {DEADLINE_S} s")

    def call(self, path, body=None, method=None):
        """Sends a GET, a POST with a JSON body, or a request with another method. Returns the JSON response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30, context=self.trusted) as answer:
            return json.loads(answer.read() or b"null")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.temporary.cleanup()

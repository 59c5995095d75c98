"""The traffic generator as a process that feeds a monitor through shared memory, without losses. Standard library
only."""
import json
import os
import signal
import subprocess
import threading

BINARIES = os.path.dirname(os.environ.get("TAPLINE_MONITOR", "build/bin/tapline-monitor"))
DEADLINE_S = 60


def device(folder, role):
    """Returns the DPDK device for one end of a link. The monitor is the server and must be started first."""
    return f"net_memif0,role={role},id=0,bsize=2048,rsize=12,socket={os.path.join(folder, 'link')},socket-abstract=no"


class Traffic:
    """A running traffic_generator with these settings. `last` is its latest output."""

    def __init__(self, folder, **settings):
        arguments = [f"{name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen([os.path.join(BINARIES, "traffic_generator"), device(folder, "client"), *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = {}
        self.done = threading.Event()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.last = json.loads(line)
            if self.last["done"]:
                self.done.set()

    def stop(self):
        """Stops sending. Returns the totals of the packets sent. The link stays up until the context ends."""
        self.process.send_signal(signal.SIGTERM)
        assert self.done.wait(DEADLINE_S), f"the generator is stuck after {self.last}"
        return self.last

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def audit(brokers, topic):
    """Returns the topic's totals (bench/traffic/batch_audit.cc)."""
    done = subprocess.run([os.path.join(BINARIES, "batch_audit"), brokers, "read", topic], capture_output=True, check=True)
    return json.loads(done.stdout)


def create_topic(brokers, topic, partitions=1):
    subprocess.run([os.path.join(BINARIES, "batch_audit"), brokers, "create", topic, str(partitions)], check=True)


def differences(query, rows):
    """Returns the differences between a monitor's accounting of a query and `rows`, the audit of the query's topic.
    Empty if there are none."""
    dropped = {reason: count for unit in query["dropped"].values() for reason, count in unit.items()}
    expected = {"rows": query["tuples_out"], "tuples_in": query["tuples_in"], "packets_in": query["packets_in"],
                "packets_out": query["packets_out"], "bytes_in": query["bytes_in"], "dropped": dropped, "gaps": 0,
                "repeats": 0, "watermarks_back": 0, "ends": 1}
    return {name: (value, rows[name]) for name, value in expected.items() if rows[name] != value}

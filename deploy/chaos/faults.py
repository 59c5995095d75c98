"""Container faults: one container, or two at once, are killed, paused or cut off from the network.

To cut off a container, the host's end of its veth pair is removed from Docker's bridge. The container keeps its
interfaces and addresses, but packets in both directions are lost. `docker network disconnect` would remove the
interface, which programs notice immediately, and reconnecting would assign another address: networks do not fail like
that. A filter inside the container would need a program and a capability that the container lacks. Only Docker is
required: a container in the host's network changes the bridge.
"""
import concurrent.futures
import json
import subprocess
import time

KINDS = ("kill", "pause", "cut")
# Seconds until the fault ends: killed containers are started, paused ones unpaused, and cut off ones reconnected.
LASTS_S = {"kill": 5, "pause": 10, "cut": 10}
HEALTHY_S = 120
# Time limit for retries of a pause. On a busy host, runc may give up before all processes are frozen ("unable to
# freeze"), and thaw them.
FREEZE_S = 60
# Time limit for retries of other commands. A container that has just exited can't be killed until Docker has restarted
# it.
DOCKER_S = 30

# All containers that run permanently, except those for monitoring. A host's programs share its network namespace, and
# are cut off with it.
SMALL = ["zookeeper-1", "kafka-1", "jobmanager-1", "taskmanager-1", "redis", "control-1", "control-2", "front", "switch", "monitor-1",
         "web-1", "web-1-pages", "web-1-multilog", "client-1", "client-1-shopper", "operator"]
FULL = ["zookeeper-1", "zookeeper-2", "zookeeper-3", "kafka-1", "kafka-2", "kafka-3", "jobmanager-1", "jobmanager-2", "taskmanager-1",
        "taskmanager-2", "redis", "control-1", "control-2", "front", "switch", "monitor-1", "monitor-2", "web-1", "web-2", "web-1-pages",
        "web-2-pages", "web-1-multilog", "web-2-multilog", "client-1", "client-1-shopper", "operator"]
# Pairs of a kind. Two ZooKeeper servers or brokers are a majority of three, so the quorum is lost.
SMALL_PAIRS = ["control-1+control-2"]
FULL_PAIRS = ["zookeeper-1+zookeeper-2", "kafka-1+kafka-2", "jobmanager-1+jobmanager-2", "taskmanager-1+taskmanager-2",
              "control-1+control-2", "monitor-1+monitor-2", "web-1-multilog+web-2-multilog"]
IN_A_NAMESPACE = ("-pages", "-multilog", "-shopper")


def docker(*words, check=True):
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise RuntimeError(f"docker {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def retry_docker(timeout_s, passing, *words):
    """Runs `docker`, and retries errors that contain one of the strings in `passing`."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return docker(*words)
        except RuntimeError as error:
            if not any(reason in str(error) for reason in passing) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def freeze(container):
    return retry_docker(FREEZE_S, ["unable to freeze", "is not running"], "pause", container)


def kill(container):
    return retry_docker(DOCKER_S, ["is not running"], "kill", container)


def start(container):
    return retry_docker(DOCKER_S, ["already exists"], "start", container)


def default_list(size):
    return (FULL + FULL_PAIRS) if size == "full" else (SMALL + SMALL_PAIRS)


def kinds_of(target):
    """Returns the kinds of faults that apply to a target: a container in another one's network namespace can't be cut
    off."""
    shared = any(name.endswith(IN_A_NAMESPACE) for name in target.split("+"))
    return [kind for kind in KINDS if not (shared and kind == "cut")]


class Containers:
    """The containers of a compose project."""

    def __init__(self, project):
        self.project = project

    def id(self, service):
        ids = docker("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label=com.docker.compose.project={self.project}",
                       "--filter", f"label=com.docker.compose.service={service}").split()
        if len(ids) != 1:
            raise RuntimeError(f"{service}: {len(ids)} containers of this name in the project {self.project}")
        return ids[0]

    def inspect(self, ids):
        return json.loads(docker("inspect", *ids))

    def known(self):
        return self.inspect(docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}").split())

    def services(self):
        return {container["Config"]["Labels"]["com.docker.compose.service"] for container in self.known()}

    def started_anew(self):
        """Returns how often Docker has restarted each service because it had exited."""
        return {container["Config"]["Labels"]["com.docker.compose.service"]: container["RestartCount"] for container in self.known()}

    def lodgers(self, holder):
        """Returns the containers in this container's network namespace, which disappears with it."""
        return [container["Id"] for container in self.known() if container["HostConfig"]["NetworkMode"] == f"container:{holder}"]

    def switch_image(self):
        return self.inspect([self.id("switch")])[0]["Config"]["Image"]

    def await_healthy(self, ids):
        """Waits until all containers are running and healthy. Returns the seconds waited, or None after a timeout."""
        began = time.monotonic()
        while time.monotonic() - began < HEALTHY_S:
            states = [container["State"] for container in self.inspect(ids)]
            if all(state["Running"] and state.get("Health", {}).get("Status", "healthy") == "healthy" for state in states):
                return time.monotonic() - began
            time.sleep(0.3)
        return None


class Cable:
    """The host's ends of some containers' interfaces. Removes them from their bridges and reconnects them."""

    def __init__(self, containers, ids):
        self.image = containers.switch_image()
        self.ends = self.find(ids)

    def on_host(self, script):
        return docker("run", "--rm", "--network", "host", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--entrypoint", "bash",
                      self.image, "-c", script)

    def find(self, ids):
        """Returns (name on the host, bridge) of each interface."""
        others = set()
        for container in ids:
            links = docker("exec", container, "bash", "-c", "cd /sys/class/net && for d in *; do echo $(<$d/ifindex) $(<$d/iflink); done")
            others |= {theirs for own, theirs in (line.split() for line in links.splitlines()) if own != theirs}
        ends = []
        for line in self.on_host("ip -oneline link").splitlines():
            number, name, rest = line.split(": ", 2)
            if number in others and " master " in rest:
                ends.append((name.split("@")[0], rest.split(" master ")[1].split()[0]))
        if not ends:
            raise RuntimeError("no interface on this host belongs to the containers to cut off")
        return ends

    def pull(self):
        self.on_host("; ".join(f"ip link set {name} nomaster" for name, _ in self.ends))

    def plug(self):
        """Reconnects the interfaces that still exist; a container that exited and was restarted has new ones."""
        self.on_host("; ".join(f"[[ ! -e /sys/class/net/{name} ]] || ip link set {name} master {bridge}" for name, bridge in self.ends))


class Fault:
    """A temporary fault of one or two containers (NAME or NAME+NAME)."""

    def __init__(self, containers, target, kind):
        self.containers, self.target, self.kind = containers, target, kind
        self.ids = [containers.id(name) for name in target.split("+")]
        self.lodgers = [lodger for container in self.ids for lodger in containers.lodgers(container)] if kind == "kill" else []
        self.cable = Cable(containers, self.ids) if kind == "cut" else None
        self.there = False
        self.frozen = []

    def __str__(self):
        return f"{self.target} {self.kind}"

    def strike(self):
        self.there = True
        if self.kind == "cut":
            self.cable.pull()
        elif self.kind == "pause":
            for container in self.ids:
                freeze(container)
                self.frozen.append(container)
        else:
            # Kills them as simultaneously as possible.
            with concurrent.futures.ThreadPoolExecutor() as at_once:
                list(at_once.map(kill, self.ids + self.lodgers))

    def mend(self):
        """Ends the fault. Does nothing if it has not begun or has been ended."""
        if not self.there:
            return
        self.there = False
        if self.kind == "cut":
            self.cable.plug()
        elif self.kind == "pause":
            for container in self.frozen:
                docker("unpause", container)
        else:
            for container in self.ids:
                start(container)
            if self.lodgers:
                self.containers.await_healthy(self.ids)
            for container in self.lodgers:
                start(container)

    def recovered(self):
        return self.containers.await_healthy(self.ids + self.lodgers)

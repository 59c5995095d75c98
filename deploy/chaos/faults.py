"""What can happen to containers: killed, paused, cut off; one of them, or two at once.

A container that is cut off keeps its interfaces and addresses, and its processes notice nothing but silence: the cable is pulled at
the other end, where Docker's bridge has its end of the pair. `docker network disconnect` would take the interface away, which
programs are told of at once, and give another address afterwards: no network fails like that. A filter within the container would
need a program and a right there that it does not have. Needs nothing but Docker: a container in the host's network does it.
"""
import concurrent.futures
import json
import subprocess
import time

KINDS = ("kill", "pause", "cut")
# A supervisor starts again what has died; the others come back by themselves.
LASTS_S = {"kill": 5, "pause": 10, "cut": 10}
HEALTHY_S = 120
# On a busy host runc gives up before all processes stand still ("unable to freeze"), and lets them run again.
FREEZE_S = 60
# What has just died by itself can't be killed, and is being started anew.
DOCKER_S = 30

# What has a cable of its own, or stands for all of its kind. A host's programs are in its namespace, and are cut off with it.
SMALL = ["zookeeper-1", "kafka-1", "jobmanager-1", "taskmanager-1", "redis", "control-1", "control-2", "front", "switch", "monitor-1",
         "web-1", "web-1-pages", "web-1-multilog", "client-1", "client-1-shopper", "operator"]
FULL = ["zookeeper-1", "zookeeper-2", "zookeeper-3", "kafka-1", "kafka-2", "kafka-3", "jobmanager-1", "jobmanager-2", "taskmanager-1",
        "taskmanager-2", "redis", "control-1", "control-2", "front", "switch", "monitor-1", "monitor-2", "web-1", "web-2", "web-1-pages",
        "web-2-pages", "web-1-multilog", "web-2-multilog", "client-1", "client-1-shopper", "operator"]
# Of three, two are the majority without which nothing is decided.
SMALL_PAIRS = ["control-1+control-2"]
FULL_PAIRS = ["zookeeper-1+zookeeper-2", "kafka-1+kafka-2", "jobmanager-1+jobmanager-2", "taskmanager-1+taskmanager-2",
              "control-1+control-2", "monitor-1+monitor-2", "web-1-multilog+web-2-multilog"]
IN_A_NAMESPACE = ("-pages", "-multilog", "-shopper")


def docker(*words, check=True):
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise RuntimeError(f"docker {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def docker_again(patience_s, passing, *words):
    """As `docker`, but what fails for reasons that pass is tried again."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return docker(*words)
        except RuntimeError as error:
            if not any(reason in str(error) for reason in passing) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def freeze(container):
    return docker_again(FREEZE_S, ["unable to freeze", "is not running"], "pause", container)


def kill(container):
    return docker_again(DOCKER_S, ["is not running"], "kill", container)


def start(container):
    return docker_again(DOCKER_S, ["already exists"], "start", container)


def default_list(size):
    return (FULL + FULL_PAIRS) if size == "full" else (SMALL + SMALL_PAIRS)


def kinds_of(target):
    """Those that make sense: a container in another's namespace has no cable."""
    shared = any(name.endswith(IN_A_NAMESPACE) for name in target.split("+"))
    return [kind for kind in KINDS if not (shared and kind == "cut")]


class Containers:
    """The containers of one compose project."""

    def __init__(self, project):
        self.project = project

    def id(self, service):
        found = docker("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label=com.docker.compose.project={self.project}",
                       "--filter", f"label=com.docker.compose.service={service}").split()
        if len(found) != 1:
            raise RuntimeError(f"{service}: {len(found)} containers of this name in the project {self.project}")
        return found[0]

    def inspect(self, ids):
        return json.loads(docker("inspect", *ids))

    def known(self):
        return self.inspect(docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}").split())

    def services(self):
        return {each["Config"]["Labels"]["com.docker.compose.service"] for each in self.known()}

    def started_anew(self):
        """Of each service, how often Docker has started it again because it had ended by itself."""
        return {each["Config"]["Labels"]["com.docker.compose.service"]: each["RestartCount"] for each in self.known()}

    def lodgers(self, holder):
        """Those in the network namespace of another, which goes when that does."""
        return [each["Id"] for each in self.known() if each["HostConfig"]["NetworkMode"] == f"container:{holder}"]

    def switch_image(self):
        return self.inspect([self.id("switch")])[0]["Config"]["Image"]

    def await_healthy(self, ids):
        """Seconds until all run and are healthy; None if they are not in time."""
        began = time.monotonic()
        while time.monotonic() - began < HEALTHY_S:
            states = [each["State"] for each in self.inspect(ids)]
            if all(state["Running"] and state.get("Health", {}).get("Status", "healthy") == "healthy" for state in states):
                return time.monotonic() - began
            time.sleep(0.3)
        return None


class Cable:
    """The host's ends of some containers' interfaces: out of their bridges, and into them again."""

    def __init__(self, containers, ids):
        self.image = containers.switch_image()
        self.ends = self.find(ids)

    def on_host(self, script):
        return docker("run", "--rm", "--network", "host", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--entrypoint", "bash",
                      self.image, "-c", script)

    def find(self, ids):
        """Of each its name on the host and its bridge."""
        others = set()
        for each in ids:
            links = docker("exec", each, "bash", "-c", "cd /sys/class/net && for d in *; do echo $(<$d/ifindex) $(<$d/iflink); done")
            others |= {theirs for own, theirs in (line.split() for line in links.splitlines()) if own != theirs}
        ends = []
        for line in self.on_host("ip -oneline link").splitlines():
            number, name, rest = line.split(": ", 2)
            if number in others and " master " in rest:
                ends.append((name.split("@")[0], rest.split(" master ")[1].split()[0]))
        if not ends:
            raise RuntimeError("no interface on this host belongs to what is to be cut off")
        return ends

    def pull(self):
        self.on_host("; ".join(f"ip link set {name} nomaster" for name, _ in self.ends))

    def plug(self):
        """A container that died of it and was started anew has another cable."""
        self.on_host("; ".join(f"[[ ! -e /sys/class/net/{name} ]] || ip link set {name} master {bridge}" for name, bridge in self.ends))


class Fault:
    """One that happens to containers (NAME or NAME+NAME), and goes away."""

    def __init__(self, containers, target, kind):
        self.containers, self.target, self.kind = containers, target, kind
        self.ids = [containers.id(name) for name in target.split("+")]
        self.lodgers = [lodger for each in self.ids for lodger in containers.lodgers(each)] if kind == "kill" else []
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
            for each in self.ids:
                freeze(each)
                self.frozen.append(each)
        else:
            # At once, as far as that goes.
            with concurrent.futures.ThreadPoolExecutor() as at_once:
                list(at_once.map(kill, self.ids + self.lodgers))

    def mend(self):
        """REQUIRES: nothing. Does nothing where all is well."""
        if not self.there:
            return
        self.there = False
        if self.kind == "cut":
            self.cable.plug()
        elif self.kind == "pause":
            for each in self.frozen:
                docker("unpause", each)
        else:
            for each in self.ids:
                start(each)
            if self.lodgers:
                self.containers.await_healthy(self.ids)
            for each in self.lodgers:
                start(each)

    def recovered(self):
        return self.containers.await_healthy(self.ids + self.lodgers)

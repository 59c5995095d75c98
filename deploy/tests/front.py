"""Runs the reverse proxy on this host as its container does, with the same start script and nginx configuration. The
control planes' names resolve to addresses that the test chooses. Needs nginx, openssl and unshare. Standard library only."""
import os
import socket
import ssl
import subprocess
import time
from pathlib import Path

IMAGE = Path(__file__).resolve().parents[1] / "images/web"
# Runs as the container's user, in a private mount namespace with the test's /etc/hosts.
AS_IN_CONTAINER = ["unshare", "--map-root-user", "--mount", "bash", "-c",
                   'mount --bind "$1" /etc/hosts && exec unshare --map-user=10001 --map-group=10001 "$2/start" front', "front"]
# As long as a real token, which exceeds nginx's default map_hash_bucket_size.
OPERATOR = "tapline_" + "x" * 43
DEADLINE_S = 20


def possible():
    """Returns True if this host lets users create namespaces."""
    return subprocess.run(["unshare", "--map-root-user", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0


def make_certificates(folder):
    """Creates an authority and certificates for the reverse proxy and the control planes."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-x509", "-days", "1"]

    def make(name, *options):
        subprocess.run(["openssl", "req", *key, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", *options],
                       check=True, stderr=subprocess.DEVNULL)

    make("ca", "-subj", "/CN=test")
    for name, names in {"own": "DNS:front,IP:127.0.0.1", "control": "DNS:control-1,DNS:control-2,DNS:localhost"}.items():
        make(name, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE",
             "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key")


class Front:
    """Context manager for a front on `port`, with certificates in `folder` and control planes at `addresses` on
    `control_port`."""

    def __init__(self, folder, port, control_port, addresses):
        self.folder, self.port = Path(folder), port
        self.hosts = self.folder / "hosts"
        self.move(addresses)
        (self.folder / "operator.conf").write_text(
            f'map $http_authorization $operator {{ default 0; "Bearer {OPERATOR}" 1; }}\n')
        self.environment = dict(os.environ, CONFIGURATIONS=str(IMAGE), SECRETS=str(folder), RUN=str(self.folder / "run"), PORT=str(port),
                                CONTROL_PORT=str(control_port))
        self.trusted = ssl.create_default_context(cafile=self.folder / "ca.pem")

    def move(self, addresses):
        """Changes the control planes' addresses."""
        self.hosts.write_text("".join(f"{address} control-{i}\n" for i, address in enumerate(addresses, 1)))

    def __enter__(self):
        with open(self.folder / "front.log", "w") as log:
            # A new session has its own process group, so that all its processes can be killed together.
            self.process = subprocess.Popen([*AS_IN_CONTAINER, self.hosts, IMAGE], env=self.environment, stdout=log, stderr=log,
                                            start_new_session=True)
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError("the reverse proxy does not start: " + self.log()) from None
                time.sleep(0.05)

    def log(self):
        return (self.folder / "front.log").read_text()

    def resident_mib(self):
        """Returns the anonymous resident memory of nginx's master process and its children, in MiB."""
        kib = 0
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in [self.process.pid, *children]:
            fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            kib += int(fields["RssAnon"].split()[0])
        return kib >> 10

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, 15)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

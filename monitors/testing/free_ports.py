"""TCP ports on loopback for servers that a test starts. Standard library only."""
import random
import socket

# Linux assigns none of these ports to an outgoing connection (unless net.ipv4.ip_local_port_range was changed), so a
# server that starts later can still listen on them.
FIRST, BEYOND = 20_000, 32_768
_given = set()


def free_port():
    """Returns a port on which nothing listens. Never returns the same port twice. Raises OSError if all are taken."""
    untried = sorted(set(range(FIRST, BEYOND)) - _given)
    for port in random.sample(untried, len(untried)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise OSError(f"no free port from {FIRST} to {BEYOND - 1}")


def free_ports(count):
    return [free_port() for _ in range(count)]

#!/usr/bin/env python3
"""Checks a running cluster from outside, as a user.

Through the reverse proxy (TLS, token), it submits a query and expects its mirror rules, sends a known number of
requests between containers, and expects each to be counted once. It kills the leading control plane and expects the same query
to count as many requests again. After the query, its rules must be gone, and a host's MultiLog must have the headers.
Requests without a token or without TLS must be refused, a team's token must not reach beyond its subnets, and a token
added at run time must be accepted. Every component, with its secrets, must be able to do at every service exactly what
schema/rights.txt allows; refusals must be logged; a monitor and a stream job must have no more rights from inside their
containers ("check.py access" checks only these rights). Prints the reason and exits with 1 on failure.
"""
import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

CLUSTER = Path(__file__).with_name("cluster")
MIRROR = "cookie=0x7a91020000000000/0xffffff0000000000"
TIMEOUT_S = 90
ROUNDS = 5
PER_ROUND = {"a": 6, "b": 3, "c": 1}
# Prints the status of a request that the leader answers and a follower redirects.
LEADS = "curl -sk -o /dev/null -w '%{{http_code}}' --max-time 5 -H @- https://{}:8480/api/v1/nodes || true"
# Sends bytes without TLS, and prints up to 64 bytes received within 2 s, in hexadecimal. Ignores SIGPIPE, since the
# server may already have closed the connection.
TCP_EXCHANGE = """trap '' PIPE; exec 3<>/dev/tcp/{} || exit; printf '{}' >&3 2>/dev/null; {{ timeout 2 head -c 64 <&3 2>/dev/null || true; }} | od -An -v -tx1"""
# Tries a TLS handshake without a client certificate, and prints it, including the server's certificate.
SHAKE = "timeout 20 openssl s_client -ign_eof -connect {} -servername {} </dev/null 2>&1 || true"
FLINK_INTERNAL = ("jobmanager-1:6123", "jobmanager-1:6124", "taskmanager-1:6121", "taskmanager-1:6122")
# Words that a service logs when it refuses a client, in lower case for comparison.
REFUSALS = {"redis": ["error accepting a client connection", "acl"], "kafka-1": ["failed authentication", "denied"],
            "zookeeper-1": ["handshake", "noauth"], "jobmanager-1": ["handshake", "bad_certificate", "certificate"]}
HTTP2 = r"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
QUERY = "PARSE http_get FROM * TO web-1:80 LIMIT 10m SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)"


def compose(*words, stdin=""):
    """Runs a `docker compose` command and returns its output."""
    done = subprocess.run([CLUSTER, "compose", *words], input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S)
    require(done.returncode == 0, f"compose {' '.join(words)}: {done.stderr}")
    return done.stdout


def require(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def await_condition(awaited, condition):
    """Waits until condition() is true and returns its value."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (result := condition()):
        require(time.monotonic() < deadline, f"{awaited}: not within {TIMEOUT_S} s")
        time.sleep(0.5)
    return result


class Front:
    """The cluster's REST interface, accessed from this host."""

    def __init__(self):
        self.port = compose("port", "front", "8443").rsplit(":", 1)[1].strip()
        self.operator = self.secret("token")
        self.web = self.secret("web.token")
        self.trusted = ssl.create_default_context(cadata=self.secret("ca.pem"))

    @staticmethod
    def secret(name):
        """Returns the contents of one of the operator's secret files."""
        return compose("exec", "-T", "operator", "cat", "/secrets/" + name).strip()

    def call(self, method, path, body=None, token=None, timeout_s=TIMEOUT_S):
        """Returns the status and the JSON response ({} if it is empty or an error). Sends the operator's token by
        default, and none if token is ""."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method)
        if token != "":
            request.add_header("Authorization", "Bearer " + (token or self.operator))
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, context=self.trusted, timeout=timeout_s) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else {}
        except urllib.error.HTTPError as refused:
            return refused.code, {}

    def get(self, path):
        status, answer = self.call("GET", path)
        require(status == 200, f"GET {path}: {status}")
        return answer

    def leader(self):
        """Returns the service name of the leading control plane, or "" if there is no leader."""
        header = f"Authorization: Bearer {self.operator}"
        for control in ("control-1", "control-2"):
            status = compose("exec", "-T", "front", "bash", "-c", LEADS.format(control), stdin=header)
            if status == "200":
                return control
        return ""

    def awaited_leader(self):
        """Waits for a leader and returns its service name."""
        return await_condition("a control plane leads", self.leader)

    def answers_plain(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=TIMEOUT_S) as answer:
                return answer.status == 200
        except (urllib.error.HTTPError, OSError):
            return False


def mirror_rules():
    """Returns the mirror rules of the first switch."""
    flows = compose("exec", "-T", "switch", "ovs-ofctl", "-O", "OpenFlow14", "dump-flows", "switch-1", MIRROR)
    return [line for line in flows.splitlines() if "priority=" in line]


def counted(front, query, pages):
    """Returns the query's count for each page."""
    counts = dict.fromkeys(pages, 0)
    after = ""
    while True:
        page = front.get(f"/api/v1/queries/{query}/results{after}")
        for row in page["rows"]:
            url = row["key"]["url"]
            if url in counts:
                counts[url] += row["value"]
        if not page["rows"]:
            return counts
        after = "?after=" + page["last_entry"]


def state(front, query):
    known = front.get("/api/v1/queries/" + query)
    require(known["state"] != "failed", f"the query failed: {known['error']}")
    return known["state"]


def check_doors(front):
    require(front.call("GET", "/api/v1/queries", token="")[0] == 401, "a request without a token was not refused")
    require(not front.answers_plain(), "a request without TLS was answered")


def check_plain(front):
    """Checks that reachable ports answer plaintext with nothing, a TLS alert (7 bytes) or a redirect to https."""
    leader = front.awaited_leader()
    for port, request_text in {f"{leader}/8480": r"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", f"{leader}/8481": HTTP2, "web-1/7400": HTTP2,
                       "web-1/7401": r"GET /metrics HTTP/1.1\r\nHost: web-1\r\n\r\n",
                       f"{leader}/6653": r"\x04\x00\x00\x08\x00\x00\x00\x01", "redis/6379": r"PING\r\n",
                       "kafka-1/9092": r"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\x00\x00", "zookeeper-1/2281": "srvr",
                       "jobmanager-1/8081": r"GET /overview HTTP/1.1\r\nHost: localhost\r\n\r\n"}.items():
        answer = bytes.fromhex("".join(compose("exec", "-T", "front", "bash", "-c", TCP_EXCHANGE.format(port, request_text)).split()))
        alert = len(answer) == 7 and answer[0] == 0x15
        elsewhere = answer.startswith(b"HTTP/1.1 30") and b"location: https://" in answer
        require(not answer or alert or elsewhere, f"{port} answers unencrypted: {answer}")


def check_flink():
    """Checks that Flink's internal ports present the managers' shared certificate and refuse clients without one."""
    for port in FLINK_INTERNAL:
        request_text = compose("exec", "-T", "front", "bash", "-c", SHAKE.format(port, port.split(":")[0]))
        require("CN = flink-internal" in request_text, f"{port} does not present Flink's certificate: {request_text}")
        require("alert bad certificate" in request_text or "alert certificate required" in request_text, f"{port} accepts a client without a certificate: {request_text}")


def check_team(front, query):
    """Checks that the web servers' team sees only its hosts' traffic and its own queries."""
    text = "PARSE http_get FROM * TO {}:80 LIMIT 10s SAMPLE * PROCESS (top-k)"
    for host, wanted in {"10.0.0.11": 200, "10.0.0.21": 400, "*": 400}.items():
        status, _ = front.call("POST", "/api/v1/explain", {"query": text.format(host)}, token=front.web)
        require(status == wanted, f"explaining a query over {host} as the web team: status {status}, not {wanted}")
    for path in ("/api/v1/nodes", "/metrics"):
        require(front.call("GET", path, token=front.web)[0] == 403, f"the web team can read {path}")
    require(front.call("GET", f"/api/v1/queries/{query}", token=front.web)[0] == 404, "the web team can see the operator's query")


def check_new_token(front):
    """Checks that control planes accept a token created while they run."""
    done = subprocess.run([CLUSTER, "token", "--tenant", "late", "--role", "viewer", "--subnet", "10.0.0.21/32"], capture_output=True, text=True, timeout=TIMEOUT_S)
    require(done.returncode == 0, f"no token: {done.stderr}")
    secret = done.stdout.split()[-1]
    require(front.call("GET", "/api/v1/queries", token=secret + "x")[0] == 401, "a request with a wrong token was not refused")
    status, _ = front.call("GET", "/api/v1/queries", token=secret)
    require(status == 200, f"a new token is not accepted: {status}")


def send_counted(front, query, before, name):
    """Sends requests, waits until each one is counted once, and returns all expected counts so far."""
    sent = {f"/{name}/{page}": times * ROUNDS for page, times in PER_ROUND.items()}
    answered = compose("exec", "-T", "client-1-shopper", "requests", "http://10.0.0.11", str(ROUNDS), name)
    require(int(answered) == sum(sent.values()), f"only {answered.strip()} requests were answered")
    wanted = before | sent
    await_condition(f"{wanted} are counted", lambda: counted(front, query, wanted) == wanted)
    return wanted


def kill_leader(front):
    """Kills the leading control plane. Returns its name and the seconds until another one was the leader."""
    killed = front.awaited_leader()
    compose("kill", killed)
    began = time.monotonic()
    await_condition("another leads", lambda: front.leader() not in ("", killed))
    return killed, time.monotonic() - began


def results_after_restart(front, query, wanted):
    """Returns the counts, or None while Redis is unavailable."""
    status, _ = front.call("GET", f"/api/v1/queries/{query}/results")
    return counted(front, query, wanted) if status == 200 else None


def check_query(front):
    status, submitted = front.call("POST", "/api/v1/queries", {"query": QUERY})
    require(status == 201, f"the query is not accepted: {status}")
    query = submitted["id"]
    await_condition("the query runs", lambda: state(front, query) == "running")
    require(mirror_rules(), "the query runs, but the switch mirrors nothing")

    check_team(front, query)
    wanted = send_counted(front, query, {}, "before-" + query)
    killed, seconds = kill_leader(front)
    wanted = send_counted(front, query, wanted, "after-" + query)
    compose("start", killed)

    front.call("DELETE", "/api/v1/queries/" + query)
    await_condition("the query stops", lambda: state(front, query) == "stopped")
    require(counted(front, query, wanted) == wanted, "the counts changed at the end")
    compose("restart", "redis")
    await_condition("Redis has the same results as before its restart", lambda: results_after_restart(front, query, wanted) == wanted)
    await_condition("the query's mirror rules disappear", lambda: not mirror_rules())
    return sum(wanted.values()), seconds


def refusals(service, words):
    """Returns how often a service has logged one of the words, ignoring case."""
    log = compose("logs", "--no-color", "--no-log-prefix", service).lower()
    return sum(log.count(word) for word in words)


def check_access(front):
    """Checks that components may do exactly what schema/rights.txt allows, and that services log refusals."""
    alerts = {"": "alerts.ops.matrix", front.web: "alerts.web.matrix"}
    where = [*alerts.values(), "monitor-1", "web-1"]
    access(front.awaited_leader(), "", "", *where)
    queries = []
    for token, topic in alerts.items():
        text = f'PARSE http_get FROM * TO 10.0.0.11:80 LIMIT 10m SAMPLE * PROCESS (trigger: when="count > 1000000", topic={topic})'
        status, submitted = front.call("POST", "/api/v1/queries", {"query": text}, token=token or None)
        require(status == 201, f"a query with alerts to {topic} is not accepted: {status} {submitted}")
        queries.append(submitted["id"])
    for query in queries:
        await_condition(f"{query} runs", lambda: state(front, query) == "running")
    before = {service: refusals(service, words) for service, words in REFUSALS.items()}
    access(front.awaited_leader(), *queries, *where)
    for service, words in REFUSALS.items():
        require(refusals(service, words) > before[service], f"{service} has not logged its refusals ({', '.join(words)})")
    for query in queries:
        front.call("DELETE", "/api/v1/queries/" + query)
        await_condition(f"{query} stops", lambda: state(front, query) == "stopped")


def access(*words):
    done = subprocess.run([CLUSTER, "access", *words], timeout=600)
    require(done.returncode == 0, "the access matrix differs from schema/rights.txt: see above")


def check_drilldown(front):
    status, report = front.call("POST", "/api/v1/drilldown", {"filter": "dst_port == 80", "limit": 10})
    require(status == 200 and len(report["rows"]) == 10, f"no headers: {status} {report}")
    require("web-1" in report["nodes"], f"no headers from web-1, only from {report['nodes']}")


def main():
    front = Front()
    if sys.argv[1:] == ["access"]:
        return check_access(front)
    check_doors(front)
    check_plain(front)
    check_flink()
    check_new_token(front)
    requests, seconds = check_query(front)
    check_drilldown(front)
    check_access(front)
    print(f"{requests} requests between containers, each mirrored and counted once, before and after the leading control plane was killed "
          f"(takeover after {seconds:.1f} s); rules removed; headers found; unauthorised access refused")


if __name__ == "__main__":
    main()

"""Contains the commands of the programs that bench/peers measures, and reads the (URL, status) pairs that they print."""
import json
import os
import re
import shutil

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "build", "bin")
HERE = os.path.dirname(os.path.abspath(__file__))


class Tool:
    """A program that reads a capture but pairs nothing. `prints` describes its output; `package` is its apt-get
    package, with any options before the name."""
    package = None

    def __init__(self, name, prints, *command):
        self.name, self.prints, self.arguments = name, prints, command
        self.program = command[0]

    def command(self, capture, folder):
        return [word.format(capture=capture, folder=folder) for word in self.arguments]

    def is_missing(self):
        return shutil.which(self.program) is None

    def pairs(self, folder):
        """Returns the (URL, status) pairs that the program wrote to the folder, or None if it does not pair requests with responses."""
        return None


class Tshark(Tool):
    def pairs(self, folder):
        with open(os.path.join(folder, "stdout")) as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        return [(re.sub(r"^http://[^/]*", "", url), int(status)) for urls, statuses in rows
                for url, status in zip(urls.split(","), statuses.split(",")) if url and status]


class Suricata(Tool):
    def pairs(self, folder):
        with open(os.path.join(folder, "eve.json")) as file:
            events = [json.loads(line)["http"] for line in file]
        return [(event["url"], event["status"]) for event in events if "url" in event and "status" in event]


class Matcher(Tool):
    def pairs(self, folder):
        with open(os.path.join(folder, "stdout")) as file:
            rows = [line.split() for line in file]
        return [(url, int(status)) for url, status in rows]


class Tapline(Tool):
    """Reads Tapline's tuples. A tuple whose `partial` names a missing message is not a pair."""

    def pairs(self, folder):
        with open(os.path.join(folder, "stdout")) as file:
            tuples = [json.loads(line) for line in file if line.startswith("{")]
        return [(row["url"], row["status"]) for row in tuples if row.get("parser") == "http_get" and not row["partial"]]


def packaged(tool, package):
    tool.package = package
    return tool


TSHARK_FIELDS = ["-Y", "http.response", "-T", "fields", "-e", "http.response_for.uri", "-e", "http.response.code"]
MONITOR = os.path.join(PROGRAMS, "tapline-monitor")
FLOOR = packaged(Tool("tcpdump", "nothing: the baseline", "tcpdump", "-r", "{capture}", "-w", "/dev/null"), "tcpdump")
TOOLS = [
    FLOOR,
    Tool("tapline-monitor, null output", "batches of tuples, dropped", MONITOR, "--parser", "http_get", "--pcap", "{capture}",
         "--output", "null"),
    Tapline("tapline-monitor, JSON", "transactions with latency", MONITOR, "--parser", "http_get", "--pcap", "{capture}", "--output",
            "json"),
    Tapline("tapline parse --json", "transactions with latency", os.path.join(ROOT, "bin", "tapline"), "parse", "--parser", "http_get",
            "--pcap", "{capture}", "--json"),
    Matcher("simple matcher (packet_matcher.cc)", "URL and status", os.path.join(PROGRAMS, "packet_matcher"), "{capture}"),
    packaged(Tool("nDPI's ndpiReader", "a class per flow", "ndpiReader", "-i", "{capture}"), "libndpi-bin"),
    packaged(Tool("tcptrace", "flows", "tcptrace", "{capture}"), "tcptrace"),
    packaged(Tool("httpry", "unpaired lines", "httpry", "-r", "{capture}", "-o", "{folder}/httpry.log"), "httpry"),
    packaged(Suricata("Suricata, one thread, HTTP log", "transactions, no latency", "suricata", "-c",
                      os.path.join(HERE, "suricata.yaml"), "-r", "{capture}", "-l", "{folder}", "--runmode", "single", "-k", "none"),
             "-t bookworm-backports suricata"),
    packaged(Tshark("tshark", "chosen fields", "tshark", "-r", "{capture}", *TSHARK_FIELDS), "tshark"),
    packaged(Tshark("tshark, tcp.reassemble_out_of_order", "chosen fields", "tshark", "-o", "tcp.reassemble_out_of_order:TRUE", "-r",
                    "{capture}", *TSHARK_FIELDS), "tshark"),
]

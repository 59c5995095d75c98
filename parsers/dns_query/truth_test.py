#!/usr/bin/env python3
"""Compares dns_query with tshark's dissection of every reference capture, transaction by transaction.

Compares each question and its answer by client, server, name, type, answer code and answer time. Each difference must
be a row of docs/reference/dns-differences.md; silence_test.py covers captures without DNS.

usage: truth_test.py [MONITOR]
"""

import decimal
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "dns-differences.md"
# Other hosts answer a question to a group, so servers on these ports are not compared.
GROUP_PORTS = {"5353", "5355"}
# On these ports, tshark shows DNS messages carried by HTTP.
HTTP_PORTS = {"80", "443", "8080", "8443", "9444"}
TYPES = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 13: "HINFO", 15: "MX", 16: "TXT", 24: "SIG", 25: "KEY", 28: "AAAA", 29: "LOC",
         33: "SRV", 35: "NAPTR", 39: "DNAME", 43: "DS", 44: "SSHFP", 46: "RRSIG", 47: "NSEC", 48: "DNSKEY", 50: "NSEC3",
         51: "NSEC3PARAM", 52: "TLSA", 59: "CDS", 60: "CDNSKEY", 64: "SVCB", 65: "HTTPS", 99: "SPF", 249: "TKEY", 250: "TSIG",
         251: "IXFR", 252: "AXFR", 255: "ANY", 256: "URI", 257: "CAA"}
CODES = {name: i for i, name in enumerate("NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED YXDOMAIN YXRRSET NXRRSET NOTAUTH NOTZONE "
                                          "DSOTYPENI".split())}
CODES.update({"BADVERS": 16, "BADCOOKIE": 23, "": ""})


def ports(record):
    return {record["src"].rsplit(":", 1)[1], record["dst"].rsplit(":", 1)[1]}


def is_compared(ends):
    return "53" in ends or not ends & (GROUP_PORTS | HTTP_PORTS)


def type_name(number):
    return TYPES.get(number, f"TYPE{number}") if number is not None else "TYPE0"


def ns(seconds):
    return int(decimal.Decimal(seconds) * 10**9)


def expected(records):
    """Returns (client, server, name, type, code, time) for each transaction: tshark's messages, paired as tshark does.
    A question repeated before its answer counts once, and so does its repeated answer."""
    first, again, of_frame = {}, {}, {}
    for r in (r for r in records if r["kind"] == "dns" and "src" in r and is_compared(ports(r))):
        question = (r["src"], r["dst"], r.get("id"), (r.get("qname") or "").lower(), r.get("qtype"))
        if r.get("response") != "1":
            if question in first:
                again[question] = again.get(question, 0) + 1
            first.setdefault(question, r)
            of_frame[r["frame"]] = question
            continue
        question = of_frame.get(r.get("response_to"))
        if question in first:
            time = ns(r["ts"]) - ns(first[question]["ts"])
            yield item(r["dst"], r["src"], first.pop(question), r.get("rcode", ""), time)
        elif again.get(question, 0) > 0:
            again[question] -= 1
        else:
            yield item(r["dst"], r["src"], r, r.get("rcode", ""), 0)
    for question in first.values():
        yield item(question["src"], question["dst"], question, "", 0)


def item(client, server, question, code, time):
    name = "".join(c for c in (question.get("qname") or "").lower() if c.isascii() and c.isprintable())
    # tshark's record has only the lower four bits of EDNS' extended codes.
    return client, server, "." if name == "<root>" else name, type_name(question.get("qtype")), code, time


def code_number(name):
    code = CODES[name] if name in CODES else int(name.removeprefix("RCODE"))
    return code if code == "" else code & 15


def seen(tuples):
    """Returns the tuples in the form of expected(), without the characters that tshark does not escape."""
    plain = lambda name: re.sub(r"\\\d{3}", "", name).replace("\\.", ".").replace("\\\\", "\\")
    return [(f"{t['src_ip']}:{t['src_port']}", f"{t['dst_ip']}:{t['dst_port']}", plain(t["qname"]), t["qtype"], code_number(t["rcode"]),
             t["answer_time_ns"]) for t in tuples if is_compared({str(t["src_port"]), str(t["dst_port"])})]


def main():
    return differences.compare("dns_query", differences.known(TABLE, 10), expected, seen)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares tls_hello with tshark's dissection of every reference capture, and its JA4 fingerprints with the published
ones and with tshark's fields.

Compares each connection that has a hello, by client, server, name, offered protocols and chosen cipher suite. Each
difference must have a row in docs/reference/tls-differences.md; silence_test.py covers captures without TLS.

usage: truth_test.py [MONITOR]
"""

import collections
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import differences  # noqa: E402
import oracle  # noqa: E402

TABLE = oracle.ROOT / "docs" / "reference" / "tls-differences.md"
# The fingerprints that JA4's own tests expect from its captures: {fingerprint: connections}.
PUBLISHED = {
    "tls/ja4__badcurveball.pcap": {"t13d1615h2_46e7e9700bed_45f260be83e2": 1},
    "tls/ja4__tls12.pcap": {"t13d1715h2_5b57614c22b0_3d5424432f57": 1},
    "tls/ja4__tls-handshake.pcapng": {"t13d1516h2_8daaf6152771_e5627efa2ab1": 54, "t13d1516h1_8daaf6152771_e5627efa2ab1": 3,
                                      "t13d151400_8daaf6152771_de4a06bb82e3": 1, "t13d1517h1_8daaf6152771_6cdcb247c39b": 1},
}
# Extensions whose lists tshark shows under the field name of the signature algorithms.
ALIKE = {34, 50}


def expected(records):
    """Yields (client, server, name, offered protocols, cipher suite) for each TCP connection with a hello."""
    streams = {}
    for r in records:
        if r["kind"] == "tls_hello" and not str(r["stream"]).startswith("u"):
            streams.setdefault(r["stream"], {}).setdefault(r["role"], r)
    for roles in streams.values():
        client, server = roles.get("client"), roles.get("server", {})
        ends = (client["src"], client["dst"]) if client else (server["dst"], server["src"])
        yield (*ends, (client or {}).get("sni") or "", ",".join((client or {}).get("alpn", [])),
               int(server.get("cipher") or "0", 16))


def seen(tuples):
    return [(f"{t['src_ip']}:{t['src_port']}", f"{t['dst_ip']}:{t['dst_port']}", t["sni"], t["alpn_offered"], t["cipher_suite"])
            for t in tuples]


def is_grease(code):
    return code & 0x0f0f == 0x0a0a and code >> 8 == code & 0xff


def ja4(versions, ciphers, extensions, algorithms, protocol):
    """Computes the fingerprint as the specification defines it, from lists of code points."""
    plain = lambda codes: [c for c in codes if not is_grease(c)]
    ciphers, extensions, algorithms = plain(ciphers), plain(extensions), plain(algorithms)
    digest = lambda text: hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12
    joined = lambda codes: ",".join(f"{c:04x}" for c in codes)
    version = {0x0304: "13", 0x0303: "12", 0x0302: "11", 0x0301: "10", 0x0300: "s3"}.get(max(plain(versions), default=0), "00")
    head = f"t{version}{'d' if 0 in extensions else 'i'}{min(len(ciphers), 99):02}{min(len(extensions), 99):02}"
    tail = joined(sorted(e for e in extensions if e not in (0, 16)))
    if tail and algorithms:
        tail += "_" + joined(algorithms)
    return f"{head}{protocol[0] + protocol[-1] if protocol else '00'}_{digest(joined(sorted(ciphers)))}_{digest(tail)}"


def ja4_by_tshark(captures):
    """Returns {(client, server): fingerprints}, computed from tshark's fields; the last part is omitted if tshark mixes
    other lists into its fields."""
    names = ["ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tls.handshake.version", "tls.handshake.extensions.supported_version",
             "tls.handshake.ciphersuite", "tls.handshake.extension.type", "tls.handshake.sig_hash_alg",
             "tls.handshake.extensions_alpn_str", "tls.handshake.type"]
    with tempfile.TemporaryDirectory() as folder:
        merged = folder + "/all.pcapng"
        subprocess.run(["mergecap", "-a", "-w", merged, *map(str, captures)], check=True, capture_output=True)
        command = ["tshark", "-n", "-r", merged, "-Y", "tls.handshake.type == 1 and tcp and ip", "-T", "fields", "-E", "separator=/t"]
        for name in names:
            command += ["-e", name]
        lines = subprocess.run(command, capture_output=True, check=False).stdout.decode(errors="replace").splitlines()
    result = collections.defaultdict(set)
    for line in lines:
        row = dict(zip(names, line.split("\t")))
        listed = lambda name: [int(x, 0) for x in row[name].split(",") if x]
        if row["tls.handshake.type"] != "1" or "," in row["ip.src"] or not row["tls.handshake.ciphersuite"]:
            continue
        extensions = listed("tls.handshake.extension.type")
        protocol = row["tls.handshake.extensions_alpn_str"].split(",")[0]
        if protocol and not (protocol[0].isalnum() and protocol[-1].isalnum() and protocol.isascii()):
            continue
        print_ = ja4(listed("tls.handshake.extensions.supported_version") or listed("tls.handshake.version"),
                     listed("tls.handshake.ciphersuite"), extensions, listed("tls.handshake.sig_hash_alg"), protocol)
        key = (f"{row['ip.src']}:{row['tcp.srcport']}", f"{row['ip.dst']}:{row['tcp.dstport']}")
        result[key].add(print_[:23] if ALIKE & set(extensions) else print_)
    return result


def wrong_fingerprints(captures, ours):
    if shutil.which("mergecap") is None or shutil.which("tshark") is None:
        print("JA4 not compared: tshark is not installed")
        return [], 0
    truth = ja4_by_tshark(captures)
    both = sorted(truth.keys() & ours.keys())
    return [f"JA4 of {key}: {ours[key]}, by tshark's fields {truth[key]}" for key in both
            if not any(o.startswith(t) for o in ours[key] for t in truth[key])], len(both)


def main():
    ours, with_tls = collections.defaultdict(set), []

    def check(name, capture, tuples):
        fingerprints = collections.Counter(t["ja4"] for t in tuples)
        if name.startswith("tls/"):
            with_tls.append(capture)
            for t, item in zip(tuples, seen(tuples)):
                ours[item[:2]].add(t["ja4"])
        if name not in PUBLISHED or fingerprints == PUBLISHED[name]:
            return []
        return [f"{name}: {dict(fingerprints)}, published {PUBLISHED[name]}"]

    status = differences.compare("tls_hello", differences.known(TABLE, 9), expected, seen, check=check)
    wrong, compared = wrong_fingerprints(with_tls, ours)
    for line in wrong:
        print(line)
    print(f"{compared} JA4 by tshark's fields")
    return 1 if wrong else status


if __name__ == "__main__":
    sys.exit(main())

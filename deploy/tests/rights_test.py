#!/usr/bin/env python3
"""Checks that schema/rights.txt, the certificates, the compose file and the documented matrix are consistent."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIGHTS = ROOT / "schema/rights.txt"
PAGE = ROOT / "docs/explanation/security.md"
MARKS = "<!-- begin schema/rights.txt -->\n", "<!-- end schema/rights.txt -->"


def require(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def read_rights():
    """Returns the roles and, for each row, its service, port, operation and set of allowed roles."""
    lines = [line.split() for line in RIGHTS.read_text().splitlines() if line.strip() and not line.startswith("#")]
    roles = lines[0][3:]
    rows = []
    for cells in lines[1:]:
        require(len(cells) == 3 + len(roles) and set(cells[3:]) <= {"x", "-"}, f"schema/rights.txt: {' '.join(cells)}")
        rows.append((*cells[:3], {role for role, cell in zip(roles, cells[3:]) if cell == "x"}))
    return roles, rows


def table(roles, rows):
    lines = ["| Service | Port | Operation | " + " | ".join(roles) + " |", "|---|---|---|" + ":-:|" * len(roles)]
    for service, port, operation, allowed in rows:
        lines.append(f"| {service} | {port} | {operation} | " + " | ".join("x" if role in allowed else "" for role in roles) + " |")
    return "\n".join(lines) + "\n"


def check_page(wanted):
    page = PAGE.read_text()
    before, rest = page.split(MARKS[0])
    table, after = rest.split(MARKS[1])
    if "--write" in sys.argv:
        PAGE.write_text(before + MARKS[0] + wanted + MARKS[1] + after)
    else:
        require(table == wanted, "docs/explanation/security.md differs from schema/rights.txt: deploy/tests/rights_test.py --write")


def check_doors(rows):
    """Checks that a port admits every role that has a right there."""
    doors = {(service, port): allowed for service, port, operation, allowed in rows if operation == "connect"}
    for service, port, operation, allowed in rows:
        require((service, port) not in doors or allowed <= doors[service, port],
                f"{service} {port} {operation}: {allowed - doors.get((service, port), set())} has a right, but its port does not admit it")


def certificates(folder):
    """Creates in a folder the certificates that the compose file requests. Returns their entries in that file."""
    compose = (ROOT / "docker-compose.yml").read_text()
    block = re.search(r"      - certificates\n((?:      (?:- |#).*\n)+)", compose)[1]
    entries = re.findall(r"^      - (\S+)$", block, re.M)
    mounted = set(re.findall(r"- secrets-([\w-]+):/secrets/([\w-]+)", compose))
    require(all(volume == name for volume, name in mounted), f"a volume is mounted elsewhere: {mounted}")
    folders = {entry.split("/")[1].split("=")[0].split(":")[0] for entry in entries}
    require(folders | {"authority"} == {name for name, _ in mounted}, f"volumes {mounted}, certificates {folders}")
    for name in folders | {"authority"}:
        (folder / name).mkdir()
    subprocess.run([ROOT / "deploy/images/web/certificates", *entries], check=True, env={"SECRETS": str(folder), "RIGHTS": str(RIGHTS), "PATH": "/usr/bin:/bin"})
    return entries


def subjects(file):
    """Returns the roles of the authorities in a PEM file."""
    certs = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", file.read_text(), re.S)
    return {re.search(r"CN ?= ?tapline (\w+) authority", subprocess.run(["openssl", "x509", "-noout", "-subject"], input=cert, text=True, capture_output=True).stdout)[1]
            for cert in certs}


def passes(authority, certificate):
    return subprocess.run(["openssl", "verify", "-CAfile", authority, certificate], capture_output=True).returncode == 0


def check_stolen(folder, entries):
    """Checks that replacing a role's authority revokes that role's old certificates and no others."""
    stolen = folder / "stolen.pem"
    stolen.write_bytes((folder / "monitor-1/own.pem").read_bytes())
    (folder / "authority/monitor.key").unlink()
    environment = {"SECRETS": str(folder), "RIGHTS": str(RIGHTS), "PATH": "/usr/bin:/bin", "RENEW": "yes"}
    subprocess.run([ROOT / "deploy/images/web/certificates", *entries], check=True, env=environment)
    for service in ("control", "kafka"):
        authority = folder / service / "monitor.ca.pem"
        require(not passes(authority, stolen), f"{service} still admits a monitor's certificate of the previous authority")
        require(passes(authority, folder / "monitor-1/own.pem"), f"{service} does not admit a monitor's new certificate")
    require(passes(folder / "authority/switch.pem", folder / "switch/own.pem"), "certificates of another role no longer match its authority")


def check_names():
    """Checks that no component gets a certificate with another role's name, since Kafka and ZooKeeper identify callers
    by name."""
    for entry in ("monitor/control=DNS:control", "multilog/web-1:kafka=DNS:web-1", "monitor/job-ops-1=DNS:job-ops-1"):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"SECRETS": folder, "RIGHTS": str(RIGHTS), "PATH": "/usr/bin:/bin"}
            (Path(folder) / "authority").mkdir()
            done = subprocess.run([ROOT / "deploy/images/web/certificates", entry], env=environment, capture_output=True, text=True)
            require(done.returncode == 2 and "name of other components" in done.stderr, f"{entry}: {done.returncode} {done.stderr}")
            require(not list(Path(folder).rglob("own.pem")), f"{entry} has a certificate")


def check_certificates(rows):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entries = certificates(folder)
        for entry in entries:
            role, home = re.match(r"(\w+)/([\w-]+)", entry).groups()
            callers = {each for service, _, operation, allowed in rows if operation == "connect" and service == role for each in allowed} - {"job"}
            known = {file.name.removesuffix(".ca.pem") for file in (folder / home).glob("*.ca.pem")}
            require(callers <= known, f"{home} has no authority of {callers - known}")
            for other_role in known:
                require(subjects(folder / home / f"{other_role}.ca.pem") == {other_role}, f"{home}: {other_role}.ca.pem contains another role's authority")
            own = folder / home / "own.pem"
            if own.exists():
                for other_role in {role for role in ("control", "monitor", "switch", "kafka") if role != entry.split("/")[0]}:
                    require(not passes(folder / "authority" / f"{other_role}.pem", own), f"{home}'s certificate passes as one of {other_role}")
        readable = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_mode & 0o77 and file.parent.name != "switch"]
        require(not readable, f"other users may read {readable}")
        before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        subprocess.run([ROOT / "deploy/images/web/certificates", *entries], check=True, env={"SECRETS": str(folder), "RIGHTS": str(RIGHTS), "PATH": "/usr/bin:/bin"})
        changed = [file for file, content in before.items() if file.read_bytes() != content]
        require(not changed, f"a second run changed {changed}")
        check_stolen(folder, entries)


def main():
    roles, rows = read_rights()
    check_page(table(roles, rows))
    check_doors(rows)
    check_names()
    check_certificates(rows)
    print(f"{len(rows)} operations, {len(roles)} roles")


main()

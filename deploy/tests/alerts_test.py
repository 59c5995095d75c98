#!/usr/bin/env python3
"""Tests that alerts fire when they should, name existing runbooks and use metrics that monitors serve. Skipped (77)
without promtool."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/images/prometheus"


def main():
    text = (RULES / "alerts.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    pages = re.findall(r"runbook_url: (\S+)", text)
    wrong = [page for page in pages if not (ROOT / page).is_file()]
    if len(pages) != len(alerts) or not alerts or wrong:
        sys.exit(f"error: {len(alerts)} alerts, {len(pages)} pages; these are missing: {wrong}")
    served = "".join(file.read_text() for file in (ROOT / "monitors/metrics").glob("*.cc"))
    unknown = {name for name in re.findall(r"\btapline_monitor_(\w+)", text) if f'"{name}"' not in served}
    if unknown:
        sys.exit(f"error: no monitor serves tapline_monitor_… {sorted(unknown)}")
    if not shutil.which("promtool"):
        print("SKIPPED: promtool (Debian's package prometheus) is missing")
        sys.exit(77)
    # Does the same as the image build, which checks only the syntax because there are no secrets yet.
    subprocess.run(["promtool", "check", "config", "--syntax-only", "prometheus.yml"], cwd=RULES, check=True)
    subprocess.run(["promtool", "test", "rules", "alerts_test.yml"], cwd=RULES, check=True)


main()

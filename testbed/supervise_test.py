#!/usr/bin/env python3
"""Tests supervise.py with real processes."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SUPERVISE = Path(__file__).with_name("supervise.py")
TIMEOUT_S = 90


class SuperviseTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tapline-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.addCleanup(self.end_all)

    def end_all(self):
        """Kills all processes. The supervisor is first in the list, so it dies before it can restart the others."""
        for each in self.noted():
            if each["pid"] and self.runs(each):
                os.kill(each["pid"], signal.SIGKILL)
        if hasattr(self, "supervisor"):
            self.supervisor.wait()

    def supervise(self, *daemons):
        (self.folder / "daemons.json").write_text(json.dumps(daemons))
        self.supervisor = subprocess.Popen([sys.executable, SUPERVISE, self.folder], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.supervisor.stdout.close)

    def noted(self):
        try:
            return json.loads((self.folder / "processes.json").read_text())
        except FileNotFoundError:
            return []

    def process(self, name):
        return next((each for each in self.noted() if each["name"] == name), None)

    @staticmethod
    def runs(process):
        try:
            fields = Path(f"/proc/{process['pid']}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False
        return fields[0] not in "ZX" and int(fields[19]) == process["started"]

    def until(self, awaited, condition):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"{awaited}: {self.noted()}")
            time.sleep(0.05)

    def until_runs(self, name, restarts=0):
        def runs():
            process = self.process(name)
            return process and process["pid"] and process["restarts"] >= restarts and self.runs(process)

        self.until(f"{name} runs", runs)
        return self.process(name)

    def kill(self, process):
        os.kill(process["pid"], signal.SIGKILL)
        self.until("it is dead", lambda: not self.runs(process))

    def test_a_killed_daemon_is_restarted(self):
        self.supervise({"name": "a", "command": ["sleep", "1000"]}, {"name": "b", "command": ["sleep", "1000"]})
        first, other = self.until_runs("a"), self.until_runs("b")
        self.kill(first)
        restarted = self.until_runs("a", 1)
        self.assertNotEqual(restarted["pid"], first["pid"])
        self.kill(restarted)
        self.until_runs("a", 2)
        self.assertEqual(self.process("b"), other)

    def test_a_failed_start_is_retried(self):
        self.supervise({"name": "none", "command": [str(self.folder / "none")]}, {"name": "b", "command": ["sleep", "1000"]})
        self.until_runs("b")
        self.until("it is tried", lambda: self.process("none")["restarts"] > 1)
        self.assertIsNone(self.process("none")["pid"])

    def test_a_detached_daemon_is_found_by_its_pid_file(self):
        script = "sleep 1000 & echo $! > " + str(self.folder / "d.pid")
        self.supervise({"name": "d", "command": ["sh", "-c", script], "pid_file": "d.pid"})
        first = self.until_runs("d")
        self.assertEqual(int((self.folder / "d.pid").read_text()), first["pid"])
        self.kill(first)
        self.assertNotEqual(self.until_runs("d", 1)["pid"], first["pid"])

    def test_another_supervisor_takes_over_running_daemons(self):
        daemons = [{"name": "a", "command": ["sleep", "1000"]}]
        self.supervise(*daemons)
        running = self.until_runs("a")
        self.kill(self.process("supervisor"))
        self.supervisor.wait()
        old = self.supervisor.pid
        self.supervise(*daemons)
        self.until("it reports the new supervisor", lambda: self.process("supervisor")["pid"] not in (old, None))
        self.assertEqual(self.process("a"), running)
        self.kill(running)
        self.until_runs("a", 1)

    def test_a_reused_pid_is_detected(self):
        self.addCleanup(lambda: (stranger.kill(), stranger.wait()))
        stranger = subprocess.Popen(["sleep", "1000"])
        note = [{"name": "a", "pid": stranger.pid, "started": 1, "restarts": 4}]
        (self.folder / "processes.json").write_text(json.dumps(note))
        self.supervise({"name": "a", "command": ["sleep", "1000"]})
        self.until("it has a new process", lambda: self.process("a")["pid"] not in (stranger.pid, None))
        self.assertIsNone(stranger.poll())

    def test_stopping_keeps_the_daemons(self):
        self.supervise({"name": "a", "command": ["sleep", "1000"]})
        running = self.until_runs("a")
        self.supervisor.terminate()
        self.assertEqual(self.supervisor.wait(TIMEOUT_S), 0)
        self.assertTrue(self.runs(running))

    def test_it_ends_when_its_folder_is_removed(self):
        self.supervise({"name": "a", "command": ["sleep", "1000"]})
        running = self.until_runs("a")
        (self.folder / "processes.json").unlink()
        self.assertEqual(self.supervisor.wait(TIMEOUT_S), 0)
        self.addCleanup(os.kill, running["pid"], signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()

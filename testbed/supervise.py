#!/usr/bin/env python3
"""Keeps a testbed's daemons running: starts missing daemons, and restarts those that die.

Usage: supervise.py FOLDER

Reads FOLDER/daemons.json, a list of {"name", "command", "pid_file"}. Without a pid_file, the command is the daemon.
With a pid_file, the command returns once the daemon is ready and has written its PID there. FOLDER/NAME.log contains
the daemon's output.

Writes FOLDER/processes.json after every change: a list of {"name", "pid", "started", "restarts"}, the supervisor first.
"started" is the kernel's start time of the process (field 22 of /proc/PID/stat); it distinguishes the process from a
later one with the same PID.

A daemon's first restart is immediate. Later restarts follow after a pause that doubles each time, up to 10 s, until the
daemon has run for 30 s. A new supervisor takes over an earlier one's daemons. On SIGTERM, or if its folder is removed,
the supervisor finishes a start in progress and exits without stopping the daemons.
"""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LOOK_S = 0.2
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 10.0
HEALTHY_S = 30.0
START_S = 60.0  # timeout for a command to start its daemon and return
STATE, STARTED = 0, 19  # indexes of two fields after the name in /proc/PID/stat


def started(pid):
    """Returns the start time of a process, or None if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[STATE] in "ZX" else int(fields[STARTED])


class Daemon:
    def __init__(self, folder, name, command, pid_file=None):
        self.name = name
        self.command = command
        self.folder = folder
        self.pid_file = folder / pid_file if pid_file else None
        self.child = None  # set if this supervisor started the daemon directly and must reap it
        self.pid = self.started = None
        self.restarts = 0
        self.began = self.pause = self.due = 0.0

    def take_over(self, noted):
        """Adopts a running daemon, identified by an earlier supervisor's entry in processes.json or by its PID file."""
        if noted and started(noted["pid"]) == noted["started"]:
            self.restarts = noted["restarts"]
            self._is(noted["pid"])
        elif self.pid_file and self.pid_file.exists():
            pid = int(self.pid_file.read_text())
            if f"{self.folder}/".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                self._is(pid)

    def _is(self, pid):
        self.pid, self.started, self.began = pid, started(pid), time.monotonic()

    def runs(self):
        if self.child:
            return self.child.poll() is None
        return self.started is not None and started(self.pid) == self.started

    def has_ended(self):
        """Records the daemon's end, and schedules its restart."""
        if time.monotonic() - self.began > HEALTHY_S:
            self.pause = 0.0
        self.due = time.monotonic() + self.pause
        self.pause = min(MAX_PAUSE_S, max(FIRST_PAUSE_S, 2 * self.pause))
        self.restarts += 1
        self.child = self.pid = self.started = None

    def start(self):
        with open(self.folder / f"{self.name}.log", "ab") as log:
            options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
            if self.pid_file:
                subprocess.run(self.command, check=True, timeout=START_S, **options)
                self._is(int(self.pid_file.read_text()))
            else:
                self.child = subprocess.Popen(self.command, **options)
                self._is(self.child.pid)


class Supervisor:
    def __init__(self, folder):
        self.folder = folder
        self.report = folder / "processes.json"
        self.ended = False
        self.daemons = [Daemon(folder, **description) for description in json.loads((folder / "daemons.json").read_text())]

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        self.take_over()
        self.note()
        while not self.ended and self.report.exists():
            for daemon in self.daemons:
                self.keep(daemon)
            time.sleep(LOOK_S)

    def take_over(self):
        noted = {entry["name"]: entry for entry in json.loads(self.report.read_text())} if self.report.exists() else {}
        for daemon in self.daemons:
            try:
                daemon.take_over(noted.get(daemon.name))
            except (OSError, ValueError):
                pass  # the daemon is not running

    def keep(self, daemon):
        if daemon.pid and not daemon.runs():
            code = daemon.child.returncode if daemon.child else None
            daemon.has_ended()
            self.print_line(f"{daemon.name} has ended{'' if code is None else f' ({code})'} and is restarting")
            self.note()
        if self.ended or daemon.pid or time.monotonic() < daemon.due:
            return
        try:
            daemon.start()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            daemon.has_ended()
            self.print_line(f"{daemon.name} could not be started: {error}")
        self.note()

    def note(self):
        """Writes processes.json atomically. Ends the supervisor if its folder has been removed."""
        mine = {"name": "supervisor", "pid": os.getpid(), "started": started(os.getpid()), "restarts": 0}
        others = [{key: getattr(each, key) for key in ("name", "pid", "started", "restarts")} for each in self.daemons]
        fresh = self.report.with_suffix(".new")
        try:
            fresh.write_text(json.dumps([mine, *others]) + "\n")
            fresh.replace(self.report)
        except FileNotFoundError:
            self.ended = True
        except OSError as error:  # for example a full disk; supervision continues
            self.print_line(f"can't write the list of processes: {error}")

    @staticmethod
    def print_line(message):
        print(time.strftime("%FT%TZ", time.gmtime()), message, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: supervise.py FOLDER")
    Supervisor(Path(sys.argv[1])).run()

"""Run one command under limits and tell what it used.

A script of its own, started with `python -I -S limited.py SPEC COMMAND…`: a process's peak memory never reads lower
than that of the process which started it, so the starter has to be small. SPEC is JSON: `cpu_seconds`,
`wall_seconds`, `memory_bytes`, `ask_seconds` (of CPU time after which the command is asked by SIGTERM to stop, or
null), `cores` (processors to run on; none: any), `folder`. The command's output goes to `stdout` and `stderr` in that
folder, and what it used to `usage.json`. When its starter is gone, it takes command and folder with it.

The limits hold for the command's whole process group: each process has them by itself (setrlimit), and on Linux their
sums are looked up from time to time. When the command ends, whatever it left behind is killed.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

PROC = Path("/proc")
LOOK_SECONDS = 0.25
"""How often the sums over the process group are looked up."""
MARGIN_SECONDS = 3
"""Seconds of CPU time after SIGXCPU in which a planner may still give its plan; some kernels count by ticks, ahead."""
LONGEST_PAUSE = 0.02
"""How late the end of the command may be noticed; affects wall-clock time only."""


def become(command: list[str], spec: dict[str, Any]) -> NoReturn:
    """Turn this (forked) process into `command`, in a process group of its own and under the limits of `spec`."""
    os.setsid()
    os.chdir(spec["folder"])
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    seconds = math.ceil(spec["cpu_seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + MARGIN_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (spec["memory_bytes"], spec["memory_bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if spec["cores"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, spec["cores"])
    os.execvp(command[0], command)  # noqa: S606 - the command is the caller's own


def start(command: list[str], spec: dict[str, Any]) -> int:
    """Fork, become `command` in the child, and return the child's process id."""
    pid = os.fork()
    if pid == 0:
        try:
            become(command, spec)
        except OSError as error:
            os.write(2, f"{command[0]}: {error}\n".encode())
        finally:
            os._exit(127)
    return pid


def group_usage(group: int) -> tuple[float, int]:
    """Return CPU seconds (waited-for children included) and resident bytes of a process group; zeros without /proc."""
    ticks = pages = 0
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:  # it ended in the meantime
                continue
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")


def exceeded(cpu: float, resident: int, spec: dict[str, Any]) -> str | None:
    """Return which limit a process group with this usage has passed: "cpu", "memory" or none."""
    if cpu > spec["cpu_seconds"] + MARGIN_SECONDS:
        return "cpu"
    return "memory" if resident > spec["memory_bytes"] else None


def kill_group(group: int) -> None:
    """Kill every process of the group that is still there."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of zombies
        return


class Watch:
    """Looks at the process group of `pid` from time to time, and ends it at a limit or when its starter is gone."""

    def __init__(self, pid: int, spec: dict[str, Any]) -> None:
        self.pid, self.spec = pid, spec
        self.parent = os.getppid()
        self.started = time.monotonic()
        self.next_look = self.started + LOOK_SECONDS
        self.cpu = 0.0
        self.asked = spec["ask_seconds"] is None
        self.killed: str | None = None

    def look(self) -> None:
        """Kill the group, or ask it to stop, where that is due."""
        now = time.monotonic()
        if now - self.started > self.spec["wall_seconds"]:
            self.killed = "wall"
        elif os.getppid() != self.parent:
            self.killed = "orphaned"
        elif now >= self.next_look:
            self.next_look = now + LOOK_SECONDS
            cpu, resident = group_usage(self.pid)
            self.cpu = max(self.cpu, cpu)
            self.killed = exceeded(cpu, resident, self.spec)
            if not self.asked and cpu > self.spec["ask_seconds"]:
                self.asked = True
                os.kill(self.pid, signal.SIGTERM)
        if self.killed is not None:
            kill_group(self.pid)

    def wait(self) -> dict[str, Any]:
        """Wait for the end of `pid` and return its usage."""
        pause = 0.001
        while True:
            ended, status, usage = os.wait4(self.pid, os.WNOHANG)
            if ended:
                break
            if self.killed is None:
                self.look()
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)
        return {
            "returncode": os.waitstatus_to_exitcode(status),
            "cpu_seconds": max(self.cpu, usage.ru_utime + usage.ru_stime),
            "wall_seconds": time.monotonic() - self.started,
            "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
            "killed": self.killed,
        }


def main() -> None:
    """Run the command of the command line as its SPEC says."""
    spec, command = json.loads(sys.argv[1]), sys.argv[2:]
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: sys.exit(1))
    pid = start(command, spec)
    try:
        usage = Watch(pid, spec).wait()
    finally:
        kill_group(pid)
    if usage["killed"] == "orphaned":
        import shutil

        shutil.rmtree(spec["folder"], ignore_errors=True)
    else:
        Path(spec["folder"], "usage.json").write_text(json.dumps(usage), encoding="utf-8")


if __name__ == "__main__":
    main()

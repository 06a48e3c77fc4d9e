"""Processes under limits: `run_limited` starts a command, waits for it and tells what it used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.errors import ForethoughtError

GIB: Final = 1024**3
WALL_CLOCK_GUARD: Final = "wall-clock guard"
"""Ends a process that has CPU time left, but has slept or waited for too long."""
OUTPUT_BYTES: Final = 64_000_000
"""How much of a process's output is read back: its end."""
THREADS: Final = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Thread pools would reserve address space by the core."""
PYTHON: Final = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
"""Hash seeds make runs differ; bytecode is kept between runs, as it is for whatever is installed."""
_launchers: Final[set[subprocess.Popen[bytes]]] = set()
LAUNCHER: Final = Path(__file__).with_name("limited.py")


@dataclass(frozen=True, slots=True)
class Limits:
    """Per task: CPU time and memory of all its processes, and how much longer than CPU time the clock may run."""

    cpu_seconds: float = 30.0
    memory_gib: float = 4.0
    wall_factor: float = 3.0

    @property
    def wall_seconds(self) -> float:
        """The wall-clock guard: for processes that sleep, or that others keep from the processor."""
        return self.cpu_seconds * self.wall_factor + 5

    def to_dict(self) -> dict[str, float]:
        """Return the limits as they stand in a record."""
        return {"cpu_seconds": self.cpu_seconds, "memory_gib": self.memory_gib}


@dataclass(frozen=True, slots=True)
class Run:
    """How a process ended: exit code (negative: the signal), times in seconds, peak resident memory in bytes.

    `killed` names the limit for which it was killed from outside: "cpu", "wall", "memory", or "orphaned".
    """

    returncode: int
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    killed: str | None
    stdout: str
    stderr: str
    limits: Limits

    @property
    def limit(self) -> str | None:
        """The limit that a process which failed has reached, judged by what it used.

        It is "time" (CPU time), "memory", `WALL_CLOCK_GUARD`, or None.
        """
        if self.killed == "wall":
            return WALL_CLOCK_GUARD
        if self.killed == "cpu" or self.returncode == -signal.SIGXCPU:
            return "time"
        if self.cpu_seconds >= 0.97 * self.limits.cpu_seconds:
            return "time"
        if self.killed == "memory" or "MemoryError" in self.stderr or "bad_alloc" in self.stderr:
            return "memory"
        return "memory" if self.peak_bytes >= 0.9 * self.limits.memory_gib * GIB else None

    @property
    def last_words(self) -> str:
        """The last line that the process wrote, for error messages."""
        lines = [line for line in (self.stdout + "\n" + self.stderr).splitlines() if line.strip()]
        return lines[-1].strip()[:300] if lines else ""


def run_limited(
    command: Sequence[str],
    folder: Path,
    limits: Limits,
    *,
    cores: Sequence[int] = (),
    ask_seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run `command` in `folder` under `limits` (only on the processors `cores`, where given) and return how it ended.

    After `ask_seconds` of CPU time it is asked to stop by SIGTERM: for planners which then still give their best plan.
    The folder gets the files `stdout`, `stderr` and `usage.json` beside what the command writes.
    Raises `ForethoughtError` where the process was ended from outside, so that nothing is known of it.
    """
    spec = {
        "cpu_seconds": limits.cpu_seconds,
        "wall_seconds": limits.wall_seconds,
        "memory_bytes": int(limits.memory_gib * GIB),
        "ask_seconds": ask_seconds,
        "cores": list(cores),
        "folder": str(folder),
    }
    launcher = [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(spec)]
    _launch([*launcher, *command], {**os.environ, **THREADS, **PYTHON, **(environment or {})})
    told = folder / "usage.json"
    if not told.exists():
        raise ForethoughtError(f"the process of {command[0]} was stopped from outside")
    usage: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
    return Run(**usage, stdout=_read_tail(folder / "stdout"), stderr=_read_tail(folder / "stderr"), limits=limits)


def _launch(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run the launcher until it ends, or until this thread is interrupted."""
    with subprocess.Popen(command, env=environment) as process:
        _launchers.add(process)
        try:
            process.wait()
        except BaseException:
            process.terminate()  # the launcher takes the command with it
            raise
        finally:
            _launchers.discard(process)


def stop_all() -> None:
    """End all processes that `run_limited` has started, in whatever threads; their runs raise `ForethoughtError`."""
    for process in list(_launchers):
        process.terminate()


def _read_tail(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - OUTPUT_BYTES))
        return file.read().decode("utf-8", errors="replace")

"""Symbolic search in a process of its own, beside other searches: on another processor where there is one."""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import sys
from importlib.util import find_spec

from planner.annotations import Any, Final
from planner.search.run import Ending, Run, Steps
from planner.symbolic.exclusions import Pairs
from planner.symbolic.process import Job
from planner.task import Task

WAIT: Final = 0.01
"""Seconds for which the other process is waited for at a time, where there is nothing else to do."""


def is_there() -> bool:
    """Return whether the library for diagrams is installed."""
    return find_spec("oxidd") is not None


class Beside:
    """A search for the cheapest plan for `task` in another process, in `room` bytes of memory, until `stop`."""

    def __init__(self, task: Task, room: int, pairs: Pairs) -> None:
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - a path object would cost more
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter, on a module of ours
            [sys.executable, "-m", "planner.symbolic.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._output, self._read = self._process.stdout.fileno(), b""
        try:
            pickle.dump(Job(task, room, pairs), self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it cannot start: what it says, nothing, tells

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()

    def poll(self, run: Run, wait: float = 0.0) -> Ending | None:
        """Let `run` know what was found since; return how the search ended, or None while it goes on.

        Waits for so many seconds if there is no news.
        """
        while select.select([self._output], [], [], wait)[0]:
            more = os.read(self._output, 1 << 16)
            if not more:
                return Ending.INCOMPLETE
            *lines, self._read = (self._read + more).split(b"\n")
            for line in lines:
                ending = _heard(json.loads(line), run)
                if ending is not None:
                    return ending
            wait = 0.0
        return None


def _heard(found: dict[str, Any], run: Run) -> Ending | None:
    if "ended" in found:
        return Ending[found["ended"]]
    if "plan" in found:
        run.found(found["plan"], found["cost"])
    run.proved(found["bound"])
    return None


def alone(task: Task, room: int, pairs: Pairs, run: Run) -> Steps:
    """Do nothing but that search."""
    beside = Beside(task, room, pairs)
    try:
        while (ending := beside.poll(run, WAIT)) is None:
            yield
    finally:
        beside.stop()
    return ending

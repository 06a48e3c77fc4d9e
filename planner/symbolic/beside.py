"""Symbolic search in a process of its own, beside other searches: on another processor where there is one.

On one processor the system lets both have half of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Generator
from importlib.util import find_spec

from planner.annotations import Any, Final, cast
from planner.budget import GIB, Budget
from planner.errors import InputError
from planner.search.run import Ending, Run, Steps
from planner.task import Task

PATIENCE: Final = 0.3
"""Seconds that other searches are at work before this one begins: many tasks are done by then."""
GLANCE: Final = 0.01
"""Seconds between two looks at what the other process has found."""
LEADING: Final = 0.03
"""Seconds for which it is waited for between two looks where there is one processor and it leads."""
SHARE: Final = 0.4
"""The part of the memory that it may take."""
BY: Final = ("symbolic", "")
"""What is told of the search if it has the proof."""
MOST_ROOM: Final = 4 * GIB
"""Bytes that it takes at most: where there is no limit, too."""
LEAST_ROOM: Final = GIB // 16
"""Bytes with less than which it is not begun."""
ITSELF: Final = GIB // 16
"""Bytes of such a process beside the diagrams."""


def is_there() -> bool:
    """Return whether the library for diagrams is installed."""
    return find_spec("oxidd") is not None


def beside(steps: Steps, task: Task, run: Run, budget: Budget) -> Steps:
    """Go through `steps`, and when they last, through symbolic search, too; the first that is exhausted has the proof.

    Both share the best plan and the bound, and the memory of `budget`.
    """
    ending = yield from _for_a_while(steps)
    room = _room(budget)
    if ending is Ending.EXHAUSTED or room < LEAST_ROOM or not is_there():
        return ending or (yield from steps)
    budget.elsewhere = room + ITSELF
    other = Other(task, room)
    try:
        return (yield from _both(steps, ending, other, run))
    finally:
        other.stop()
        budget.elsewhere = 0


def _for_a_while(steps: Steps) -> Generator[None, None, Ending | None]:
    """Return how `steps` end, or None if they last."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    return None


def _both(steps: Steps, ending: Ending | None, other: Other, run: Run) -> Steps:
    """Go through `steps`, unless they have ended, and look what the `other` process has found every now and then.

    Where there is one processor, and the other one's bound is the better one, it gets most of the time.
    """
    clock, patience = time.monotonic, LEADING if _processors() == 1 else 0.0
    due = 0.0
    while ending is None or other.ending is None:
        if other.ending is None and (ending is not None or clock() >= due):
            other.poll(run, GLANCE if ending is not None else patience * (other.bound >= run.lower_bound))
            due = clock() + GLANCE
        if other.ending is Ending.EXHAUSTED or run.lower_bound >= run.limit:
            run.by = BY
            run.proved(run.limit)
            return Ending.EXHAUSTED
        if ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
                if ending is Ending.EXHAUSTED:
                    return ending
        yield
    return Ending.INCOMPLETE


def alone(task: Task, run: Run, budget: Budget) -> Steps:
    """Do nothing but symbolic search, in another process all the same."""
    if not is_there():
        raise InputError("search 'symbolic' needs OxiDD", hint="pip install oxidd")
    other = Other(task, _room(budget))
    run.by = BY
    try:
        while other.ending is None:
            other.poll(run, GLANCE)
            yield
    finally:
        other.stop()
    return other.ending


def _room(budget: Budget) -> int:
    """Return how many bytes may be given away."""
    if budget.memory_limit is not None:
        return min(MOST_ROOM, int(SHARE * budget.memory_limit * GIB) - ITSELF)
    return min(MOST_ROOM, int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


def _processors() -> int:
    """Return how many processors there are for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Other:
    """The process that searches for the cheapest plan for `task` in so many bytes, until `stop`.

    `bound` is the lower bound that it has found, `ending` how its search ended, if it has.
    """

    def __init__(self, task: Task, room: int) -> None:
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - a path object would cost more
        self._process = subprocess.Popen(
            [sys.executable, "-m", "planner.symbolic.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._output, self._rest = self._process.stdout.fileno(), b""
        self.bound, self.ending = 0, cast("Ending | None", None)
        with contextlib.suppress(BrokenPipeError):  # it says nothing, then
            pickle.dump((task, room), self._process.stdin)
            self._process.stdin.flush()

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                with contextlib.suppress(BrokenPipeError):
                    end.close()

    def poll(self, run: Run, wait: float = 0.0) -> None:
        """Let `run` know what was found since; wait for so many seconds if there is no news."""
        while self.ending is None and select.select([self._output], [], [], wait)[0]:
            more = os.read(self._output, 1 << 16)
            if not more:
                self.ending = Ending.INCOMPLETE
            *lines, self._rest = (self._rest + more).split(b"\n")
            for line in lines:
                self._heard(json.loads(line), run)
            wait = 0.0

    def _heard(self, found: dict[str, Any], run: Run) -> None:
        if "ended" in found:
            self.ending = Ending[found["ended"]]
            return
        self.bound = found["bound"]
        if "plan" in found:
            run.found(found["plan"], found["cost"])
        run.proved(self.bound)

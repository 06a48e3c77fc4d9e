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

from planner.annotations import TYPE_CHECKING, Any, Final, cast
from planner.budget import GIB, Budget
from planner.search.run import Ending, Run, Steps
from planner.symbolic.installed import check_there, is_there

if TYPE_CHECKING:
    from planner.mutexes import Pruned
    from planner.workplace import Workplace

PATIENCE: Final = 0.6
"""Seconds that other searches are at work before this one begins: many tasks are done by then."""
GLANCE: Final = 0.01
"""Seconds between two looks at what the other process has found."""
LEADING: Final = 0.01
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


def beside(steps: Steps, workplace: Workplace, budget: Budget) -> Steps:
    """Go through `steps`, and from when it is known what no plan needs, through symbolic search of the rest, too.

    The first that is exhausted has the proof. Both share the best plan and the bound, and the memory of `budget`.
    """
    until = time.thread_time() + PATIENCE
    while workplace.pruned is None or time.thread_time() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    room = _room(budget)
    if room < LEAST_ROOM or not is_there():
        return (yield from steps)
    budget.elsewhere = room + ITSELF
    other = Other(workplace.pruned, room)
    try:
        return (yield from _both(steps, other, workplace.run, budget))
    finally:
        other.stop()
        budget.elsewhere = 0


def _both(steps: Steps, other: Other, run: Run, budget: Budget) -> Steps:
    """Go through `steps`, and look what the `other` process has found every now and then.

    Where there is one processor, and the other one's bound is the better one, it gets most of the time.
    """
    clock, patience = time.monotonic, LEADING if _processors() == 1 else 0.0
    due, ending = 0.0, cast("Ending | None", None)
    while ending is None or other.ending is None:
        if other.ending is None and (ending is not None or clock() >= due):
            other.poll(run, GLANCE if ending is not None else patience * (other.bound >= run.lower_bound))
            due = clock() + GLANCE
        if other.ending is Ending.EXHAUSTED or run.lower_bound >= run.limit:
            run.by = BY
            run.proved(run.limit)
            return Ending.EXHAUSTED
        if other.ending is not None and budget.elsewhere:
            other.stop()
            budget.elsewhere = 0
        if ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
                if ending is Ending.EXHAUSTED:
                    return ending
        yield
    return Ending.INCOMPLETE


def alone(workplace: Workplace, budget: Budget) -> Steps:
    """Do nothing but symbolic search, in another process all the same."""
    check_there()
    run = workplace.run
    run.by = BY
    known = yield from workplace.without_needless(None)
    if known is None:
        return Ending.INCOMPLETE
    if not known.solvable:
        return Ending.EXHAUSTED
    other = Other(known, _room(budget))
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
    """The process that searches what is `known` to be left of a task, in so many bytes, until `stop`.

    `bound` is the lower bound that it has found, `ending` how its search ended, if it has.
    """

    def __init__(self, known: Pruned, room: int) -> None:
        from planner.compiled import library  # noqa: PLC0415 - only for what lasts
        from planner.symbolic.job import job_for  # noqa: PLC0415 - as above

        self._actions = known.actions
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - a path object would cost more
        self._process = subprocess.Popen(
            [sys.executable, "-m", "planner.symbolic.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._output, self._rest = self._process.stdout.fileno(), b""
        self._news = select.poll()
        self._news.register(self._output, select.POLLIN)
        self.bound, self.ending = 0, cast("Ending | None", None)
        with contextlib.suppress(BrokenPipeError):  # it says nothing, then
            pickle.dump((job_for(known, library.loaded() or library.ENTRIES), room), self._process.stdin)
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
        while self.ending is None and self._news.poll(1000 * wait):
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
            run.found([self._actions[action] for action in found["plan"]], found["cost"])
        run.proved(self.bound)

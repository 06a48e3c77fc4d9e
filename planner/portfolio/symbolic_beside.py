"""Symbolic search beside other searches: a process of its own, on another processor where there is one.

On one processor the two take turns; the one with the better lower bound gets the longer turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import time

from planner.lightweight import TYPE_CHECKING, Any, Final, cast
from planner.limits import GIB, LimitReached, Limits, processors
from planner.plan import StoppedBy
from planner.search.search_run import Ending, Run, Steps
from planner.search.symbolic.search import check_there, is_there
from planner.subprocesses import command, environment

if TYPE_CHECKING:
    from planner.portfolio.workplace import Workplace
    from planner.pruning.h2 import Pruned


class Other:
    """The process that searches what is `known` to be left of a task, in so many bytes, until `stop`.

    `bound` is the lower bound that it has found, `ending` how its search ended, if it has; `failure` says why, where
    it was neither with a proof nor for lack of room.
    """

    def __init__(self, known: Pruned, room: int) -> None:
        from planner.jit import library
        from planner.search.symbolic.bidirectional import job_for

        self._actions = known.actions
        self._process = subprocess.Popen(
            command("planner.search.symbolic.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._output, self._rest = self._process.stdout.fileno(), b""
        self._news = select.poll()
        self._news.register(self._output, select.POLLIN)
        self.bound, self.ending, self.failure, self._mortal = 0, cast("Ending | None", None), "", False
        with contextlib.suppress(BrokenPipeError):  # it says nothing, then
            pickle.dump((job_for(known, library.entries()), room), self._process.stdin)
            self._process.stdin.flush()

    def stop(self) -> None:
        """End it, at work or not."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout, self._process.stderr):
            if end is not None:
                with contextlib.suppress(BrokenPipeError):
                    end.close()

    def pause(self) -> None:
        """Let it rest, if it would not rest for ever when this process is killed."""
        if self._mortal and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it work on."""
        if self._mortal and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def poll(self, run: Run, wait: float = 0.0) -> None:
        """Let `run` know what is found within so many seconds, and what was found before."""
        until = time.monotonic() + wait
        while self.ending is None and self._news.poll(1000 * max(0.0, until - time.monotonic())):
            more = os.read(self._output, 1 << 16)
            if not more:
                self.ending, self.failure = Ending.INCOMPLETE, self._last_words()
            *lines, self._rest = (self._rest + more).split(b"\n")
            for line in lines:
                self._heard(json.loads(line), run)

    def _last_words(self) -> str:
        """Return why it has ended without a word."""
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace").strip()
        words = f"symbolic search broke off with exit code {self._process.wait()}"
        return f"{words}: {said.splitlines()[-1]}" if said else words

    def _heard(self, found: dict[str, Any], run: Run) -> None:
        if "mortal" in found:
            self._mortal = found["mortal"]
            return
        if "ended" in found:
            self.ending = Ending[found["ended"]]
            return
        self.bound = found["bound"]
        if "plan" in found:
            run.found([self._actions[action] for action in found["plan"]], found["cost"])
        run.proved(self.bound)


PATIENCE: Final = 0.6
"""Seconds that other searches are at work before this one begins: many tasks are done by then."""
GLANCE: Final = 0.01
"""Seconds between two looks at what the other process has found."""
TRIED: Final = 1.0
"""Seconds until which it has half of the time in any case, where there is one processor."""
LEADING: Final = 0.9
"""Its part of the time from then on, if its bound is not lower than what is known, ..."""
CLOSE: Final = 0.75
"""... half, if it is this part of that at least, and else ..."""
TRAILING: Final = 0.15
"""... this."""
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


def beside(steps: Steps, workplace: Workplace, limits: Limits) -> Steps:
    """Go through `steps`, and from when it is known what no plan needs, through symbolic search of the rest, too.

    The first that is exhausted has the proof. Both share the best plan and the bound, and the memory of `limits`.
    """
    until = time.thread_time() + PATIENCE
    while workplace.pruned is None or time.thread_time() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    room = _room(limits)
    if room < LEAST_ROOM or not is_there():
        return (yield from steps)
    limits.elsewhere = room + ITSELF
    other = Other(workplace.pruned, room)
    try:
        return (yield from _both(steps, other, workplace.run, limits))
    finally:
        other.stop()
        limits.elsewhere = 0


def _both(steps: Steps, other: Other, run: Run, limits: Limits) -> Steps:
    """Go through `steps`, and look what the `other` process has found every now and then."""
    turns, ending = Turns(other, run), cast("Ending | None", None)
    while ending is None or other.ending is None:
        if other.ending is None:
            turns.look(idle=ending is not None)
        if other.ending is Ending.EXHAUSTED or run.lower_bound >= run.limit:
            run.by = BY
            run.proved(run.limit)
            return Ending.EXHAUSTED
        if other.ending is not None and limits.elsewhere:
            run.failed = other.failure
            other.stop()
            limits.elsewhere = 0
        if ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
                if ending is Ending.EXHAUSTED:
                    return ending
        yield
    return Ending.INCOMPLETE


class Turns:
    """Says when the `other` process is looked at: for how long, too, where there is one processor only."""

    def __init__(self, other: Other, run: Run) -> None:
        self._other, self._run, self._one = other, run, processors() == 1
        self._had, self._began = 0.0, time.monotonic()
        self._due = self._began

    def look(self, *, idle: bool) -> None:
        """Look, if it is time for that; `idle` is whether there is nothing else to do."""
        if idle:
            self._other.go_on()
            self._other.poll(self._run, GLANCE)
        elif time.monotonic() >= self._due:
            share = self._share() if self._one else 0.0
            self._let((time.monotonic() - self._began) * share / (1 - share))
            self._began = time.monotonic()
            self._due = self._began + GLANCE * (max(1.0, (1 - share) / share) if share else 1.0)

    def _let(self, seconds: float) -> None:
        """Let it work for so many seconds, and rest then, where there is one processor."""
        if self._one:
            self._other.go_on()
        self._other.poll(self._run, seconds)
        self._had += seconds
        if self._one:
            self._other.pause()

    def _share(self) -> float:
        """Return its part of the time."""
        bound, best = self._other.bound, self._run.lower_bound
        if self._had < TRIED:
            return 0.5
        if bound >= best:
            return LEADING
        return 0.5 if bound >= CLOSE * best else TRAILING


def alone(workplace: Workplace, limits: Limits) -> Steps:
    """Do nothing but symbolic search, in another process all the same; raises `LimitReached` without room for it."""
    check_there()
    run = workplace.run
    run.by = BY
    known = yield from workplace.without_needless(None)
    if known is None:
        return Ending.INCOMPLETE
    if not known.solvable:
        run.by = known.by, ""
        return Ending.EXHAUSTED
    room = _room(limits)
    if room < LEAST_ROOM:
        raise LimitReached(StoppedBy.MEMORY)
    other = Other(known, room)
    try:
        while other.ending is None:
            other.poll(run, GLANCE)
            yield
    finally:
        other.stop()
    run.failed = other.failure
    if other.ending is Ending.INCOMPLETE and not run.failed:
        raise LimitReached(StoppedBy.MEMORY)
    return other.ending


def _room(limits: Limits) -> int:
    """Return how many bytes may be given away."""
    if limits.memory_limit is not None:
        return min(MOST_ROOM, int(SHARE * limits.memory_limit * GIB) - ITSELF)
    return min(MOST_ROOM, int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))

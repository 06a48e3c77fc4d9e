"""Symbolic search in a process of its own, alone or beside other searches.

The process runs on another processor where there is one. On a single processor it takes turns with the other searches,
and the side with the better lower bound gets the longer turns. Its program is `planner.search.symbolic.worker`.
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
from collections import deque

from planner.lightweight import TYPE_CHECKING, Any, Final, cast
from planner.limits import GIB, LimitReached, Limits, count_processors
from planner.plan import SearchFailure, StoppedBy
from planner.portfolio.tiers import run_while
from planner.search.search_run import Ending, Run, Steps
from planner.search.symbolic import is_installed, require_oxidd
from planner.subprocesses import module_command, module_environment

if TYPE_CHECKING:
    from planner.portfolio.workplace import Workplace
    from planner.pruning.h2 import Pruned


PATIENCE: Final = 0.6
"""Delay before symbolic search starts, in seconds of the other searches: they solve many tasks by then."""
GLANCE: Final = 0.01
"""Seconds between two polls of the process."""
TRIAL_SECONDS: Final = 1.0
"""On one processor: seconds for which symbolic search gets half of the time in any case."""
LEADING: Final = 0.9
"""On one processor: its share of the time after the trial if its bound is the best one."""
CLOSE: Final = 0.75
"""On one processor: its share is one half if its bound is at least this fraction of the best one, else `TRAILING`."""
TRAILING: Final = 0.15
MEMORY_SHARE: Final = 0.4
"""Fraction of the memory limit, or of the computer's memory, for symbolic search."""
MOST_ROOM: Final = 4 * GIB
"""Most bytes for decision diagrams."""
LEAST_ROOM: Final = GIB // 16
"""With less bytes for decision diagrams, symbolic search does not start."""
PROCESS_ROOM: Final = GIB // 16
"""Bytes of the process in addition to the diagrams."""
BY: Final = ("symbolic", "")
"""The names that are reported if symbolic search has the proof."""


class SymbolicProcess:
    """A process that searches a `pruned` task in `room` bytes of memory, until `stop` is called.

    It draws random numbers from `seed`. If it is `plain`, no clock decides anything.
    """

    def __init__(self, pruned: Pruned, room: int, *, seed: int = 0, plain: bool = False) -> None:
        from planner.jit import library
        from planner.search.symbolic.bidirectional import job_for
        from planner.search.symbolic.transition_relations import FEW_EXCHANGES

        self._actions, exchanges = pruned.actions, FEW_EXCHANGES if plain else None
        self._process = subprocess.Popen(
            module_command("planner.search.symbolic.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=module_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._output, self._incomplete_line = self._process.stdout.fileno(), b""
        self._lines = deque[bytes]()
        """Complete lines that were not looked at yet."""
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)
        self._dies_with_parent = False
        self.bound = 0
        """The lower bound that the process has proved."""
        self.ending: Ending | None = None
        """How the search ended; None while it runs."""
        self.expanded = 0
        """The number of sets of states that the process has expanded."""
        self.failure = ""
        """The error of the process, where it crashed."""
        self.run = Run(by=BY)
        """What names the search where it is at work beside others."""
        with contextlib.suppress(BrokenPipeError):  # a crash at the start is reported by `poll`
            job = job_for(pruned, library.load_or_plain(), seed=seed, exchanges=exchanges)
            pickle.dump((job, room, not plain), self._process.stdin)
            self._process.stdin.flush()

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout, self._process.stderr):
            if end is not None:
                with contextlib.suppress(BrokenPipeError):
                    end.close()

    def pause(self) -> None:
        """Stop the process for now, unless it would stay stopped for ever when this process is killed."""
        if self._dies_with_parent and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the process continue."""
        if self._dies_with_parent and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def poll(self, run: Run, wait: float = 0.0) -> None:
        """Report to `run` the bounds of the process until now and for `wait` more seconds, up to its next plan."""
        until, plan = time.monotonic() + wait, run.plan
        while self.ending is None and run.plan is plan:
            if self._lines:
                self._report(json.loads(self._lines.popleft()), run)
            elif self._poll.poll(1000 * max(0.0, until - time.monotonic())):
                self._read()
            else:
                return

    def _read(self) -> None:
        """Read what the process has written; if it has ended without an ending, note why."""
        more = os.read(self._output, 1 << 16)
        if not more:
            self.ending, self.failure = Ending.INCOMPLETE, self._describe_crash()
        *lines, self._incomplete_line = (self._incomplete_line + more).split(b"\n")
        self._lines += lines

    def _describe_crash(self) -> str:
        assert self._process.stderr is not None
        errors = self._process.stderr.read().decode(errors="replace").strip()
        message = f"symbolic search broke off with exit code {self._process.wait()}"
        return f"{message}: {errors.splitlines()[-1]}" if errors else message

    def _report(self, found: dict[str, Any], run: Run) -> None:
        if "mortal" in found:
            self._dies_with_parent = found["mortal"]
            return
        self.expanded = found["expanded"]
        if "ended" in found:
            self.ending = Ending[found["ended"]]
            return
        self.bound = found["bound"]
        by, run.by = run.by, BY
        if "plan" in found:
            run.report_plan([self._actions[action] for action in found["plan"]], found["cost"])
        run.raise_bound(self.bound)
        run.by = by


def run_symbolic_beside(steps: Steps, workplace: Workplace, limits: Limits) -> Steps:
    """Run `steps`, and once h² has pruned the task, also symbolic search of the pruned task.

    The first side that is exhausted has the proof. Both share the incumbent, the bound and the memory of `limits`.
    """
    run, common = workplace.run, workplace.common
    until = _work_seconds(run) + PATIENCE

    def is_early() -> bool:
        return common.pruned is None or not common.pruned.solvable or _work_seconds(run) < until

    ending = yield from run_while(steps, is_early)
    if ending is not None:
        return ending
    assert common.pruned is not None
    room = _room(limits)
    if room < LEAST_ROOM or not is_installed():
        return (yield from steps)
    limits.elsewhere = room + PROCESS_ROOM
    process = SymbolicProcess(common.pruned, room, seed=run.seed)
    run.note_tier("reference")
    run.beside[id(process.run)] = process.run
    if run.lanes is not None:
        run.lanes.reserve()
    try:
        return (yield from _run_both(steps, process, run, limits))
    finally:
        process.stop()
        _leave(process, run, limits)


def _work_seconds(run: Run) -> float:
    """Return the processor time of the other searches, in this thread and in lanes."""
    return time.thread_time() + (0.0 if run.lanes is None else run.lanes.seconds)


def _run_both(steps: Steps, process: SymbolicProcess, run: Run, limits: Limits) -> Steps:
    """Run `steps`, and poll the `process` every now and then, until one side has the proof or both have ended."""
    turns, ending = ProcessTurns(process, run), cast("Ending | None", None)
    first: Exception | None = None
    while ending is None or process.ending is None:
        if process.ending is None:
            turns.poll(idle=ending is not None)
        if process.ending is Ending.EXHAUSTED or run.lower_bound >= run.limit:
            run.by = BY
            run.raise_bound(run.limit)
            return Ending.EXHAUSTED
        if process.ending is not None and limits.elsewhere:
            run.failed = process.failure
            if process.failure:
                run.note_failure(SearchFailure(*BY, process.failure))
            process.stop()
            _leave(process, run, limits)
        if ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
                if ending is Ending.EXHAUSTED:
                    return ending
            except Exception as error:  # noqa: BLE001 - the history tells it
                run.contain(error)
                first, ending = error, Ending.INCOMPLETE
        yield
    if first is not None and process.failure:
        raise first
    return Ending.INCOMPLETE


def _leave(process: SymbolicProcess, run: Run, limits: Limits) -> None:
    """Give back the memory and the lane of the `process`, which has ended."""
    if run.beside.pop(id(process.run), None) is not None:
        limits.elsewhere = 0
        if run.lanes is not None:
            run.lanes.give_back()


class ProcessTurns:
    """The turns of the `process`: when to poll it and, on a single processor, how long to let it run."""

    def __init__(self, process: SymbolicProcess, run: Run) -> None:
        self._process, self._run, self._is_alone = process, run, count_processors() == 1
        self._spent, self._began = 0.0, time.monotonic()
        self._due = self._began

    def poll(self, *, idle: bool) -> None:
        """Poll the process if its turn is due; `idle` says that the other searches have ended."""
        if idle:
            self._process.go_on()
            self._process.poll(self._run, GLANCE)
        elif time.monotonic() >= self._due:
            share = self._share() if self._is_alone else 0.0
            self._run_for((time.monotonic() - self._began) * share / (1 - share))
            self._began = time.monotonic()
            self._due = self._began + GLANCE * (max(1.0, (1 - share) / share) if share else 1.0)

    def _run_for(self, seconds: float) -> None:
        """Poll the process for so many seconds; on a single processor, it runs only meanwhile."""
        if self._is_alone:
            self._process.go_on()
        self._process.poll(self._run, seconds)
        self._spent += seconds
        if self._is_alone:
            self._process.pause()

    def _share(self) -> float:
        """Return the share of the time that the process gets on a single processor."""
        bound, best = self._process.bound, self._run.lower_bound
        if self._spent < TRIAL_SECONDS:
            return 0.5
        if bound >= best:
            return LEADING
        return 0.5 if bound >= CLOSE * best else TRAILING


def run_symbolic_alone(workplace: Workplace, limits: Limits) -> Steps:
    """Run only symbolic search, in a process of its own; raise `LimitReached` where memory does not suffice."""
    require_oxidd()
    run = workplace.run
    run.by = BY
    run.note_tier("reference")
    pruned = yield from workplace.prune_by_h2(None)
    if pruned is None:
        return Ending.INCOMPLETE
    if not pruned.solvable:
        run.by = pruned.by, ""
        return Ending.EXHAUSTED
    room = _room(limits)
    if room < LEAST_ROOM:
        raise LimitReached(StoppedBy.MEMORY)
    process = SymbolicProcess(pruned, room, seed=run.seed, plain=workplace.plain)
    try:
        while process.ending is None:
            process.poll(run, GLANCE)
            run.expanded = process.expanded
            yield
    finally:
        process.stop()
    run.failed = process.failure
    if process.ending is Ending.INCOMPLETE and not run.failed:
        raise LimitReached(StoppedBy.MEMORY)
    return process.ending


def _room(limits: Limits) -> int:
    """Return the bytes that symbolic search may take for diagrams."""
    if limits.memory_limit is not None:
        return min(MOST_ROOM, int(MEMORY_SHARE * limits.memory_limit * GIB) - PROCESS_ROOM)
    return min(MOST_ROOM, int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))

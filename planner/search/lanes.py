"""Lanes: threads in which searches of one portfolio are at work side by side.

Kernels leave the interpreter's lock alone, so that searches by machine code use a processor each. Threads share the
task, start at once, count as one process for every limit, and end with it; searches in plain Python take turns.

A search that may be at work in a lane has a run and working memory of its own (`Apart`). The thread of the search that
it is part of hands it the incumbent and takes over its plans and bounds, so that no run has two threads.
"""

from __future__ import annotations

import threading
import time
import weakref
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable
from contextvars import copy_context

from planner.lightweight import Final
from planner.limits import enforce, go_on_counting, work_seconds
from planner.search.search_run import Ending, Run, Steps

By = tuple[str, str]
_News = tuple[list[int] | None, int, By, int, By, bool, str, str]
"""The plan of a run, its cost and who found it; the bound and whose it is; `refining`, `excluded` and `failed`."""


_GLANCE: Final = 0.05
"""Seconds between two looks whether a thread that says nothing has died."""


class Recalled(BaseException):
    """Ends a search in a lane: nobody waits for it any more."""


class _Token:
    """Lives as long as the thread that it was given to."""

    __slots__ = ("__weakref__",)


class Worker:
    """A thread that does `work`.

    Where memory is short, a thread may die before its first line, for which `threading.Thread.start` waits for ever.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._has_ended = False
        self._beginning, self._end = allocate_lock(), allocate_lock()
        self._beginning.acquire()
        self._end.acquire()
        token = _Token()
        self._token: Final = weakref.ref(token)
        start_new_thread(self._do, (token,))
        del token
        self._beginning.acquire(timeout=_GLANCE)

    @property
    def is_over(self) -> bool:
        """Whether the work has ended, or the thread has died before it began."""
        return self._has_ended or self._token() is None

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the work is over, up to so many `seconds`."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self.is_over:
            left = _GLANCE if until is None else min(_GLANCE, until - time.monotonic())
            if left <= 0:
                return
            self._end.acquire(timeout=left)

    def _do(self, _: _Token) -> None:
        try:
            self._beginning.release()
            self._work()
        finally:
            self._has_ended = True
            self._end.release()


class Lanes:
    """Lanes for all but one of `jobs` searches: that one is at work in the thread of `solve`."""

    def __init__(self, jobs: int) -> None:
        self.free = jobs - 1
        """The number of lanes that nobody has taken; negative while a reserved one is still in use."""
        self.seconds = 0.0
        """Processor time spent in lanes."""
        self.is_closed = False
        self._lock = threading.Lock()
        self._workers: list[Worker] = []

    def take(self) -> bool:
        """Take a lane; return whether one was free."""
        with self._lock:
            if self.free <= 0 or self.is_closed:
                return False
            self.free -= 1
        return True

    def reserve(self) -> None:
        """Take a lane, which may still be in use for a moment."""
        with self._lock:
            self.free -= 1

    def give_back(self, seconds: float = 0.0) -> None:
        """Give back a lane after so many `seconds` of work."""
        with self._lock:
            self.free += 1
            self.seconds += seconds

    def start(self, work: Callable[[], None]) -> Worker | None:
        """Start `work`, which gives its lane back, in a thread; return None, and give it back, if there can be none."""
        try:
            worker = Worker(work)
        except RuntimeError:  # the system has no memory for it
            self.give_back()
            return None
        with self._lock:
            self._workers = [each for each in self._workers if not each.is_over] + [worker]
        return worker

    def close(self) -> None:
        """End all work in lanes, and wait for that."""
        self.is_closed = True
        try:
            self._join()
        finally:
            self._join()  # an interrupt may have broken off the first

    def _join(self) -> None:
        for worker in [*self._workers]:
            worker.wait()


class Apart:
    """A search of the same task as `outer`, with a run of its own, so that it may be at work in a lane."""

    def __init__(self, outer: Run, by: By) -> None:
        assert outer.lanes is not None
        self.lanes: Final = outer.lanes
        self.run: Final = outer.begin_part()
        self.run.by = by
        self.is_recalled = False
        """Whether the search is to end, as that which it is part of has ended."""
        self._outer, self._before = outer, Run()
        self._told: _News | None = None
        self._news = deque[_News]()
        self._given: tuple[list[int] | None, int, By] = (None, self.run.limit, ("", ""))
        self._reported: list[int] | None = None
        self._is_refining = False
        self._seconds = 0.0
        self.hand_over()

    def guard(self, check: Callable[[], None]) -> Callable[[], None]:
        """Return a `check` that also raises `Recalled` where the search is to end."""

        def look() -> None:
            self.check()
            check()

        return look

    def hand_over(self) -> None:
        """Let the search know the incumbent, in the thread of the outer search."""
        outer = self._outer
        self._given = outer.plan, outer.limit, outer.found_by

    def advance(self, steps: Steps) -> float:
        """Let `steps` go on until they pause, in either thread; return the processor time that this took."""
        plan, limit, found_by = self._given
        run = self.run
        if limit < run.limit or (run.plan is None and plan is not None):
            run.limit = limit
            if plan is not None:
                run.plan, run.found_by = plan, found_by
        outside = go_on_counting(self._seconds)
        began = time.thread_time()
        try:
            next(steps)
        finally:
            spent = time.thread_time() - began
            self._seconds = work_seconds()
            go_on_counting(outside + spent)
            self._tell()
        return spent

    def _tell(self) -> None:
        run = self.run
        news = run.plan, run.limit, run.found_by, run.lower_bound, run.news_by, run.refining, run.excluded, run.failed
        if news != self._told:
            self._told = news
            self._news.append(news)

    def report(self) -> None:
        """Report what is new to the outer run, in its thread."""
        outer, by = self._outer, self._outer.by
        outer.add(self.run, self._before)
        outer.by = by
        while self._news:
            plan, cost, found_by, bound, news_by, is_refining, excluded, failed = self._news.popleft()
            outer.excluded, outer.failed = excluded or outer.excluded, failed or outer.failed
            if is_refining is not self._is_refining:
                self._is_refining = outer.refining = is_refining
            if plan is not None and plan is not self._reported and plan is not outer.plan:
                if cost == outer.limit and outer.plan is self._reported is not None:
                    outer.plan = plan  # the same plan without steps that cost nothing
                outer.report_plan(plan, cost, found_by)
                self._reported = plan
            outer.raise_bound(bound, news_by)
        self.hand_over()

    def check(self) -> None:
        """Raise `Recalled` where the search is to end."""
        if self.is_recalled or self.lanes.is_closed:
            raise Recalled


class Flight:
    """Up to `seconds` of processor time of `steps`, the search `apart`, in a lane that was taken for it."""

    def __init__(self, apart: Apart, steps: Steps, seconds: float) -> None:
        self.apart, self._steps, self._most = apart, steps, seconds
        self.seconds = 0.0
        self.is_called = False
        """Whether the search is to come back to the thread of the outer one."""
        self.ending: Ending | None = None
        """How the search has ended; None if it has not."""
        self.error: BaseException | None = None
        self._has_landed = self._has_begun = False
        self._worker: Worker | None = None

    @property
    def has_landed(self) -> bool:
        """Whether the search has come back; a lane whose thread has died before it began is given back here."""
        if not self._has_landed and self._worker is not None and self._worker.is_over:
            if not self._has_begun:
                self.apart.lanes.give_back()
            self._has_begun = self._has_landed = True
        return self._has_landed

    def start(self) -> bool:
        """Begin in a thread; return whether there could be one."""
        context = copy_context()
        self._worker = self.apart.lanes.start(lambda: context.run(self._fly))
        return self._worker is not None

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the work in the lane, up to so many `seconds`."""
        if self._worker is not None:
            self._worker.wait(seconds)

    def _fly(self) -> None:
        self._has_begun = True
        apart = self.apart
        try:
            with enforce(apart):
                while self.seconds < self._most and not (self.is_called or apart.is_recalled or apart.lanes.is_closed):
                    self.seconds += apart.advance(self._steps)
        except StopIteration as stop:
            self.ending = stop.value
        except Recalled:
            self.ending = Ending.INCOMPLETE
        except BaseException as error:  # noqa: BLE001 - the outer search raises it
            self.error = error
        finally:
            apart.lanes.give_back(time.thread_time())
            self._has_landed = True

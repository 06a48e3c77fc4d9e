"""Run searches in threads; the searches of one event loop take turns, so that the loop stays responsive.

Time limits of searches count processor time, so that other work takes nothing away from them.

Python runs one thread at a time. Each search at work delays the event loop by another 5 ms whenever the loop wants to
go on, and searches that end together make the loop read all their plans at once. Therefore short searches run one after
another: the next one begins when the loop has read the plan of the one before. A search that takes longer than `ALONE`
gets company, and all searches together leave half of the threads of asyncio's pool to the host.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from planner.errors import ForethoughtError
from planner.lightweight import dataclass, field
from planner.limits import LimitReached, count_processor_time
from planner.plan import StoppedBy

ALONE: Final = 0.25
"""Time for which a search runs alone before the next one begins, in seconds."""
MOST: Final = max(2, min(32, (os.cpu_count() or 1) + 4) // 2)
"""Most concurrent searches: half of the threads in asyncio's pool."""
Found = TypeVar("Found")


class SearchStopped(ForethoughtError):
    """A limit ended a search before it had any result; `stopped_by` says which."""

    def __init__(self, stopped_by: StoppedBy) -> None:
        super().__init__(f"the search ended without a result, {stopped_by.clause}")
        self.stopped_by = stopped_by


def run_search(search: Callable[[], Found]) -> Found:
    """Run `search` in this thread; return its result, or raise its error, or `SearchStopped`."""
    try:
        with count_processor_time():
            return search()
    except LimitReached as limit:
        raise SearchStopped(limit.stopped_by) from limit


def describe_tries(seconds: float, more: float) -> str:
    """Say that a search ran out of `seconds`, and once more out of `more`."""
    return f"{seconds:g} s of processor time did not suffice, and neither did {more:g} s at another try"


Searcher = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a search, and returns its result or raises its error."""


def search_by(searcher: Searcher) -> None:
    """Let `searcher` run all searches of the present event loop, in place of threads of this process."""
    _searchers[asyncio.get_running_loop()] = searcher


def read_timer() -> float:
    """Return a reading of a timer in seconds: of the machine, or of the event loop where others run its searches."""
    loop = asyncio.get_running_loop()
    return loop.time() if loop in _searchers else time.perf_counter()


async def search_in_turn(search: Callable[[], Found]) -> Found:
    """Run `search` in a thread when it is its turn; return its result, or raise its error, or `SearchStopped`."""
    searcher = _searchers.get(asyncio.get_running_loop())
    if searcher is not None:
        found: Found = await searcher(search)
        return found
    line = _lines.setdefault(asyncio.get_running_loop(), _Line())
    turn = await line.take()
    try:
        return await asyncio.to_thread(run_search, search)
    finally:
        line.leave(turn)


async def search_until_cancelled(search: Callable[[threading.Event], Found]) -> Found:
    """Run `search` as `search_in_turn` does; set its event if the caller is cancelled."""
    cancelled = threading.Event()
    try:
        return await search_in_turn(lambda: search(cancelled))
    except asyncio.CancelledError:
        cancelled.set()
        raise


@dataclass(slots=True, eq=False)
class _Turn:
    """A search at work or in the queue; `company` is the timer after which the next search may begin."""

    may_begin: asyncio.Future[None]
    company: asyncio.TimerHandle | None = None


@dataclass(slots=True, eq=False)
class _Line:
    """The queue of one event loop: the number of searches at work, the one that runs alone, and those waiting."""

    at_work: int = 0
    alone: _Turn | None = None
    waiting: deque[_Turn] = field(default_factory=deque)

    async def take(self) -> _Turn:
        """Wait until a search may begin, and return its turn."""
        turn = _Turn(asyncio.get_running_loop().create_future())
        self.waiting.append(turn)
        self._begin()
        try:
            await turn.may_begin
        except asyncio.CancelledError:
            if turn in self.waiting:
                self.waiting.remove(turn)
            else:
                self.leave(turn)
            raise
        return turn

    def leave(self, turn: _Turn) -> None:
        """End the turn of a search, and begin the next one."""
        self.at_work -= 1
        if turn.company is not None:
            turn.company.cancel()
        self._share(turn)

    def _share(self, turn: _Turn) -> None:
        """Begin the next search, which no longer has to wait for `turn`."""
        if self.alone is turn:
            self.alone = None
        self._begin()

    def _begin(self) -> None:
        """Begin the next search if there is one, and room for it."""
        if self.waiting and self.alone is None and self.at_work < MOST:
            turn = self.alone = self.waiting.popleft()
            self.at_work += 1
            turn.company = asyncio.get_running_loop().call_later(ALONE, self._share, turn)
            if not turn.may_begin.done():
                turn.may_begin.set_result(None)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]] = WeakKeyDictionary()
_searchers: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Searcher]] = WeakKeyDictionary()

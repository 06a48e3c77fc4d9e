"""How many steps are at work at once: one limit for all runs of an executor."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from executor.steps.calling_off import came

ROUNDS: Final = 8
"""Rounds of an event loop in which a run, when a step of it has ended, begins the next."""


@dataclass(slots=True, eq=False)
class _Place:
    """A place in the line; `turn` comes when a slot is handed over."""

    loop: asyncio.AbstractEventLoop
    turn: asyncio.Event
    priority: int
    has_slot: bool = False


_HELD: Final[ContextVar[tuple[Slots, ...]]] = ContextVar("slots", default=())
"""Those of which whoever is at work has one: what it begins itself, and waits for, takes no other."""


@dataclass(slots=True, eq=False)
class Slots:
    """At most `most` slots (None: no limit); the most urgent in the line is the next, then whoever came first."""

    most: int | None = None
    _taken: int = field(init=False, default=0)
    _line: list[tuple[int, int, _Place]] = field(init=False, default_factory=list)
    _number: count[int] = field(init=False, default_factory=count)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    """Runs may be in several event loops."""

    @contextlib.asynccontextmanager
    async def one(self, priority: int, aborted: asyncio.Event) -> AsyncIterator[bool]:
        """Take a slot, and give it back at last; yield whether there is one: not if `aborted` is set before."""
        if self.most is None or self in _HELD.get():
            yield True
            return
        place = _Place(asyncio.get_running_loop(), asyncio.Event(), priority)
        try:
            self._stand_in_line(place)
            if not place.has_slot:
                await came(place.turn.wait(), aborted)
            held = _HELD.set((*_HELD.get(), self))
            try:
                yield place.has_slot
            finally:
                _HELD.reset(held)
        finally:
            self._leave(place)

    def _stand_in_line(self, place: _Place) -> None:
        with self._lock:
            heapq.heappush(self._line, (-place.priority, next(self._number), place))
            self._hand_over()

    def _leave(self, place: _Place) -> None:
        with self._lock:
            if place.has_slot:
                self._taken -= 1
            else:
                self._line = [each for each in self._line if each[2] is not place]
                heapq.heapify(self._line)
            first = self._line[0][2] if self._line else place
            if first.priority < place.priority and not first.loop.is_closed():
                first.loop.call_soon_threadsafe(self._hand_over_after, ROUNDS, first.loop)
            else:
                self._hand_over()

    def _hand_over_after(self, rounds: int, loop: asyncio.AbstractEventLoop) -> None:
        """Hand over after so many rounds of `loop`: what follows the step of a run that is more urgent comes first."""
        if rounds:
            loop.call_soon(self._hand_over_after, rounds - 1, loop)
        else:
            with self._lock:
                self._hand_over()

    def _hand_over(self) -> None:
        """Give the slots that are free to the first in the line."""
        while self._line and (self.most is None or self._taken < self.most):
            place = heapq.heappop(self._line)[2]
            if place.loop.is_closed():
                continue
            place.has_slot = True
            self._taken += 1
            place.loop.call_soon_threadsafe(place.turn.set)

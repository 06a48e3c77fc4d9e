"""Whose turn it is: locks and rates, which all runs of one executor share, in whatever event loops they are."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

GRACE: Final = 1.0
"""Seconds for a handler to come to its end when it was cancelled."""
PAUSE: Final = 0.02
"""Seconds between looks at what tells nobody that it changes: threads, and other event loops."""
SAME: Final = 1.0
"""Clocks that are so many seconds apart are one."""
Working = Callable[[], bool]
"""Says whether a handler that was given up is still at work."""


@dataclass(slots=True)
class _Lock:
    """What keeps other event loops out, and who was given up with it."""

    others: threading.Lock = field(default_factory=threading.Lock)
    keeper: Working | None = None


@dataclass(slots=True)
class Turns:
    """Locks by what they are for, and rates by what is limited."""

    _locks: dict[Hashable, _Lock] = field(default_factory=dict)
    _queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, asyncio.Lock]] = field(
        default_factory=WeakKeyDictionary
    )
    """Those in one event loop who want a lock stand in a line, which another loop could not see."""
    _rates: dict[Hashable, Rate] = field(default_factory=dict)
    _own: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, Rate]] = field(default_factory=WeakKeyDictionary)
    """The rates of event loops whose clock is one of their own."""

    @contextlib.asynccontextmanager
    async def lock(
        self, key: Hashable, patience: float | None, left: Callable[[], Working | None]
    ) -> AsyncIterator[bool]:
        """Take a lock, and yield whether it is free: a handler that was given up keeps it to its end.

        Others wait `patience` seconds for such a one. `left` says at last whether this one was given up, too.
        """
        lock, queues = self._locks.setdefault(key, _Lock()), self._queues.setdefault(asyncio.get_running_loop(), {})
        async with queues.setdefault(key, asyncio.Lock()):
            while not lock.others.acquire(blocking=False):  # noqa: ASYNC110 - other loops tell nobody that they are done
                await asyncio.sleep(PAUSE)
            try:
                free = await is_over(lock.keeper, patience)
                lock.keeper = None if free else lock.keeper
                try:
                    yield free
                finally:
                    lock.keeper = left() or lock.keeper
            finally:
                lock.others.release()

    async def rate(self, what: str, rate: tuple[int, float]) -> None:
        """Wait until `what` may begin, so often in so many seconds."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_real = abs(now - time.monotonic()) < SAME
        rates = self._rates if is_real else self._own.setdefault(loop, {})
        seconds = rates.setdefault((what, rate), Rate(*rate)).turn(now)
        if seconds:
            await asyncio.sleep(seconds)


class Rate:
    """So many beginnings within any so many seconds."""

    def __init__(self, most: int, seconds: float) -> None:
        self._begun: deque[float] = deque(maxlen=most)
        self._seconds = seconds
        self._guard = threading.Lock()

    def turn(self, now: float) -> float:
        """Return in how many seconds whoever asks may begin, which is taken to happen."""
        with self._guard:
            full = len(self._begun) == self._begun.maxlen
            begin = max(now, self._begun[0] + self._seconds) if full else now
            self._begun.append(begin)
        return begin - now


async def is_over(works: Working | None, timeout: float | None) -> bool:  # noqa: ASYNC109 - of the handler
    """Wait for a handler that was given up, if there `works` one; return whether it has come back."""
    if works is None:
        return True
    clock = asyncio.get_running_loop().time
    until = clock() + (GRACE if timeout is None else timeout)
    while works() and clock() < until:  # noqa: ASYNC110 - threads tell nobody that they end
        await asyncio.sleep(PAUSE)
    return not works()

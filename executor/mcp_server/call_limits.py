"""Limits of a server: calls at once, calls a minute, the size of a call, time and memory of a search."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from planner.errors import ForethoughtError, InputError
from planner.limits import Limits

WINDOW_SECONDS: Final = 60.0
"""The time over which calls are counted for the rate."""
DEEPEST: Final = 30
"""Deepest nesting of the arguments of a call."""


class Refused(ForethoughtError):
    """The server is too busy for a call, or the call is too large."""


@dataclass(slots=True, eq=False)
class CallLimits:
    """What a server allows; None is no limit.

    `concurrent` calls are at work at once, and `waiting` more may wait; `rate` calls may begin in a minute; a call may
    be `size` characters long as JSON. `time_limit`, in seconds, and `memory_limit`, in GiB of the process, limit each
    search; a client may ask for less time.
    """

    concurrent: int = 4
    waiting: int = 64
    rate: int | None = None
    size: int = 4_000_000
    time_limit: float | None = 60.0
    memory_limit: float | None = None
    _begun: deque[float] = field(default_factory=deque)
    _turns: asyncio.Semaphore = field(init=False)
    _present: int = 0

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.concurrent)

    def limit_search(self, seconds: float | None) -> Limits:
        """Return limits for a search that begins now; raises `InputError` for a time limit that is none."""
        if seconds is not None and not seconds > 0:
            raise InputError(f"`time_limit` must be a number of seconds above 0, got {seconds:g}")
        allowed = [each for each in (seconds, self.time_limit) if each is not None]
        return Limits(min(allowed, default=None), self.memory_limit, Event())

    def check(self, arguments: Any) -> None:
        """Count a call with these arguments; raises `Refused` for one that is too large, or too much for a minute."""
        size = _measure(arguments, self.size)
        if size > self.size:
            raise Refused(f"the call is longer than {self.size:,} characters")
        if self.rate is None:
            return
        now = time.monotonic()
        while self._begun and now - self._begun[0] > WINDOW_SECONDS:
            self._begun.popleft()
        if len(self._begun) >= self.rate:
            wait = WINDOW_SECONDS - (now - self._begun[0])
            raise Refused(f"more than {self.rate} calls in a minute; try again in {max(wait, 1):.0f} s")
        self._begun.append(now)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and keep it while the body lasts; raises `Refused` if too many wait already."""
        if self._present >= self.concurrent + self.waiting:
            raise Refused(f"{self._present} calls are at work or wait; try again later")
        self._present += 1
        try:
            async with self._turns:
                yield
        finally:
            self._present -= 1


def _measure(value: Any, most: int, depth: int = 0) -> int:
    """Return about how many characters `value` has as JSON; no more is counted than some above `most`."""
    if depth > DEEPEST:
        raise Refused(f"the arguments are nested deeper than {DEEPEST} levels")
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        items: Any = [part for item in value.items() for part in item]
    elif isinstance(value, list | tuple):
        items = value
    else:
        return 8
    size = 2
    for item in items:
        size += 1 + _measure(item, most, depth + 1)
        if size > most:
            break
    return size

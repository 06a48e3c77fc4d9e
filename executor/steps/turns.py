"""Whose turn it is: locks and rates, which all runs of one executor share, in whatever event loops they are.

The executors of one journal share their locks, also where they are in several processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Protocol

from executor.world.policy import Rate

GRACE: Final = 1.0
"""Seconds for a handler to come to its end when it was cancelled."""
PAUSE: Final = 0.02
"""Seconds between looks at what tells nobody that it changes: threads, and other event loops."""
RATED: Final = "its rate does not let it begin"
SAME: Final = 1.0
"""Clocks that are so many seconds apart are one."""
Working = Callable[[], bool]
"""Says whether a handler that was given up is still at work."""
Queues = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, asyncio.Lock]]


class Shared(Protocol):
    """Locks that several processes share, by name: those of the ones that use one journal."""

    def hold(self, name: str) -> bool:
        """Take the lock for this process, unless another has it; return whether this process has it now."""

    def let_go(self, name: str) -> None:
        """Free the lock, if this process has it."""


@dataclass(slots=True)
class _Lock:
    """What keeps other event loops out, and who was given up with it."""

    others: threading.Lock = field(default_factory=threading.Lock)
    keeper: Working | None = None


Key = tuple[str, ...]
"""What a lock is for: a domain, an action, and the arguments that count."""


class _Locks:
    """The locks of this process, by what they are for; `shared` are those that other processes see, too."""

    def __init__(self, shared: Shared | None = None) -> None:
        self._shared = None if shared is None else weakref.ref(shared)
        self._locks: dict[Key, _Lock] = {}
        self._queues: Queues = weakref.WeakKeyDictionary()
        """Those in one event loop who want a lock stand in a line, which another loop could not see."""

    @contextlib.asynccontextmanager
    async def lock(self, key: Key, patience: float | None, left: Callable[[], Working | None]) -> AsyncIterator[bool]:
        """Take a lock, and yield whether it is free: a handler that was given up keeps it to its end.

        Others wait `patience` seconds for such a one. `left` says at last whether this one was given up, too.
        """
        lock, queues = self._locks.setdefault(key, _Lock()), self._queues.setdefault(asyncio.get_running_loop(), {})
        async with queues.setdefault(key, asyncio.Lock()):
            while not lock.others.acquire(blocking=False):  # noqa: ASYNC110 - other loops tell nobody that they are done
                await asyncio.sleep(PAUSE)
            try:
                while not self._hold(key):  # noqa: ASYNC110 - other processes tell nobody that they are done
                    await asyncio.sleep(PAUSE)
                try:
                    free = await is_over(lock.keeper, patience)
                    lock.keeper = None if free else lock.keeper
                    try:
                        yield free
                    finally:
                        lock.keeper = left() or lock.keeper
                finally:
                    self._let_go(key, lock)
            finally:
                lock.others.release()

    def _hold(self, key: Key) -> bool:
        shared = self._seen_by_others()
        return shared is None or shared.hold(json.dumps(key))

    def _seen_by_others(self) -> Shared | None:
        return None if self._shared is None else self._shared()

    def _let_go(self, key: Key, lock: _Lock) -> None:
        """Free a lock for other processes: where its keeper was given up and is still at work, once it has ended."""
        shared = self._seen_by_others()
        if shared is None:
            return
        if lock.keeper is None:
            shared.let_go(json.dumps(key))
        else:
            threading.Thread(target=self._let_go_in_the_end, args=(key, lock), daemon=True).start()

    def _let_go_in_the_end(self, key: Key, lock: _Lock) -> None:
        keeper = lock.keeper
        while keeper is not None and keeper():
            time.sleep(PAUSE)
        with lock.others:
            if lock.keeper is None or lock.keeper is keeper:
                self._let_go(key, _Lock())


_of_journals: Final[weakref.WeakKeyDictionary[Shared, _Locks]] = weakref.WeakKeyDictionary()
"""The locks of this process that the executors of one journal share."""


class Turns:
    """Locks by what they are for, and rates by what is limited; with `shared`, others see the locks, too."""

    def __init__(self, shared: Shared | None = None) -> None:
        locks = _Locks(shared) if shared is None else _of_journals.setdefault(shared, _Locks(shared))
        self.lock: Final = locks.lock
        self._rates: dict[Hashable, _Beginnings] = {}
        self._own: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Beginnings]]
        """The rates of event loops whose clock is one of their own."""
        self._own = weakref.WeakKeyDictionary()

    async def rate(self, key: Hashable, rate: Rate, timeout: float | None) -> str:  # noqa: ASYNC109 - of the handler
        """Wait until one more of `key` may begin; return why none may within `timeout` seconds, if so."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_real = abs(now - time.monotonic()) < SAME
        rates = self._rates if is_real else self._own.setdefault(loop, {})
        patience = 0.0 if not rate.wait else timeout
        seconds = rates.setdefault((key, rate), _Beginnings(rate)).turn(now, patience)
        if patience is not None and seconds > patience:
            return f"{RATED}: at most {rate}, and it could begin in {seconds:.3g} s"
        if seconds:
            await asyncio.sleep(seconds)
        return ""


class _Beginnings:
    """When the latest steps that one rate is about begin."""

    def __init__(self, rate: Rate) -> None:
        self._begun: deque[float] = deque(maxlen=rate.most)
        self._seconds = rate.seconds
        self._guard = threading.Lock()

    def turn(self, now: float, patience: float | None) -> float:
        """Return in how many seconds one more may begin, which is taken to happen if it is within `patience`."""
        with self._guard:
            full = len(self._begun) == self._begun.maxlen
            begin = max(now, self._begun[0] + self._seconds) if full else now
            if patience is None or begin - now <= patience:
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

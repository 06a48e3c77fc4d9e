"""Limit what runs at once: locks, rates, and slots, which all runs of one executor share.

The executors of one journal share their locks, also across processes and event loops. `Slots` limit how many steps of
all runs are at work at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import json
import threading
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

from executor.journal.interface import SharedLocks, SharedRates
from executor.tools.step_policy import Rate

GRACE: Final = 1.0
"""Time for a cancelled handler to end, in seconds."""
PAUSE: Final = 0.02
"""Shortest polling interval, in seconds: for threads, other event loops, and at first for other processes."""
LONGEST: Final = 0.5
"""Longest polling interval for what other runs and processes have, in seconds; each poll asks the journal."""
GROWTH: Final = 0.25
"""Polling interval as a share of the time waited so far: a release is seen at most so much later than it came."""
RATED: Final = "its rate does not let it begin"
SAME: Final = 1.0
"""Largest difference of two readings of one clock, in seconds."""
Working = Callable[[], bool]
"""Function that returns whether an abandoned handler is still at work."""
Queues = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, asyncio.Lock]]


def find_pause(waited: float, longest: float = LONGEST) -> float:
    """Return the pause until the next poll after `waited` seconds for other runs or processes, in seconds."""
    return max(PAUSE, min(GROWTH * waited, longest))


class HeldBack(Exception):
    """An irreversible step must not begin now."""


@dataclass(slots=True)
class _Lock:
    """A lock against other event loops, and the abandoned handler that keeps it."""

    others: threading.Lock = field(default_factory=threading.Lock)
    keeper: Working | None = None


Key = tuple[str, ...]
"""Key of a lock: domain, action, and the arguments to compare."""


class _Locks:
    """The locks of this process by key; `shared` are the locks between processes."""

    def __init__(self, shared: SharedLocks | None = None) -> None:
        self._shared = None if shared is None else weakref.ref(shared)
        self._locks: dict[Key, _Lock] = {}
        self._queues: Queues = weakref.WeakKeyDictionary()
        """One queue for each event loop and lock."""

    @contextlib.asynccontextmanager
    async def lock(self, key: Key, patience: float | None, left: Callable[[], Working | None]) -> AsyncIterator[bool]:
        """Take a lock, and yield whether it is free: an abandoned handler keeps its lock until it ends.

        Wait for such a handler for at most `patience` seconds. `left` returns at the end whether this handler was
        abandoned, too.
        """
        lock, queues = self._locks.setdefault(key, _Lock()), self._queues.setdefault(asyncio.get_running_loop(), {})
        async with queues.setdefault(key, asyncio.Lock()):
            while not lock.others.acquire(blocking=False):  # noqa: ASYNC110 - other loops tell nobody that they are done
                await asyncio.sleep(PAUSE)
            try:
                clock = asyncio.get_running_loop().time
                since = clock()
                while not self._hold(key):  # noqa: ASYNC110 - other processes tell nobody that they are done
                    await asyncio.sleep(find_pause(clock() - since))
                try:
                    free = await wait_for_handler(lock.keeper, patience)
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
        shared = self._find_shared_locks()
        return shared is None or shared.hold(json.dumps(key))

    def _find_shared_locks(self) -> SharedLocks | None:
        return None if self._shared is None else self._shared()

    def _let_go(self, key: Key, lock: _Lock) -> None:
        """Release a lock for other processes, after the end of an abandoned handler that keeps it."""
        shared = self._find_shared_locks()
        if shared is None:
            return
        if lock.keeper is None:
            shared.let_go(json.dumps(key))
        else:
            threading.Thread(target=self._let_go_after_keeper, args=(key, lock), daemon=True).start()

    def _let_go_after_keeper(self, key: Key, lock: _Lock) -> None:
        keeper = lock.keeper
        while keeper is not None and keeper():
            time.sleep(PAUSE)
        with lock.others:
            if lock.keeper is None or lock.keeper is keeper:
                self._let_go(key, _Lock())


_of_journals: Final[weakref.WeakKeyDictionary[SharedLocks, _Locks]] = weakref.WeakKeyDictionary()
"""Locks of this process by journal."""


class Turns:
    """Locks and rates by key; with `shared` and `shared_rates`, they hold between processes."""

    def __init__(self, shared: SharedLocks | None = None, shared_rates: SharedRates | None = None) -> None:
        self._shared_rates = shared_rates
        locks = _Locks(shared) if shared is None else _of_journals.setdefault(shared, _Locks(shared))
        self.lock: Final = locks.lock
        self._rates: dict[Hashable, StartTimes] = {}
        self._own: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, StartTimes]]
        """The rates of event loops with a clock of their own, such as virtual time."""
        self._own = weakref.WeakKeyDictionary()

    @contextlib.asynccontextmanager
    async def rate(self, key: Hashable, rate: Rate, timeout: float | None) -> AsyncIterator[str]:
        """Wait until another step of `key` may begin; yield a reason if none may within `timeout` seconds.

        A step that is `HeldBack`, or cancelled while it waits, gives its turn back.
        """
        give_back, delay = await self.reserve_start(key, rate, timeout if rate.wait else 0.0)
        if give_back is None:
            yield f"{RATED}: at most {rate}, and it could begin in {delay:.3g} s"
            return
        has_waited = False
        try:
            if delay > 0:
                await asyncio.sleep(delay)
            has_waited = True
            yield ""
        except (HeldBack, asyncio.CancelledError) as error:
            if not has_waited or isinstance(error, HeldBack):
                await give_back()
            raise

    async def take_turn(self, stopped: asyncio.Event, key: Hashable, rate: Rate) -> str:
        """Wait until a look of `key` may begin; return why it may not, if so, or if `stopped` is set before."""
        async with contextlib.AsyncExitStack() as turn:
            waits = asyncio.ensure_future(turn.enter_async_context(self.rate(key, rate, None)))
            return waits.result() if await wait_unless_cancelled(waits, stopped) else "the run was called off"

    async def reserve_start(self, key: Hashable, rate: Rate, patience: float | None) -> ReservedStart:
        """Reserve the next start of a step of `key`, unless it does not come within `patience` seconds."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        is_real, shared = abs(now - time.monotonic()) < SAME, self._shared_rates
        if is_real and shared is not None:
            number, delay = shared.reserve(
                json.dumps([key, rate.most, rate.seconds]), rate.most, rate.seconds, patience
            )
            return None if number is None else _soon(partial(shared.give_back, number)), delay
        rates = self._rates if is_real else self._own.setdefault(loop, {})
        beginnings = rates.setdefault((key, rate), StartTimes(rate))
        begin = beginnings.reserve(now, patience)
        is_late = patience is not None and begin - now > patience
        return None if is_late else _soon(partial(beginnings.give_back, begin)), begin - now


ReservedStart = tuple[Callable[[], Awaitable[None]] | None, float]
"""What gives a start back, None if nothing is reserved; and in how many seconds the start comes."""


def _soon(act: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    """Return `act` as an asynchronous function."""

    async def act_soon() -> None:
        act()

    return act_soon


class StartTimes:
    """Start times of the latest steps that share one rate, in ascending order."""

    def __init__(self, rate: Rate, times: Iterable[float] = ()) -> None:
        self._times = list(times)
        self._rate = rate
        self._guard = threading.Lock()

    def find_counting(self, now: float) -> list[float]:
        """Return the start times that still count."""
        return [each for each in self._times if each + self._rate.seconds > now]

    def reserve(self, now: float, patience: float | None) -> float:
        """Return the next possible start time; reserve it if it comes within `patience` seconds."""
        most, seconds = self._rate.most, self._rate.seconds
        with self._guard:
            self._times = self.find_counting(now)
            begin = self._times[-most] + seconds if len(self._times) >= most else now
            if patience is None or begin - now <= patience:
                self._times.append(begin)
        return begin

    def give_back(self, begin: float) -> None:
        """Release a reserved start time."""
        with self._guard:
            if begin in self._times:
                self._times.remove(begin)


async def wait_for_handler(works: Working | None, timeout: float | None) -> bool:
    """Wait until an abandoned handler no longer `works`; return whether it has ended in time."""
    if works is None:
        return True
    clock = asyncio.get_running_loop().time
    until = clock() + (GRACE if timeout is None else timeout)
    while works() and clock() < until:  # noqa: ASYNC110 - threads tell nobody that they end
        await asyncio.sleep(PAUSE)
    return not works()


async def wait_unless_cancelled(what: Awaitable[Any], aborted: asyncio.Event) -> bool:
    """Wait for `what` unless `aborted` is set first; return whether it has completed, and raise its error.

    If `aborted` is set first, `what` is cancelled.
    """
    waits = asyncio.ensure_future(what)
    stop = asyncio.ensure_future(aborted.wait())
    try:
        await asyncio.wait({waits, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        has_come = waits.done()
        waits.cancel()
    if has_come:
        waits.result()
    return has_come


ROUNDS: Final = 8
"""Rounds of the event loop after which a run has begun the next step after one has ended."""


@dataclass(slots=True, eq=False)
class _Place:
    """A place in the queue; `turn` is set when a slot is handed over."""

    loop: asyncio.AbstractEventLoop
    turn: asyncio.Event
    priority: int
    has_slot: bool = False


_HELD: Final[ContextVar[tuple[Slots, ...]]] = ContextVar("slots", default=())
"""The slots objects of which the present task holds a slot: nested work takes no further one."""


@dataclass(slots=True, eq=False)
class Slots:
    """At most `most` slots (None: no limit), handed out by priority, then first come, first served."""

    most: int | None = None
    _taken: int = field(init=False, default=0)
    _line: list[tuple[int, int, _Place]] = field(init=False, default_factory=list)
    _number: count[int] = field(init=False, default_factory=count)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    """Guards the fields: runs may be in several event loops."""

    @contextlib.asynccontextmanager
    async def take_slot(self, priority: int, aborted: asyncio.Event) -> AsyncIterator[bool]:
        """Hold a slot; yield False without one if `aborted` is set before."""
        if self.most is None or self in _HELD.get():
            yield True
            return
        place = _Place(asyncio.get_running_loop(), asyncio.Event(), priority)
        try:
            self._stand_in_line(place)
            if not place.has_slot:
                await wait_unless_cancelled(place.turn.wait(), aborted)
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
        """Hand over after so many rounds of `loop`, so that the next step of a more urgent run comes first."""
        if rounds:
            loop.call_soon(self._hand_over_after, rounds - 1, loop)
        else:
            with self._lock:
                self._hand_over()

    def _hand_over(self) -> None:
        """Hand free slots to the first in the queue."""
        while self._line and (self.most is None or self._taken < self.most):
            place = heapq.heappop(self._line)[2]
            if place.loop.is_closed():
                continue
            place.has_slot = True
            self._taken += 1
            place.loop.call_soon_threadsafe(place.turn.set)

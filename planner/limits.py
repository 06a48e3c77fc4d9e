"""Limits on time and memory, and cancellation: one object that every long loop checks.

A loop calls `limits.check()` once in a number of iterations. When a limit is reached, `LimitReached` unwinds the stage
to `planner.solve`, which turns it into a `Result`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import chain, islice
from numbers import Real

from planner.errors import InputError
from planner.lightweight import Any, Final, Protocol, TypeVar, dataclass, field
from planner.plan import Progress, StoppedBy

GIB: Final = 1024**3
MEMORY_CHECK_SECONDS: Final = 0.05
"""Seconds between two readings of the process's memory, each of which takes some microseconds."""

_NO_LIMIT: Final = "None is no limit"
T = TypeVar("T")


class LimitReached(BaseException):
    """A limit ended the work; `stopped_by` says which.

    Like `KeyboardInterrupt`, it may be raised anywhere by a signal, so that `except Exception` must not catch it.
    """

    def __init__(self, stopped_by: StoppedBy) -> None:
        super().__init__(stopped_by)
        self.stopped_by = stopped_by


class CallbackError(BaseException):
    """Carries the `error` of a user's callback out of the search, past generators and handlers of our own errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Alarm(LimitReached):
    """A time limit ended the work by a signal, which raised this in the main thread."""


STOPS: Final = (LimitReached, MemoryError, KeyboardInterrupt)
"""The exceptions that end work before its end."""


def stop_reason(stop: BaseException) -> StoppedBy:
    """Return what stopped the work that `stop`, an exception of one of the types in `STOPS`, has ended."""
    if isinstance(stop, LimitReached):
        return stop.stopped_by
    return StoppedBy.CANCELLED if isinstance(stop, KeyboardInterrupt) else StoppedBy.MEMORY


def check_limits(time_limit: Any, memory_limit: Any) -> None:
    """Raise `InputError` for invalid limits; the time may be 0, as when other work has used it up."""
    if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) >= 0):
        raise InputError(f"the time limit must be in seconds, 0 or more, got {time_limit!r}", hint=_NO_LIMIT)
    if memory_limit is not None and not (isinstance(memory_limit, Real) and float(memory_limit) > 0):
        raise InputError(f"the memory limit must be in GiB, above 0, got {memory_limit!r}", hint=_NO_LIMIT)


GENEROUS: Final = 5.0
"""Seconds of wall-clock time that count as one where processor time is counted."""
_counting: Final[ContextVar[tuple[float, float] | None]] = ContextVar("counting processor time", default=None)
"""The times of the thread's processor and of the wall clock since which processor time is counted; None: it is not."""


@contextlib.contextmanager
def count_processor_time() -> Iterator[None]:
    """Count the processor time of this thread for all time limits, so that other work takes nothing away from them.

    Limits end after `GENEROUS` times as much wall-clock time, too: work that waits for others does not wait for ever.
    """
    token = _counting.set((time.thread_time(), time.monotonic()))
    try:
        yield
    finally:
        _counting.reset(token)


def read_clock() -> float:
    """Return the time in seconds by which limits go: of a monotonic clock, or as `count_processor_time` counts it."""
    counting, now = _counting.get(), time.monotonic()
    if counting is None:
        return now
    at_work, since = time.thread_time() - counting[0], now - counting[1]
    return counting[1] + max(at_work, since / GENEROUS)


@dataclass(slots=True)
class Limits:
    """Limits that count from now: `time_limit` in seconds by `read_clock`, `memory_limit` in GiB of resident memory.

    None is no limit. `cancel` may be set from any thread. `elsewhere` are the bytes that other processes use.
    """

    time_limit: float | None = None
    memory_limit: float | None = None
    cancel: threading.Event | None = None
    started: float = field(default_factory=read_clock)
    elsewhere: int = 0
    _next_memory_check: float = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the limits were set."""
        return read_clock() - self.started

    @property
    def remaining(self) -> float | None:
        """The remaining time in seconds, never negative; None without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.elapsed)

    def share(self, part: float) -> Limits:
        """Return limits with this part of the remaining time."""
        return Limits(None if self.remaining is None else part * self.remaining, self.memory_limit, self.cancel)

    def part(self, seconds: float | None) -> Limits:
        """Return limits that end after `seconds`, or with these limits; None: with these limits."""
        left = self.remaining
        limit = left if seconds is None else seconds if left is None else min(left, seconds)
        return Limits(limit, self.memory_limit, self.cancel)

    def check(self) -> None:
        """Raise `LimitReached` if a limit is reached or `cancel` is set."""
        if self.cancel is not None and self.cancel.is_set():
            raise LimitReached(StoppedBy.CANCELLED)
        now = time.monotonic()
        # Processor time never runs ahead of the wall clock, which is read faster.
        if self.time_limit is not None and now - self.started >= self.time_limit <= self.elapsed:
            raise LimitReached(StoppedBy.TIME)
        if self.memory_limit is not None and now >= self._next_memory_check:
            self._next_memory_check = now + MEMORY_CHECK_SECONDS
            if resident_bytes() + self.elsewhere > self.memory_limit * GIB:
                raise LimitReached(StoppedBy.MEMORY)


class _Ahead(threading.local):
    """What the clock of the search at work is ahead of that of its thread, in seconds."""

    seconds = 0.0


_ahead: Final = _Ahead()


def work_seconds() -> float:
    """Return the processor time of the search at work, in seconds from anywhere; it goes on in another thread."""
    return time.thread_time() + _ahead.seconds


def go_on_counting(seconds: float) -> float:
    """Let `work_seconds` of this thread go on from `seconds`; return what it was at."""
    now = time.thread_time()
    before, _ahead.seconds = now + _ahead.seconds, seconds - now
    return before


class Stop(threading.Event):
    """An event that ends one piece of work: set by itself, while `outer` is set, or where `is_over` returns True."""

    def __init__(self, outer: threading.Event | None, is_over: Callable[[], bool] | None = None) -> None:
        super().__init__()
        self._outer, self._is_over = outer, is_over

    def is_set(self) -> bool:
        """Return whether the work is to end."""
        if self.is_reached or (self._outer is not None and self._outer.is_set()):
            return True
        return self._is_over is not None and self._is_over()

    @property
    def is_reached(self) -> bool:
        """Whether the event itself was set."""
        return super().is_set()

    def end_at_plan(self, progress: Progress) -> None:
        """Set the event if there is a plan."""
        if progress.plan is not None:
            self.set()


def lift_address_limit() -> None:
    """Raise the limit on address space that this process has inherited to the hard limit."""
    import resource

    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def never() -> None:
    """Check nothing, where there is no limit."""


def check_regularly(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """Return an iterator over `items` that calls `check` before every 256th, which raises when a limit is reached."""
    return chain.from_iterable(_cut(iter(items), check))


def _cut(items: Iterator[T], check: Callable[[], None]) -> Iterator[Iterable[T]]:
    """Yield runs of `items`; those after the first of each 256 pass without a step of Python."""
    for first in items:
        check()
        yield (first,)
        yield islice(items, 255)


_in_force: Final[ContextVar[Callable[[], None]]] = ContextVar("looks at the limits in force", default=never)


class _Checked(Protocol):
    def check(self) -> None:
        """Raise where a limit is reached."""


@contextlib.contextmanager
def enforce(limits: _Checked) -> Iterator[None]:
    """Let `look` and `under_limits` look at `limits` in the body, however deep inside, until it ends."""
    token = _in_force.set(limits.check)
    try:
        yield
    finally:
        _in_force.reset(token)


def look() -> None:
    """Look at the limits in force; raises `LimitReached` when one is reached."""
    _in_force.get()()


def under_limits(items: Iterable[T]) -> Iterator[T]:
    """Yield `items`, and look at the limits in force before every 256th.

    A list that is made of them at once is cut into batches by that, between which signals arrive.
    """
    return check_regularly(items, _in_force.get())


class Finishing:
    """A context in which a plan is mapped back and checked: nothing interrupts it, since the plan would be lost.

    No alarm does, nor do the limits in force, which may be those of a search that is to end because of this plan.
    `going_on` counts the contexts that are entered.
    """

    going_on = 0

    def __enter__(self) -> None:
        Finishing.going_on += 1
        self._token = _in_force.set(never)

    def __exit__(self, *_: object) -> None:
        _in_force.reset(self._token)
        Finishing.going_on -= 1


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; its peak where the system does not tell the present one."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a path object would cost more
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

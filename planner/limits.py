"""Time, memory and cancellation: one object that every long loop asks.

A loop calls `limits.check()` every so many rounds. When a limit is reached, `LimitReached` unwinds the stage to
`planner.solve`, which turns it into a `Result`; no other code catches it for good.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from numbers import Real

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, TypeVar, dataclass, field
from planner.plan import StoppedBy

if TYPE_CHECKING:
    import threading

GIB: Final = 1024**3
MEMORY_CHECK_SECONDS: Final = 0.05
"""How often the process's memory is looked up; reading it costs some microseconds."""

_NO_LIMIT: Final = "None is no limit"
T = TypeVar("T")


class LimitReached(BaseException):
    """A limit ended the work; `stopped_by` says which.

    As `KeyboardInterrupt`, it may be raised anywhere by a signal, and `except Exception` lets it pass.
    """

    def __init__(self, stopped_by: StoppedBy) -> None:
        super().__init__(stopped_by)
        self.stopped_by = stopped_by


class Alarm(LimitReached):
    """The clock of a time limit ended the work: a signal raised this wherever the main thread was."""


STOPS: Final = (LimitReached, MemoryError, KeyboardInterrupt)
"""The exceptions that end work before its end."""


def stop_reason(stop: BaseException) -> StoppedBy:
    """Return what stopped the work that `stop`, an exception of one of the types in `STOPS`, has ended."""
    if isinstance(stop, LimitReached):
        return stop.stopped_by
    return StoppedBy.CANCELLED if isinstance(stop, KeyboardInterrupt) else StoppedBy.MEMORY


def check_limits(time_limit: Any, memory_limit: Any) -> None:
    """Raise `InputError` for what is no limit; seconds may be 0, as when other work has used them up."""
    if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) >= 0):
        raise InputError(f"the time limit is a number of seconds, 0 or more, not {time_limit!r}", hint=_NO_LIMIT)
    if memory_limit is not None and not (isinstance(memory_limit, Real) and float(memory_limit) > 0):
        raise InputError(f"the memory limit is a number of GiB above 0, not {memory_limit!r}", hint=_NO_LIMIT)


def read_clock() -> float:
    """Return the time in seconds, on a clock that nobody sets."""
    return time.monotonic()


@dataclass(slots=True)
class Limits:
    """What may still be used: `time_limit` in seconds of wall-clock time from now, `memory_limit` in GiB resident.

    None means no limit. `cancel` may be set from any thread. `elsewhere` are bytes that were given to other processes.
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
        return time.monotonic() - self.started

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, never negative; None without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.elapsed)

    def share(self, part: float) -> Limits:
        """Return what may be used in this part of the time that is left."""
        return Limits(None if self.remaining is None else part * self.remaining, self.memory_limit, self.cancel)

    def part(self, seconds: float | None) -> Limits:
        """Return what may be used in the next so many `seconds`; None: all that is left."""
        left = self.remaining
        limit = left if seconds is None else seconds if left is None else min(left, seconds)
        return Limits(limit, self.memory_limit, self.cancel)

    def check(self) -> None:
        """Raise `LimitReached` when time, memory or patience has run out."""
        if self.cancel is not None and self.cancel.is_set():
            raise LimitReached(StoppedBy.CANCELLED)
        now = time.monotonic()
        if self.time_limit is not None and now - self.started >= self.time_limit:
            raise LimitReached(StoppedBy.TIME)
        if self.memory_limit is not None and now >= self._next_memory_check:
            self._next_memory_check = now + MEMORY_CHECK_SECONDS
            if resident_bytes() + self.elsewhere > self.memory_limit * GIB:
                raise LimitReached(StoppedBy.MEMORY)


def lift_address_limit() -> None:
    """Undo the limit on address space that another process has set for itself, and this one inherits."""
    import resource

    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def never() -> None:
    """Check nothing: there is no limit."""


def checked(items: Iterable[T], check: Callable[[], None]) -> Iterator[T]:
    """Yield `items`, with a `check` every so many: it raises when a limit is reached meanwhile."""
    for number, item in enumerate(items):
        if not number & 255:
            check()
        yield item


class Finishing:
    """Entered while a plan that was found is made ready and checked: a clock does not break that off, or it were lost.

    `going_on` counts how many are entered.
    """

    going_on = 0

    def __enter__(self) -> None:
        Finishing.going_on += 1

    def __exit__(self, *_: object) -> None:
        Finishing.going_on -= 1


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes (its peak where the system does not tell the current one)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a path object would cost more
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def processors() -> int:
    """Return how many processors there are for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

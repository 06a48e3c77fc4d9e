"""Ctrl-C, SIGTERM, the clock and the memory limit: each ends a search in good order, and anything else where it is.

A search watches its limits and its `cancel` event by itself, and then still has what it found. All else (reading a
pipe, a file of a million lines, Python that never ends) is broken off by an exception.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType

from planner.lightweight import Any, Final
from planner.limits import GIB, Alarm, Finishing, resident_bytes
from planner.plan import Plan, StoppedBy

PATIENCE_SECONDS: Final = 1.5
"""How long after its time limit a search is broken off, too; an engine's process is given less to end."""
GRACE: Final = 20
"""So many times a search that only makes ready what it has found is left to it."""
LONGEST_SECONDS: Final = 1e8
"""Three years: no system's timer takes much more."""


class Watchman:
    """Decides what a signal and the end of the time do."""

    def __init__(self) -> None:
        self._cancel = threading.Event()
        self._searching = False
        self._late = False
        self._grace = GRACE
        self.repeats = False
        """Whether the clock interrupts, too, as a signal has."""

    @contextmanager
    def searching(self) -> Iterator[threading.Event]:
        """Leave the body to end itself: the first signal sets the event, and the first alarm does nothing."""
        self._searching = True
        try:
            yield self._cancel
        finally:
            self._searching = False

    def checking(self, plan: Plan) -> AbstractContextManager[threading.Event | None]:
        """Return the same for a body that checks `plan`; one with its tree takes no search, and is broken off."""
        return self.searching() if plan.tree is None else nullcontext()

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Raise `KeyboardInterrupt`, or ask the search to stop."""
        if not self._searching or self._cancel.is_set():
            self._repeat()
            raise KeyboardInterrupt
        self._cancel.set()

    def _repeat(self) -> None:
        """Have the exception raised again later: Python drops one that comes while it calls a weak reference back."""
        self.repeats = True
        signal.signal(signal.SIGALRM, self.interrupt)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS, PATIENCE_SECONDS)

    def alarm(self, _number: int, _frame: FrameType | None) -> None:
        """Raise `Alarm`, unless a search may still notice by itself that time is up, or has a plan to check."""
        if Finishing.going_on and self._grace:
            self._grace -= 1
            return
        if not self._searching or self._late:
            raise Alarm(StoppedBy.TIME)
        self._late = True


@contextmanager
def finishing() -> Iterator[None]:
    """Let the body, which hands over what was found, come to its end: only a second signal interrupts it."""
    watchman = Watchman()
    numbers = (signal.SIGINT, signal.SIGTERM)
    with watchman.searching():
        before = {signal.SIGALRM: signal.getsignal(signal.SIGALRM)}
        before |= {number: signal.signal(number, watchman.interrupt) for number in numbers}
        timer = signal.getitimer(signal.ITIMER_REAL)
        try:
            yield
        finally:
            if watchman.repeats:
                signal.setitimer(signal.ITIMER_REAL, *timer)
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _dropping_quietly() -> Iterator[None]:
    """Let Python say nothing of interrupts that it drops, as in callbacks of weak references: they come again."""
    before = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt | Alarm):
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def interruptible(seconds: float | None = None) -> Iterator[Watchman]:
    """Let signals, and the clock in so many `seconds`, end the body with `KeyboardInterrupt` and `Alarm`."""
    watchman = Watchman()
    handlers = {signal.SIGINT: watchman.interrupt, signal.SIGTERM: watchman.interrupt}
    if seconds is not None:
        handlers[signal.SIGALRM] = watchman.alarm
    before = {signal.SIGALRM: signal.getsignal(signal.SIGALRM)}
    before |= {number: signal.signal(number, handler) for number, handler in handlers.items()}
    timer = signal.getitimer(signal.ITIMER_REAL)

    def restore() -> None:
        if seconds is not None or watchman.repeats:
            signal.setitimer(signal.ITIMER_REAL, *timer)
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        if seconds is not None:
            first = min(max(seconds, 1e-6), LONGEST_SECONDS)
            timer = signal.setitimer(signal.ITIMER_REAL, first, PATIENCE_SECONDS)
        with _dropping_quietly():
            yield watchman
    finally:
        try:
            restore()
        finally:
            restore()  # a signal may have broken off the first


MEMORY_SHARE: Final = 0.8
"""The part of the available memory that is used unless `--memory-limit` says otherwise."""
ADDRESS_SLACK: Final = 1.25
"""Address space over resident memory: allocators reserve more than they use."""
LEAST_ADDRESSES: Final = 64 * 1024**2
"""Bytes of address space that even the smallest limit leaves, to load what says that it is reached."""


def seconds(text: str) -> float:
    """Read a number of seconds above 0; `none` is infinity."""
    return _positive(text, "seconds")


def gibibytes(text: str) -> float:
    """Read a number of GiB above 0; `none` is infinity."""
    return _positive(text, "GiB")


def _positive(text: str, unit: str) -> float:
    try:
        value = math.inf if text.lower() == "none" else float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a number of {unit} above 0, nor 'none'")
    return value


def finite(limit: float) -> float | None:
    """Return `limit`, or None where it is infinite: the library's word for no limit; never below 0."""
    return None if math.isinf(limit) else max(0.0, limit)


def left(limit: float, started: float) -> float | None:
    """Return the seconds that are left of `limit`, counted from `started`; None where it is infinite."""
    return finite(limit - (time.monotonic() - started))


def available_gibibytes() -> float:
    """Return the memory that this process may still take: what the system has free, or less where a cgroup says so."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    free = [line for line in _lines(Path("/proc/meminfo")) if line.startswith("MemAvailable:")]
    found.extend(int(line.split()[1]) * 1024 for line in free)
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        found.extend(int(line) for line in _lines(limit) if line.isdigit())
    return min(found) / GIB


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def limit_memory(limit: float | None) -> float | None:
    """Make large allocations past `limit` GiB (None: a share of what is available) fail with `MemoryError`.

    This is the last resort, behind the limit that every loop watches; return that one, None when there is no limit.
    """
    if limit is None:
        limit = available_gibibytes() * MEMORY_SHARE
    if finite(limit) is None:
        return None
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_bytes() + max(int(limit * ADDRESS_SLACK * GIB), LEAST_ADDRESSES)
    with contextlib.suppress(ValueError, OSError):  # macOS knows the limit by name only; the loops' check remains
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    return limit


@contextlib.contextmanager
def limited_memory(limit: float | None) -> Iterator[None]:
    """Do the same while the body runs: afterwards the process may take as much as before."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory(limit)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_bytes() -> int:
    sizes = _lines(Path("/proc/self/statm"))
    return int(sizes[0].split()[0]) * os.sysconf("SC_PAGE_SIZE") if sizes else resident_bytes()

"""Signals and limits of the command: Ctrl-C, SIGTERM, SIGXCPU, the time limit and the memory limit.

A search watches its limits and its `cancel` event itself, so that it can return what it has found. An exception breaks
off all other work: reading a pipe or a file of a million lines, or Python code of a domain that never ends.
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

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGXCPU)
"""The signals that end the work with what it has found; the last says that `ulimit -t` is reached."""
PATIENCE_SECONDS: Final = 1.5
"""Seconds after its time limit at which a search is broken off; the process of an engine gets less time to end."""
GRACE: Final = 20
"""Number of alarms that are ignored while a search only prepares the plan that it has found."""
LONGEST_SECONDS: Final = 1e8
"""Longest time that a timer is set to, in seconds (three years): some systems take no more."""


class Watchman:
    """Reacts to signals and to the end of the time limit."""

    def __init__(self) -> None:
        self._cancel = threading.Event()
        self._searching = False
        self._late = False
        self._grace = GRACE
        self.repeats = False
        """Whether a timer repeats the interrupt of a signal."""

    @contextmanager
    def searching(self) -> Iterator[threading.Event]:
        """Let the body end itself: the first signal only sets the event, and the first alarm does nothing."""
        self._searching = True
        try:
            yield self._cancel
        finally:
            self._searching = False

    def checking(self, plan: Plan) -> AbstractContextManager[threading.Event | None]:
        """Return `searching` for a body that checks `plan`; a check of a plan with a tree needs no search."""
        return self.searching() if plan.tree is None else nullcontext()

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Raise `KeyboardInterrupt`, or ask the search to stop."""
        if not self._searching or self._cancel.is_set():
            self._repeat()
            raise KeyboardInterrupt
        self._cancel.set()

    def _repeat(self) -> None:
        """Raise the exception again later: Python drops one that arrives in a callback of a weak reference."""
        self.repeats = True
        signal.signal(signal.SIGALRM, self.interrupt)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS, PATIENCE_SECONDS)

    def alarm(self, _number: int, _frame: FrameType | None) -> None:
        """Raise `Alarm`, unless the search may still notice the time limit itself, or has a plan to check."""
        if Finishing.going_on and self._grace:
            self._grace -= 1
            return
        if not self._searching or self._late:
            raise Alarm(StoppedBy.TIME)
        self._late = True


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Let the body, which writes the result, finish: only a second signal interrupts it."""
    watchman = Watchman()
    with watchman.searching():
        before = {signal.SIGALRM: signal.getsignal(signal.SIGALRM)}
        before |= {number: signal.signal(number, watchman.interrupt) for number in SIGNALS}
        timer = signal.getitimer(signal.ITIMER_REAL)
        try:
            yield
        finally:
            if watchman.repeats:
                signal.setitimer(signal.ITIMER_REAL, *timer)
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _silence_dropped_interrupts() -> Iterator[None]:
    """Keep Python from reporting interrupts that it drops in callbacks of weak references: they are raised again."""
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
    """End the body with `KeyboardInterrupt` on a signal, and with `Alarm` after so many `seconds`."""
    watchman = Watchman()
    handlers = dict.fromkeys(SIGNALS, watchman.interrupt)
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
        with _silence_dropped_interrupts():
            yield watchman
    finally:
        try:
            restore()
        finally:
            restore()  # a signal may have broken off the first


MEMORY_SHARE: Final = 0.8
"""Share of the available memory that is the default of `--memory-limit`."""
ADDRESS_SLACK: Final = 1.25
"""Limit on address space as a multiple of that on resident memory: allocators reserve more than they use."""
LEAST_ADDRESSES: Final = 64 * 1024**2
"""Smallest room in the address space, in bytes: the code that reports the limit must still be loaded."""


def finite_limit(limit: float) -> float | None:
    """Return `limit`, at least 0, or None, which is no limit in the library, for infinity."""
    return None if math.isinf(limit) else max(0.0, limit)


def remaining_seconds(limit: float, started: float) -> float | None:
    """Return the seconds of `limit` that remain since `started`; None for an infinite limit."""
    return finite_limit(limit - (time.monotonic() - started))


def available_gibibytes() -> float:
    """Return the GiB that this process may still take: the free memory, or less by a cgroup or `ulimit`."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY:
        found.append(addresses)
    free = [line for line in _read_lines(Path("/proc/meminfo")) if line.startswith("MemAvailable:")]
    found.extend(int(line.split()[1]) * 1024 for line in free)
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        found.extend(int(line) for line in _read_lines(limit) if line.isdigit())
    return min(found) / GIB


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def limit_memory(limit: float | None) -> float | None:
    """Limit the address space, so that allocations past `limit` GiB (None: the default) fail with `MemoryError`.

    This is the last resort. Return the limit, which loops check; None where there is none.
    """
    if limit is None:
        limit = available_gibibytes() * MEMORY_SHARE
    if finite_limit(limit) is None:
        return None
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_bytes() + max(int(limit * ADDRESS_SLACK * GIB), LEAST_ADDRESSES)
    with contextlib.suppress(ValueError, OSError):  # macOS knows the limit by name only; the loops' check remains
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    return limit


@contextlib.contextmanager
def limited_memory(limit: float | None) -> Iterator[None]:
    """Limit the memory while the body runs."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory(limit)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def unlimited_memory() -> Iterator[None]:
    """Lift the limit while the body starts another program: browsers reserve far more addresses than they use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):  # as for `limit_memory`
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_bytes() -> int:
    """Return the size of the process's address space in bytes, or of its resident memory where that is unknown."""
    sizes = _read_lines(Path("/proc/self/statm"))
    return int(sizes[0].split()[0]) * os.sysconf("SC_PAGE_SIZE") if sizes else resident_bytes()

"""Limits of the process: how long, and how much memory."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from planner.annotations import Final
from planner.budget import GIB, resident_bytes

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
        from argparse import ArgumentTypeError  # noqa: PLC0415 - only mistakes need it

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

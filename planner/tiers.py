"""Two tiers: a search begins in plain Python, unless the task is large, and machine code takes over what lasts.

What is solved within a few milliseconds never waits for machine code to be loaded. Where there is none yet, a search
that lasts has it made by a process of its own, and goes on in plain Python until it is there. What machine code cannot
do (cost ranges that are too wide, a computer without numba) stays in plain Python.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator

from planner.annotations import Final
from planner.search.run import Ending, Steps

PATIENCE_LOADED: Final = 0.003
"""Seconds that a search is at work before machine code takes over, where that is loaded already."""
PATIENCE_BUILT: Final = 0.04
"""The same where it must be loaded first, which takes about as long."""
PATIENCE_MISSING: Final = 1.0
"""Seconds before machine code is made where there is none: that takes two or three minutes of a processor, once."""
LOOK_AGAIN: Final = 0.5
"""Seconds between two looks whether it is there now."""


def tiered(
    reference: Callable[[], Steps], compiled: Callable[[], Steps], *, large: bool = False, again: bool = True
) -> Steps:
    """Run a search: `reference` at first, which is given up for `compiled` if it lasts.

    A `large` task would keep plain Python busy before its first state: there `compiled` begins, if there is machine
    code. What the compiled search cannot finish begins `again` in plain Python.
    """
    ending = None if large and _can_load() else (yield from _until_compiled(reference()))
    if ending is None:
        ending = yield from compiled()
        if ending is Ending.INCOMPLETE and again:
            ending = yield from reference()
    return ending


def _until_compiled(reference: Steps) -> Generator[None, None, Ending | None]:
    """Run `reference` to its end, or until there is machine code: then the ending is None."""
    clock = time.monotonic
    spent, patience = 0.0, PATIENCE_LOADED
    while spent <= patience or (patience := _patience(spent)) > spent:
        began = clock()
        try:
            next(reference)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        spent += clock() - began
        yield
    reference.close()
    return None


def _can_load() -> bool:
    from planner.compiled import library  # noqa: PLC0415 - only for what lasts

    return library.loaded() is not None


def _patience(spent: float) -> float:
    """Return when to look for machine code again, in seconds spent; 0 where it is loaded."""
    if spent < PATIENCE_BUILT and "planner.compiled.library" not in sys.modules:
        return PATIENCE_BUILT
    from planner.compiled import library  # noqa: PLC0415 - only for what lasts

    if library.is_loaded() or (spent >= PATIENCE_BUILT and library.loaded() is not None):
        return 0.0
    if spent >= PATIENCE_MISSING:
        from planner.compiled.making import start_making  # noqa: PLC0415 - as above

        start_making()
    return max(spent + LOOK_AGAIN, PATIENCE_MISSING) if spent >= PATIENCE_BUILT else PATIENCE_BUILT

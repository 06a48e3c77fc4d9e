"""Searches that take turns, and the two tiers: a search begins in plain Python, and machine code takes over what lasts.

A task that takes milliseconds never waits for machine code to load; a large task begins in machine code. Where there is
no machine code yet, a search that lasts has it made by a process of its own, and goes on in plain Python until then.
What machine code cannot do (cost ranges that are too wide, a computer without numba) stays in plain Python.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator

from planner.lightweight import Final, dataclass
from planner.search import Run
from planner.search.search_run import Ending, Steps

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
    from planner.jit import library

    return library.loaded() is not None


def _patience(spent: float) -> float:
    """Return when to look for machine code again, in seconds spent; 0 where it is loaded."""
    if spent < PATIENCE_BUILT and "planner.jit.library" not in sys.modules:
        return PATIENCE_BUILT
    from planner.jit import library

    if library.is_loaded() or (spent >= PATIENCE_BUILT and library.loaded() is not None):
        return 0.0
    if spent >= PATIENCE_MISSING:
        from planner.jit.making import start_making

        start_making()
    return max(spent + LOOK_AGAIN, PATIENCE_MISSING) if spent >= PATIENCE_BUILT else PATIENCE_BUILT


FIRST_TURN: Final = 0.02
"""Seconds: what is solved within the first turn of the first search is solved without building anything for others."""
TURN: Final = 0.1
"""A turn is this part of the time that was spent before it."""


@dataclass(slots=True)
class Contender:
    """A search that takes part, started when its turn comes; `share` is its part of the time against the others'."""

    steps: Steps
    share: int
    spent: float = 0.0
    by: tuple[str, str] = ("", "")


def take_turns(contenders: list[Contender], run: Run, *, shortest: float = FIRST_TURN) -> Steps:
    """Run the one that has had the least of its share, for a turn that grows with the time spent so far.

    That is processor time: a busy computer does not change who has what. A turn that gave a better plan is not counted:
    there may be more where it came from.
    """
    clock = time.thread_time
    total = 0.0
    while contenders:
        current = min(contenders, key=lambda one: one.spent / one.share)
        spent, limit = 0.0, run.limit
        run.by = current.by
        try:
            while spent < max(shortest, total * TURN):
                began = clock()
                try:
                    next(current.steps)
                finally:
                    spent += clock() - began
                yield
        except StopIteration as stop:
            if _ending(stop) is Ending.EXHAUSTED:
                return Ending.EXHAUSTED
            contenders.remove(current)
        current.by = run.by
        if run.limit == limit:
            current.spent += spent
        total += spent
    return Ending.INCOMPLETE


def until_plan(steps: Steps, run: Run) -> Steps:
    """Go through `steps` until there is a plan."""
    while run.plan is None:
        try:
            next(steps)
        except StopIteration as stop:
            return _ending(stop)
        yield
    return Ending.FIRST_PLAN


def _ending(stop: StopIteration) -> Ending:
    assert isinstance(stop.value, Ending)
    return stop.value


def at_most(states: int, steps: Steps, run: Run) -> Steps:
    """Go through `steps` until they have generated so many states."""
    made = 0
    while made < states:
        before = run.generated
        try:
            next(steps)
        except StopIteration as stop:
            return _ending(stop)
        made += run.generated - before
        yield
    return Ending.INCOMPLETE

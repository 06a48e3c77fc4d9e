"""Searches that take turns on one task."""

from __future__ import annotations

import time

from planner.annotations import Final
from planner.records import dataclass
from planner.search import Ending, Run
from planner.search.run import Steps

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
    assert isinstance(stop.value, Ending)  # noqa: S101 - what every search returns
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

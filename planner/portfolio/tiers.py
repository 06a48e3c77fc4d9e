"""Scheduling of searches: turns of several searches, and the two tiers of each.

A search begins in plain Python (the reference tier) and is replaced by machine code (the compiled tier) if it takes
long, so that small tasks never wait for machine code to load. Large tasks begin in machine code. Where there is no
machine code yet, a process of its own makes it while the search goes on in plain Python, and a warning says so.
Searches that machine code cannot run (for very large costs, or without numba) stay in plain Python.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Generator

from planner.lightweight import Final, TypeVar, dataclass
from planner.search import Run
from planner.search.search_run import Ending, Steps

T = TypeVar("T")

PATIENCE_LOADED: Final = 0.003
"""Seconds of search before machine code takes over, if it is loaded."""
PATIENCE_BUILT: Final = 0.04
"""Seconds of search before machine code is loaded: loading takes about as long."""
PATIENCE_MISSING: Final = 1.0
"""Seconds of search before machine code is made where there is none: once, for about a minute of a processor."""
LOOK_AGAIN: Final = 0.5
"""Seconds between two tests whether the compilation has finished."""
FIRST_TURN: Final = 0.02
"""Seconds of the first turns: what the first search solves meanwhile needs no preparation of the others."""
TURN: Final = 0.1
"""Length of a turn as a fraction of the total time spent before it."""


def run_in_tiers(
    reference: Callable[[], Steps],
    compiled: Callable[[], Steps],
    kernels: Collection[str],
    *,
    large: bool = False,
    again: bool = True,
) -> Steps:
    """Run `reference`, and replace it by `compiled`, which needs machine code of these `kernels`, if it takes long.

    For a `large` task, whose preparation in plain Python takes long, begin with `compiled` if there is machine code.
    With `again`, a compiled search that ends INCOMPLETE is followed by the reference search.
    """
    ending = None if large and _can_load(kernels) else (yield from _until_compiled(reference(), kernels))
    if ending is None:
        ending = yield from compiled()
        if ending is Ending.INCOMPLETE and again:
            ending = yield from reference()
    return ending


def _until_compiled(reference: Steps, kernels: Collection[str]) -> Generator[None, None, Ending | None]:
    """Run `reference` to its end, or until machine code can take over; return None then."""
    clock = time.monotonic
    spent, patience = 0.0, PATIENCE_LOADED
    while spent <= patience or (patience := _next_look(spent, kernels)) > spent:
        began = clock()
        try:
            next(reference)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        spent += clock() - began
        yield
    reference.close()
    return None


def _can_load(kernels: Collection[str]) -> bool:
    from planner.jit import library

    return library.load(*kernels) is not None


def _next_look(spent: float, kernels: Collection[str]) -> float:
    """Return after how many seconds of search to look for machine code again; 0 where it is loaded."""
    if spent < PATIENCE_BUILT and "planner.jit.library" not in sys.modules:
        return PATIENCE_BUILT
    from planner.jit import library

    if library.is_loaded(*kernels) or (spent >= PATIENCE_BUILT and library.load(*kernels) is not None):
        return 0.0
    ask_for_machine_code(spent, kernels)
    return max(spent + LOOK_AGAIN, PATIENCE_MISSING) if spent >= PATIENCE_BUILT else PATIENCE_BUILT


def ask_for_machine_code(spent: float, kernels: Collection[str]) -> None:
    """Start to make machine code of `kernels` if a search has `spent` more than `PATIENCE_MISSING` seconds without."""
    if spent >= PATIENCE_MISSING:
        from planner.jit.build_process import start_build

        start_build(kernels)


def describe_machine_code() -> str:
    """Return what there is of machine code, in the words of `Statistics`; "" where no search has looked for it."""
    if "planner.jit.library" not in sys.modules:
        return ""
    from planner.jit import library

    return library.describe_state()


@dataclass(slots=True)
class Contender:
    """A search that takes turns with others, started in its first turn."""

    steps: Steps
    share: int
    """Its share of the time, relative to the others'."""
    spent: float = 0.0
    """Seconds of processor time that count as spent."""
    by: tuple[str, str] = ("", "")
    """The names of the search and the heuristic at work."""


def take_turns(contenders: list[Contender], run: Run, *, shortest: float = FIRST_TURN) -> Steps:
    """Let `contenders` take turns: next is always the one that has had the least time relative to its share.

    Turns grow with the total time spent, and are measured in processor time, so that a busy computer does not change
    the shares. A turn that improved the incumbent is not charged to its search, which may well improve it again.

    An error ends its search only, and is noted in `run`; raises the first error if all searches have failed.
    """
    clock = time.thread_time
    total = 0.0
    first: tuple[tuple[str, str], Exception] | None = None
    has_ended = not contenders
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
            has_ended = True
        except Exception as error:  # noqa: BLE001 - the history tells it
            run.contain(error)
            contenders.remove(current)
            first = first or (run.by, error)
        current.by = run.by
        if run.limit == limit:
            current.spent += spent
        total += spent
        if current not in contenders and contenders and run.plan is None:
            yield  # else what this search did would count as done by the next one
    if first is not None and not has_ended:
        run.by = first[0]
        raise first[1]
    return Ending.INCOMPLETE


def contain_errors(steps: Generator[None, None, T], run: Run) -> Generator[None, None, T | None]:
    """Run `steps`, without which others can go on; return None if an error ends them, and note it in `run`."""
    try:
        return (yield from steps)
    except Exception as error:  # noqa: BLE001 - the history tells it
        run.contain(error)
        return None


def run_while(steps: Steps, condition: Callable[[], bool]) -> Generator[None, None, Ending | None]:
    """Run `steps` while `condition` holds; return how they ended, or None where the condition ended them.

    There is no pause after the condition has ended to hold.
    """
    while condition():
        try:
            next(steps)
        except StopIteration as stop:
            return _ending(stop)
        if condition():
            yield
    return None


def run_until_plan(steps: Steps, run: Run) -> Steps:
    """Run `steps` until there is a plan."""
    ending = yield from run_while(steps, lambda: run.plan is None)
    return Ending.FIRST_PLAN if ending is None else ending


def _ending(stop: StopIteration) -> Ending:
    assert isinstance(stop.value, Ending)
    return stop.value


def run_at_most(states: int, steps: Steps, run: Run) -> Steps:
    """Run `steps` until they have generated so many states."""
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

"""The searches of the compiled tier, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.compiled import library
from planner.compiled.astar import CompiledAstar
from planner.compiled.lazy import CompiledLazy
from planner.search.run import Ending, Run, Steps
from planner.search.weighted import WEIGHTS
from planner.task import Task

UNIT: Final = 2_000
"""Evaluations before greedy search is begun again in another order, beside the first."""


def compiled_search(
    task: Task,
    search: str,
    heuristic: str,
    costs: list[int],
    check: Callable[[], None],
    *,
    states: int | None = None,
    landmarks: bool = False,
) -> Callable[[Run], Steps]:
    """Return the search of that name, by machine code if there is any.

    Its estimates count `costs`. With `states`, it gives up after so many.
    """
    entries = library.loaded() or library.ENTRIES
    if search in {"astar", "uniform"}:
        return CompiledAstar(task, heuristic or "blind", entries, states=states).steps
    lazy = CompiledLazy(task, costs, entries, milestones=landmarks, check=check)
    if search == "weighted":
        return lambda run: _improving(lazy, run)
    return (lambda run: _varied(lazy, run)) if landmarks else lazy.greedy


def _varied(lazy: CompiledLazy, run: Run) -> Steps:
    """Search greedily, and after a while by turns also in other orders: how long it takes is much a matter of luck."""
    first, before = lazy.greedy(run), run.evaluated
    waiting: Steps = lazy.twin().restarting(run, UNIT)
    current = first
    while True:
        try:
            next(current)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
        if current is not first or run.evaluated - before > UNIT:
            current, waiting = waiting, current


def _improving(lazy: CompiledLazy, run: Run) -> Steps:
    """Search with falling weights, as `planner.search.weighted` does."""
    for weight in WEIGHTS[:-1]:
        if (yield from lazy.weighted(run, weight)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    while (yield from lazy.weighted(run, WEIGHTS[-1])) is not Ending.EXHAUSTED:
        pass
    return Ending.EXHAUSTED

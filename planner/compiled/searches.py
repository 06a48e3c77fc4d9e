"""The searches of the compiled tier, by name."""

from __future__ import annotations

from collections.abc import Callable

from planner.compiled import library
from planner.compiled.astar import CompiledAstar
from planner.compiled.lazy import CompiledLazy
from planner.search.run import Ending, Run, Steps
from planner.search.weighted import WEIGHTS
from planner.task import Task


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
    lazy = CompiledLazy(task, costs, entries, landmarks=landmarks, check=check)
    return lazy.greedy if search == "greedy" else lambda run: _improving(lazy, run)


def _improving(lazy: CompiledLazy, run: Run) -> Steps:
    """Search with falling weights, as `planner.search.weighted` does."""
    for weight in WEIGHTS[:-1]:
        if (yield from lazy.weighted(run, weight)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    while (yield from lazy.weighted(run, WEIGHTS[-1])) is not Ending.EXHAUSTED:
        pass
    return Ending.EXHAUSTED

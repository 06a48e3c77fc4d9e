"""What plans cost after some time: Monte-Carlo tree search against A* and others, on tasks without chances."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.suite import BenchmarkTask
from benchmarks.tables import markdown
from planner import Progress, Status, load, solve
from planner.errors import ForethoughtError

SEARCHES: Final = ("mcts", "astar", "weighted")
PARTS: Final = (0.01, 0.03, 0.1, 0.3, 1.0)
"""When we look, in parts of the time limit."""


@dataclass(frozen=True, slots=True)
class Improved:
    """The cost of the best plan of a search at each time that we look, None without one; and whether it was proved."""

    task: str
    search: str
    costs: list[float | None]
    proved: bool
    simulations: int


def improved(task: BenchmarkTask, search: str, time_limit: float) -> Improved | None:
    """Return how `search` does on a task; None where the task is not taken."""
    try:
        problem = load(task.domain_path, task.problem_path)
    except ForethoughtError:
        return None
    began, found = time.perf_counter(), list[tuple[float, float]]()

    def note(progress: Progress) -> None:
        if progress.plan is not None:
            found.append((time.perf_counter() - began, float(progress.plan.cost)))

    result = solve(problem, search=search, time_limit=time_limit, on_progress=note)
    if result.plan is not None:
        found.append((time.perf_counter() - began, float(result.plan.cost)))
    costs = [
        min([cost for seconds, cost in found if seconds <= part * time_limit or part == PARTS[-1]], default=None)
        for part in PARTS
    ]
    return Improved(task.name, search, costs, result.status is Status.OPTIMAL, result.statistics.simulations)


def improved_table(found: Sequence[Improved], time_limit: float) -> str:
    """Return a table with a row for each task and search; a proved cost has a star."""
    head = ["task", "search", *[f"{part * time_limit:g} s" for part in PARTS], "simulations"]
    return markdown(head, [_row(each) for each in found])


def _row(found: Improved) -> list[str]:
    cells = ["—" if cost is None else f"{cost:g}" for cost in found.costs]
    return [
        found.task,
        found.search,
        *cells[:-1],
        cells[-1] + ("*" if found.proved and found.costs[-1] is not None else ""),
        f"{found.simulations:,}" if found.simulations else "—",
    ]

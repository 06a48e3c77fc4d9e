"""The k cheapest plans of tasks: costs and CPU time of each planner, each in a process of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.candidates.listers import Lister
from benchmarks.process import Limits, run_limited
from benchmarks.suite import BenchmarkTask
from benchmarks.tables import markdown

SAME = ("ours", "symk", "kstar")
"""Those that are asked for the same plans."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What one planner did: the costs of its k plans, empty where it reached a limit, and seconds of CPU."""

    task: str
    k: int
    lister: str
    costs: tuple[float, ...]
    seconds: float


def measured(
    tasks: Sequence[BenchmarkTask], listers: Sequence[Lister], numbers: Sequence[int], limits: Limits
) -> Iterator[Listed]:
    """Yield what each of `listers` does on each task for each k; they alternate on each task."""
    for task in tasks:
        for k in numbers:
            for lister in listers:
                with tempfile.TemporaryDirectory() as room:
                    folder = Path(room)
                    run = run_limited(lister.command(task.domain_path, task.problem_path, k), folder, limits)
                    yield Listed(task.name, k, lister.label, tuple(lister.costs(run, folder)), run.cpu_seconds)


def table(found: Sequence[Listed]) -> str:
    """Return seconds by task and planner, our costs from and to, and whether others that gave k plans gave the same."""
    labels = list(dict.fromkeys(each.lister for each in found))
    rows: list[list[str]] = []
    for task, k in dict.fromkeys((each.task, each.k) for each in found):
        of = {each.lister: each for each in found if (each.task, each.k) == (task, k)}
        times = [f"{of[label].seconds:.2f}" if label in of and of[label].costs else "—" for label in labels]
        costs = [of[label].costs for label in SAME if label in of]
        rows.append([task, str(k), _span(next(filter(None, costs), ())), _agreed(costs), *times])
    return markdown(("task", "k", "costs", "costs are", *(f"{label}, CPU s" for label in labels)), rows)


def _agreed(costs: Sequence[tuple[float, ...]]) -> str:
    """Return how the costs of the first planner, whose plans were validated, are to those of the others."""
    ours, others = costs[0], [each for each in costs[1:] if each]
    if not ours or not others:
        return "—"
    if all(each == ours for each in others):
        return "the same"
    fewer = all(mine <= theirs for each in others for mine, theirs in zip(ours, each, strict=False))
    return "lower: others miss plans" if fewer else "different"


def _span(costs: Sequence[float]) -> str:
    return "" if not costs else f"{costs[0]:g}" if costs[0] == costs[-1] else f"{costs[0]:g} to {costs[-1]:g}"

"""The scores of the planning competitions: coverage, agile and satisficing, each at most 1 a task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId
from planner.errors import DocumentError, Location

PLANS: Final = frozenset({Outcome.OPTIMAL, Outcome.SOLVED})
COMPETITION_SECONDS: Final = 300.0
"""The limit of the agile tracks, for records that do not state theirs."""


def agile_score(record: Record, counts: Counts) -> float:
    """Return the agile score (competitions of 2018 and 2023), on CPU time of the whole process.

    1 for what is done within a second, then 1 - log(seconds) / log(limit), and 0 for what is not done.
    """
    limit = record.limits.get("cpu_seconds", COMPETITION_SECONDS)
    if not counts(record):
        return 0.0
    if record.cpu_seconds <= 1:
        return 1.0
    return 0.0 if record.cpu_seconds >= limit else 1 - math.log(record.cpu_seconds) / math.log(limit)


def satisficing_score(record: Record, best: Mapping[TaskId, float]) -> float:
    """Return the best known cost over the plan's; 1 for a proof that there is no plan, 0 without plan or known cost."""
    if record.outcome is Outcome.UNSOLVABLE:
        return 1.0
    if record.outcome not in PLANS or record.cost is None:
        return 0.0
    least = best.get(record.task_id, record.cost)
    return 1.0 if record.cost <= least else least / record.cost


def length_score(record: Record, shortest: Mapping[TaskId, int]) -> float:
    """Return the number of steps of the shortest known plan over that of this one, at most 1.

    1 for a proof that there is no plan, and 0 for no plan.
    """
    if record.outcome is Outcome.UNSOLVABLE:
        return 1.0
    if record.outcome not in PLANS or record.plan_length is None:
        return 0.0
    least = shortest.get(record.task_id, record.plan_length)
    return 1.0 if record.plan_length <= least else least / record.plan_length


def shortest_plans(records: Sequence[Record]) -> dict[TaskId, int]:
    """Return how many steps the shortest plan of each task has: that which its suite knows, or else of `records`."""
    known = {one.task_id: one.shortest_known for one in records if one.shortest_known is not None}
    found: dict[TaskId, int] = {}
    for record in records:
        if record.outcome in PLANS and record.plan_length is not None:
            found[record.task_id] = min(record.plan_length, found.get(record.task_id, record.plan_length))
    return found | known


def best_costs(records: Iterable[Record], known: Mapping[str, float]) -> dict[TaskId, float]:
    """Return the least cost of each task: of the plans in `records`, and of what is `known` by the task's name."""
    best: dict[TaskId, float] = {}
    for record in records:
        if record.outcome in PLANS and record.cost is not None:
            least = min(record.cost, known.get(record.task, record.cost))
            best[record.task_id] = min(least, best.get(record.task_id, least))
    return best


def read_costs(path: Path) -> dict[str, float]:
    """Read best known costs: lines with a task's name and a cost, a tab between; a head `task`, `cost` may come first.

    Raises `DocumentError` where a line is something else.
    """
    costs: dict[str, float] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        task, tab, cost = line.rpartition("\t")
        if (number == 1 and (task, cost) == ("task", "cost")) or not line.strip():
            continue
        try:
            costs[task] = float(cost)
        except ValueError:
            costs[task] = math.nan
        if not tab or not 0 <= costs[task] < math.inf:
            message = f"found {line[:60]!r}, expected a task's name, a tab, and a cost"
            raise DocumentError(message, Location(str(path), number))
    return costs

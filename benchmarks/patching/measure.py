"""What a patch costs, keeps and takes, and what planning from scratch does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.patching.cases import Broken
from benchmarks.tables import markdown
from planner import Status, Step, patch, solve
from planner.model import Number

HEAD = ("domain", "way", "found", "proved", "cost", "kept", "old steps", "CPU ms, median", "CPU ms, most")
SCRATCH = "from scratch"


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of going on with a broken plan: what its steps cost, and how many of the remaining ones they keep.

    `kept` is the part of the remaining steps that follow unchanged at the end, `old` the part that occur in their order
    somewhere. Times are milliseconds of CPU; cost is None where no steps were found.
    """

    domain: str
    way: str
    proved: bool
    cost: Number | None
    kept: float
    old: float
    milliseconds: float


def measure(case: Broken, weights: Iterable[Number], time_limit: float) -> list[Measured]:
    """Return what planning from scratch gives, and patches with each weight."""
    began = time.process_time()
    result = solve(case.problem, time_limit=time_limit)
    steps = None if result.plan is None else result.plan.steps
    found = [_measured(case, SCRATCH, result.status, steps, began)]
    for weight in weights:
        began = time.process_time()
        patched = patch(case.problem, case.remaining, weight=weight, time_limit=time_limit)
        found.append(_measured(case, f"patch, w = {weight}", patched.status, patched.steps, began))
    return found


def _measured(case: Broken, way: str, status: Status, steps: tuple[Step, ...] | None, began: float) -> Measured:
    took = 1000 * (time.process_time() - began)
    proved = status in {Status.OPTIMAL, Status.UNSOLVABLE}
    if steps is None:
        return Measured(case.domain, way, proved, None, 0.0, 0.0, took)
    old, new = [[(step.action, step.arguments) for step in each] for each in (case.remaining, steps)]
    kept = next((n for n, (one, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if one != other), None)
    kept = min(len(old), len(new)) if kept is None else kept
    cost = sum((step.cost for step in steps), start=0)
    return Measured(case.domain, way, proved, cost, kept / len(old), in_order(old, new) / len(old), took)


def in_order(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of a longest common subsequence."""
    lengths = [0] * (len(other) + 1)
    for each in one:
        before = lengths[:]
        for place, item in enumerate(other):
            lengths[place + 1] = before[place] + 1 if each == item else max(before[place + 1], lengths[place])
    return lengths[-1]


def patching_table(measured: Sequence[Measured]) -> str:
    """Return means and medians for each domain and way: costs as sums over what all ways of the domain have solved."""
    cells: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        cells.setdefault((one.domain, one.way), []).append(one)
    return markdown(HEAD, [_row(*key, members, cells) for key, members in cells.items()])


def _row(
    domain: str, way: str, members: Sequence[Measured], cells: dict[tuple[str, str], list[Measured]]
) -> tuple[str, ...]:
    rows = [each for (other, _), each in cells.items() if other == domain]
    everywhere = [n for n in range(len(members)) if all(each[n].cost is not None for each in rows)]
    solved = [one for one in members if one.cost is not None]
    cost = sum((members[n].cost or 0 for n in everywhere), start=0)
    times = [one.milliseconds for one in members]
    return (
        domain,
        way,
        f"{len(solved)}/{len(members)}",
        str(sum(one.proved for one in members)),
        str(cost),
        _percent([one.kept for one in solved]),
        _percent([one.old for one in solved]),
        f"{median(times):.0f}",
        f"{max(times):.0f}",
    )


def _percent(parts: Sequence[float]) -> str:
    return f"{100 * mean(parts):.0f} %" if parts else ""

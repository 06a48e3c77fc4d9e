"""Plans of which nothing is proved, where time ends before enough are listed by cost."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable

from planner.annotations import Any, Final
from planner.kinds import AnyProblem
from planner.model import Number
from planner.plan import Plan, Progress

SHARE: Final = 0.3
"""The part of the time that is kept for these plans."""


def filling(
    problem: AnyProblem,
    known: Iterable[Plan],
    most: Number | None,
    *,
    time_limit: float | None,
    memory_limit: float | None,
    cancel: threading.Event | None,
) -> list[Plan]:
    """Return plans that a search for ever better ones comes upon, the cheapest first.

    They have other steps than those `known`, and none costs more than `most`. Raises as `planner.solve` does.
    """
    from planner.solve import solve  # noqa: PLC0415 - few callers want more than is proved

    found: dict[Hashable, Plan] = {}

    def note(progress: Progress) -> None:
        take(progress.plan)

    def take(plan: Plan | None) -> None:
        if plan is not None:
            found.setdefault(_steps_of(plan), plan)

    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
    take(solve(problem, on_progress=note, **limits).plan)
    for plan in known:
        found.pop(_steps_of(plan), None)
    return sorted(
        [plan for plan in found.values() if most is None or plan.charge <= most], key=lambda plan: plan.charge
    )


def _steps_of(plan: Plan) -> Hashable:
    """Return the steps of `plan`, in whatever order."""
    return tuple(sorted((step.action, step.arguments) for step in plan.steps))

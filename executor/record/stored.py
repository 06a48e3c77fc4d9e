"""Goals, plans and runs as a journal has them: what was saved, and what has become of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from executor.journal import Journal
from executor.plans.action_plan import ActionPlan, Goals, PlanStatus
from executor.record.status import RunStatus
from executor.world.data import loaded

PLAN_STATUS: Final[Mapping[RunStatus, PlanStatus]] = {
    RunStatus.PROPOSED: "proposed",
    RunStatus.ACTIVE: "active",
    RunStatus.WAITING: "active",
    RunStatus.IN_DOUBT: "active",
    RunStatus.SUCCEEDED: "completed",
    RunStatus.UNVERIFIED: "completed",
    RunStatus.LOWERED: "completed",
    RunStatus.IMPOSSIBLE: "abandoned",
    RunStatus.FAILED: "abandoned",
    RunStatus.COMPENSATED: "abandoned",
    RunStatus.CANCELLED: "abandoned",
}
"""What a plan is when a run of it is so."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run in a list: of which plan, how it is, when it began and was heard of last (seconds since 1970).

    One that is ACTIVE is at work, or was when its process ended: `Executor.resume` takes it up, or says who drives it.
    """

    run: str
    plan: str
    status: RunStatus
    created: float
    updated: float
    events: int


def save_plan(journal: Journal, plan: ActionPlan) -> None:
    """Keep `plan` under its id; raises `JournalError`."""
    journal.save_plan(plan.id, plan.model_dump_json(), status=plan.status)


def save_goal(journal: Journal, name: str, goal: Goals) -> None:
    """Keep `goal` under `name`; raises `JournalError`."""
    journal.save_goal(name, goal.model_dump_json())


def goals(journal: Journal) -> dict[str, Goals]:
    """Return all goals by name, the one that was saved first first; raises `JournalError`."""
    return {each.name: Goals.model_validate_json(each.data) for each in journal.goals()}


def runs(journal: Journal) -> dict[str, RunInfo]:
    """Return all runs by id, the oldest first; raises `JournalError`."""
    return {info.run: info for info, _ in _runs(journal)}


def plans(journal: Journal) -> dict[str, ActionPlan]:
    """Return the plans that were saved, and then the others that ran, by id; each with its status.

    That is what its latest run says, or what was saved after that; a plan is active while one of its runs is. Raises
    `JournalError`.
    """
    found: dict[str, ActionPlan] = {}
    times: dict[str, float] = {}
    for document in journal.plans():
        found[document.name] = ActionPlan.model_validate_json(document.data)
        times[document.name] = document.time
    for info, data in _runs(journal):
        if data is None:
            continue
        status = PLAN_STATUS[info.status]
        known = found.get(info.plan) or ActionPlan.model_validate(data)
        heard = math.inf if status == "active" else info.updated
        if heard >= times.get(info.plan, 0.0):
            times[info.plan] = heard
            found[info.plan] = known.model_copy(update={"status": status})
    return found


def _runs(journal: Journal) -> Iterator[tuple[RunInfo, dict[str, Any] | None]]:
    """Yield the runs, each with its plan as data; None for one that was created and has not begun."""
    for record in journal.runs():
        first = next(journal.read(record.run), None) if record.events else None
        plan = None if first is None else loaded(first.data)["plan"]
        status = RunStatus[record.status] if record.status else RunStatus.PROPOSED
        name = "" if plan is None else plan["id"]
        yield RunInfo(record.run, name, status, record.created, record.updated, record.events), plan

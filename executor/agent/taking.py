"""Plans that somebody else drew up, as proposals: resolved, checked, repaired, and shown to whoever confirms them.

They may have steps that the goal does not need, since as many as can be are kept. So somebody has to see all of them,
with their values, unless they only read.
"""

from __future__ import annotations

from typing import Any

from executor.agent.confirming import only_reads
from executor.agent.foreign import Repaired, repaired
from executor.agent.planning import able
from executor.agent.proposals import Proposal, Standing
from executor.searches import search_until_cancelled
from executor.world.data import text_of
from executor.world.world import World
from planner.plan import Plan, Result, Status, StoppedBy
from planner.records import replace


async def taken(base: Proposal, steps: Any, world: World, time_limit: float | None, *, waived: bool) -> Proposal:
    """Return what becomes of `steps` as a plan for the goal of `base`.

    Steps that were proposed there for what no fact expresses stay in it. Raises `PlanError` for what is no plan at all.
    """
    problem = base.problem
    assert problem is not None  # noqa: S101 - a mistake of ours
    there = able(problem, world)
    found = await search_until_cancelled(
        lambda called_off: repaired(there, steps, time_limit=time_limit, cancel=called_off)
    )
    if found.plan is None:
        return replace(base, standing=Standing.UNPLANNED, result=None, repaired=found, reason=_why(found))
    plan = replace(found.plan, problem=problem)
    result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, reason=found.status.value)
    improvised = None if base.improvised is None else replace(base.improvised, result=result)
    made = replace(base, result=result, values=found.data, repaired=found, improvised=improvised, question="")
    if improvised is None and (waived or (only_reads(plan) and not made.is_doubted)):
        return replace(made, standing=Standing.PLANNED)
    standing = Standing.UNCONFIRMED if improvised is None else Standing.UNVERIFIED
    return replace(made, standing=standing, question=_question(plan, made))


def _why(found: Repaired) -> str:
    """Return why the plan is refused: where it fails, and why it cannot be mended."""
    fails = "" if found.counterexample is None else found.counterexample.reason
    return "; ".join(filter(None, [fails, found.reason]))


def _question(plan: Plan, proposal: Proposal) -> str:
    doubts = [f"Doubtful: {each}" for each in proposal.open_doubts]
    lines = ["\n".join(["Is this what you want?", proposal.words, *doubts, "In these steps:"])]
    for place, step in enumerate(plan.steps):
        values = ", ".join(f"{name} = {text_of(value)}" for name, value in proposal.values.get(place, {}).items())
        lines.append(f"{place + 1}. {step}{f'; {values}' if values else ''}")
    return "\n".join(lines)

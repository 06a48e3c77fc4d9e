"""Which goals somebody has to confirm: all that a sentence led to, unless its plan only reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from executor.agent.proposals import Proposal
from executor.world.threads import called
from planner.plan import Plan

Confirm = Callable[[Proposal], Any] | None


def only_reads(plan: Plan) -> bool:
    """Return whether all steps of `plan` are instances of actions that are `read_only`."""
    problem = plan.problem
    actions = (problem.classical if hasattr(problem, "classical") else problem).domain.actions
    return all("read_only" in actions[step.action].tags for step in plan.steps)


async def confirmed(confirm: Confirm, proposal: Proposal) -> bool | None:
    """Return what `confirm` says to `proposal`; None where nobody has decided; one that raises confirms nothing."""
    if confirm is None:
        return None
    try:
        given = await called(lambda: confirm(proposal), {})
        if inspect.isawaitable(given):
            given = await given
    except Exception:  # noqa: BLE001 - whatever a callback raises, it has not said yes
        return False
    return None if given is None else given is True

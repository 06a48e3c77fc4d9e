"""Plans for an agent's requests, searched for in a thread while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

from executor.agent.missing import Missing, missing_in
from executor.world.world import World
from planner.budget import Budget
from planner.explain import unreachable_parts
from planner.model import FALSE, Problem
from planner.plan import Result
from planner.records import replace
from planner.solve import solve

SECONDS: Final = 5.0
"""How long it is looked why there is no plan, at most."""


async def searched(problem: Problem, **options: Any) -> Result:
    """Return what `planner.solve` gives; where the caller is cancelled, the search ends, too."""
    called_off = threading.Event()
    try:
        return await asyncio.to_thread(solve, problem, cancel=called_off, **options)
    except asyncio.CancelledError:
        called_off.set()
        raise


def able(problem: Problem, world: World) -> Problem:
    """Return `problem` with those actions alone that `world` has handlers for; with all, where it has none at all."""
    lacking = frozenset(world.without_handler() if any(world.skills.values()) else ())
    if not lacking:
        return problem
    domain = problem.domain
    named = {pattern.predicate for each in problem.constraints for pattern in each.steps}
    named |= {pattern.predicate for action in domain.actions.values() for pattern in action.after}
    actions = {
        name: replace(action, requires=FALSE) if name in lacking else action
        for name, action in domain.actions.items()
        if name not in lacking or name in named
    }
    return replace(problem, domain=replace(domain, actions=actions))


def declared(result: Result, problem: Problem) -> Result:
    """Return `result`, whose plan was found for a part of `problem`, as one for all of it."""
    return result if result.plan is None else replace(result, plan=replace(result.plan, problem=problem))


async def missing(problem: Problem, world: World) -> tuple[Missing, ...]:
    """Return which capabilities are missing for the goal of `problem`, as far as that is found out in time."""
    parts = await asyncio.to_thread(unreachable_parts, able(problem, world), Budget(SECONDS))
    return tuple(missing_in(parts, problem.domain))

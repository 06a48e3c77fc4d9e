"""Plans for an agent's requests, searched for in a thread while the event loop goes on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from executor.agent.missing_capabilities import Missing, missing_in
from executor.background_searches import search_in_turn, search_until_cancelled
from executor.tools.world import World
from planner.explain.unsolvability import unreachable_parts
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model import FALSE, Problem
from planner.model.domain import creates_objects
from planner.model.problem import seal
from planner.plan import Plan, Result, Statistics, Status, StoppedBy
from planner.reuse.plan_cache import PlanCache, Recalled
from planner.reuse.templates import Template, checked
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.topk.top_k import CandidateSet, k_best

TEMPLATE: Final = "template"
"""What the statistics of a result name as its search, where a template gave the plan."""
SECONDS: Final = 5.0
"""How long it is looked why there is no plan, at most."""


async def searched(problem: Problem, **options: Any) -> Result:
    """Return what `planner.solve` gives; where the caller is cancelled, the search ends, too."""
    return await search_until_cancelled(lambda called_off: solve(problem, cancel=called_off, **options))


@dataclass(slots=True, eq=False)
class Planner:
    """Finds plans: by the first of the `templates` that fits, by what the `cache` has, or by search.

    `mode` and `time_limit` are those of `planner.solve`. Templates are for what has to be; what is
    wished for besides is seen to after their steps.
    """

    cache: PlanCache | None = None
    templates: Sequence[Template] = ()
    mode: str = "anytime"
    time_limit: float | None = 10.0
    used: int = 0
    """How often a template has given a plan."""

    async def plan(self, problem: Problem) -> Recalled:
        """Return what is found; where the caller is cancelled, the search ends, too."""
        return await search_until_cancelled(lambda called_off: self._found(problem, called_off))

    def _found(self, problem: Problem, called_off: threading.Event) -> Recalled:
        options: dict[str, Any] = {"mode": self.mode, "time_limit": self.time_limit, "cancel": called_off}
        for template in self.templates:
            plan = template.plan_for(problem)
            if plan is not None:
                self.used += 1
                statistics, reason = Statistics(search=TEMPLATE), f"by the template {template.name!r}"
                plan = with_wishes(plan, problem, **options)
                result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, None, statistics, reason)
                return Recalled(result, values=template.values)
        return Recalled(solve(problem, **options)) if self.cache is None else self.cache.recall(problem, **options)


def with_wishes(plan: Plan, problem: Problem, **options: Any) -> Plan:
    """Return `plan` with the steps after it that are worth more by the wishes of `problem` than they cost.

    They are searched for from where the plan leads to; the `options` are those of `planner.solve`. Where there are
    limits, constraints on the way or unknown facts, and where actions create objects, the plan stays as it is.
    """
    if not plan.forgone or problem.constraints or problem.is_limited:
        return plan
    if problem.unknown or creates_objects(problem.domain):
        return plan
    simulation = Simulation(problem)
    for step in plan.steps:
        simulation.apply(step)
    later = replace(problem, initial=tuple(simulation.facts), ran=tuple(simulation.history))
    rest = solve(later, **options).plan
    steps = [(step.action, step.arguments) for step in (*plan.steps, *(rest.steps if rest is not None else ()))]
    whole = checked(problem, steps, {})
    return plan if whole is None or whole.charge >= plan.charge else whole


async def best(problem: Problem, world: World, k: int, **options: Any) -> CandidateSet:
    """Return what `planner.topk.top_k.k_best` gives with the actions that `world` has handlers for."""
    found = await search_until_cancelled(
        lambda called_off: k_best(able(problem, world), k, cancel=called_off, **options)
    )
    return replace(found, plans=tuple([replace(plan, problem=problem) for plan in found.plans]))


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
    return seal(replace(problem, domain=replace(domain, actions=actions)))


def declared(result: Result, problem: Problem) -> Result:
    """Return `result`, whose plan was found for a part of `problem`, as one for all of it."""
    return result if result.plan is None else replace(result, plan=replace(result.plan, problem=problem))


async def missing(problem: Problem, world: World) -> tuple[Missing, ...]:
    """Return which capabilities are missing for the goal of `problem`, as far as that is found out in time."""
    parts = await search_in_turn(lambda: unreachable_parts(able(problem, world), Limits(SECONDS)))
    return tuple(missing_in(parts, problem.domain))

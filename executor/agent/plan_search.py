"""Search for plans in a thread while the event loop goes on; without a plan, find the missing capabilities."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from executor.background_searches import search_in_turn, search_until_cancelled
from executor.tools.world import World
from planner.explain.unreachable_goals import Unreachable
from planner.explain.unsolvability import find_unreachable_parts
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model import FALSE, Action, Atom, DomainModel, Not, Outcome, Problem, When
from planner.model.domain import creates_objects
from planner.model.problem import seal
from planner.plan import Plan, Result, Statistics, Status, StoppedBy
from planner.reuse.plan_cache import PlanCache, Recalled
from planner.reuse.templates import Template, make_valid_plan
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.topk.top_k import CandidateSet, k_best

WORDS = "no fact expresses it"
"""The cause where something is said in words alone."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A `fact` that nothing can provide, or words that no fact expresses; who needs it, nearest first.

    `pattern` is the fact with types in place of objects: what an action would have to provide. `provided_by` are the
    actions that are declared to provide such facts, and cannot: for want of a handler, of objects, or of what they need
    in turn. `cause` says why there is nothing else.
    """

    fact: str
    needed_by: tuple[str, ...] = ()
    provided_by: tuple[str, ...] = ()
    pattern: str = ""
    cause: str = WORDS

    def __str__(self) -> str:
        needs = f", needed by {' ← '.join(self.needed_by)}" if self.needed_by else ""
        by = f" (declared, but of no use here: {', '.join(self.provided_by)})" if self.provided_by else ""
        return f"missing: {self.fact}{needs}{by}"

    def to_dict(self) -> dict[str, Any]:
        """Return the missing capability as JSON-ready data."""
        return {
            "fact": self.fact,
            "pattern": self.pattern,
            "cause": self.cause,
            "needed_by": list(self.needed_by),
            "provided_by": list(self.provided_by),
        }


def missing_for(
    parts: Iterable[Unreachable], domain: DomainModel, needed_by: tuple[str, ...] = ()
) -> Iterator[Missing]:
    """Yield what is missing for `parts` of a goal, each once; `needed_by` is who needs that goal."""
    found = dict.fromkeys(each for part in parts for each in part.missing)
    for each in found:
        is_negative, name = each.fact.startswith("not "), each.fact.removeprefix("not ").partition("(")[0]
        would = [action.signature for action in domain.actions.values() if _provides(action, name, not is_negative)]
        pattern = f"{'not ' if is_negative else ''}{_pattern(domain, name)}" if name in domain.predicates else ""
        yield Missing(each.fact, (*each.needed_by, *needed_by), tuple(would), pattern, each.cause.value)


def _provides(action: Action, predicate: str, positive: bool) -> bool:
    """Return whether `action` is declared to make facts of `predicate` true, or false."""
    effects: list[Action | When | Outcome] = [action, *action.when, *action.outcomes]
    literals = [each for effect in effects for each in effect.provides]
    given = [each for each in literals if isinstance(each, Atom)]
    ended = [each.part for each in literals if isinstance(each, Not) and isinstance(each.part, Atom)]
    ended += [each for effect in effects for each in effect.modifies]
    return any(each.predicate == predicate for each in (given if positive else ended))


def _pattern(domain: DomainModel, name: str) -> str:
    types = [" | ".join(each.types) for each in domain.predicates[name].parameters]
    return f"{name}({', '.join(types)})" if types else name


TEMPLATE: Final = "template"
"""What the statistics of a result name as its search, where a template gave the plan."""
SECONDS: Final = 5.0
"""Time limit of the explanation why there is no plan, in seconds."""


async def solve_in_thread(problem: Problem, **options: Any) -> Result:
    """Call `planner.solve` in a thread; where the caller is cancelled, the search ends, too."""
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
        """Find a plan; where the caller is cancelled, the search ends, too."""
        return await search_until_cancelled(lambda called_off: self._found(problem, called_off))

    def _found(self, problem: Problem, called_off: threading.Event) -> Recalled:
        options: dict[str, Any] = {"mode": self.mode, "time_limit": self.time_limit, "cancel": called_off}
        for template in self.templates:
            plan = template.plan_for(problem)
            if plan is not None:
                self.used += 1
                statistics, reason = Statistics(search=TEMPLATE), f"by the template {template.name!r}"
                plan = append_wishes(plan, problem, **options)
                result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, None, statistics, reason)
                return Recalled(result, values=template.values)
        return Recalled(solve(problem, **options)) if self.cache is None else self.cache.recall(problem, **options)


def append_wishes(plan: Plan, problem: Problem, **options: Any) -> Plan:
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
    whole = make_valid_plan(problem, steps, {})
    return plan if whole is None or whole.charge >= plan.charge else whole


async def search_candidates(problem: Problem, world: World, k: int, **options: Any) -> CandidateSet:
    """Return what `planner.topk.top_k.k_best` gives with the actions that `world` has handlers for."""
    found = await search_until_cancelled(
        lambda called_off: k_best(restrict_to_handlers(problem, world), k, cancel=called_off, **options)
    )
    return replace(found, plans=tuple([replace(plan, problem=problem) for plan in found.plans]))


def restrict_to_handlers(problem: Problem, world: World) -> Problem:
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


def with_problem(result: Result, problem: Problem) -> Result:
    """Return `result`, whose plan was found for a part of `problem`, as one for all of it."""
    return result if result.plan is None else replace(result, plan=replace(result.plan, problem=problem))


async def find_missing(problem: Problem, world: World) -> tuple[Missing, ...]:
    """Find the capabilities that are missing for the goal of `problem`, within the time limit."""
    parts = await search_in_turn(lambda: find_unreachable_parts(restrict_to_handlers(problem, world), Limits(SECONDS)))
    return tuple(missing_for(parts, problem.domain))

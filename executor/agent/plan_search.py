"""Search for plans in a thread while the event loop goes on; without a plan, find the missing capabilities."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from executor.background_searches import SearchStopped, describe_tries, search_in_turn, search_until_cancelled
from executor.recovery.recovery_policy import MORE
from executor.tools.world import World
from planner.compilations.unlisted_objects import plan_to_find
from planner.explain.unreachable_goals import Unreachable
from planner.explain.unsolvability import find_unreachable_parts
from planner.lightweight import dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import FALSE, Action, Atom, DomainModel, Not, Outcome, Problem, When
from planner.model.domain import creates_objects, may_find_out
from planner.model.problem import seal
from planner.plan import Plan, Result, Statistics, Status, StoppedBy
from planner.reuse.plan_cache import PlanCache, Recalled
from planner.reuse.templates import Template, make_valid_plan
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.topk.top_k import CandidateSet, k_best

WORDS = "no fact expresses it"
"""The cause of a missing capability that is only described in words."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A `fact` that no action can provide, or words that no fact expresses, and the needs for it, nearest first.

    `pattern` is the fact with types in place of objects: the effect that an action would have to have. `provided_by`
    are the actions that declare such effects but cannot be used, for want of a handler, of objects, or of their own
    requirements. `cause` says why there is no other action.
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


def list_missing(
    parts: Iterable[Unreachable], domain: DomainModel, needed_by: tuple[str, ...] = ()
) -> Iterator[Missing]:
    """Yield the missing capabilities for `parts` of a goal, each once; `needed_by` names what needs that goal."""
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
"""The name of the search in the statistics of a plan from a template."""
SECONDS: Final = 5.0
"""Time limit of the explanation why there is no plan, in seconds."""


async def solve_in_thread(problem: Problem, **options: Any) -> Result:
    """Call `planner.solve` in a thread; cancelling the caller ends the search, too."""
    return await search_until_cancelled(lambda called_off: _solve_within_limits(problem, cancel=called_off, **options))


def _solve_within_limits(problem: Problem, **options: Any) -> Result:
    """Call `planner.solve`; return UNKNOWN where a limit ends it without a result."""
    try:
        return solve(problem, **options)
    except LimitReached as limit:
        return Result(Status.UNKNOWN, limit.stopped_by)


@dataclass(slots=True, eq=False)
class Planner:
    """Finds plans: by the first of the `templates` that fits, from the `cache`, or by search.

    `mode` and `time_limit` are those of `planner.solve`; a search that runs out of time is tried once more, with `MORE`
    times as much. Templates achieve hard goals only; steps for soft goals are searched for afterwards.
    """

    cache: PlanCache | None = None
    templates: Sequence[Template] = ()
    mode: str = "anytime"
    time_limit: float | None = 10.0
    used: int = 0
    """The number of plans from templates."""

    async def plan(self, problem: Problem) -> Recalled:
        """Find a plan; cancelling the caller ends the search, too."""
        return await search_until_cancelled(lambda called_off: self._find_plan(problem, called_off))

    def _find_plan(self, problem: Problem, called_off: threading.Event) -> Recalled:
        found = self._search_within_limits(problem, called_off, self.time_limit)
        if found.result.has_plan or found.result.stopped_by is not StoppedBy.TIME or self.time_limit is None:
            return found
        more = MORE * self.time_limit
        found = self._search_within_limits(problem, called_off, more)
        result = found.result
        if result.has_plan or result.stopped_by is not StoppedBy.TIME:
            return found
        reason = "; ".join(filter(None, [result.reason, describe_tries(self.time_limit, more)]))
        return replace(found, result=replace(result, reason=reason))

    def _search_within_limits(
        self, problem: Problem, called_off: threading.Event, time_limit: float | None
    ) -> Recalled:
        """Find a plan; return UNKNOWN where a limit ends the search without a result."""
        try:
            return self._find_plan_within(problem, called_off, time_limit)
        except LimitReached as limit:
            return Recalled(Result(Status.UNKNOWN, limit.stopped_by))

    def _find_plan_within(self, problem: Problem, called_off: threading.Event, time_limit: float | None) -> Recalled:
        options: dict[str, Any] = {"mode": self.mode, "time_limit": time_limit, "cancel": called_off}
        for template in self.templates:
            plan = template.plan_for(problem)
            if plan is not None:
                self.used += 1
                statistics, reason = Statistics(search=TEMPLATE), f"by the template {template.name!r}"
                plan = append_wishes(plan, problem, **options)
                result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, None, statistics, reason)
                return Recalled(result, values=template.values)
        found = Recalled(solve(problem, **options)) if self.cache is None else self.cache.recall(problem, **options)
        if found.result.has_plan or not may_find_out(problem.domain):
            return found
        listing = plan_to_find(problem, lambda aim: solve(aim, **options))
        return found if listing is None else Recalled(listing)


def append_wishes(plan: Plan, problem: Problem, **options: Any) -> Plan:
    """Append steps to `plan` for soft goals that are worth more than the steps cost.

    The steps come from a search from the final state of the plan; the `options` are those of `planner.solve`. With
    limits, constraints, unknown facts, or actions that create objects, the plan stays as it is.
    """
    if not plan.forgone or problem.constraints or problem.is_limited:
        return plan
    if problem.unknown or creates_objects(problem.domain):
        return plan
    simulation = Simulation(problem)
    for step in plan.steps:
        simulation.apply(step)
    rest = solve(simulation.problem_now, **options).plan
    steps = [(step.action, step.arguments) for step in (*plan.steps, *(rest.steps if rest is not None else ()))]
    whole = make_valid_plan(problem, steps, {})
    return plan if whole is None or whole.charge >= plan.charge else whole


async def search_candidates(problem: Problem, world: World, k: int, **options: Any) -> CandidateSet:
    """Call `planner.topk.top_k.k_best` with the actions that `world` has handlers for."""
    found = await search_until_cancelled(
        lambda called_off: k_best(restrict_to_handlers(problem, world), k, cancel=called_off, **options)
    )
    return replace(found, plans=tuple([replace(plan, problem=problem) for plan in found.plans]))


def restrict_to_handlers(problem: Problem, world: World) -> Problem:
    """Keep only the actions that `world` has handlers for; keep all if it has no handlers at all."""
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


def replace_problem(result: Result, problem: Problem) -> Result:
    """Replace the problem of the plan of `result`, which was found for a part of it."""
    return result if result.plan is None else replace(result, plan=replace(result.plan, problem=problem))


async def find_missing(problem: Problem, world: World) -> tuple[Missing, ...]:
    """Find the missing capabilities for the goal of `problem`, within the time limit."""
    try:
        parts = await search_in_turn(
            lambda: find_unreachable_parts(restrict_to_handlers(problem, world), Limits(SECONDS))
        )
    except SearchStopped:
        return ()
    return tuple(list_missing(parts, problem.domain))

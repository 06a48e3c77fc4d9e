"""What an engine's answer is worth: plans are checked, and claims are taken no further than they hold.

- A plan counts when our own checker accepts it on the source problem; its cost is computed by us.
- "Optimal" counts where the engine guarantees it and was told the costs, or all actions cost the same; a plan that
  costs nothing is optimal, whoever found it.
- "Unsolvable" counts where the engine's search is known to be complete.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from planner.engines.jobs import Answer
from planner.errors import EngineError
from planner.kinds import AnyProblem
from planner.model import Metric, Problem
from planner.plan import Plan, Result, Statistics, Status, Step, StoppedBy, exact_sum
from planner.validate import Simulation, validate

COMPLETE: Final = frozenset({"fast-downward", "fast-downward-opt", "symk", "symk-opt"})
"""Engines that are known to exhaust the problem before they say that it has no plan."""

_STOPS: Final = {"TIMEOUT": StoppedBy.TIME, "MEMOUT": StoppedBy.MEMORY}


def judged(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    """Return the result for `problem` that the `answer` of an engine that finished supports.

    Raises `EngineError` where the plan is invalid, or where the engine failed.
    """
    if answer.steps is not None:
        return _with_plan(problem, engine, answer, statistics)
    match answer.status:
        case "UNSOLVABLE_PROVEN" if engine in COMPLETE:
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=statistics)
        case "UNSOLVABLE_PROVEN":
            reason = f"{engine} says that there is no plan; it is not known to search everything"
            return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case "UNSOLVABLE_INCOMPLETELY":
            reason = f"{engine} found no plan, and does not search everything"
            return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case "TIMEOUT" | "MEMOUT" as limit:
            return Result(Status.UNKNOWN, _STOPS[limit], statistics=statistics)
        case "UNSUPPORTED_PROBLEM":
            reason = f"{engine} refuses the problem: {answer.reason}"
            return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case status:
            raise EngineError(f"{engine} failed ({status.lower().replace('_', ' ')}): {answer.reason}")


def checked(problem: AnyProblem, engine: str, steps: tuple[Step, ...], tree: Any = None) -> Plan:
    """Return `steps`, which came of `tree`, as a plan with exact costs.

    Raises `EngineError` where it is none for `problem`.
    """
    verdict = validate(_classical(problem), steps)
    if not verdict.valid:
        raise EngineError(f"{engine} gave an invalid plan: {verdict.reason}")
    costs = Simulation(_classical(problem))
    plan = Plan(tuple([replace(step, cost=costs.cost(step)) for step in steps]), problem, tree)
    if not isinstance(problem, Problem):
        verdict = problem.validate(plan)
        if not verdict.valid:
            raise EngineError(f"{engine} gave an invalid plan: {verdict.reason}")
    return plan


def _classical(problem: AnyProblem) -> Problem:
    return problem if isinstance(problem, Problem) else problem.classical


def _with_plan(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    plan = checked(problem, engine, answer.steps or (), answer.tree)
    costs_count = answer.sees_costs or is_uniform(_classical(problem))
    if plan.cost == 0 or (costs_count and answer.proves and answer.status == "SOLVED_OPTIMALLY"):
        return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, plan, plan.cost, statistics)
    reason = "" if costs_count else f"{engine} ignores costs"
    stopped_by = _STOPS.get(answer.status, StoppedBy.FIRST_PLAN)
    return Result(Status.SOLVED, stopped_by, plan, None, statistics, reason)


def is_uniform(problem: Problem) -> bool:
    """Return whether all actions cost the same number, so that the shortest plan is the cheapest."""
    if problem.metric is Metric.LENGTH:
        return True
    terms = [action.cost for action in problem.domain.actions.values()]
    numbers = [[term for term in cost if isinstance(term, int | Decimal)] for cost in terms]
    return list(map(len, numbers)) == list(map(len, terms)) and len(set(map(exact_sum, numbers))) <= 1

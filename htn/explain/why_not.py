"""Why a hierarchical problem has no plan: first what is proved to be impossible, then what was met on the way."""

from __future__ import annotations

import math

from htn.constraints import without_constraints
from htn.explain.choices import FirstChoices, PossibleChoices
from htn.explain.impossible import impossible, lacking
from htn.explain.kept import in_words
from htn.explain.observed import observed
from htn.explain.reach import Reach
from htn.explain.report import Lack, WhyNot
from htn.model import HtnProblem
from htn.rounds import with_enough
from planner.annotations import Any, Final
from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.explain.conflicts import Kind, conflicts
from planner.model import Problem
from planner.plan import StoppedBy
from planner.records import replace

EXACT_SECONDS: Final = 2.0
"""So long, and for a third of the time at most, it is tried to find each condition where it is missing."""
MEMORY_SHARE: Final = 0.7
"""The part of the memory that the relaxed world may take; what is met without it needs some, too."""


def why_not(problem: HtnProblem, budget: Budget) -> WhyNot:
    """Return why `problem` has no plan: tasks, the methods tried, and the conditions that failed, the deepest first.

    Where there are constraints and budgets, those that cannot be kept together come before.
    Limits end the work early and are reported, not raised. Raises `InputError` for a problem that means nothing and
    `UnsupportedError` for one that search does not take.
    """
    if not is_demanding(problem.classical) or problem.classical.unknown:
        with collector_paused():
            return _why_not(without_constraints(problem), budget)
    demanded = _demanded(problem, _part(budget, 1 / 2))
    if demanded.solvable:
        return demanded
    with collector_paused():
        found = in_words(_why_not(without_constraints(problem), budget), problem.classical.constraints)
    # that there is a plan would have been found without looking at budgets
    return replace(found, conflicts=demanded.conflicts, solvable=found.solvable and not problem.classical.budgets)


def is_demanding(problem: Problem) -> bool:
    """Return whether plans must do more than reach the goal: there are constraints, or budgets."""
    return bool(problem.budgets) or any(each.utility is None for each in problem.constraints)


def _demanded(problem: HtnProblem, budget: Budget) -> WhyNot:
    """Return that there is a plan, or what cannot be kept together, as far as either shows."""
    from htn.solve import solve_plainly  # noqa: PLC0415 - loads all of search

    half = None if budget.remaining is None else budget.remaining / 2
    limits: dict[str, Any] = {"memory_limit": budget.memory_limit, "cancel": budget.cancel}
    if solve_plainly(problem, mode="first", time_limit=half, **limits).has_plan:
        return WhyNot(problem.name, solvable=True)
    found = conflicts(problem, budget, solve_plainly)
    named = [each for each in found if any(demand.kind is not Kind.GOAL for demand in each.demands)]
    return WhyNot(problem.name, conflicts=tuple(named))


def _why_not(problem: HtnProblem, budget: Budget) -> WhyNot:
    stated, problem = problem, with_enough(problem)
    found = _proved(problem, budget)
    if isinstance(found, WhyNot):
        return found
    if isinstance(found, Reach):
        met = observed(problem, PossibleChoices(found), budget)
    elif found is StoppedBy.CANCELLED:
        return WhyNot(problem.name, stopped_by=found)
    else:
        met = observed(problem, FirstChoices(problem), budget)
        met.stopped_by = met.stopped_by or found
    return WhyNot(
        problem.name,
        dead_ends=met.dead_ends,
        exhausted=met.exhausted and problem is stated,
        solvable=met.solvable,
        stopped_by=met.stopped_by,
    )


def _proved(problem: HtnProblem, budget: Budget) -> WhyNot | Reach | StoppedBy:
    """Return why there can be no plan; or the relaxed world, where that does not show; or what limit was reached."""
    try:
        reach = relaxed_world(problem, budget)
        failures = impossible(reach)
        lacks = lacking(problem.classical.goal.hard, reach)
    except LimitReached as limit:
        return limit.stopped_by
    if lacks is None:
        lacks = (Lack(str(problem.classical.goal.hard), "which no facts at all would make true"),)
    return WhyNot(problem.name, failures, lacks) if failures or lacks else reach


def is_impossible(problem: HtnProblem, budget: Budget) -> bool:
    """Return whether the tasks cannot be done even with deletes ignored; raises `LimitReached`."""
    found = _proved(problem, budget)
    budget.check()
    return isinstance(found, WhyNot)


def relaxed_world(problem: HtnProblem, budget: Budget) -> Reach:
    """Return the relaxed world; a large one, in which methods require what their subtasks need."""
    try:
        found = Reach(problem, _part(budget, 1 / 3, EXACT_SECONDS))
    except LimitReached as limit:
        if limit.stopped_by is not StoppedBy.TIME:
            raise
        found = Reach(problem, _part(budget, 2 / 3), pulled=True)
    found.relaxed.budget = budget
    return found


def _part(budget: Budget, share: float, most: float = math.inf) -> Budget:
    """Return a `share` of what is left of `budget`, `most` seconds at most; of the memory, most of it."""
    memory = None if budget.memory_limit is None else budget.memory_limit * MEMORY_SHARE
    seconds = most if budget.remaining is None else min(most, budget.remaining * share)
    return Budget(None if math.isinf(seconds) else seconds, memory, budget.cancel)

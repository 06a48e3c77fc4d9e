"""Why a hierarchical problem has no plan: first what is proved to be impossible, then what was met on the way.

What explanations say of constraints, which search sees as conditions of actions and of the goal.

Why no decomposition exists, and which tasks the steps of a plan are there for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from htn.compilations.object_creation import with_enough
from htn.compilations.soft_goals import compile_constraints
from htn.explain.impossible_tasks import Reach, _part, _proved
from htn.explain.observed_dead_ends import FirstChoices, PossibleChoices, observed
from htn.explain.report import Attempt, DeadEnd, Failure, Lack, WhyNot
from htn.model import HtnProblem
from planner.compilations.trajectory_constraints import MARK
from planner.explain.conflicts import Kind, conflicts
from planner.garbage_collection import collector_paused
from planner.lightweight import Final, replace
from planner.limits import Limits
from planner.model import Constraint, Problem
from planner.options import ANY_PLAN
from planner.plan import StoppedBy

_MONITOR: Final = re.compile(rf"{MARK}(\d+)")


def in_words(found: WhyNot, constraints: Sequence[Constraint]) -> WhyNot:
    """Return `found` with the constraints themselves in place of what watches them."""
    if not constraints:
        return found
    words = _Words(constraints)
    return replace(
        found,
        failures=tuple(map(words.failure, found.failures)),
        goal=tuple([words.lack(each, "which nothing that the tasks lead to does") for each in found.goal]),
        dead_ends=tuple(map(words.dead_end, found.dead_ends)),
    )


class _Words:
    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = constraints

    def dead_end(self, end: DeadEnd) -> DeadEnd:
        failure = None if end.failure is None else self.failure(end.failure)
        missed = self._named(end.missed)
        return replace(end, failure=failure, missed=f"{missed}, which was not done" if missed else end.missed)

    def failure(self, failure: Failure) -> Failure:
        return replace(failure, attempts=tuple(map(self._attempt, failure.attempts)))

    def _attempt(self, attempt: Attempt) -> Attempt:
        return replace(attempt, lacks=tuple([self.lack(each, "which it would break") for each in attempt.lacks]))

    def lack(self, lack: Lack, why: str) -> Lack:
        named = self._named(lack.condition)
        return Lack(named, why) if named else lack

    def _named(self, condition: str) -> str:
        """Return what is to be kept, where `condition` watches it; "" where it watches nothing."""
        monitor = _MONITOR.search(condition)
        return f"the constraint '{self._constraints[int(monitor[1])]}' to be kept" if monitor else ""


def why_not(problem: HtnProblem, limits: Limits) -> WhyNot:
    """Return why `problem` has no plan: tasks, the methods tried, and the conditions that failed, the deepest first.

    Where there are constraints and budgets, those that cannot be kept together come before.
    Limits end the work early and are reported, not raised. Raises `InputError` for a problem that means nothing and
    `UnsupportedError` for one that search does not take.
    """
    if not is_demanding(problem.classical) or problem.classical.unknown:
        with collector_paused():
            return _why_not(compile_constraints(problem).problem, limits)
    demanded = _demanded(problem, _part(limits, 1 / 2))
    if demanded.solvable:
        return demanded
    with collector_paused():
        found = in_words(_why_not(compile_constraints(problem).problem, limits), problem.classical.constraints)
    # that there is a plan would have been found without looking at budgets
    return replace(found, conflicts=demanded.conflicts, solvable=found.solvable and not problem.classical.budgets)


def is_demanding(problem: Problem) -> bool:
    """Return whether plans must do more than reach the goal: there are constraints, or budgets."""
    return bool(problem.budgets) or any(each.utility is None for each in problem.constraints)


def _demanded(problem: HtnProblem, limits: Limits) -> WhyNot:
    """Return that there is a plan, or what cannot be kept together, as far as either shows."""
    from htn.solve import answer

    if answer(problem, ANY_PLAN.within(limits, 1 / 2)).has_plan:
        return WhyNot(problem.name, solvable=True)
    found = conflicts(problem, limits, answer)
    named = [each for each in found if any(demand.kind is not Kind.GOAL for demand in each.demands)]
    return WhyNot(problem.name, conflicts=tuple(named))


def _why_not(problem: HtnProblem, limits: Limits) -> WhyNot:
    stated, problem = problem, with_enough(problem)
    found = _proved(problem, limits)
    if isinstance(found, WhyNot):
        return found
    if isinstance(found, Reach):
        met = observed(problem, PossibleChoices(found), limits)
    elif found is StoppedBy.CANCELLED:
        return WhyNot(problem.name, stopped_by=found)
    else:
        met = observed(problem, FirstChoices(problem), limits)
        met.stopped_by = met.stopped_by or found
    return WhyNot(
        problem.name,
        dead_ends=met.dead_ends,
        exhausted=met.exhausted and problem is stated,
        solvable=met.solvable,
        stopped_by=met.stopped_by,
    )

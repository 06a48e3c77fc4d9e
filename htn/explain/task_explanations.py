"""Explanations of hierarchical plans and problems: which tasks a step is there for, and why there is no plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from htn.compilations.htn_reductions import add_reachable_placeholders, compile_away
from htn.explain.dead_end_search import FirstChoices, PossibleChoices, search_dead_ends
from htn.explain.impossible_tasks import RelaxedHierarchy, part_of, prove_unsolvable
from htn.explain.report import DeadEnd, Failure, Lack, WhyNot
from htn.grounding.ground_htn import refuse_numbers
from htn.model import Decomposition, HtnProblem
from htn.verification.chart_parsing import find_decomposition
from planner.compilations.trajectory_constraints import MARK
from planner.errors import PlanError
from planner.explain.conflicts import Kind, find_conflicts
from planner.garbage_collection import pause_collector
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Limits
from planner.model import Constraint, Problem
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.options import ANY_PLAN
from planner.plan import Plan, StoppedBy

_MONITOR: Final = re.compile(rf"{MARK}(\d+)")


def name_constraints(found: WhyNot, constraints: Sequence[Constraint]) -> WhyNot:
    """Return `found` with the constraints themselves in place of the conditions that monitor them."""
    if not constraints:
        return found
    words = _ConstraintNames(constraints)
    return replace(
        found,
        failures=tuple(map(words.failure, found.failures)),
        goal=tuple([words.lack(each, "which nothing that the tasks lead to does") for each in found.goal]),
        dead_ends=tuple(map(words.dead_end, found.dead_ends)),
    )


class _ConstraintNames:
    """Writes `constraints` in place of the monitors that compilation made of them."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = constraints

    def dead_end(self, end: DeadEnd) -> DeadEnd:
        failure = None if end.failure is None else self.failure(end.failure)
        name = self._name(end.missed)
        return replace(end, failure=failure, missed=f"{name}, which was not done" if name else end.missed)

    def failure(self, failure: Failure) -> Failure:
        attempts = [
            replace(each, lacks=tuple([self.lack(lack, "which it would break") for lack in each.lacks]))
            for each in failure.attempts
        ]
        return replace(failure, attempts=tuple(attempts))

    def lack(self, lack: Lack, why: str) -> Lack:
        name = self._name(lack.condition)
        return Lack(name, why) if name else lack

    def _name(self, condition: str) -> str:
        """Return the constraint that `condition` monitors as a condition, "" where it monitors none."""
        monitor = _MONITOR.search(condition)
        return f"the constraint '{self._constraints[int(monitor[1])]}' to be kept" if monitor else ""


def explain_unsolvable(problem: HtnProblem, limits: Limits) -> WhyNot:
    """Return why `problem` has no plan: tasks, the methods tried, and the conditions that failed, the deepest first.

    Constraints and budgets that cannot be kept together come before these. Limits end the work early and are reported,
    not raised. Raises `InputError` for a problem with mistakes and `UnsupportedError` for one that search does not
    take, such as one with numbers.
    """
    refuse_numbers(problem, "in explanations why tasks cannot be done")
    if not has_demands(problem.classical) or has(problem.classical, Construct.UNKNOWN):
        with pause_collector():
            return _explain_tasks(compile_away(problem, *CONSTRAINED), limits)
    demanded = _explain_conflicts(problem, part_of(limits, 1 / 2))
    if demanded.solvable:
        return demanded
    with pause_collector():
        found = name_constraints(
            _explain_tasks(compile_away(problem, *CONSTRAINED), limits), problem.classical.constraints
        )
    # that there is a plan would have been found without looking at budgets
    return replace(found, conflicts=demanded.conflicts, solvable=found.solvable and not problem.classical.is_limited)


def has_demands(problem: Problem) -> bool:
    """Return whether plans must do more than reach the goal: there are constraints, or budgets."""
    return has(problem, Construct.BUDGETS, Construct.CONSTRAINTS)


def _explain_conflicts(problem: HtnProblem, limits: Limits) -> WhyNot:
    """Return that there is a plan, or the demands that cannot be kept together, as far as either shows."""
    from htn.solve import answer

    if answer(problem, ANY_PLAN.within(limits, 1 / 2)).has_plan:
        return WhyNot(problem.name, solvable=True)
    found = find_conflicts(problem, limits, answer)
    named = [each for each in found if any(demand.kind is not Kind.GOAL for demand in each.demands)]
    return WhyNot(problem.name, conflicts=tuple(named))


def _explain_tasks(problem: HtnProblem, limits: Limits) -> WhyNot:
    """Return the proof that some tasks are impossible, or else the dead ends of a small search."""
    stated, problem = problem, add_reachable_placeholders(problem)
    found = prove_unsolvable(problem, limits)
    if isinstance(found, WhyNot):
        return found
    if isinstance(found, RelaxedHierarchy):
        met = search_dead_ends(problem, PossibleChoices(found), limits)
    elif found is StoppedBy.CANCELLED:
        return WhyNot(problem.name, stopped_by=found)
    else:
        met = search_dead_ends(problem, FirstChoices(problem), limits)
        met.stopped_by = met.stopped_by or found
    return WhyNot(
        problem.name,
        dead_ends=met.dead_ends,
        exhausted=met.exhausted and problem is stated,
        solvable=met.solvable,
        stopped_by=met.stopped_by,
    )


LEVELS: Final = 8
"""Most tasks above a step in the text of an explanation."""
MOST_LEVELS: Final = 100
"""Most tasks above a step that are kept: all of them, for all steps, would be a square of the plan's length."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """For each step of `plan` up to a hundred tasks above it, nearest first, each with the method that did it."""

    plan: Plan
    purposes: tuple[tuple[tuple[str, str], ...], ...]

    def __str__(self) -> str:
        lines = []
        for number, (step, purpose) in enumerate(zip(self.plan.steps, self.purposes, strict=True), start=1):
            lines.append(f"{number}. {step}")
            lines += [f"   for {task}, by {method}" for task, method in purpose[:1]]
            lines += [f"   ← {task}, by {method}" for task, method in purpose[1:LEVELS]]
            lines += ["   ← …"] if len(purpose) > LEVELS else []
            lines += ["   a task of the problem itself"] if not purpose else []
        return "\n".join(lines) or "the plan is empty: the tasks come to nothing that needs doing"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        return {
            "steps": [
                {
                    "action": step.action,
                    "arguments": list(step.arguments),
                    "for": [{"task": task, "method": method} for task, method in purpose],
                }
                for step, purpose in zip(self.plan.steps, self.purposes, strict=True)
            ]
        }


def explain_plan(problem: HtnProblem, plan: Plan, limits: Limits | None = None) -> TaskExplanation:
    """Return which tasks each step of the valid `plan` is there for; a missing decomposition is searched for.

    Raises `PlanError` where there is none.
    """
    tree: Decomposition | None = plan.tree
    if tree is None:
        tree = find_decomposition(problem, plan.steps, limits or Limits())
    if tree is None:
        raise PlanError("no decomposition of the tasks gives these steps", hint="`forethought validate` says more")
    above = {child: place for place, node in enumerate(tree.nodes) for child in node.children}
    labels = [(str(node.task), node.method) for node in tree.nodes]
    purposes: list[tuple[tuple[str, str], ...]] = [()] * len(plan.steps)
    for place, node in enumerate(tree.nodes):
        if node.step is not None:
            purposes[node.step] = tuple([labels[each] for each in islice(_ancestors(place, above), MOST_LEVELS)])
    return TaskExplanation(plan, tuple(purposes))


def _ancestors(place: int, above: dict[int, int]) -> Iterator[int]:
    """Yield the nodes above that at `place`, nearest first."""
    while place in above:
        place = above[place]
        yield place

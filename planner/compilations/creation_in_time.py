"""Created objects in time and beside numbers: more and more placeholders, which steps reserve at their starts.

A placeholder is taken when the step that creates it starts, and exists from its end. Placeholders are taken in any
order: in the order of their names, one step would have to wait for another one.

A round answers for plans with so many objects. That holds for any number of them where no sequence of happenings leaves
too few placeholders of a type for one more step. Bounds for any number are those of the relaxation with enough
placeholders (`planner.compilations.creation_rounds.add_enough_placeholders`), and what creating steps cost at least.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from fractions import Fraction

from planner.compilations.costs_of_happenings import price_happenings
from planner.compilations.creation_rounds import (
    SECONDS,
    Creation,
    CreationRounds,
    add_enough_placeholders,
    creations_of,
)
from planner.compilations.object_creation import (
    add_placeholders,
    choose_names,
    created_types,
    expand_in_any_order,
)
from planner.errors import UnsupportedError
from planner.grounding.ground_temporal import find_meetings, ground_temporal
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model.arithmetic import as_number, exact_value
from planner.model.formulas import Atom, Not, Number, conjunction
from planner.model.problem import Goal, Metric, Problem, counts_makespan_alone, is_temporal
from planner.options import Solve, SolveOptions
from planner.plan import Result, Status, StoppedBy
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import make_snap_problem
from planner.task.ground_task import INFINITY

PROVING: Final = 0.25
"""Part of the time of a round for the proof that it needs no more placeholders."""


def solve_with_creation_in_time(problem: Problem, options: SolveOptions, answer: Solve, solve: Solve) -> Result:
    """Solve `problem`, which is in time and creates objects; `solve` takes it with placeholders, `answer` without time.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _RoundsInTime(problem, options, answer, solve).solve_within_limits()


def solve_with_creation_beside_numbers(problem: Problem, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, which has numbers and creates objects; `answer` takes it with placeholders.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _RoundsInTime(problem, options, answer, answer).solve_within_limits()


class _RoundsInTime(CreationRounds):
    """Rounds in time, and beside numbers: a proof by happenings says of which types no plan lacks placeholders."""

    most = 8

    def __init__(self, problem: Problem, options: SolveOptions, answer: Solve, solve: Solve) -> None:
        super().__init__(problem, options, solve)
        self._answer = answer
        self._each = created_types(problem.domain.actions.values())
        self._has_gained = True
        """Whether the plan of the latest round is better than those before, or there was none."""

    def prepare(self) -> tuple[list[Creation], int]:
        """Return the creations of all actions; the first round allows one creating step of each type."""
        return creations_of([*self.problem.domain.actions.values()], self.problem), 1

    def add_placeholders(self, steps: Mapping[str, int]) -> Problem:
        """Return the problem with placeholders for so many creating steps of each type, taken in any order."""
        return add_placeholders(self.problem, self._count_placeholders(steps))

    def _count_placeholders(self, steps: Mapping[str, int]) -> dict[str, int]:
        return {kind: number * self._each[kind] for kind, number in steps.items()}

    def limit_round(self, steps: int, most: int) -> Limits:
        """Return the limits of a round, which the searches share among them."""
        return self.limits.part(self.time_share(steps, most))

    def count_sufficient(self, _creation: Creation) -> int | None:
        """Return None: each round allows as many steps of each type."""
        return None

    def run_round(self, steps: int, most: int) -> Result:
        """Search with placeholders for `steps` creating steps of each type, and prove which types need no more."""
        before = self.driver.plan
        found = super().run_round(steps, most)
        plan = self.driver.plan
        self._has_gained = before is None or plan is None or plan.charge != before.charge
        if _is_known(found) and not self.driver.is_optimal:
            self._prove(steps, most)
            bound = found.lower_bound if found.plan is None else found.plan.charge
            if bound is not None:
                self.driver.raise_bound(self.bound_all(bound))
        return found

    def bound_all(self, bound: Number) -> Number | None:
        """Return the lower bound for any number of objects: more of them bound nothing but costs of steps."""
        return None if self.lacking and not isinstance(self.problem.metric, Metric) else super().bound_all(bound)

    @property
    def beyond(self) -> Number | None:
        """What creating steps cost at least in plans that lack placeholders."""
        return super().beyond if isinstance(self.problem.metric, Metric) else None

    def is_proved(self, _steps: int) -> bool:
        """Return whether no sequence of happenings lacks placeholders."""
        return not self.lacking

    def is_final(self, found: Result) -> bool:
        """Return whether further rounds cannot improve the answer, or are not wanted: one more has gained nothing."""
        if self.driver.is_optimal or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
            return True
        is_first = self.driver.plan is not None and self.options.mode == "first"
        return is_first or (_is_known(found) and not self._has_gained)

    def _prove(self, steps: int, most: int) -> None:
        """Find the types of which no sequence of happenings leaves too few placeholders for a step.

        Placeholders are interchangeable, so that it does not matter which ones are left.
        """
        expansion = expand_in_any_order(self.problem.domain)
        names = choose_names(self.problem, self._count_placeholders(self.steps))
        with contextlib.suppress(UnsupportedError):
            free = replace(self.add_placeholders(self.steps), constraints=(), budgets={}, deadline=None)
            is_in_time = is_temporal(self.problem)
            happenings = price_happenings(free) if is_in_time else replace(free, metric=Metric.COST)
            for kind, each in self._each.items():
                used = names[kind][: len(names[kind]) - each + 1]
                taken = conjunction([Not(Atom(expansion.fresh[kind], (name,))) for name in used])
                limits = self.limit_round(steps, most).share(PROVING)
                limits = limits.part(SECONDS) if self.limits.remaining is None else limits
                asked = self.options.within(limits, mode="first", on_progress=None)
                found = self._answer(replace(happenings, goal=Goal(taken), due=()), asked)
                if found.status is Status.UNSOLVABLE:
                    self.lacking.discard(kind)

    def find_objection(self) -> str:
        """Return why no plan in time reaches the goal with any number of objects, if the relaxation says so; else "".

        Otherwise, bound the makespan by it.
        """
        with contextlib.suppress(UnsupportedError):
            enough = add_enough_placeholders(self.problem) if is_temporal(self.problem) else None
            if enough is None:
                return ""
            try:
                task = ground_temporal(enough, make_snap_problem(enough), self.limits.share(PROVING))
            except LimitReached:
                self.limits.check()
                return ""
            part = task.source.task.unreachable_goal
            if part is not None:
                return f"nothing makes this part of the goal true, whatever is created: {part}"
            ticks = bound_makespan(task, int(SEPARATION * task.resolution), find_meetings(enough, task)).ticks
            seconds = as_number(exact_value(Fraction(ticks, task.resolution))) if ticks < INFINITY else None
            deadline = self.problem.deadline
            if seconds is not None and deadline is not None and seconds > deadline:
                return f"every plan takes at least {seconds} s, whatever is created, and the deadline is {deadline} s"
            if counts_makespan_alone(self.problem):
                self.driver.raise_bound(0 if seconds is None else seconds)
        return ""

    def describe_end(self, stopped_by: StoppedBy, _reason: str) -> tuple[StoppedBy, str]:
        """Return why the search ended without a proof, and how many objects were looked at."""
        if stopped_by not in (StoppedBy.EXHAUSTED, StoppedBy.INCOMPLETE):
            return stopped_by, ""
        tried = " and ".join([f"{number} '{kind}'" for kind, number in self._count_placeholders(self.steps).items()])
        return StoppedBy.INCOMPLETE, f"plans that create more than {tried} were not searched for"


def _is_known(found: Result) -> bool:
    return found.status in (Status.OPTIMAL, Status.UNSOLVABLE)

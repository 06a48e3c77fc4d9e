"""Created objects in time and beside numbers: more and more placeholders, which steps reserve at their starts.

A placeholder is taken when the step that creates it starts, and exists from its end. Placeholders are taken in any
order: in the order of their names, one step would have to wait for another one.

A round answers for plans with so many objects. That holds for any number of them where no sequence of happenings leaves
too few placeholders of a type for one more step. Bounds for any number are those of the relaxation with enough
placeholders (`planner.compilations.creation_rounds.add_enough_placeholders`), and what creating steps cost at least.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction

from planner.compilations.costs_of_happenings import price_happenings
from planner.compilations.creation_rounds import add_enough_placeholders, creations_of
from planner.compilations.object_creation import (
    add_placeholders,
    choose_names,
    created_types,
    expand_in_any_order,
    map_plan_back,
)
from planner.compilations.placeholder_pools import number_placeholders
from planner.errors import UnsupportedError
from planner.grounding.ground_temporal import find_meetings, ground_temporal
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model.arithmetic import as_number, exact_value
from planner.model.formulas import Atom, Not, Number, conjunction
from planner.model.problem import Goal, Metric, Problem, counts_makespan_alone, is_temporal
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.portfolio.search_history import Recorder
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import make_snap_problem
from planner.task.ground_task import INFINITY

ROUNDS: Final = (1, 2, 4, 8)
"""Steps that create objects of each type, in each round."""
SECONDS: Final = 5.0
"""Without a time limit: seconds of the first round; each later one has twice as many."""
PROVING: Final = 0.25
"""Part of the time of a round for the proof that it needs no more placeholders."""


def solve_with_creation_in_time(problem: Problem, options: SolveOptions, answer: Solve, solve: Solve) -> Result:
    """Solve `problem`, which is in time and creates objects; `solve` takes it with placeholders, `answer` without time.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _Rounds(problem, options, answer, solve).run_within_limits()


def solve_with_creation_beside_numbers(problem: Problem, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, which has numbers and creates objects; `answer` takes it with placeholders.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _Rounds(problem, options, answer, answer).run_within_limits()


class _Rounds:
    """The rounds so far, with the best plan and a lower bound for any number of objects."""

    def __init__(self, problem: Problem, options: SolveOptions, answer: Solve, solve: Solve) -> None:
        self._problem, self._options, self._answer, self._solve = problem, options, answer, solve
        self._limits = options.limits()
        self._is_in_time = is_temporal(problem)
        self._each = created_types(problem.domain.actions.values())
        self._steps = dict.fromkeys(self._each, 0)
        self._whole: set[str] = set()
        """The types of which no plan of the present round lacks placeholders."""
        self._best: Plan | None = None
        self._bound: Number | None = None
        self._recorder = Recorder()
        self._latest = Result(Status.UNKNOWN, StoppedBy.INCOMPLETE)

    def run_within_limits(self) -> Result:
        """Search in rounds, and return the answer, or the best one when a limit ends the search."""
        try:
            return self.run()
        except LimitReached as limit:
            return self.end(limit.stopped_by)

    def run(self) -> Result:
        """Search in rounds. Raises `LimitReached`."""
        unreachable = self._bound_all() if self._is_in_time else None
        if unreachable is not None:
            return unreachable
        for place, steps in enumerate(ROUNDS):
            self._steps, self._whole = dict.fromkeys(self._each, steps), set()
            before = None if self._best is None else self._best.charge
            found = self._search(place)
            if found.status is Status.UNSUPPORTED:
                return found
            is_known = found.status in (Status.OPTIMAL, Status.UNSOLVABLE)
            if is_known and not self._is_proved():
                self._prove(place)
            if is_known and self._whole == self._each.keys():
                return self._settle(found)
            self._raise(found)
            is_first = self._best is not None and self._options.mode == "first"
            if self._is_proved() or is_first or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
                return self.end(StoppedBy.FIRST_PLAN if is_first else found.stopped_by)
            if before is not None and is_known and self._best is not None and self._best.charge == before:
                break
            self._limits.check()
        return self.end(StoppedBy.INCOMPLETE)

    def _placed(self) -> Problem:
        return add_placeholders(self._problem, self._counts())

    def _counts(self) -> dict[str, int]:
        return {kind: steps * self._each[kind] for kind, steps in self._steps.items()}

    def _part(self, place: int) -> Limits:
        """Return the limits of round `place`."""
        left = self._limits.remaining
        if left is None:
            return self._limits.part(None if place == len(ROUNDS) - 1 else SECONDS * 2**place)
        return self._limits.share(1 / (len(ROUNDS) - place))

    def _search(self, place: int) -> Result:
        limits, began = self._part(place), self._limits.elapsed
        found = self._solve(self._placed(), self._options.within(limits, on_progress=self._report))
        self._recorder.take_turns(found.history, began)
        self._take(found.plan)
        self._latest = found
        self._recorder.note_progress(self._limits.elapsed, self._best, self._bound, found.statistics)
        return found

    def _take(self, plan: Plan | None) -> bool:
        """Keep `plan` if it is charged less than the best one; return whether it is."""
        if plan is None or (self._best is not None and self._best.charge <= plan.charge):
            return False
        self._best = number_placeholders(map_plan_back(plan, self._problem), self._problem)
        return True

    def _report(self, progress: Progress) -> None:
        if self._take(progress.plan) and self._options.on_progress is not None:
            self._options.on_progress(replace(progress, plan=self._best, lower_bound=self._bound))

    def _is_proved(self) -> bool:
        return self._best is not None and self._bound is not None and self._best.charge <= self._bound

    def _prove(self, place: int) -> None:
        """Find the types of which no sequence of happenings leaves too few placeholders for a step.

        Placeholders are interchangeable, so that it does not matter which ones are left.
        """
        expansion = expand_in_any_order(self._problem.domain)
        names = choose_names(self._problem, self._counts())
        with contextlib.suppress(UnsupportedError):
            free = replace(self._placed(), constraints=(), budgets={}, deadline=None)
            happenings = price_happenings(free) if self._is_in_time else replace(free, metric=Metric.COST)
            for kind, each in self._each.items():
                most = names[kind][: len(names[kind]) - each + 1]
                taken = conjunction([Not(Atom(expansion.fresh[kind], (name,))) for name in most])
                limits = self._part(place).share(PROVING)
                limits = limits.part(SECONDS) if self._limits.remaining is None else limits
                asked = self._options.within(limits, mode="first", on_progress=None)
                found = self._answer(replace(happenings, goal=Goal(taken), due=()), asked)
                if found.status is Status.UNSOLVABLE:
                    self._whole.add(kind)

    def _raise(self, found: Result) -> None:
        """Raise the bound by that of a round: plans with more objects cost what more creating steps do."""
        metric = self._problem.metric
        if found.lower_bound is None or not isinstance(metric, Metric):
            return
        creations = creations_of([*self._problem.domain.actions.values()], self._problem)
        beyond = [each.bound_beyond(self._steps[each.kind]) for each in creations if each.kind not in self._whole]
        bound = min([found.lower_bound, *beyond])
        self._bound = bound if self._bound is None else max(self._bound, bound)

    def _bound_all(self) -> Result | None:
        """Bound the makespan for any number of objects; return a proof that there is no plan, if this shows one."""
        with contextlib.suppress(UnsupportedError):
            enough = add_enough_placeholders(self._problem)
            if enough is None:
                return None
            try:
                task = ground_temporal(enough, make_snap_problem(enough), self._limits.share(PROVING))
            except LimitReached:
                self._limits.check()
                return None
            part = task.source.task.unreachable_goal
            if part is not None:
                reason = f"nothing makes this part of the goal true, whatever is created: {part}"
                return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason=reason)
            ticks = bound_makespan(task, int(SEPARATION * task.resolution), find_meetings(enough, task)).ticks
            seconds = as_number(exact_value(Fraction(ticks, task.resolution))) if ticks < INFINITY else None
            deadline = self._problem.deadline
            if seconds is not None and deadline is not None and seconds > deadline:
                reason = f"every plan takes at least {seconds} s, whatever is created, and the deadline is {deadline} s"
                return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason=reason)
            if counts_makespan_alone(self._problem):
                self._bound = 0 if seconds is None else seconds
        return None

    def _settle(self, found: Result) -> Result:
        """Return the answer of a round that holds for any number of objects."""
        if found.status is Status.UNSOLVABLE and self._best is not None:
            return self.end(StoppedBy.INCOMPLETE)
        self._bound = found.lower_bound if found.plan is None else found.plan.charge
        if found.plan is None:
            return self._recorder.finish(self._limits.elapsed, found)
        return self.end(StoppedBy.EXHAUSTED)

    def end(self, stopped_by: StoppedBy) -> Result:
        """Return the best plan, proved where the bound for any number of objects says so."""
        status, reason, best = Status.UNKNOWN if self._best is None else Status.SOLVED, "", self._best
        if self._is_proved():
            status, stopped_by = Status.OPTIMAL, StoppedBy.EXHAUSTED
        elif stopped_by in (StoppedBy.EXHAUSTED, StoppedBy.INCOMPLETE):
            stopped_by = StoppedBy.INCOMPLETE
            tried = " and ".join([f"{number} '{kind}'" for kind, number in self._counts().items()])
            reason = f"plans that create more than {tried} were not searched for"
        found = Result(status, stopped_by, best, self._bound, self._latest.statistics, reason)
        return self._recorder.finish(self._limits.elapsed, found)

"""Times for the steps of a plan that states none: one after another, each as soon as windows allow."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from executor.dispatching.timetable import Planned, Timetable, as_decimal
from executor.plans.action_plan import PlanStep
from planner.lightweight import replace
from planner.model import Problem
from planner.model.timing import TimedEffect
from planner.plan import Step
from planner.semantics.durations import SEPARATION
from planner.semantics.simulation import Simulation
from planner.semantics.snap_actions import SnapProblem, make_snap_problem


def place_steps(problem: Problem, steps: Sequence[PlanStep], timetable: Timetable) -> dict[str, Planned]:
    """Return when each of `steps` is to start and end by its id, where those that state a start keep it.

    Where no window allows a step, it comes right after the one before it; whoever checks the plan says so.
    """
    placing = _Placing(replace(problem, unknown=(), likely={}))
    found: dict[str, Planned] = {}
    for each in steps:
        lasts = timetable.estimate(each)
        start = placing.place(each.step(problem.domain), lasts, None if each.start is None else as_decimal(each.start))
        found[each.id] = Planned(start, lasts)
    return found


class _Placing:
    """Takes steps one after another, with the changes at known times between them."""

    def __init__(self, problem: Problem) -> None:
        self.snap: SnapProblem = make_snap_problem(problem)
        self.simulation = Simulation(self.snap.problem)
        self.now = Decimal(0)
        order = sorted(range(len(problem.timed)), key=lambda number: (problem.timed[number].time, number))
        self.events: list[tuple[TimedEffect, Step]] = [
            (problem.timed[number], Step(self.snap.events[number])) for number in order
        ]

    def place(self, step: Step, lasts: Decimal, stated: Decimal | None) -> Decimal:
        """Take `step`, and return when it starts."""
        start = self._find_start(step, lasts) if stated is None else stated
        self._pass(start)
        moments = self.snap.actions[step.action]
        self._apply(Step(moments.start, step.arguments))
        self._pass(start + lasts)
        if moments.end:
            self._apply(Step(moments.end, step.arguments))
        self.now = max(self.now, start + lasts + SEPARATION)
        return start

    def _find_start(self, step: Step, lasts: Decimal) -> Decimal:
        """Return the first moment from now on at which `step` can start, and last as long as it does."""
        moments = [self.now, *[Decimal(each.time) + SEPARATION for each, _ in self.events]]
        for moment in moments:
            if moment >= self.now and self._works(step, lasts, moment):
                return moment
        return self.now

    def _works(self, step: Step, lasts: Decimal, start: Decimal) -> bool:
        trial, moments = self.simulation.copy(), self.snap.actions[step.action]
        later = []
        for effect, event in self.events:
            if Decimal(effect.time) < start:
                trial.apply(event)
            elif Decimal(effect.time) < start + lasts:
                later.append(event)
        if trial.find_objection(Step(moments.start, step.arguments)) is not None:
            return False
        trial.apply(Step(moments.start, step.arguments))
        lasting = Step(moments.lasting, step.arguments)
        for event in later:
            if moments.lasting and trial.find_objection(lasting) is not None:
                return False
            trial.apply(event)
        return not moments.lasting or trial.find_objection(lasting) is None

    def _pass(self, until: Decimal) -> None:
        while self.events and Decimal(self.events[0][0].time) < until:
            self._apply(self.events.pop(0)[1])

    def _apply(self, step: Step) -> None:
        if self.simulation.find_objection(step) is None:
            self.simulation.apply(step)

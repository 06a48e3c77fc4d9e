"""An order of happenings for given steps: at each epoch, all steps start that can (Giffler and Thompson, 1960).

Steps that others wait for longest start first. The order is a guess: it may leave a step without what another one took,
and then there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.errors import PlanError
from planner.lightweight import dataclass, field
from planner.model.formulas import Number
from planner.model.problem import Problem
from planner.plan import Step
from planner.scheduling.happening_schedule import END, START, Moment
from planner.semantics.durations import duration_of
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem


def order_by_epochs(
    problem: Problem, snap: SnapProblem, steps: Sequence[Step], before: Iterable[tuple[int, int]]
) -> list[Moment] | None:
    """Return an order of the happenings of `steps` in which they start as soon as they can; None if that leads nowhere.

    Of each pair of steps in `before`, by their places, the first ends before the second starts. Changes at known times
    are left out.
    """
    return _Epochs(problem, snap, steps, list(before)).run()


@dataclass(slots=True)
class _Epochs:
    problem: Problem
    snap: SnapProblem
    steps: Sequence[Step]
    before: list[tuple[int, int]]
    now: Number = 0
    running: list[tuple[Number, int]] = field(default_factory=list)
    found: list[Moment] = field(default_factory=list)

    def run(self) -> list[Moment] | None:
        simulation = Simulation(self.snap.problem)
        waiting = self._by_urgency()
        left = {number: {one for one, other in self.before if other == number} for number in waiting}
        ended: set[int] = set()
        while waiting or self.running:
            ready = [number for number in waiting if left[number] <= ended]
            started = next((number for number in ready if self._try_start(simulation, number)), None)
            if started is not None:
                waiting.remove(started)
                if not self.snap.actions[self.steps[started].action].end:
                    ended.add(started)
                continue
            if not self.running:
                return None
            self.running.sort()
            self.now, number = self.running.pop(0)
            if not self._happen(simulation, number, END) or not self._all_last(simulation):
                return None
            ended.add(number)
        return self.found

    def _by_urgency(self) -> list[int]:
        """Return the steps, those first after which most time passes in the order that is given."""
        tail: list[Number] = [0] * len(self.steps)
        lasts = [self._least(number) for number in range(len(self.steps))]
        for first, second in sorted(self.before, reverse=True):
            tail[first] = max(tail[first], lasts[second] + tail[second])
        return sorted(range(len(self.steps)), key=lambda number: (-(lasts[number] + tail[number]), number))

    def _least(self, number: int) -> Number:
        simulation, step = Simulation(self.snap.problem), self.steps[number]
        action = self.problem.domain.actions[step.action]
        try:
            return duration_of(action, simulation.world.state.values, bind_parameters(action, step)).low
        except PlanError:
            return 0

    def _try_start(self, simulation: Simulation, number: int) -> bool:
        """Start a step if it can start now, and nothing that runs then lacks what it needs."""
        step = self.steps[number]
        start = Step(self.snap.actions[step.action].start, step.arguments)
        if simulation.find_objection(start) is not None:
            return False
        trial = simulation.copy()
        trial.apply(start)
        lasting = self.snap.actions[step.action].lasting
        if lasting and trial.find_objection(Step(lasting, step.arguments)) is not None:
            return False
        if not self._all_last(trial):
            return False
        action = self.problem.domain.actions[step.action]
        try:
            seconds = duration_of(action, simulation.world.state.values, bind_parameters(action, step)).low
        except PlanError:
            return False
        self._happen(simulation, number, START)
        if self.snap.actions[step.action].end:
            self.running.append((self.now + seconds, number))
        return True

    def _happen(self, simulation: Simulation, number: int, kind: str) -> bool:
        step = self.steps[number]
        moments = self.snap.actions[step.action]
        happening = Step(moments.start if kind == START else moments.end, step.arguments)
        if simulation.find_objection(happening) is not None:
            return False
        simulation.apply(happening)
        self.found.append(Moment(kind, number))
        return True

    def _all_last(self, simulation: Simulation) -> bool:
        """Return whether all running steps that do not end now have what they need."""
        for end, number in self.running:
            step = self.steps[number]
            lasting = self.snap.actions[step.action].lasting
            if lasting and end > self.now and simulation.find_objection(Step(lasting, step.arguments)) is not None:
                return False
        return True

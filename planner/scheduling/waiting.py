"""Steps in turn around changes at known times: each starts as soon as what is open then lets it run to its end."""

from __future__ import annotations

from collections.abc import Sequence

from planner.errors import PlanError
from planner.lightweight import dataclass, field
from planner.model.formulas import Number
from planner.model.problem import Problem
from planner.plan import Step
from planner.scheduling.happening_schedule import END, EVENT, START, Moment
from planner.semantics.durations import SEPARATION, duration_of
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem


def wait_in_turn(problem: Problem, snap: SnapProblem, steps: Sequence[Step]) -> list[Moment] | None:
    """Return an order of the happenings of `steps` and of the changes of `problem`; None where a step waits for ever.

    No two steps are at work at once; each lasts its least duration.
    """
    run = _Turns(problem, snap, Simulation(snap.problem))
    return run.found if all(run.take(number, step) for number, step in enumerate(steps)) and run.finish() else None


@dataclass(slots=True)
class _Turns:
    """The steps that were taken so far, and how many of the changes have come, in the order of their times."""

    problem: Problem
    snap: SnapProblem
    simulation: Simulation
    now: Number = 0
    come: int = 0
    found: list[Moment] = field(default_factory=list)
    order: list[int] = field(init=False)

    def __post_init__(self) -> None:
        timed = self.problem.timed
        self.order = sorted(range(len(timed)), key=lambda number: timed[number].time)

    def take(self, number: int, step: Step) -> bool:
        """Take `step` when it can be done; return whether it ever can."""
        while True:
            while self.come < len(self.order) and self._next_time() <= self.now:
                if not self._change(self.simulation):
                    return False
            if self._try(number, step):
                return True
            if self.come == len(self.order):
                return False
            self.now = max(self.now, self._next_time() + SEPARATION)

    def finish(self) -> bool:
        """Let the changes come that are left."""
        return all(self._change(self.simulation) for _ in range(self.come, len(self.order)))

    def _next_time(self) -> Number:
        return self.problem.timed[self.order[self.come]].time

    def _change(self, simulation: Simulation) -> bool:
        """Let the next change come."""
        number = self.order[self.come]
        self.come += 1
        self.found.append(Moment(EVENT, number))
        return _happen(simulation, Step(self.snap.events[number]))

    def _try(self, number: int, step: Step) -> bool:
        """Take `step` now, if it then comes to its end."""
        before = self.come, len(self.found)
        trial = self.simulation.copy()
        end = self._run(trial, number, step)
        if end is None:
            self.come = before[0]
            del self.found[before[1] :]
            return False
        self.simulation, self.now = trial, end + SEPARATION
        return True

    def _run(self, trial: Simulation, number: int, step: Step) -> Number | None:
        """Let `step` happen from start to end; return its end, None where something is in its way."""
        moments, action = self.snap.actions[step.action], self.problem.domain.actions[step.action]
        try:
            seconds = duration_of(action, trial.world.state.values, bind_parameters(action, step)).low
        except PlanError:
            return None
        if not _happen(trial, Step(moments.start, step.arguments)):
            return None
        self.found.append(Moment(START, number))
        lasting = Step(moments.lasting, step.arguments) if moments.lasting else None
        end = self.now + seconds
        while lasting is None or trial.find_objection(lasting) is None:
            if self.come == len(self.order) or self._next_time() >= end:
                break
            if not self._change(trial):
                return None
        else:
            return None
        self.found.append(Moment(END, number))
        return end if not moments.end or _happen(trial, Step(moments.end, step.arguments)) else None


def _happen(simulation: Simulation, happening: Step) -> bool:
    if simulation.find_objection(happening) is not None:
        return False
    simulation.apply(happening)
    return True

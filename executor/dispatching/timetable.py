"""The times of one run of a plan in time, by its events: when it began, what is planned, and what time has brought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from planner.errors import PlanError
from planner.lightweight import dataclass, field
from planner.model import Number, Problem
from planner.model.timing import TimedEffect
from planner.semantics.durations import SEPARATION, least_duration

if TYPE_CHECKING:
    from executor.observe.beliefs import Beliefs
    from executor.plans.action_plan import ActionPlan, PlanStep

TIMED: Final = "timed"
"""The execution model of plans in time."""


@dataclass(frozen=True, slots=True)
class Planned:
    """When a step is planned to start and how long it is thought to last, in seconds since the run began."""

    start: Decimal
    duration: Decimal

    @property
    def end(self) -> Decimal:
        """When the step is planned to end."""
        return self.start + self.duration


@dataclass(slots=True, eq=False)
class Timetable:
    """What a run of a plan in time knows about times; seconds count from its beginning."""

    problem: Problem
    planned: dict[str, Planned] = field(default_factory=dict)
    """The planned times of the steps of the present plan, by id."""
    began: float | None = None
    """When the run began, or when its problem says that its plans begin, in seconds since 1970."""
    passed: set[int] = field(default_factory=set)
    """The numbers of the changes at known times that have come about."""
    reached: dict[int, float] = field(default_factory=dict)
    """When the conditions of deadlines were reached, by the number of the deadline."""

    @classmethod
    def of(cls, plan: ActionPlan, problem: Problem) -> Timetable | None:
        """Return the timetable of a run of `plan`; None for a plan that is not carried out by its times."""
        if plan.model != TIMED:
            return None
        found = cls(problem)
        if any(each.start is None for each in plan.steps):
            from executor.dispatching.placed_steps import place_steps

            found.planned = place_steps(problem, plan.steps, found)
        else:
            found.adopt(plan.steps)
        return found

    def adopt(self, steps: Iterable[PlanStep]) -> None:
        """Take over the planned times of the steps of a plan; a step without one comes after those before it."""
        self.planned, last = {}, Decimal(0)
        for each in steps:
            start = last + SEPARATION if each.start is None else as_decimal(each.start)
            self.planned[each.id] = planned = Planned(start, self.estimate(each))
            last = max(last, planned.end)

    def estimate(self, step: PlanStep) -> Decimal:
        """Return how long a step is thought to last."""
        if step.duration is not None:
            return as_decimal(step.duration)
        try:
            return as_decimal(least_duration(self.problem, step.step(self.problem.domain)))
        except PlanError:  # its duration depends on numbers that have no value yet
            return Decimal(0)

    def begin(self, at: float | None) -> None:
        """Note that the run began `at` a time."""
        start = self.problem.starts_at
        self.began = at if start is None else start.timestamp()

    def seconds(self, at: float) -> float:
        """Return how many seconds after the beginning the time `at` is; below 0 before an absolute beginning."""
        return 0.0 if self.began is None else at - self.began

    def note_reached(self, beliefs: Beliefs, at: float | None) -> None:
        """Note the conditions of deadlines that hold now for the first time."""
        if at is None or self.began is None:
            return
        for number, due in enumerate(self.problem.due):
            if number not in self.reached and beliefs.is_true(due.condition):
                self.reached[number] = self.seconds(at)

    def change_aim(self, problem: Problem, beliefs: Beliefs, at: float | None) -> None:
        """Go on with the deadlines of `problem`."""
        self.problem, self.reached = problem, {}
        self.note_reached(beliefs, at)

    @property
    def to_come(self) -> list[tuple[int, TimedEffect]]:
        """The changes at known times that have not come about, by number, in the order of their times."""
        left = [(number, each) for number, each in enumerate(self.problem.timed) if number not in self.passed]
        return sorted(left, key=lambda each: (each[1].time, each[0]))


def as_decimal(seconds: Number | float) -> Decimal:
    """Return `seconds` as a decimal, floats to the microsecond."""
    if isinstance(seconds, float):
        return Decimal(repr(round(seconds, 6)))
    return Decimal(seconds)


def write_times(steps: Sequence[PlanStep], planned: Mapping[str, Planned]) -> list[dict[str, Any]]:
    """Return `steps` as data with their `planned` times."""
    found = []
    for each in steps:
        time = planned.get(each.id)
        if time is not None:
            each = each.model_copy(update={"start": time.start, "duration": float(time.duration)})  # noqa: PLW2901
        found.append(each.model_dump(mode="json"))
    return found

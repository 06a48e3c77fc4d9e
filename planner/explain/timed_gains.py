"""What would help a plan in time: how much sooner a plan may end with one more of each capacity."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner.explain.temporal_promises import Kind, Promise, find_promises, relax_problem
from planner.lightweight import Any, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model.formulas import Number
from planner.model.problem import NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.options import SolveOptions
from planner.plan import Plan, Result, StoppedBy, json_number
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps


@dataclass(frozen=True, slots=True)
class CapacityGain:
    """What one more of a `capacity` gives: a `plan` whose makespan is less by `gain` than that without it.

    It `is_proved` that no plan with it ends sooner.
    """

    capacity: Promise
    gain: Number
    plan: Plan
    is_proved: bool

    def __str__(self) -> str:
        more = f"one more of {self.capacity.what} ({self.capacity.relax(Fraction(1))} instead of {self.capacity.most})"
        if not self.gain:
            return f"{more}: no gain{'' if self.is_proved else ' was found'}"
        known = "" if self.is_proved else " at least"
        return f"{more}: the plan ends at {self.plan.makespan}, {self.gain} s sooner{known}"

    def to_dict(self) -> dict[str, Any]:
        """Return the gain as JSON-ready data."""
        return {
            "capacity": self.capacity.to_dict(),
            "gain": json_number(self.gain),
            "makespan": json_number(self.plan.makespan),
            "proved": self.is_proved,
            "plan": self.plan.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class CapacityGains:
    """What one more of each capacity gives, the greatest gain first.

    `plan` is the best plan that is known without any more, whose makespan the gains count from; it may end sooner than
    the plan that was asked about. `stopped_by` is the limit that left out capacities.
    """

    plan: Plan
    gains: tuple[CapacityGain, ...]
    is_better: bool = False
    stopped_by: StoppedBy | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.gains and not self.is_better:
            return
        yield "what would help:"
        if self.is_better:
            yield f"  another plan, which ends at {self.plan.makespan}"
        yield from (f"  {each}" for each in self.gains)
        if self.stopped_by is not None:
            yield f"  ({self.stopped_by.value} ended the search)"

    def to_dict(self) -> dict[str, Any]:
        """Return the gains as JSON-ready data."""
        return {
            "makespan": json_number(self.plan.makespan),
            "better_plan": self.plan.to_dict() if self.is_better else None,
            "gains": [each.to_dict() for each in self.gains],
            "stopped_by": None if self.stopped_by is None else self.stopped_by.name.lower(),
        }


def find_gains(problem: Problem, plan: Plan, limits: Limits) -> CapacityGains:
    """Return by how much sooner a plan of `problem` may end with one more of each capacity.

    `plan` is a valid plan in time. It is improved first, so that only what the capacity gives counts. A limit that ends
    the work is reported, not raised; what was not looked at by then is left out.
    """
    capacities = [each for each in find_promises(problem) if each.kind is Kind.CAPACITY]
    if not capacities or not plan.steps:
        return CapacityGains(plan, ())
    gains: list[CapacityGain] = []
    best, is_better, stopped_by = plan, False, None
    try:
        best = _improve(problem, plan, limits.part(_share(limits, len(capacities) + 1)))[0]
        is_better = _end(best) < _end(plan)
        for left, capacity in zip(range(len(capacities), 0, -1), capacities, strict=True):
            limits.check()
            more = relax_problem(problem, {capacity: Fraction(1)})
            found, is_proved = _improve(more, best, limits.part(_share(limits, left)))
            gain = (best.makespan or 0) - (found.makespan or 0)
            gains.append(CapacityGain(capacity, gain, found, is_proved))
    except LimitReached as limit:
        stopped_by = limit.stopped_by
    gains.sort(key=lambda each: -each.gain)
    return CapacityGains(best, tuple(gains), is_better, stopped_by)


def _share(limits: Limits, parts: int) -> float | None:
    return None if limits.remaining is None else limits.remaining / parts


def _end(plan: Plan) -> Number:
    return plan.makespan or 0


def _improve(problem: Problem, plan: Plan, limits: Limits) -> tuple[Plan, bool]:
    """Return the plan of `problem` that ends first, of those found and `plan`, and whether none ends sooner."""
    from planner.solve import answer

    hard = tuple([each for each in problem.due if each.weight is None])
    quick = replace(problem, metric=NumericMetric(TOTAL_TIME), due=hard)
    result: Result = answer(quick, SolveOptions().within(limits))
    if result.stopped_by is StoppedBy.CANCELLED:
        raise LimitReached(StoppedBy.CANCELLED)
    plans = [replace(each, problem=problem) for each in (plan, result.plan) if each is not None]
    best = min([price_plan(each) for each in plans if check_steps(problem, each).valid], key=_end)
    return best, result.lower_bound is not None and _end(best) <= result.lower_bound

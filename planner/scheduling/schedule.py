"""The earliest schedule of a plan by its partial order: any number of independent steps run at once."""

from __future__ import annotations

from collections.abc import Iterable

from planner.compilations.object_creation import for_steps
from planner.lightweight import dataclass, replace
from planner.model import Number, Problem
from planner.partial_order.causal_links import find_order
from planner.plan import Plan, exact_sum
from planner.problem_kinds import classical_of, service_of
from planner.semantics.durations import SEPARATION, least_duration


@dataclass(frozen=True, slots=True)
class Schedule:
    """The earliest `starts` and `ends` of the steps of a plan, in seconds from its beginning.

    `waits_for` has for each step the number, from 1, of a step that ends when it starts; 0 if it starts at once.
    """

    starts: tuple[Number, ...]
    ends: tuple[Number, ...]
    waits_for: tuple[int, ...]

    @property
    def makespan(self) -> Number:
        """When the last step ends."""
        return max(self.ends, default=0)

    @property
    def critical_path(self) -> tuple[int, ...]:
        """The numbers, from 1, of steps in a row without pause, from the beginning to the end of the plan."""
        found: list[int] = []
        step = self.ends.index(self.makespan) + 1 if self.ends else 0
        while step:
            found.append(step)
            step = self.waits_for[step - 1]
        return tuple(found[::-1])


def schedule(plan: Plan) -> Schedule:
    """Return the earliest starts and ends of the steps of `plan` in the order that `partial_order` gives.

    A step without a duration takes no time. A plan in time has the starts and ends that it states; a plan of tasks in
    time that states none, the earliest ones that the plan checker accepts. Raises `PlanError` for an invalid plan.
    """
    if not plan.times and plan.steps and not isinstance(plan.problem, Problem):
        plan = replace(plan, times=service_of(plan.problem).find_times(plan.problem, plan))
    if plan.times or not plan.steps:
        return _of_times(plan)
    problem = for_steps(classical_of(plan.problem), plan.steps)
    before: list[list[int]] = [[] for _ in range(len(plan) + 2)]
    for earlier, later in _list_pairs(problem, plan):
        before[later].append(earlier)
    starts, ends, waits_for = list[Number](), list[Number](), list[int]()
    for number, step in enumerate(plan.steps, start=1):
        last = max(before[number], key=lambda earlier: ends[earlier - 1], default=0)
        starts.append(ends[last - 1] if last else 0)
        waits_for.append(last)
        ends.append(exact_sum([starts[-1], least_duration(problem, step)]))
    return Schedule(tuple(starts), tuple(ends), tuple(waits_for))


def _list_pairs(problem: Problem, plan: Plan) -> Iterable[tuple[int, int]]:
    """Return the pairs of steps of which the first comes first; `problem` has the created objects, too."""
    if isinstance(plan.problem, Problem):
        return find_order(problem, plan).reasons
    pairs: Iterable[tuple[int, int]] = service_of(plan.problem).partial_order(plan.problem, plan).edges
    return pairs


def _of_times(plan: Plan) -> Schedule:
    """Return the schedule that a plan in time states."""
    ends = tuple([each.end for each in plan.times])
    waits_for = []
    for each in plan.times:
        earlier = [place for place, end in enumerate(ends) if each.start - 2 * SEPARATION <= end <= each.start]
        waits_for.append(1 + max(earlier, key=lambda place: ends[place]) if earlier else 0)
    return Schedule(tuple([each.start for each in plan.times]), ends, tuple(waits_for))


def starts(plan: Plan) -> tuple[Number, ...]:
    """Return the earliest start of each step of `plan`, in seconds; see `schedule`."""
    return schedule(plan).starts


def makespan(plan: Plan) -> Number:
    """Return the duration of `plan` in its earliest schedule, in seconds; see `schedule`."""
    return schedule(plan).makespan

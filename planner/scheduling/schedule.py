"""When steps begin and end where each begins as soon as it may: the schedule that a partial order allows.

Steps that need not wait for each other run at once, as many as there are: nothing limits how much is done at a time.
"""

from __future__ import annotations

from planner.compilations.object_creation import for_steps
from planner.errors import UnsupportedError
from planner.lightweight import dataclass
from planner.model import Number, Problem
from planner.partial_order.causal_links import links_between, orderings
from planner.partial_order.read_write_sets import accesses
from planner.plan import Plan, exact_sum


@dataclass(frozen=True, slots=True)
class Schedule:
    """The earliest `starts` and `ends` of the steps of a plan, in seconds from its beginning.

    `waits_for` has, for each step, the number, from 1, of one that ends when it starts; 0 for those that start at once.
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
        """The numbers, from 1, of steps that follow each other without a pause and end with the plan."""
        found: list[int] = []
        step = self.ends.index(self.makespan) + 1 if self.ends else 0
        while step:
            found.append(step)
            step = self.waits_for[step - 1]
        return tuple(found[::-1])


def schedule(plan: Plan) -> Schedule:
    """Return when each step of `plan` begins and ends at the earliest, in the order that `partial_order` gives.

    The durations of the steps are those of their actions; without one, they take no time. Raises `PlanError` for an
    invalid plan, and `UnsupportedError` for one that came of tasks, whose order is not in its steps alone.
    """
    if not isinstance(plan.problem, Problem):
        raise UnsupportedError("the makespan of a plan that came of tasks", "its order is not in its steps alone")
    problem = for_steps(plan.problem, plan.steps)
    found = accesses(problem, plan)
    before: list[list[int]] = [[] for _ in range(len(plan) + 2)]
    for each in orderings(found, links_between(found, problem.ran)):
        before[each.later].append(each.earlier)
    starts, ends, waits_for = list[Number](), list[Number](), list[int]()
    for number, step in enumerate(plan.steps, start=1):
        last = max(before[number], key=lambda earlier: ends[earlier - 1], default=0)
        starts.append(ends[last - 1] if last else 0)
        waits_for.append(last)
        duration = problem.domain.actions[step.action].duration
        ends.append(exact_sum([starts[-1], duration or 0]))
    return Schedule(tuple(starts), tuple(ends), tuple(waits_for))


def starts(plan: Plan) -> tuple[Number, ...]:
    """Return when each step of `plan` begins at the earliest, in seconds; see `schedule`."""
    return schedule(plan).starts


def makespan(plan: Plan) -> Number:
    """Return how many seconds `plan` takes where each step begins as soon as it may; see `schedule`."""
    return schedule(plan).makespan

"""Goal count: the number of false goal facts. It is not admissible, since one action may achieve several."""

from __future__ import annotations

from planner.heuristics.declare import Check, Heuristic, Kind
from planner.task.ground_task import Closure, State, Task, bits


def build(task: Task, _costs: list[int], _check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    goal = bits(task.goal)
    close = Closure(task) if task.has_axioms else int

    def estimate(state: State) -> int:
        return (goal & ~close(state)).bit_count()

    return estimate


GOAL_COUNT = Kind(build, "how many parts of the goal do not hold", sums_costs=False)

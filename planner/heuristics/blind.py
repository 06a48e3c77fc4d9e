"""The blind heuristic: 0 for goal states, else the cost of the cheapest action."""

from __future__ import annotations

from planner.heuristics.declare import Check, Heuristic, Kind
from planner.task.ground_task import Closure, State, Task, bits


def build(task: Task, costs: list[int], _check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    goal, cheapest = bits(task.goal), min(costs, default=0)
    close = Closure(task) if task.has_axioms else int

    def estimate(state: State) -> int:
        return cheapest if goal & ~close(state) else 0

    return estimate


BLIND = Kind(build, "the cheapest action, 0 at the goal", admissible=True, consistent=True)

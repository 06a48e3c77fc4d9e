"""h_max: a set of facts costs what its dearest fact costs in the delete relaxation (Bonet and Geffner, 2001)."""

from __future__ import annotations

from heapq import heappop, heappush

from planner.heuristics.kind import Check, Heuristic, Kind
from planner.heuristics.relaxed import Start, relax
from planner.task import INFINITY, State, Task


def build(task: Task, costs: list[int], check: Check) -> Heuristic:  # noqa: C901 - one loop without calls: this is where the time goes
    """Return the heuristic for `task`: facts are reached in the order of their values (Dijkstra, 1959)."""
    relaxed = relax(task, costs)
    start = Start(relaxed)
    goal, cost, needed_by, effects = relaxed.goal, relaxed.costs, relaxed.needed_by, relaxed.effects

    def estimate(state: State) -> int:
        check()
        start.move_to(state)
        missing, value = start.missing[:], start.value[:]
        reached = start.fire(value, [-1] * len(value))
        keys = sorted(reached)
        while keys:
            now = keys[0]
            for fact in reached[now]:
                if value[fact] != now:
                    continue
                if fact == goal:
                    return now
                for operator in needed_by[fact]:
                    left = missing[operator] = missing[operator] - 1
                    if not left:
                        then = now + cost[operator]
                        for effect in effects[operator]:
                            if then < value[effect]:
                                value[effect] = then
                                if then in reached:
                                    reached[then].append(effect)
                                else:
                                    reached[then] = [effect]
                                    heappush(keys, then)
            del reached[heappop(keys)]
        return INFINITY

    return estimate


HMAX = Kind(build, admissible=True, consistent=True)

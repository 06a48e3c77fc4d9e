"""h_add: a set of facts costs the sum of what its facts cost in the delete relaxation (Bonet and Geffner, 2001)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from planner.heuristics.kind import Check, Heuristic, Kind
from planner.heuristics.relaxed import RelaxedTask, Start, relax
from planner.task import INFINITY, State, Task

Explore = Callable[[State], tuple[int, list[int]]]


def explorer(relaxed: RelaxedTask) -> Explore:  # noqa: C901 - one loop without calls: this is where the time goes
    """Return a function from states to the goal's value and, for each fact, the operator that achieves it best.

    Facts are reached in the order of their values (Knuth, 1977). The achiever is -1 for facts that hold already; facts
    dearer than the goal may have none or not the best.
    """
    start = Start(relaxed)
    size, goal, costs = relaxed.size, relaxed.goal, relaxed.costs
    needed_by, effects = relaxed.needed_by, relaxed.effects

    def explore(state: State) -> tuple[int, list[int]]:
        start.move_to(state)
        missing, total, value, achiever = start.missing[:], costs[:], start.value[:], [-1] * size
        reached = start.fire(value, achiever)
        keys = sorted(reached)
        while keys:
            now = keys[0]
            for fact in reached[now]:
                if value[fact] != now:
                    continue
                if fact == goal:
                    return now, achiever
                for operator in needed_by[fact]:
                    left = missing[operator] = missing[operator] - 1
                    then = total[operator] = total[operator] + now
                    if not left:
                        for effect in effects[operator]:
                            if then < value[effect]:
                                value[effect] = then
                                achiever[effect] = operator
                                if then in reached:
                                    reached[then].append(effect)
                                else:
                                    reached[then] = [effect]
                                    heappush(keys, then)
            del reached[heappop(keys)]
        return INFINITY, achiever

    return explore


def build(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    explore = explorer(relax(task, costs))

    def estimate(state: State) -> int:
        check()
        return explore(state)[0]

    return estimate


HADD = Kind(build)

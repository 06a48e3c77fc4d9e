"""Uniform-cost search: the cheapest plan without any estimate (Dijkstra, 1959).

Where a small state space is to be searched through, nothing in Python does it faster.
"""

from __future__ import annotations

from heapq import heappop, heappush

from planner.lightweight import Final
from planner.search.search_run import Ending, Estimate, Run, Steps, path
from planner.task.ground_task import INFINITY, State
from planner.task.state_space import Space

PAUSE: Final = 16
"""Expansions between two pauses."""


def uniform_cost(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search for the cheapest plan; all plans cheaper than `run.limit` are excluded when it ends."""
    costs, successors, goal = space.costs, space.successors, space.goal
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    buckets, keys = {0: [space.initial]}, [0]
    while keys:
        g = keys[0]
        run.proved(g)
        if g >= run.limit:
            break
        for state in buckets[g]:  # free actions make it grow while we walk it
            if reached[state] < g:
                continue
            if space.is_goal(state) if space.close else not goal & ~state:
                run.found(path(parents, state), g)
                return Ending.EXHAUSTED
            run.expanded += 1
            if not run.expanded % PAUSE:
                yield
            for action, child in successors(state):
                cost = g + costs[action]
                if cost < reached.get(child, INFINITY):
                    reached[child] = cost
                    parents[child] = (state, action)
                    run.generated += 1
                    if cost in buckets:
                        buckets[cost].append(child)
                    else:
                        buckets[cost] = [child]
                        heappush(keys, cost)
        del buckets[heappop(keys)]
    run.proved(run.limit)
    return Ending.EXHAUSTED

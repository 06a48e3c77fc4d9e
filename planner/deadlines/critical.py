"""Critical paths: how soon the goal can be reached where nothing ever becomes false and all may be done at once.

That is h_max with durations for costs (Haslum and Geffner, 2001): a fact is there when one of its achievers is done,
which begins when the last of its conditions is there. No plan is done sooner, whatever its order.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from planner.deadlines.clock import Times
from planner.heuristics.relaxed import relax
from planner.task import INFINITY, State, Task, facts_of

Finish = Callable[[State, Times], int]


def critical_path(task: Task, durations: list[int]) -> Finish:
    """Return a function from a state, and from when on its facts hold, to when the goal can be reached at the soonest.

    It is `INFINITY` where the goal cannot be reached.
    """
    relaxed = relax(task, durations)
    counts = [len(facts) for facts in relaxed.preconditions]
    goal, needed_by, effects, lasts = relaxed.goal, relaxed.needed_by, relaxed.effects, relaxed.costs

    def finish(state: State, since: Times) -> int:
        value = [INFINITY] * relaxed.size
        missing = counts[:]
        waiting = [(since.get(fact, 0), fact) for fact in (*facts_of(state), relaxed.start)]
        for time, fact in waiting:
            value[fact] = time
        heapify(waiting)
        while waiting:
            now, fact = heappop(waiting)
            if value[fact] < now:
                continue
            if fact == goal:
                return now
            for operator in needed_by[fact]:
                missing[operator] -= 1
                if not missing[operator]:
                    then = now + lasts[operator]
                    for effect in effects[operator]:
                        if then < value[effect]:
                            value[effect] = then
                            heappush(waiting, (then, effect))
        return INFINITY

    return finish

"""The slow, obvious twin of hierarchical candidates: all that decompositions come to is tried, cheapest first."""

from __future__ import annotations

import heapq
from itertools import combinations, count

from candidate_twins import independent

from benchmarks.htn_brute import Progression, Steps, World, remaining_of
from htn.grounding.ground_htn import ground
from htn.model import HtnProblem
from planner.limits import Limits
from planner.model import Number
from planner.topk.partial_order_reduction import Items

MOST_TASKS = 8
"""A network of more tasks than this is taken for one that grows without end."""
Known = dict[Steps, Number]


def plans(problem: HtnProblem, most: int) -> tuple[Known, Number | None]:
    """All plans that charge less than some cost, with their charges, and that cost: None where these are all."""
    world = World(problem)
    progression, ticket, seen = Progression(world, most), count(), set()
    queue = [(0, next(ticket), 0, remaining_of(start), ()) for start in progression.hierarchy.starts()]
    found: Known = {}
    while queue:
        cost, _, state, remaining, steps = heapq.heappop(queue)
        if (state, remaining, steps) in seen:
            continue
        seen.add((state, remaining, steps))
        if len(seen) > most or len(remaining) > MOST_TASKS:
            return {each: price for each, price in found.items() if price < cost}, cost
        if not remaining and world.is_end(state):
            found[steps] = cost + world.forgone(state)
        for step, after, rest in progression.moves(state, remaining):
            more = () if step is None else (step,)
            heapq.heappush(queue, (cost + sum(one.cost for one in more), next(ticket), after, rest, (*steps, *more)))
    return found, None


def is_wasteful(known: Known, steps: Steps) -> bool:
    """Whether some steps can be left out so that the rest is a plan, too."""
    return any(rest in known for size in range(len(steps)) for rest in combinations(steps, size))


class HtnTraces:
    """Plans in a form that all orders of their independent steps share."""

    def __init__(self, problem: HtnProblem) -> None:
        found = ground(problem, Limits())
        self._task = found.task
        self._read = {fact for method in found.methods for fact in method.precondition}
        self._items = Items(problem.classical)
        self._numbers = {}
        for number, action in enumerate(found.task.actions):
            self._numbers.setdefault(action.step, number)
        self._known = {}

    def first(self, steps: Steps) -> Steps:
        rest, found = list(steps), []
        while rest:
            ready = [
                place
                for place, step in enumerate(rest)
                if all(self._independent(earlier, step) for earlier in rest[:place])
            ]
            found.append(rest.pop(min(ready, key=lambda place: str(rest[place]))))
        return tuple(found)

    def _independent(self, one, other) -> bool:
        if (one, other) not in self._known:
            pair = self._numbers[one], self._numbers[other]
            apart = independent(self._task, *pair, read=self._read)
            self._known[one, other] = apart and not self._items.clash(one, other)
        return self._known[one, other]

"""Bidirectional uniform-cost search over decision diagrams (Torralba, Alcázar, Kissmann and Edelkamp, 2017).

Sets of states grow from the initial state and from the goal, whichever side is about to be cheaper. Where they meet
there is a plan; none costs less than what both sides have gone through together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from planner.annotations import Final
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.symbolic.coding import Coding, Set
from planner.symbolic.direction import Direction
from planner.symbolic.exclusions import Exclusions
from planner.symbolic.relations import Relation, relations
from planner.symbolic.tracing import way_on, way_there
from planner.task import State, Task

TRIAL: Final = 16
"""In this part of the memory orders are tried."""
TRIAL_SECONDS: Final = 0.2
"""Seconds after which no other order is tried."""


def bidirectional(space: Space, run: Run, room: int, mutexes: Sequence[State], orders: list[list[int]]) -> Steps:
    """Search for the cheapest plan in so many bytes of memory, with the variables in one of the `orders`.

    No plan goes through states with a fact f and one of `mutexes[f]`, which are bits.
    """
    task = space.task
    coding = Coding(task, _best(task, orders, room // TRIAL), room)
    yield
    steps = relations(coding)
    yield
    exclusions = Exclusions(coding, mutexes)
    goal = exclusions.without(coding.valid & coding.all_of([coding.holds[fact] for fact in task.goal]))
    forward = Direction(coding, Relation.image, steps, coding.state(task.initial), exclusions.without)
    backward = Direction(coding, Relation.preimage, steps, goal, exclusions.without)
    if (forward.start & goal).satisfiable():
        run.found([], 0)
    while run.lower_bound < run.limit:
        costs = forward.next_cost, backward.next_cost
        if costs[0] is None or costs[1] is None:
            break
        run.proved(costs[0] + costs[1])
        side, other = (backward, forward) if backward.expected() < forward.expected() else (forward, backward)
        for cost, states in side.advance():
            run.expanded += 1
            both = states & other.reached
            if both.satisfiable():
                there, both = _cheapest(other, both)
                if cost + there < run.limit:
                    state, (start, end) = coding.one_of(both), (cost, there) if side is forward else (there, cost)
                    plan = way_there(space, coding, forward, state, start) + way_on(space, coding, backward, state, end)
                    run.found(plan, cost + there)
            yield
    run.proved(run.limit)
    return Ending.EXHAUSTED


def _best(task: Task, orders: list[list[int]], room: int) -> list[int]:
    """Return the one of the `orders` in which the relations are smallest, as far as that is soon found out."""
    sizes = {}
    until = time.thread_time() + TRIAL_SECONDS
    for number, order in enumerate(orders):
        if number and time.thread_time() > until:
            break
        try:
            sizes[number] = sum([each.pairs.node_count() for each in relations(Coding(task, order, room))])
        except MemoryError:
            break
    return orders[min(sizes, key=sizes.__getitem__, default=0)]


def _cheapest(side: Direction, states: Set) -> tuple[int, Set]:
    """Return what those of `states`, all reached by `side`, cost that cost least, and them."""
    for cost, layer in [(0, side.start), *side.layers]:
        both = states & layer
        if both.satisfiable():
            return cost, both
    raise AssertionError  # reached states are the start and the layers

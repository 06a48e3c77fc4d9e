"""From the state where two searches met to a plan."""

from __future__ import annotations

from planner.search.space import Space
from planner.symbolic.coding import Coding, Set
from planner.symbolic.direction import Direction
from planner.task import State, facts_of


def way_there(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which `state` was reached from the initial one, at this cost."""
    actions: list[int] = []
    position = len(side.layers)
    while cost or state != space.initial:
        before, position = _predecessor(coding, side, state, cost, position)
        price, cost = cost - side.layers[position][0], side.layers[position][0]
        steps = space.successors(before)
        actions.append(next(each for each, after in steps if after == state and space.costs[each] == price))
        state = before
    return actions[::-1]


def _predecessor(coding: Coding, side: Direction, state: State, cost: int, position: int) -> tuple[State, int]:
    """Return a state from which one step leads to `state`, in a layer before `position`, and the place of that layer."""
    only = coding.state(facts_of(state))
    before: dict[int, Set] = {}
    for relation in side.relations:
        found = relation.preimage(only)
        before[relation.cost] = before.get(relation.cost, coding.nothing) | found
    for index in range(position - 1, -1, -1):
        earlier, layer = side.layers[index]
        both = layer & before.get(cost - earlier, coding.nothing)
        if both.satisfiable():
            return coding.one_of(both), index
    raise AssertionError  # it was reached from somewhere


def way_on(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which the goal is reached from `state`, at this cost."""
    actions: list[int] = []
    position = len(side.layers)
    while cost or not space.is_goal(state):
        action, state, position = _successor(space, coding, side, state, cost, position)
        cost -= space.costs[action]
        actions.append(action)
    return actions


def _successor(
    space: Space, coding: Coding, side: Direction, state: State, cost: int, position: int
) -> tuple[int, State, int]:
    """Return an action, and the state that it leads to, closed before `position`, with its own place."""
    for action, child in space.successors(state):
        left, bits = cost - space.costs[action], coding.written(child)
        if left == 0 and space.is_goal(child):
            return action, child, 0
        for index in range(position):
            there, layer = side.layers[index]
            if there == left and layer.eval(bits):
                return action, child, index
    raise AssertionError  # the goal was reached from here

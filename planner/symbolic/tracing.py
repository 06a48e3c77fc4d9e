"""From the state where two searches met to a plan."""

from __future__ import annotations

from planner.records import dataclass
from planner.search.space import Space
from planner.symbolic.coding import Coding, Set
from planner.symbolic.direction import Direction
from planner.task import State, facts_of


@dataclass(slots=True)
class Trail:
    """A way from `state` to where `side` began, which costs `cost`; only layers before number `until` are left."""

    space: Space
    coding: Coding
    side: Direction
    state: State
    cost: int
    until: int

    def back(self) -> list[int]:
        """Return the actions by which `state` is reached from the initial one."""
        actions: list[int] = []
        while self.cost or self.state != self.space.initial:
            after, cost = self.state, self.cost
            self._go_back()
            steps = self.space.successors(self.state)
            price = cost - self.cost
            actions.append(next(each for each, child in steps if child == after and self.space.costs[each] == price))
        return actions[::-1]

    def _go_back(self) -> None:
        """Go to a state from which one step leads here."""
        here, before = self.coding.state(facts_of(self.state)), dict[int, Set]()
        for relation in self.side.relations:
            before[relation.cost] = before.get(relation.cost, self.coding.nothing) | relation.preimage(here)
        for index in range(self.until - 1, -1, -1):
            cost, layer = self.side.layers[index]
            both = layer & before.get(self.cost - cost, self.coding.nothing)
            if both.satisfiable():
                self.state, self.cost, self.until = self.coding.one_of(both), cost, index
                return
        raise AssertionError  # it was reached from somewhere

    def on(self) -> list[int]:
        """Return the actions by which the goal is reached from `state`."""
        actions: list[int] = []
        while self.cost or not self.space.is_goal(self.state):
            actions.append(self._go_on())
        return actions

    def _go_on(self) -> int:
        """Go to a state that one step leads to; return the action."""
        for action, child in self.space.successors(self.state):
            left = self.cost - self.space.costs[action]
            index = self._layer_of(child, left)
            if index is not None:
                self.state, self.cost, self.until = child, left, index
                return action
        raise AssertionError  # the goal was reached from here

    def _layer_of(self, state: State, cost: int) -> int | None:
        """Return the number of the layer that has `state` at this cost, 0 for a goal state; None if there is none."""
        if cost == 0 and self.space.is_goal(state):
            return 0
        bits = self.coding.written(state)
        fitting = (index for index in range(self.until) if self.side.layers[index][0] == cost)
        return next((index for index in fitting if self.side.layers[index][1].eval(bits)), None)


def way_there(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which `state` was reached from the initial one, at this cost."""
    return Trail(space, coding, side, state, cost, len(side.layers)).back()


def way_on(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which the goal is reached from `state`, at this cost."""
    return Trail(space, coding, side, state, cost, len(side.layers)).on()

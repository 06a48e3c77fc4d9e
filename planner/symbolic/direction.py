"""Uniform-cost search over sets of states, from one end of the task: layers of states that cost the same to reach."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from planner.records import dataclass, field
from planner.symbolic.coding import Coding, Set
from planner.symbolic.relations import Relation

Meeting = tuple[int, Set]
"""What the way to states costs, and the states."""


@dataclass(slots=True)
class Direction:
    """A search from the states `start`, by images or preimages under `relations`, of which `narrowed` keeps a part.

    `waiting` has the states reached at a cost and not yet left; of `closed` states the cheapest way is known. `layers`
    are these in the order in which they were closed, each with its cost. The last step took so many `seconds` for so
    many `nodes`.
    """

    coding: Coding
    step: Callable[[Relation, Set], Set]
    relations: list[Relation]
    start: Set
    narrowed: Callable[[Set], Set] = lambda states: states
    waiting: dict[int, Set] = field(default_factory=dict)
    layers: list[Meeting] = field(default_factory=list)
    closed: Set = field(init=False)
    seconds: float = 0.0
    nodes: int = 1

    def __post_init__(self) -> None:
        self.waiting[0] = self.start
        self.closed = self.coding.nothing

    @property
    def next_cost(self) -> int | None:
        """What the states cost that are left next; None where there are none."""
        return min(self.waiting, default=None)

    @property
    def reached(self) -> Set:
        """The states to which the cheapest way is known, the start among them."""
        return self.closed | self.start

    def expected(self) -> float:
        """Return about how many seconds the next step takes."""
        cost = self.next_cost
        nodes = 0 if cost is None else self.waiting[cost].node_count()
        return self.seconds * max(1.0, nodes / self.nodes)

    def advance(self) -> Iterator[Meeting]:
        """Leave the states of least cost; yield what is reached from them, and at which cost, set by set.

        What is reached for nothing is left by the next step, if that is this side's.
        """
        began, cost = time.thread_time(), self.next_cost
        assert cost is not None  # noqa: S101 - the search is over else
        states = self.waiting.pop(cost) & ~self.closed
        if states.satisfiable():
            self.closed |= states
            self.layers.append((cost, states))
            for price, found in self._left(states):
                self.waiting[cost + price] = self.waiting.get(cost + price, self.coding.nothing) | found
                yield cost + price, found
        self.seconds, self.nodes = time.thread_time() - began, states.node_count()

    def _left(self, states: Set) -> Iterator[Meeting]:
        """Yield what one step from `states` reaches and was not closed, by the price of the step."""
        by_price: dict[int, list[Set]] = {}
        for relation in self.relations:
            by_price.setdefault(relation.cost, []).append(self.step(relation, states))
        for price, sets in by_price.items():
            found = self.narrowed(_union(sets)) & ~self.closed
            if found.satisfiable():
                yield price, found


def _union(sets: list[Set]) -> Set:
    """Return the union of at least one set; small ones are united first."""
    while len(sets) > 1:
        sets = [sets[index] | sets[index + 1] for index in range(0, len(sets) - 1, 2)] + sets[len(sets) & ~1 :]
    return sets[0]

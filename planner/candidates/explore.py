"""Exploring in plain Python: A* that goes on after the first plan, until all of up to some cost are within.

What A* has expanded when every state with f ≤ bound is (Hart, Nilsson and Raphael, 1968; K*: Aljazzar and Leue, 2011)
holds all plans that cost no more than the bound. Backwards from the goal states, each state gets its exact distance.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappop, heappush

from planner.annotations import Any, Final, Protocol
from planner.records import dataclass
from planner.search.astar import PathMax, Prices
from planner.search.queues import LastIn
from planner.search.run import Ending, Estimate, Knowing, Steps
from planner.task import INFINITY, State

PAUSE: Final = 8
"""Expansions between two pauses."""


Order = Callable[[State, int], int]


def _by_h(_state: State, h: int) -> int:
    return h


class Graph(Protocol):
    """A state space, as exploring sees it: where it begins, where it ends, and which edges lead where at which cost."""

    @property
    def initial(self) -> State:
        """The state in which it begins."""

    @property
    def costs(self) -> Prices:
        """What each edge costs."""

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return the edges from `state`, each with the next state."""

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""


class Explored:
    """The states of `space` that were reached, the estimate being admissible.

    `past_goals`: goal states are expanded, too. Among states with the same f, those come first for which `order` gives
    less, from the state and its h; without it, those with less h. `lowest` is the least cost of a plan through a state
    that was not expanded yet; `INFINITY` where there is none left. `optimum` is what the cheapest plan costs, once that
    is known.
    """

    def __init__(self, space: Graph, estimate: Estimate | Knowing, *, past_goals: bool, order: Order = _by_h) -> None:
        self._space, self._past_goals, self._order = space, past_goals, order
        self._source: Any = estimate if isinstance(estimate, Knowing) else PathMax(estimate, space.costs)
        self._reached: dict[State, int] = {space.initial: 0}
        self._edges: dict[State, list[tuple[int, State]]] = {}
        self._goals: set[State] = set()
        self._waiting = LastIn()
        self._waiting.push(0, 0, (space.initial, 0, 0, None, False))
        self.lowest = 0
        self.optimum: int | None = None
        self.expanded = self.evaluated = self.generated = 0

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none."""
        while self.optimum is None and self._waiting:
            yield from self._next_level()
        return Ending.EXHAUSTED

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`."""
        self._settle()
        while self.lowest <= bound:
            yield from self._next_level()
        return Ending.EXHAUSTED

    def _settle(self) -> None:
        """Note what is left: work that was paused may have been given up."""
        self.lowest = self._waiting.lowest if self._waiting else INFINITY

    def _next_level(self) -> Generator[None]:
        """Expand all states with the lowest f, those that come to have it, too; stop where the first plan is known."""
        level = self.lowest = self._waiting.lowest
        while self._waiting and self._waiting.lowest == level:
            f, _, (state, g, h, known, evaluated) = self._waiting.pop()
            if self._reached[state] < g:
                continue
            if not evaluated:
                self.evaluated += 1
                value, known = self._source.evaluate(state, known, INFINITY)
                if value > h:
                    if value < INFINITY:
                        self._push(state, g, value, known, evaluated=True)
                    continue
            if state in self._goals or self._space.is_goal(state):
                self._goals.add(state)
            is_first = self.optimum is None and state in self._goals
            if is_first:
                self.optimum = f
            self._expand(state, g, known)
            if is_first:
                break
            if not self.expanded % PAUSE:
                yield
        self._settle()

    def _expand(self, state: State, g: int, known: Any) -> None:
        if state in self._goals and not self._past_goals:
            self._edges[state] = []
            return
        self.expanded += 1
        if state not in self._edges:
            self._edges[state] = sorted(self._space.successors(state))
        costs, inherit, reached = self._space.costs, self._source.inherit, self._reached
        for action, child in self._edges[state]:
            cost = g + costs[action]
            if cost < reached.get(child, INFINITY):
                reached[child] = cost
                bound, inherited = inherit(known, action)
                self.generated += 1
                self._push(child, cost, bound, inherited, evaluated=False)

    def _push(self, state: State, g: int, h: int, known: Any, *, evaluated: bool) -> None:
        self._waiting.push(g + h, self._order(state, h), (state, g, h, known, evaluated))

    def part(self, bound: int) -> Within:
        """Return what plans go through that cost no more than `bound`, up to which everything was expanded."""
        distances, beyond = self._distances(bound)
        start, beyond = self._space.initial, min(beyond, self.lowest)
        return Within(start, bound, beyond, self._space.costs, self._reached, self._edges, self._goals, distances)

    def _distances(self, bound: int) -> tuple[dict[State, int], int]:
        """Return what it costs from each state to the goal, where a plan within `bound` goes through it.

        And what the others cost at least, as far as they do not go through a state that was not expanded yet.
        """
        costs, reached, beyond = self._space.costs, self._reached, INFINITY
        before: dict[State, list[tuple[State, int]]] = {}
        for state, edges in self._edges.items():
            for action, child in edges:
                before.setdefault(child, []).append((state, costs[action]))
        heap = [(0, state) for state in self._goals]
        found = dict.fromkeys(self._goals, 0)
        while heap:
            value, state = heappop(heap)
            if found[state] < value:
                continue
            if reached[state] + value > bound:
                beyond = min(beyond, reached[state] + value)
                del found[state]
                continue
            for other, cost in before.get(state, ()):
                then = value + cost
                if reached[other] + then > bound:
                    beyond = min(beyond, reached[other] + then)
                elif then < found.get(other, INFINITY):
                    found[other] = then
                    heappush(heap, (then, other))
        return found, beyond


@dataclass(frozen=True, slots=True)
class Within:
    """A `Part` whose states are those of the reference tier."""

    start: State
    bound: int
    beyond: int
    costs: Prices
    reached: dict[State, int]
    successors: dict[State, list[tuple[int, State]]]
    goals: set[State]
    distances: dict[State, int]

    def distance(self, state: State) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""
        return self.distances.get(state, INFINITY)

    def edges(self, state: State) -> dict[int, State]:
        """Return the next state by action, in ascending order of the actions."""
        left = self.bound - self.reached[state]
        return {
            action: child
            for action, child in self.successors[state]
            if self.costs[action] + self.distances.get(child, INFINITY) <= left
        }

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return state in self.goals

"""Best-first width search: novel states come first (BFWS(f5): Lipovetzky and Geffner, 2017).

States are of one kind if they have the same number of open goals, and have made the same number of facts of the last
relaxed plan true. The search computes a new relaxed plan for a state with fewer open goals than its parent. A state is
novel if no other state of its kind had one of its facts, or one of its pairs of facts (Lipovetzky and Geffner, 2012).
More novel states come first, then states with fewer open goals, then older ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from planner.lightweight import dataclass
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, as_advice, extract_plan
from planner.task.ground_task import State, bits, facts_of
from planner.task.successor_generator import Space

Kind = tuple[int, int]
"""The number of open goals, and the number of facts of the relaxed plan made true."""


def bfws(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for any plan, and stop at the first; without preferred actions, count open goals only."""
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    frontier = _Frontier(space, as_advice(estimate), run)
    frontier.open(space.initial, None)
    while (best := frontier.pop()) is not None:
        if space.is_goal(best.state):
            actions = extract_plan(parents, best.state)
            run.report_plan(actions, space.cost_of(actions))
            return Ending.FIRST_PLAN
        if run.watch is not None:
            run.watch.expand_from(parents, space.task, best.state, best.open_goals)
        run.expanded += 1
        successors = space.successors(best.state)
        run.generated += len(successors)
        for action, state in successors:
            if state not in parents:
                parents[state] = (best.state, action)
                frontier.open(state, best)
        yield
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


@dataclass(slots=True)
class _Node:
    state: State
    open_goals: int
    planned: State = 0
    """The facts that the last relaxed plan makes true."""
    made: State = 0
    """Those of `planned` that were true since then."""


class _Frontier:
    """The open list, by novelty, open goals and age."""

    def __init__(self, space: Space, advise: Advice, run: Run) -> None:
        self._space, self._advise, self._run = space, advise, run
        self._novelty = Novelty()
        self._nodes: list[_Node] = []
        self._heap: list[tuple[int, int, int]] = []

    def open(self, state: State, parent: _Node | None) -> None:
        """Insert a successor of `parent`, unless it is a dead end."""
        space = self._space
        node = _Node(state, (space.goal & ~space.closed(state)).bit_count())
        if parent is not None and node.open_goals >= parent.open_goals:
            node.planned, node.made = parent.planned, parent.made | parent.planned & state
        else:
            self._run.evaluated += 1
            value, actions = self._advise(state)
            if value >= DEAD_END:
                return
            node.planned = _adds_of(space, actions) & ~state
        new_facts = state if parent is None else state & ~parent.state
        novelty = self._novelty.measure(state, new_facts, (node.open_goals, node.made.bit_count()))
        heappush(self._heap, (novelty, node.open_goals, len(self._nodes)))
        self._nodes.append(node)

    def pop(self) -> _Node | None:
        """Remove and return the best node, or None if the list is empty."""
        return self._nodes[heappop(self._heap)[-1]] if self._heap else None


def _adds_of(space: Space, actions: Iterable[int]) -> State:
    """Return the facts that any of `actions` may add."""
    added: set[int] = set()
    for action in actions:
        ground = space.task.actions[action]
        added.update(ground.adds, *[effect.adds for effect in ground.conditional])
    return bits(added)


class Novelty:
    """The facts, and pairs of facts, that states of each kind have had."""

    def __init__(self) -> None:
        self._facts: dict[Kind, State] = {}
        self._pairs: dict[tuple[Kind, int], State] = {}

    def measure(self, state: State, new_facts: State, kind: Kind) -> int:
        """Return 1 if `state` has a new fact, 2 if it has a new pair, else 3; then store its facts and pairs.

        Only pairs with one of `new_facts`, which the parent of the state lacks, can be new.
        """
        known = self._facts.get(kind, 0)
        self._facts[kind] = known | state
        novelty = 1 if state & ~known else 3
        for fact in facts_of(new_facts):
            others = state & ~self._pairs.get((kind, fact), 0)
            if others:
                novelty = min(novelty, 2)
                self._pairs[kind, fact] = self._pairs.get((kind, fact), 0) | others
            for other in facts_of(others):
                self._pairs[kind, other] = self._pairs.get((kind, other), 0) | 1 << fact
        return novelty

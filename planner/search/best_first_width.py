"""Best-first width search: states that are new in some way come first (BFWS(f5): Lipovetzky and Geffner, 2017).

States are of one kind if they have as many goals left, and have made as many facts of the last relaxed plan true; such
a plan is made where fewer goals are left than before. A state is new if no other of its kind had one of its facts, or
one of its pairs of facts (Lipovetzky and Geffner, 2012). What is more novel comes first, then what has fewer goals
left, then what was reached first.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from planner.lightweight import dataclass
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, advice, path
from planner.task.ground_task import State, bits, facts_of
from planner.task.state_space import Space

Kind = tuple[int, int]
"""Goals left, and facts of the relaxed plan made true."""


def bfws(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for any plan, and stop at the first. Without an estimate that prefers actions, only goals are counted."""
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    frontier = _Frontier(space, advice(estimate), run)
    frontier.open(space.initial, None)
    while (best := frontier.pop()) is not None:
        if space.is_goal(best.state):
            actions = path(parents, best.state)
            run.found(actions, space.cost_of(actions))
            return Ending.FIRST_PLAN
        run.expanded += 1
        successors = space.successors(best.state)
        run.generated += len(successors)
        for action, state in successors:
            if state not in parents:
                parents[state] = (best.state, action)
                frontier.open(state, best)
        yield
    run.proved(run.limit)
    return Ending.EXHAUSTED


@dataclass(slots=True)
class _Node:
    """A state, how many goals it has left, the facts of the last relaxed plan, and those that were true since then."""

    state: State
    left: int
    planned: State = 0
    made: State = 0


class _Frontier:
    """The states that wait to be expanded."""

    def __init__(self, space: Space, advise: Advice, run: Run) -> None:
        self._space, self._advise, self._run = space, advise, run
        self._novelty = Novelty()
        self._nodes: list[_Node] = []
        self._waiting: list[tuple[int, int, int]] = []

    def open(self, state: State, parent: _Node | None) -> None:
        """Let a state wait that was reached from `parent`, unless it is a dead end."""
        space = self._space
        node = _Node(state, (space.goal & ~space.closed(state)).bit_count())
        if parent is not None and node.left >= parent.left:
            node.planned, node.made = parent.planned, parent.made | parent.planned & state
        else:
            self._run.evaluated += 1
            value, actions = self._advise(state)
            if value >= DEAD_END:
                return
            node.planned = _added(space, actions) & ~state
        fresh = state if parent is None else state & ~parent.state
        novelty = self._novelty.of(state, fresh, (node.left, node.made.bit_count()))
        heappush(self._waiting, (novelty, node.left, len(self._nodes)))
        self._nodes.append(node)

    def pop(self) -> _Node | None:
        """Take out the best node, or None where none waits."""
        return self._nodes[heappop(self._waiting)[-1]] if self._waiting else None


def _added(space: Space, actions: Iterable[int]) -> State:
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

    def of(self, state: State, fresh: State, kind: Kind) -> int:
        """Return 1 for a new fact, 2 for a new pair with one of the `fresh` facts, 3 for neither, and note them."""
        known = self._facts.get(kind, 0)
        self._facts[kind] = known | state
        found = 1 if state & ~known else 3
        for fact in facts_of(fresh):
            others = state & ~self._pairs.get((kind, fact), 0)
            if others:
                found = min(found, 2)
                self._pairs[kind, fact] = self._pairs.get((kind, fact), 0) | others
            for other in facts_of(others):
                self._pairs[kind, other] = self._pairs.get((kind, other), 0) | 1 << fact
        return found

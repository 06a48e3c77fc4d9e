"""What decompositions lead to, as a graph of numbers: doing actions costs, and decomposing tasks costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from htn.search.arrays import Board
from htn.search.nodes import Node, Nodes
from planner.annotations import Final
from planner.kernels.data import INFINITE
from planner.records import dataclass
from planner.task import INFINITY

MANY: Final = 1024
"""Networks of so many tasks are as good as larger ones."""


@dataclass(frozen=True, slots=True)
class Edges:
    """What the number of an edge says: the place in what is left to do, and the action there, or the method for it."""

    actions: int
    methods: int
    costs: Sequence[int]

    def __getitem__(self, edge: int) -> int:
        """Return what the edge costs."""
        action = self.action(edge)
        return 0 if action is None else self.costs[action]

    def action(self, edge: int) -> int | None:
        """Return the action that is done; None where a task is decomposed."""
        number = edge % (self.actions + self.methods)
        return number if number < self.actions else None

    def move(self, edge: int) -> int:
        """Return the edge as `htn.search.trees` takes it."""
        place, number = divmod(edge, self.actions + self.methods)
        return place * (self.methods + 1) + max(0, number - self.actions + 1)

    def edge(self, move: int, task: int) -> int:
        """Return the edge for a `move` that is about `task`."""
        place, method = divmod(move, self.methods + 1)
        return place * (self.actions + self.methods) + (self.actions + method - 1 if method else task)


class Progress:
    """The graph of the problem on `board`.

    Of the tasks that nothing comes before, the first compound one is decomposed before anything else is done: it may be
    decomposed at any time until then, as what its method requires is checked whenever it holds. Plans of the same steps
    are paths with the same actions.
    """

    def __init__(self, board: Board) -> None:
        self.nodes = Nodes(board, board.costs, 0)
        self.costs = Edges(len(board.costs), len(board.ground.methods), board.costs)
        self.initial = 0
        self._known = [self.nodes.initial]
        self._numbers = {self.nodes.initial: 0}

    def successors(self, number: int) -> list[tuple[int, int]]:
        """Return the edges from this node, each with the number of the next one."""
        nodes, node = self.nodes, self._known[number]
        return [
            (self.costs.edge(move, nodes.task(node, move)), self._number(child))
            for place in self._next(node)
            for child, move in nodes.moves(node, place)
        ]

    def is_goal(self, number: int) -> bool:
        """Return whether all is done and the goal holds."""
        state, network = self._known[number]
        return not network and self.nodes.is_goal(state)

    def estimate(self, number: int) -> int:
        """Return what is left costs at least; `INFINITY` where nothing leads on."""
        node = self._known[number]
        if not node[1]:
            return 0 if self.is_goal(number) else INFINITY
        if not self._next(node) or self.nodes.estimate(node) >= INFINITE:
            return INFINITY
        return self.nodes.left(node[1])

    def order(self, number: int, estimate: int) -> int:
        """Return what is less for nodes that are to be expanded first: with less left, and fewer tasks for that."""
        return estimate * MANY + min(len(self._known[number][1]), MANY - 1)

    def _next(self, node: Node) -> list[int]:
        """Return the places of the tasks that may be next."""
        places = self.nodes.available(node[1])
        return [place for place in places if self.nodes.is_compound(node[1][place][0])][:1] or places

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self._known))
        if number == len(self._known):
            self._known.append(node)
        return number

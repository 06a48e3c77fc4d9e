"""States and what is left to do, as a space that labels are searched in (`planner.budgets.labels`)."""

from __future__ import annotations

from collections.abc import Sequence

from htn.search.arrays import Board
from htn.search.nodes import Node, Nodes
from planner.annotations import Final
from planner.budgets.labels import Estimate, Vector
from planner.kernels.data import INFINITE
from planner.search.run import DEAD_END, Run

LARGE: Final = 1 << 40
"""Costs from here on might add up to more than kernels can count."""


class Counted:
    """The space of all decompositions. What labels take for an action is a move, and the action that it does, if any.

    Where it is `guided`, nodes from which not even the relaxed composition gets on are dead ends.
    """

    def __init__(self, board: Board, run: Run, *, guided: bool) -> None:
        self._board, self._run, self._guided = board, run, guided
        self._ways = Nodes(board, board.costs, 0)
        self._size = len(board.costs) + 1
        self.initial = self._ways.initial

    def is_goal(self, node: Node) -> bool:
        """Return whether nothing is left to do, and the goal holds."""
        return not node[1] and self._ways.is_goal(node[0])

    def successors(self, node: Node) -> list[tuple[int, Node]]:
        """Return `(move and action, next node)` for all that can be done now."""
        ways, size = self._ways, self._size
        found = []
        for child, move in ways.successors(node):
            action = size - 1 if ways.is_method(move) else ways.task(node, move)
            found.append((move * size + action, child))
        return found

    def moves(self, path: Sequence[int]) -> list[int]:
        """Return the moves of a path (see `htn.search.trees`)."""
        return [each // self._size for each in path]

    def charges(self, columns: Sequence[Sequence[int]]) -> _Charges:
        """Return what is paid on the way, whose `columns` are by action."""
        return _Charges([*zip(*columns, strict=True), (0,) * len(columns)])

    def estimates(self, columns: Sequence[list[int]]) -> list[Estimate]:
        """Return what all that is left to do comes to at least, whatever the state is, for each of the `columns`."""
        first, *others = [self._estimate(costs) for costs in columns]
        return [self._living(first) if self._guided else first, *others]

    def _estimate(self, costs: list[int]) -> Estimate:
        if max(costs, default=0) >= LARGE:
            return lambda _node: 0
        least, tasks = self._board.cheapest(costs), self._size - 1 + len(self._board.ground.compounds)

        def estimate(node: Node) -> int:
            found = sum([least[task] for task, _ in node[1] if task < tasks])
            return DEAD_END if found >= INFINITE else found

        return estimate

    def _living(self, estimate: Estimate) -> Estimate:
        """Return `estimate` with dead ends."""

        def living(node: Node) -> int:
            if node[1]:
                self._run.evaluated += 1
                if self._ways.estimate(node) >= INFINITE:
                    return DEAD_END
            return estimate(node)

        return living


class _Charges:
    """What is paid for a move, by the action that it does."""

    def __init__(self, vectors: list[Vector]) -> None:
        self._vectors = vectors

    def __getitem__(self, code: int) -> Vector:
        return self._vectors[code % len(self._vectors)]

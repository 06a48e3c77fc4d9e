"""Progression search where tasks are partially ordered: whatever nothing comes before may be next.

The readable twin of the kernels, too, for total orders.
"""

from __future__ import annotations

import heapq
from itertools import count

from htn.search.arrays import Board
from htn.search.nodes import Node, Nodes
from planner.kernels.data import INFINITE
from planner.search.run import Ending, Run, Steps

Way = tuple[Node, int]
"""The node before, and the move; see `htn.search.trees`."""


class Partial:
    """A search in the order of `past` · cost so far + `future` · estimate, which counts `own` for every method.

    With `past` 0 it is greedy, and counts steps and not costs.
    """

    def __init__(self, board: Board, past: int, future: int, own: int) -> None:
        self._past, self._future = past, future
        self._nodes = Nodes(board, board.costs if past else None, own)

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; the `first` one may be the last."""
        nodes, start = self._nodes, self._nodes.initial
        self._cost, self._way = {start: 0}, dict[Node, Way]()
        tickets = count()
        queue = [(0, 0, start)]
        closed: dict[Node, int] = {}
        while queue:
            _, _, node = heapq.heappop(queue)
            cost = self._cost[node]
            if closed.get(node, INFINITE) <= cost or cost + nodes.left(node[1]) >= run.limit:
                continue
            closed[node] = cost
            run.expanded += 1
            for child, move in nodes.successors(node):
                new = cost + nodes.cost(node, move)
                if new >= self._cost.get(child, INFINITE) or new + nodes.left(child[1]) >= run.limit:
                    continue
                self._cost[child], self._way[child] = new, (node, move)
                run.generated += 1
                if not child[1]:
                    if nodes.is_goal(child[0]):
                        run.found(self._moves(child), new)
                        if first:
                            return Ending.FIRST_PLAN
                    continue
                run.evaluated += 1
                estimate = nodes.estimate(child)
                if estimate < INFINITE:
                    key = self._past * new + self._future * estimate
                    heapq.heappush(queue, (key, -next(tickets), child))
                yield
            yield
        run.proved(run.limit)
        return Ending.EXHAUSTED

    def _moves(self, node: Node) -> list[int]:
        moves: list[int] = []
        while node in self._way:
            node, move = self._way[node]
            moves.append(move)
        return moves[::-1]

"""Guesses of what nodes are worth, brought up to date along the way as nodes are looked into.

They lead to the nodes that matter and prove nothing: in circles, guesses may never come to what is true.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Final
from planner.uncertain.graph import Graph, Option
from planner.uncertain.lexicographic import Solution

Value = tuple[float, ...]
"""What there is to pay, the more important first: rewards lost, then the cost."""

DIGITS: Final = 9
"""To so many digits, rewards are compared."""


class Guess:
    """What each node of a graph may be worth at best, for all that is known."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: list[Value] = []

    def correct(self, solution: Solution) -> None:
        """Take over the values of a solution of all that was known."""
        *rewards, costs = solution.values
        self.values = list(zip(*[[round(-each, DIGITS) for each in values] for values in rewards], costs, strict=True))

    def deepened(self, check: Callable[[], None]) -> int:
        """Follow the best options depth first, look into what was not looked into, and return how many nodes that was.

        On the way back, values are brought up to date (improved LAO*: Hansen and Zilberstein, 2001).
        """
        graph, done = self.graph, 0
        met = {0}
        path = [(0, self._after(0))]
        while path:
            node, following = path[-1]
            if not following:
                path.pop()
                self._best(node)
                continue
            after = following.pop()
            if after in met:
                continue
            met.add(after)
            if graph.inside[after]:
                path.append((after, self._after(after)))
            else:
                check()
                self.look(after)
                done += 1
        return done

    def look(self, node: int) -> None:
        """Look into `node`."""
        graph = self.graph
        graph.expand(node)
        for new in range(len(self.values), len(graph)):
            first = graph.options[new][0]
            self.values.append((*[round(-each, DIGITS) for each in first.worth], first.cost))
        self._best(node)

    def _after(self, node: int) -> list[int]:
        return [after for _, after in self._best(node).branches]

    def _best(self, node: int) -> Option:
        """Return the best option of `node`, and note what it makes of the node's value."""
        best, value = min(
            [(option, self._worth(option, node)) for option in self.graph.options[node]], key=lambda found: found[1]
        )
        self.values[node] = max(value, self.values[node])
        return best

    def _worth(self, option: Option, node: int) -> Value:
        if not option.branches:
            return (*[round(-each, DIGITS) for each in option.worth], option.cost)
        values, size = self.values, self.graph.aim.rewards + 1
        sums, rest = [0.0] * size, 0.0
        for share, after in option.branches:
            if after != node:
                rest += share
                for place, each in enumerate(values[after]):
                    sums[place] += share * each
        *rewards, cost = [each / rest for each in sums]
        return (*[round(each, DIGITS) for each in rewards], cost + option.cost / rest)

"""Values of all nodes at once: value iteration over the explicit part of a process, and what is settled by it.

Rewards are collected at ends only, so their values rise from 0 to the least fixed point: going in circles is worth
nothing. Costs fall from more than any policy costs: then circles that cost nothing do not pass for ends. Each of them
is swept over the options that keep the best rewards. If the best options of a node lead to no hope, it is settled.
"""

from __future__ import annotations

from planner.annotations import Final
from planner.uncertain.exact import Check
from planner.uncertain.graph import OPEN
from planner.uncertain.values import Values, are_equal_rewards, is_tied

CLOSE: Final = 1e-12
"""A sweep ends when a round changes nothing by more than this part of a value."""
ROUNDS: Final = 1000
"""Or after so many rounds; then nothing is settled."""
FAR: Final = 1e7
"""Costs begin with so many times what the dearest step costs."""


class Sweeps:
    """Sweeps over `values`."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._graph = values.graph
        self._far = FAR * (1 + max([choice.cost for choice in values.graph.process.choices], default=0))
        self._kept: list[list[int]] = []
        self._best: list[int] = []

    def sweep(self, check: Check) -> None:
        """Bring all values up to date, and note what is settled."""
        nodes = self._nodes()
        if self._solve(nodes, check, hopeful=True):
            self._settle(nodes)
        if any(self._values.waiting):
            self._solve(self._nodes(), check, hopeful=False)

    def _nodes(self) -> list[int]:
        """Return the nodes that were looked into and are not settled, the latest first."""
        inside, settled = self._graph.inside, self._values.settled
        return [node for node in reversed(range(len(inside))) if inside[node] and not settled[node]]

    def _solve(self, nodes: list[int], check: Check, *, hopeful: bool) -> bool:
        """Find the values of `nodes`; return whether all of them were found."""
        graph, values = self._graph, self._values
        self._kept = [[] for _ in range(len(graph))]
        self._best = [0] * len(graph)
        for node in nodes:
            options = graph.options[node] if hopeful else values.usable(node)
            self._kept[node] = list(range(len(options)))
        found = True
        for number in range(len(values.parts) - 1):
            found = self._rise(nodes, number, check) and found
            for node in nodes:
                self._kept[node] = self._keeping(node, number)
        for node in nodes:
            self._best[node] = self._kept[node][0]
        return self._fall(nodes, check) and found

    def _rise(self, nodes: list[int], number: int, check: Check) -> bool:
        """Let a reward come to rest from below; return whether it does."""
        part = self._values.parts[number]
        for node in nodes:
            part[node] = 0.0
        for _ in range(ROUNDS):
            check()
            rest = True
            for node in nodes:
                best = max([self._part(node, place, number) for place in self._kept[node]])
                rest = rest and abs(best - part[node]) <= CLOSE * abs(best)
                part[node] = best
            if rest:
                return True
        return False

    def _fall(self, nodes: list[int], check: Check) -> bool:
        """Let the cost come to rest from above, and note the best options; return whether it does."""
        part = self._values.parts[-1]
        for node in nodes:
            part[node] = self._far
        for _ in range(ROUNDS):
            check()
            rest = True
            for node in nodes:
                best = self._cheapest(node)
                rest = rest and abs(best - part[node]) <= CLOSE * max(1.0, abs(best))
                part[node] = best
            if rest:
                return True
        return False

    def _cheapest(self, node: int) -> float:
        """Return the least cost of `node`, and note the option: another one than before only where it is better."""
        best = self._part(node, self._best[node], -1)
        for place in self._kept[node]:
            cost = self._part(node, place, -1)
            if cost < best and not is_tied(cost, best):
                best, self._best[node] = cost, place
        return best

    def _keeping(self, node: int, number: int) -> list[int]:
        """Return the options of `node` that keep what it has of a reward."""
        value = self._values.parts[number][node]
        return [place for place in self._kept[node] if are_equal_rewards(self._part(node, place, number), value)]

    def _part(self, node: int, place: int, number: int) -> float:
        return self._values.part(number, node, self._graph.options[node][place])

    def _settle(self, nodes: list[int]) -> None:
        """Settle the `nodes` whose best options lead to nothing that is only hoped for."""
        settled = self._values.settled
        for node in nodes:
            settled[node] = self._graph.options[node][self._best[node]].choice != OPEN
        changed = True
        while changed:
            changed = False
            for node in nodes:
                if settled[node]:
                    branches = self._graph.options[node][self._best[node]].branches
                    if not all(settled[after] for _, after in branches):
                        settled[node], changed = False, True

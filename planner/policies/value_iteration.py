"""Value iteration over the expanded part of a Markov decision process, and which nodes are settled by it.

Rewards are collected at ends only, so values rise from 0 to the least fixed point: cycles are worth nothing. Costs fall
from more than any policy costs, so that cycles that cost nothing do not pass for ends. Each cost is swept over the
options that keep the best rewards. A node whose best options lead to no unexpanded node is settled.
"""

from __future__ import annotations

from planner.lightweight import Final, dataclass, field
from planner.policies.lao_star import Check
from planner.policies.markov_decision_process import OPEN, Graph, Option

TIE: Final = 1e-9
"""Values that differ by less than this part of them are equal."""

FEWEST: Final = 2
"""To stop, and to hope."""

Worth = list[float]
"""The rewards, the more important ones first, and then the cost."""


@dataclass(frozen=True, slots=True)
class Values:
    """What a search knows of the N nodes of a `graph`."""

    graph: Graph
    parts: tuple[list[float], ...]
    """[rewards + 1][N] What is expected of each reward, and of the cost, at last; at first what may be hoped for."""
    hope: list[float] = field(default_factory=list)
    """[N] What may be hoped for of the cost before a node is looked into."""
    visits: list[int] = field(default_factory=list)
    """[N] Simulations that came by."""
    pulls: list[dict[int, int]] = field(default_factory=list)
    """[N] How often each choice was taken."""
    waiting: list[list[int]] = field(default_factory=list)
    """[N] Choices of nodes that were looked into for which there is no option yet."""
    settled: list[bool] = field(default_factory=list)
    """[N] Whether the values are exact."""
    seen: list[int] = field(default_factory=list)
    """[N] The last simulation that came by."""

    def grow(self) -> None:
        """Bring the lists to the length of the graph."""
        graph = self.graph
        for node in range(len(self.hope), len(graph)):
            (end,) = graph.options[node]
            for part, value in zip(self.parts, (*end.worth, end.cost), strict=True):
                part.append(value)
            self.hope.append(end.cost)
            self.visits.append(0)
            self.pulls.append({})
            self.waiting.append([])
            self.settled.append(graph.inside[node])
            self.seen.append(0)

    def worth(self, node: int, option: Option) -> Worth:
        """Return what `option` of `node` is worth."""
        return [self.part(number, node, option) for number in range(len(self.parts))]

    def part(self, number: int, node: int, option: Option) -> float:
        """Return one part of that; what leads back to the node is done again until it does not."""
        last = number in (-1, len(self.parts) - 1)
        if not option.branches:
            return option.cost if last else option.worth[number]
        values = self.parts[number]
        total = option.cost if last else 0.0
        leaving = 0.0
        for share, after in option.branches:
            if after != node:
                total += share * values[after]
                leaving += share
        return total / leaving

    def back_up(self, node: int, *, hopeful: bool) -> None:
        """Let `node` be worth its best option; it is settled if all that comes after it is.

        Where all values are `hopeful`, never worse than the truth, it is also settled if its best option is.
        """
        best: Worth = []
        known, all_known = True, True
        for option in self.usable(node):
            worth, done = self.worth(node, option), self.is_done(node, option)
            all_known = all_known and done
            if not best or is_better(worth, best) or (done and not known and not is_better(best, worth)):
                best, known = worth, done
        for part, value in zip(self.parts, best, strict=True):
            part[node] = value
        self.settled[node] = not self.waiting[node] and (all_known or (known and hopeful))

    def usable(self, node: int) -> list[Option]:
        """Return the options of `node` that estimates go by: hope only where there is nothing else to do."""
        options = self.graph.options[node]
        return options[:-1] if options[-1].choice == OPEN and len(options) > FEWEST else options

    def is_done(self, node: int, option: Option) -> bool:
        """Return whether there is nothing to learn about `option`: what it leads to is settled."""
        settled = self.settled
        return all(settled[after] or after == node for _, after in option.branches)


def is_better(one: Worth, other: Worth) -> bool:
    """Return whether `one` is better than `other`, rewards first."""
    for mine, theirs in zip(one[:-1], other[:-1], strict=True):
        if not are_equal_rewards(mine, theirs):
            return mine > theirs
    return one[-1] < other[-1]


def is_tied(one: float, other: float) -> bool:
    """Return whether two costs are equal up to rounding."""
    return abs(one - other) <= TIE * max(1.0, abs(other))


def are_equal_rewards(one: float, other: float) -> bool:
    """Return whether two rewards are equal up to rounding; the least probability of success is more than none."""
    return abs(one - other) <= TIE * max(abs(one), abs(other))


def new_values(graph: Graph) -> Values:
    """Return the values of `graph`, before any simulation."""
    values = Values(graph, tuple([[] for _ in range(graph.aim.rewards + 1)]))
    values.grow()
    return values


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

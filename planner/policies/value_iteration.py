"""Value iteration (Bellman, 1957) over the expanded part of a Markov decision process.

Rewards are collected only at ends, so their values rise from 0 to the least fixed point, in which cycles are worth
nothing. Costs fall from more than any policy costs, so that free cycles do not look like ends. The cost is iterated
over the options that are optimal for the rewards. A node whose best options lead to no unexpanded node is *settled*.
"""

from __future__ import annotations

from functools import partial

from planner.lightweight import Final, dataclass, field
from planner.policies.lao_star import Check
from planner.policies.markov_decision_process import OPEN, Graph, Option

TIE: Final = 1e-9
"""Two values are tied if they differ by less than this fraction of them."""

FEWEST: Final = 2
"""Ends among the options of a node: to stop, and the optimistic one."""

Worth = list[float]
"""The rewards, the more important ones first, and then the cost."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values and statistics of the N nodes of a `graph`."""

    graph: Graph
    parts: tuple[list[float], ...]
    """[rewards + 1][N] Expected rewards and expected cost; optimistic values at first."""
    hope: list[float] = field(default_factory=list)
    """[N] Lower bound of the cost, by the heuristic."""
    visits: list[int] = field(default_factory=list)
    """[N] Simulations that passed through the node."""
    pulls: list[dict[int, int]] = field(default_factory=list)
    """[N] Number of times that each choice was taken."""
    waiting: list[list[int]] = field(default_factory=list)
    """[N] Choices of expanded nodes that have no option yet."""
    settled: list[bool] = field(default_factory=list)
    """[N] Whether the values are exact."""
    seen: list[int] = field(default_factory=list)
    """[N] Last simulation that passed through the node."""

    def grow(self) -> None:
        """Add the new nodes of the graph."""
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
        """Return the expected rewards and cost of `option` of `node`."""
        return [self.part(number, node, option) for number in range(len(self.parts))]

    def part(self, number: int, node: int, option: Option) -> float:
        """Return one of these values; an option that leads back to `node` is repeated until it does not."""
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
        """Set the values of `node` to those of its best option; the node is settled if all its successors are.

        Where all values are optimistic (`hopeful`), it is also settled if the successors of its best option are.
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
        """Return the options of `node`; leave the optimistic end out where there is an option besides stopping."""
        options = self.graph.options[node]
        return options[:-1] if options[-1].choice == OPEN and len(options) > FEWEST else options

    def is_done(self, node: int, option: Option) -> bool:
        """Return whether all successors by `option` are settled."""
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
    """Return whether two rewards are equal up to rounding; no positive probability of success equals 0."""
    return abs(one - other) <= TIE * max(abs(one), abs(other))


def new_values(graph: Graph) -> Values:
    """Return the optimistic values of `graph` before any simulation."""
    values = Values(graph, tuple([[] for _ in range(graph.aim.rewards + 1)]))
    values.grow()
    return values


CLOSE: Final = 1e-12
"""A sweep has converged when no value changes by more than this fraction of it."""
ROUNDS: Final = 1000
"""Rounds after which a sweep ends without convergence: then it settles no node."""
FAR: Final = 1e7
"""Initial cost of each node, as a multiple of the highest cost of a step."""


class Sweeps:
    """Sweeps over `values`."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._graph = values.graph
        self._far = FAR * (1 + max([choice.cost for choice in values.graph.process.choices], default=0))
        self._kept: list[list[int]] = []
        self._best: list[int] = []

    def sweep(self, check: Check) -> None:
        """Iterate all values to their fixed points, and settle nodes."""
        nodes = self._nodes()
        if self._solve(nodes, check, hopeful=True):
            self._settle(nodes)
        if any(self._values.waiting):
            self._solve(self._nodes(), check, hopeful=False)

    def _nodes(self) -> list[int]:
        """Return the expanded nodes that are not settled, the latest first."""
        inside, settled = self._graph.inside, self._values.settled
        return [node for node in reversed(range(len(inside))) if inside[node] and not settled[node]]

    def _solve(self, nodes: list[int], check: Check, *, hopeful: bool) -> bool:
        """Iterate the values of `nodes`; return whether all have converged."""
        graph, values = self._graph, self._values
        self._kept = [[] for _ in range(len(graph))]
        self._best = [0] * len(graph)
        for node in nodes:
            options = graph.options[node] if hopeful else values.usable(node)
            self._kept[node] = list(range(len(options)))
        found = True
        for number in range(len(values.parts) - 1):
            found = self._iterate(nodes, number, check) and found
            for node in nodes:
                self._kept[node] = self._optimal_options(node, number)
        for node in nodes:
            self._best[node] = self._kept[node][0]
        return self._iterate(nodes, -1, check) and found

    def _iterate(self, nodes: list[int], number: int, check: Check) -> bool:
        """Iterate a reward from below, or the cost (number -1) from above; return whether it has converged."""
        part = self._values.parts[number]
        update, least = (self._cheapest, 1.0) if number < 0 else (partial(self._highest, number), 0.0)
        for node in nodes:
            part[node] = self._far if number < 0 else 0.0
        for _ in range(ROUNDS):
            check()
            converged = True
            for node in nodes:
                value = update(node)
                converged = converged and abs(value - part[node]) <= CLOSE * max(least, abs(value))
                part[node] = value
            if converged:
                return True
        return False

    def _highest(self, number: int, node: int) -> float:
        """Return the highest value of a reward in `node`."""
        return max([self._part(node, place, number) for place in self._kept[node]])

    def _cheapest(self, node: int) -> float:
        """Return the least cost of `node`, and update its best option, which changes only for a better one."""
        best = self._part(node, self._best[node], -1)
        for place in self._kept[node]:
            cost = self._part(node, place, -1)
            if cost < best and not is_tied(cost, best):
                best, self._best[node] = cost, place
        return best

    def _optimal_options(self, node: int, number: int) -> list[int]:
        """Return the options of `node` that are optimal for a reward."""
        value = self._values.parts[number][node]
        return [place for place in self._kept[node] if are_equal_rewards(self._part(node, place, number), value)]

    def _part(self, node: int, place: int, number: int) -> float:
        return self._values.part(number, node, self._graph.options[node][place])

    def _settle(self, nodes: list[int]) -> None:
        """Settle the `nodes` whose best options lead, at last, to no optimistic end."""
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

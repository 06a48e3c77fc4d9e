"""What the nodes of a process are worth, as far as a search knows: lists by the number of a node."""

from __future__ import annotations

from planner.annotations import Final
from planner.records import dataclass, field
from planner.uncertain.graph import OPEN, Graph, Option

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

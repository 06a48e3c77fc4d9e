"""End components that cost nothing, made one node each: in them, one can go from anywhere to anywhere for free.

Without them, values have one fixed point, and policies that go in circles for ever are not mistaken for good ones
(de Alfaro 1997; Kolobov, Mausam, Weld and Geffner 2011; Haddad and Monmege 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.components import components
from planner.records import dataclass
from planner.uncertain.graph import Option

Options = Sequence[Sequence[Option]]
"""What can be done in each node."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An option of `node` that leaves its class, taken until it does; `price` and `branches` are what that comes to."""

    node: int
    option: Option
    price: float
    branches: tuple[tuple[float, int], ...]


class Quotient:
    """`options` with nodes that are connected for free made one class; `price` says what an option costs.

    `of` gives the class of each node, `members` the nodes of each class and `exits` what can be done in it.
    """

    def __init__(self, options: Options, price: Callable[[Option], float]) -> None:
        self.options = options
        self.of = list(range(len(options)))
        free = {
            node: [option for option in here if option.branches and not price(option)]
            for node, here in enumerate(options)
        }
        groups = [*_end_components({node: here for node, here in free.items() if here})]
        self.inner = {node: here for group in groups for node, here in group.items()}
        single = [[node] for node in range(len(options)) if node not in self.inner]
        self.members = [*map(list, groups), *single]
        for number, members in enumerate(self.members):
            for node in members:
                self.of[node] = number
        self.exits = [
            [found for node in members for option in options[node] if (found := self._exit(node, option, price))]
            for members in self.members
        ]

    def is_inner(self, node: int, option: Option) -> bool:
        """Return whether `option` stays in the class of `node` and costs nothing."""
        return any(option is each for each in self.inner.get(node, ()))

    def _exit(self, node: int, option: Option, price: Callable[[Option], float]) -> Exit | None:
        if self.is_inner(node, option):
            return None
        own = self.of[node]
        shares: dict[int, float] = {}
        for share, after in option.branches:
            shares[self.of[after]] = shares.get(self.of[after], 0.0) + share
        back = shares.pop(own, 0.0)
        if option.branches and not shares:
            return None  # it pays for staying where it is
        rest = sum(shares.values()) if option.branches else 1.0
        branches = tuple([(share / rest, after) for after, share in shares.items()])
        return Exit(node, option, price(option) / (rest if back else 1.0), branches)


def _end_components(options: dict[int, list[Option]]) -> Iterator[dict[int, list[Option]]]:
    """Yield the maximal end components: nodes, and their options that never leave them (de Alfaro, 1997)."""
    waiting = [options]
    while waiting:
        part = waiting.pop()
        leads = {
            node: [after for each in here for _, after in each.branches if after in part] for node, here in part.items()
        }
        for nodes in components(leads):
            inside = set(nodes)
            kept = {
                node: [each for each in part[node] if all(after in inside for _, after in each.branches)]
                for node in nodes
            }
            if all(len(kept[node]) == len(part[node]) for node in nodes):
                yield kept
            else:
                rest = {node: here for node, here in kept.items() if here}
                if rest:
                    waiting.append(rest)

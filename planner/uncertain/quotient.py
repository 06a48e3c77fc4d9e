"""End components that cost nothing, made one node each: in them, one can go from anywhere to anywhere for free.

Without them, values have one fixed point, and policies that go in circles for ever are not mistaken for good ones
(de Alfaro 1997; Kolobov, Mausam, Weld and Geffner 2011; Haddad and Monmege 2014).
"""

from __future__ import annotations

from collections import defaultdict
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

    `of` gives the class of each node, `members` the nodes of each class, `inner` the options by which a node of a class
    of several leads within it, and `exits` all else that can be done in a class. `check` raises to give up.
    """

    def __init__(self, options: Options, price: Callable[[Option], float], check: Callable[[], None]) -> None:
        self.options = options
        self.price = price
        free = {
            node: found
            for node, here in enumerate(options)
            if (found := [option for option in here if option.branches and not price(option)])
        }
        groups = [*_end_components(free, check)]
        self.inner = {node: here for group in groups for node, here in group.items()}
        single = [[node] for node in range(len(options)) if node not in self.inner]
        self.members = [*map(list, groups), *single]
        self.of = [0] * len(options)
        for number, members in enumerate(self.members):
            for node in members:
                self.of[node] = number
        self.exits = [self._exits(members, check) for members in self.members]

    def is_inner(self, node: int, option: Option) -> bool:
        """Return whether `option` stays in the class of `node` and costs nothing."""
        inner = self.inner.get(node)
        return inner is not None and any(option is each for each in inner)

    def _exits(self, members: Sequence[int], check: Callable[[], None]) -> list[Exit]:
        check()
        return [
            found
            for node in members
            for option in self.options[node]
            if not self.is_inner(node, option) and (found := self._exit(node, option))
        ]

    def _exit(self, node: int, option: Option) -> Exit | None:
        """Return an option that is taken until it leaves the class; None where it only pays for staying there."""
        of, shares = self.of, dict[int, float]()
        for share, after in option.branches:
            shares[of[after]] = shares.get(of[after], 0.0) + share
        price = self.price(option)
        if not shares.pop(of[node], 0.0):
            return Exit(node, option, price, tuple([(share, after) for after, share in shares.items()]))
        if not shares:
            return None
        rest = sum(shares.values())
        return Exit(node, option, price / rest, tuple([(share / rest, after) for after, share in shares.items()]))


def _end_components(options: dict[int, list[Option]], check: Callable[[], None]) -> Iterator[dict[int, list[Option]]]:
    """Yield the maximal end components: nodes, and their options that never leave them (de Alfaro, 1997)."""
    waiting = [options]
    while waiting:
        part = _staying(waiting.pop(), check)
        leads = {node: [after for each in here for _, after in each.branches] for node, here in part.items()}
        for nodes in components(leads):
            check()
            inside = set(nodes)
            kept = {
                node: [each for each in part[node] if all(after in inside for _, after in each.branches)]
                for node in nodes
            }
            if all(len(kept[node]) == len(part[node]) for node in nodes):
                yield kept
            else:
                waiting.append({node: here for node, here in kept.items() if here})


def _staying(options: dict[int, list[Option]], check: Callable[[], None]) -> dict[int, list[Option]]:
    """Return the nodes and options that never need lead out of them, as far as that shows without a look at circles."""
    kept = {node: {id(option): option for option in here} for node, here in options.items()}
    users: dict[int, list[tuple[int, Option]]] = defaultdict(list)
    for node, here in options.items():
        check()
        for option in here:
            for _, after in option.branches:
                users[after].append((node, option))
    gone = [after for after in users if after not in kept]
    for after in gone:
        for node, option in users[after]:
            here_kept = kept.get(node, {})
            if here_kept.pop(id(option), None) is not None and not here_kept:
                del kept[node]
                gone.append(node)
    return {node: [*here.values()] for node, here in kept.items()}

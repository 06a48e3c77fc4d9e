"""Abstractions of a task as arrays: projections, and Cartesian ones that were made before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.abstractions.moves import Moves
from planner.abstractions.patterns import Pattern
from planner.abstractions.projection import factors
from planner.compiled.arrays import empty_index, index, lengthened, words, zeros
from planner.compiled.cartesian import Gathered, nothing_gathered
from planner.compiled.library import Call
from planner.compiled.packing import Packing
from planner.compiled.spaces import FEW, lengthen, no_spaces
from planner.kernels import numbers as n
from planner.kernels import projections as kernel
from planner.kernels.data import NOTHING
from planner.kernels.scp import Lookup

MOST_INDICES: Final = 100_000
"""States of a projection by index, dead ones among them."""
MOST_EDGES: Final = 400_000
"""Transitions of a projection."""
MOST_RULES: Final = 1 << 15
MOST_KEY: Final = 1 << 62
"""Rules are numbers below this."""


class Projections:
    """Projections of a task with these `moves`, as many as were made, and some of the `others`, which are Cartesian.

    Their names are `patterns`: that of a projection is its pattern, that of Cartesian abstraction i is `(~i,)`. With
    `anywhere`, there are estimates for states, too, that are not reached from the initial one.
    """

    def __init__(
        self,
        moves: Moves,
        arrays: kernel.Moves,
        packed: Packing,
        entries: dict[str, Call],
        others: Gathered | None = None,
        *,
        anywhere: bool = False,
    ) -> None:
        self._anywhere = int(anywhere)
        self._others = others or nothing_gathered()
        self._moves, self._arrays, self._packed, self._entries = moves, arrays, packed, entries
        self._shop = _workshop(len(moves.sizes), len(moves.touches))
        self.patterns: list[Pattern] = []
        self.number: dict[Pattern, int] = {}
        self.counts = zeros(kernel.COUNTS)
        self.spaces = no_spaces()
        self.rank = empty_index(FEW)
        self.first_rank: list[int] = []

    def adopt(self, number: int) -> None:
        """Add a Cartesian abstraction."""
        while self._entries["adopt"](number, self._others.spaces, self.spaces, self.counts) == n.FULL:
            lengthen(self.spaces, self.counts)
        self._name((~number,), 0)

    def _name(self, name: Pattern, ranks: int) -> None:
        self.number[name] = len(self.patterns)
        self.patterns.append(name)
        self.first_rank.append(ranks)

    def add(self, pattern: Pattern) -> bool:
        """Make the projection to `pattern`, unless it would be too large; return whether it was made."""
        if pattern[0] < 0:
            self.adopt(~pattern[0])
            return True
        moves, counts = self._moves, self.counts
        rules = 1
        for variable in pattern:
            rules *= (moves.sizes[variable] + 1) ** 2
        if moves.product(pattern) > MOST_INDICES or rules >= MOST_KEY:
            return False
        arrays = kernel.Pattern(
            index(pattern),
            index(factors(moves, pattern)),
            index(moves.initial[variable] for variable in pattern),
            index(moves.goal.get(variable, NOTHING) for variable in pattern),
        )
        ranks = counts[kernel.RANKS]
        while True:
            outcome = self._project(arrays)
            if outcome != n.FULL:
                break
            self._grow()
        if outcome == n.DONE:
            self._name(pattern, ranks)
        return outcome == n.DONE

    def _project(self, pattern: kernel.Pattern) -> int:
        room = self._shop, self.spaces, self.rank, self.counts
        return self._entries["project"](self._anywhere, self._arrays, pattern, *room)

    def _grow(self) -> None:
        """Lengthen what may be too short."""
        lengthen(self.spaces, self.counts)
        if self.counts[kernel.RANKS] + MOST_INDICES > len(self.rank):
            lengthened(self.rank, max(2 * len(self.rank), len(self.rank) + MOST_INDICES))

    def lookup(self, patterns: Iterable[Pattern]) -> Lookup:
        """Return how the states of the abstractions of these names are found."""
        coding, starts, ranks, first = self._packed.coding, [0], index([]), []
        places: list[tuple[int, int]] = []
        for pattern in patterns:
            if pattern[0] < 0:
                starts.append(len(places))
                first.append(self._others.roots[~pattern[0]])
                continue
            places += zip(pattern, factors(self._moves, pattern), strict=True)
            starts.append(len(places))
            first.append(len(ranks))
            begin = self.first_rank[self.number[pattern]]
            ranks += self.rank[begin : begin + self._moves.product(pattern)]
        return Lookup(
            index(starts),
            index(coding.word[variable] for variable, _ in places),
            words(coding.shift[variable] for variable, _ in places),
            words(coding.mask[variable] for variable, _ in places),
            words(factor for _, factor in places),
            words(first),
            ranks,
            self._others.trees,
        )


def _workshop(variables: int, actions: int) -> kernel.Workshop:
    """Return room for making projections."""
    entries = empty_index(4 * actions + MOST_RULES)
    by_variable, by_rule = empty_index(variables + 1), empty_index(MOST_RULES)
    by_edge, by_state = empty_index(MOST_EDGES), empty_index(MOST_INDICES + 2)
    return kernel.Workshop(
        position=by_variable,
        marked=empty_index(actions),
        touch=by_variable[:],
        choice=by_variable[:],
        origin=by_variable[:],
        target=by_variable[:],
        table=empty_index(2 * MOST_RULES),
        key=zeros(MOST_RULES),
        head=by_rule,
        tail=by_rule[:],
        label=entries,
        next=entries[:],
        source=by_edge,
        reached=by_edge[:],
        rule=by_edge[:],
        sorted=by_edge[:],
        stage=by_state,
        queue=by_state[:],
        start=by_state[:],
    )

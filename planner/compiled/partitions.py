"""Sharing costs among abstractions in several orders, that are good for different states.

An order is made for a state: those come first that estimate much of it and take little of what others need. Or it is
one that was kept, with another abstraction first. It is kept if it is better for some sample than all before it (Seipp,
Keller and Helmert, 2020). While a search lasts, there are new projections and orders for states that it has met (Seipp,
2021).
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Generator, Iterable, Sequence
from itertools import pairwise
from typing import Final

from planner.abstractions.moves import Moves, moves
from planner.abstractions.patterns import Pattern, grown, interesting, links_of
from planner.compiled.abstractions import Projections
from planner.compiled.arrays import empty_index, index, words
from planner.compiled.board import Board
from planner.compiled.cartesian import Cartesian, Gathered
from planner.compiled.moves import packed_moves
from planner.compiled.samples import samples_of, walked
from planner.compiled.sharing import Sharing
from planner.kernels import projections as n
from planner.kernels.scp import Samples, Tables
from planner.records import dataclass
from planner.search.run import Pauses

SMALL: Final = 2
"""Variables of the patterns that come first, ..."""
LARGEST: Final = 3
"""... and of those all of which are looked at if there is the time."""
SIZES: Final = (2_000, 8_000, 20_000)
"""States that larger patterns may have."""
UNTIL: Final = (30, 60, 100)
"""Percent of what is allowed up to which there are small patterns, larger ones, and those in between."""
PATTERN: Final = 50_000
"""Steps of inner loops that making a projection takes beside its own."""
KNOWN: Final = 100
"""Patterns in a row that there are already: no others are expected then."""
FEWEST: Final = 2
"""Orders that are made of all abstractions, at least."""
SAMPLES: Final = 1000
MOST_STATES: Final = 2_000_000
"""Abstract states at a time."""
MOST_TRANSITIONS: Final = 8_000_000
MOST_VALUES: Final = 25_000_000
"""Distances that are kept, of all orders together."""
REFINING: Final = 100_000_000
"""Steps of inner loops in which Cartesian abstractions are made."""
BUILDING: Final = 50_000_000
"""The same for projections, at first."""
SHARING: Final = 150_000_000
"""The same for finding orders."""


@dataclass(slots=True)
class Order:
    """One way to share costs: the patterns that have any, and where the distances of each begin in `values`."""

    patterns: list[Pattern]
    base: list[int]
    values: array[int]


class Partitions:
    """Estimates for the task on `board` by abstractions that share its costs; `tables` once they are prepared."""

    def __init__(self, board: Board, *, samples: int | None = None) -> None:
        self._board = board
        self._most_samples = SAMPLES if samples is None else samples
        self.orders: list[Order] = []
        self._draw = random.Random(0)  # noqa: S311 - no secret
        self._useful: set[Pattern] = set()
        self._cartesian: Gathered
        self._sharing: Sharing
        self._moves: Moves

    def prepare(self) -> Pauses:
        """Make abstractions, and find orders, for as long as each may take; yields often."""
        made = self._moves = moves(self._board.task, self._board.packed, self._board.check)
        yield
        # what stands for a reached state may be none
        self._anywhere = self._board.orbits is not None
        self._arrays = packed_moves(self._board.task, made)
        yield
        cartesian = Cartesian(self._board, made, self._arrays, anywhere=self._anywhere)
        yield from cartesian.make(REFINING)
        self._cartesian = cartesian.gathered
        links = links_of(made)
        yield
        larger = interesting(made, LARGEST, least=SMALL + 1, links=links)
        self._sources = (interesting(made, SMALL, links=links), grown(made, SIZES, links), larger)
        yield from self._collect(BUILDING)
        samples = yield from walked(self._board, self._sharing, self._most_samples)
        yield from self._find(samples, SHARING)

    def renew(self, states: Sequence[Sequence[int]], work: int) -> Generator[None, None, bool]:
        """Find orders with new projections that are good for `states`, given by their words, for so many steps.

        Returns whether any was found.
        """
        before = len(self.orders)
        yield from self._collect(work // 2)
        samples = samples_of(self._board, self._sharing, states)
        for order in self.orders:
            self._board.entries["judge"](self._shown([order]), samples)
        yield from self._find(samples, work // 2)
        return len(self.orders) > before

    def _collect(self, work: int) -> Pauses:
        """Make projections beside what is of use (at first: all Cartesian abstractions), for about so many steps."""
        board = self._board
        others, anywhere = self._cartesian, self._anywhere
        found = Projections(self._moves, self._arrays, board.packed, board.entries, others, anywhere=anywhere)
        if not self.orders:
            self._useful = {(~number,) for number in range(len(self._cartesian.roots))}
        for pattern in sorted(self._useful.union(*(order.patterns for order in self.orders))):
            found.add(pattern)
            yield
        spent = 0
        for patterns, until in zip(self._sources, UNTIL, strict=True):
            known = 0
            for pattern in patterns:
                known = known + 1 if pattern in found.number else 0
                if not known:
                    found.add(pattern)
                    spent += found.counts[n.WORK] + PATTERN
                    yield
                edges, states = found.counts[n.EDGES], found.counts[n.STATES]
                if (
                    known == KNOWN
                    or 100 * spent > until * work
                    or 100 * edges > until * MOST_TRANSITIONS
                    or 100 * states > until * MOST_STATES
                ):
                    break
        self._sharing = Sharing(board, found)
        yield from self._sharing.compare(self._sharing.every)

    def _find(self, samples: Samples, work: int) -> Pauses:
        """Try orders for one sample after the other, for about so many steps; from half time on, of what is of use."""
        sharing, spent, every = self._sharing, 0, True
        self._useful = {pattern for order in self.orders for pattern in order.patterns}
        for sample in range(samples.counts[0]):
            if spent > work or sum(len(order.values) for order in self.orders) > MOST_VALUES:
                break
            if every and sample >= FEWEST and spent > work // 2:
                every, spent = False, work // 2
                yield from sharing.compare(sorted([sharing.projections.number[pattern] for pattern in self._useful]))
            change = sample >= FEWEST and sample % 2
            order = self._changed(samples, sample) if change else sharing.best_order(samples, sample)
            made = yield from sharing.share(order)
            spent += sum([sharing.works[number] for number in order])
            self._judge(made, samples, every=every)

    def _judge(self, made: Tables, samples: Samples, *, every: bool) -> None:
        """Keep an order that is better for any sample; if `every` abstraction takes part, note what is of use."""
        better = self._board.entries["judge"](made, samples)
        if better or every:
            kept = self._kept(made)
            self._useful.update(kept.patterns)
            if better:
                self.orders.append(kept)

    def _changed(self, samples: Samples, sample: int) -> list[int]:
        """Return an order that was kept, with one more of the abstractions at its front."""
        number, order = self._sharing.projections.number, self._draw.choice(self.orders)
        before = [number[pattern] for pattern in order.patterns]
        values = self._sharing.values(samples, sample)
        first = [number for number in self._sharing.useful if values[number]]
        rest = [number for number in self._sharing.useful if number not in before]
        return [*dict.fromkeys([self._draw.choice(first), *before, *rest])] if first else [*before, *rest]

    def _kept(self, made: Tables) -> Order:
        """Return what an order is worth keeping of: distances that are not all 0."""
        kept = Order([], [], index([]))
        for number, (begin, end) in zip(made.part, pairwise(made.base), strict=True):
            values = made.value[begin:end]
            if max(values, default=0):
                kept.patterns.append(self._sharing.projections.patterns[number])
                kept.base.append(len(kept.values))
                kept.values += values
        return kept

    @property
    def held(self) -> list[tuple[array[int], ...]]:
        """The arrays that are kept for the next renewal."""
        projections = self._sharing.projections
        values = tuple([order.values for order in self.orders])
        return [projections.spaces, (projections.rank,), self._cartesian.spaces, values]

    @property
    def tables(self) -> Tables:
        """What the orders come to."""
        if not self.orders:  # the initial state is dead
            return Tables(self._sharing.lookup, index([0]), index([]), words([]), index([]), self._room())
        used = sorted({pattern for order in self.orders for pattern in order.patterns})
        place = {pattern: place for place, pattern in enumerate(used)}
        made = self._joined(self.orders, place)
        return made._replace(lookup=self._sharing.projections.lookup(used))

    def _shown(self, orders: Iterable[Order]) -> Tables:
        """Return `orders` over all projections."""
        return self._joined(orders, self._sharing.projections.number)

    def _joined(self, orders: Iterable[Order], number: dict[Pattern, int]) -> Tables:
        starts, parts, bases, values = index([0]), index([]), words([]), index([])
        for order in orders:
            parts.extend(index(number[pattern] for pattern in order.patterns))
            bases.extend(words(len(values) + base for base in order.base))
            values.extend(order.values)
            starts.append(len(parts))
        return Tables(self._sharing.lookup, starts, parts, bases, values, self._room())

    def _room(self) -> array[int]:
        return empty_index(len(self._sharing.every) + 1)

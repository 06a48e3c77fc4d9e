"""Sharing costs among abstractions in several orders, that are good for different states.

An order is made for a state: those come first that estimate much of it and take little of what others need. It is kept
if it is better for some sample than all before it (Seipp, Keller and Helmert, 2020).
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final

from planner.abstractions.moves import moves
from planner.abstractions.partition import best_order
from planner.abstractions.patterns import Pattern, grown, interesting
from planner.compiled.abstractions import Projections
from planner.compiled.accounts import WORK
from planner.compiled.arrays import empty_index, index, words, zeros
from planner.compiled.board import Board
from planner.kernels import abstractions as kernel
from planner.kernels import numbers as n
from planner.kernels import projections
from planner.kernels.abstractions import NO_NEED, Shares
from planner.kernels.scp import Samples, Tables
from planner.records import dataclass

SMALL: Final = 2
"""Variables of the patterns that come first, ..."""
LARGEST: Final = 3
"""... and of those all of which are looked at if there is the time."""
GROWN: Final = 100
"""Larger patterns, ..."""
SIZES: Final = (10_000, 50_000, 2_000)
"""... and how many states they may have."""
PATTERN: Final = 50_000
"""Steps of inner loops that making a projection takes beside its own."""
LONGEST: Final = 1000
"""Steps of random walks, on average."""
NARROW: Final = 4
"""Orders after which abstractions that were of no use in any of them are left out."""
SAMPLES: Final = 1000
MOST_STATES: Final = 2_000_000
"""Abstract states altogether."""
MOST_TRANSITIONS: Final = 8_000_000
MOST_VALUES: Final = 50_000_000
"""Distances that are kept, of all orders together."""
BUILDING: Final = 500_000_000
"""Steps of inner loops in which projections are made."""
SHARING: Final = 400_000_000
"""The same for finding orders."""

Turns = Generator[None, None, None]


@dataclass(slots=True)
class Order:
    """One way to share costs: for each abstraction that has any, where its distances begin in `values`."""

    parts: list[int]
    base: list[int]
    values: array[int]


class Partitions:
    """Estimates for the task on `board` by projections that share its costs; `tables` once they are prepared."""

    def __init__(self, board: Board, *, samples: int | None = None) -> None:
        self._board = board
        self._most_samples = SAMPLES if samples is None else samples
        self._draw = zeros(n.HOW_MANY)
        self.orders: list[Order] = []
        self._used: set[int] = set()
        self.tried = 0
        """Orders that were looked at."""
        self.projections: Projections

    def prepare(self) -> Turns:
        """Make projections, and find orders, for as long as both may take; yields often."""
        board = self._board
        made = moves(board.task, board.packed, board.check)
        yield
        self.projections = Projections(board.task, made, board.packed, board.entries)
        small, large = interesting(made, SMALL), interesting(made, LARGEST)
        for patterns, part in ((small, 3), (islice(grown(made, SIZES), GROWN), 2), (large, 1)):
            yield from self._make(patterns, part)
        self._measure()
        yield from self._compare()
        self.samples = yield from self._walked()
        yield from self._find(self.samples, SHARING)

    def _make(self, patterns: Iterable[Pattern], part: int) -> Turns:
        """Make projections to `patterns` until this part of what is allowed is used up."""
        counts, work = self.projections.counts, 0
        for pattern in patterns:
            full = counts[projections.STATES] > MOST_STATES or counts[projections.EDGES] > MOST_TRANSITIONS // part
            if full or work > BUILDING // part:
                return
            if pattern not in self.projections.patterns:
                self.projections.add(pattern)
                work += counts[projections.WORK] + PATTERN
                yield

    def _measure(self) -> None:
        """Note how large the projections are, and make room for what is done with them."""
        made = self.projections
        self._every = range(len(made.patterns))
        self._useful: Sequence[int] = self._every
        starts = made.spaces.state_start[: len(self._every) + 1]
        self._sizes = [after - before for before, after in pairwise(starts)]
        edges = made.spaces.edge_start
        self._works = [8 * (edges[after] - edges[before]) + 20 * (after - before) for before, after in pairwise(starts)]
        self._shares = room_for(made, self._board.costs)
        self._base = words(accumulate(self._sizes, initial=0))
        self._alone, self._table = empty_index(self._base[-1]), empty_index(self._base[-1])
        self._stolen = zeros(len(self._every))
        self._lookup = made.lookup(self._every)

    def _compare(self) -> Turns:
        """Find out what each abstraction is worth by itself, and what it takes of the costs that others need."""
        shares, order = self._shares, self._useful
        shares.cost[:] = words(self._board.costs)
        shares.total[:] = zeros(len(shares.total))
        base = words(self._base[number] for number in order)
        for mode in (kernel.INDEPENDENT, kernel.STOLEN):
            yield from self._run(mode, order, base, self._alone)

    def _run(self, mode: int, order: Iterable[int], base: array[int], table: array[int]) -> Turns:
        """Share costs among the abstractions of `order`."""
        numbers, at = index(order), 0
        share = self._board.entries["share"]
        while at < len(numbers):
            at = share(mode, WORK, at, self.projections.spaces, self._shares, numbers, base, table, self._stolen)
            yield

    def _walked(self) -> Generator[None, None, Samples]:
        """Return samples: the initial state, and where random walks end."""
        board, most, parts = self._board, self._most_samples, len(self._every)
        samples = Samples(
            zeros(3), zeros((most + 2) * board.packed.words), index([0]) * (most * parts), words([-1]) * most
        )
        for word, value in enumerate(board.initial):
            samples.state[word] = value
        shown = Tables(self._lookup, index([0]), index([]), words([]), index([]), samples.at)
        if not board.entries["place"](shown, samples.state):
            return samples
        samples.counts[0] = 1
        average = max(1, sum(board.costs) // max(1, board.actions))
        far = max(self._values(samples, 0), default=0)
        length = max(2, min(LONGEST, 2 * far // average))
        walk = board.entries["walk"]
        while not walk(WORK, length, self._draw, board.space, self._lookup, samples, board.found, board.stack):
            yield
        return samples

    def _values(self, samples: Samples, sample: int) -> list[int]:
        """Return what each abstraction by itself estimates of a sample."""
        parts, alone = len(self._every), self._alone
        states = samples.at[sample * parts : (sample + 1) * parts]
        return [alone[base + state] for base, state in zip(self._base, states, strict=False)]

    def _find(self, samples: Samples, most: int) -> Turns:
        """Try orders for one sample after the other, for about so many steps."""
        spent = 0
        for sample in range(samples.counts[0]):
            if spent > most or sum(len(order.values) for order in self.orders) > MOST_VALUES:
                break
            values = self._values(samples, sample)
            places = best_order([values[part] for part in self._useful], self._stolen)
            order = [self._useful[place] for place in places]
            base = words(accumulate([self._sizes[number] for number in order], initial=0))
            self._shares.cost[:] = words(self._board.costs)
            yield from self._run(kernel.IN_ORDER, order, base, self._table)
            spent += sum([self._works[number] for number in order])
            self._judge(samples, order, base)
            if self.tried == NARROW:
                self._useful = sorted(self._used)
                yield from self._compare()

    def _judge(self, samples: Samples, order: list[int], base: array[int]) -> None:
        """Keep the order, whose distances are in the table, if it is better for any sample than those before it."""
        shown = Tables(self._lookup, index([0, len(order)]), index(order), base[:-1], self._table, empty_index(1))
        better = self._board.entries["judge"](shown, samples)
        if better or self.tried < NARROW:
            kept = self._kept(order, base)
            if better or not self.orders:
                self.orders.append(kept)
            self._used.update(kept.parts)
        self.tried += 1

    def _kept(self, order: Sequence[int], base: Sequence[int]) -> Order:
        """Return what an order is worth keeping of: distances that are not all 0."""
        kept = Order([], [], index([]))
        for number, (begin, end) in zip(order, pairwise(base), strict=True):
            values = self._table[begin:end]
            if max(values, default=0):
                kept.parts.append(number)
                kept.base.append(len(kept.values))
                kept.values += values
        return kept

    @property
    def tables(self) -> Tables:
        """What the orders come to."""
        used = sorted({number for order in self.orders for number in order.parts})
        if not self.orders:  # the initial state is dead
            used = [*self._every]
        place = {number: place for place, number in enumerate(used)}
        starts, parts, bases, values = [0], index([]), words([]), index([])
        for order in self.orders:
            parts.extend(index(place[number] for number in order.parts))
            bases.extend(words(len(values) + base for base in order.base))
            values.extend(order.values)
            starts.append(len(parts))
        return Tables(self.projections.lookup(used), index(starts), parts, bases, values, empty_index(len(used) + 1))


def room_for(projections: Projections, costs: Iterable[int]) -> Shares:
    """Return room for sharing `costs` among `projections`."""
    spaces, left = projections.spaces, words(costs)
    states = spaces.state_start[: len(projections.patterns) + 1]
    edges = [spaces.edge_start[state] for state in states]
    groups = _widest(spaces.group_start[: len(states)])
    return Shares(
        left,
        zeros(len(left)),
        words([NO_NEED]) * len(left),
        zeros(groups),
        zeros(groups),
        zeros(_widest(states) + _widest(edges)),
        empty_index(_widest(states) + _widest(edges)),
        zeros(_widest(states)),
    )


def _widest(starts: Sequence[int]) -> int:
    return max([after - before for before, after in pairwise(starts)], default=0)

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
from planner.abstractions.patterns import interesting
from planner.compiled.abstractions import Projections
from planner.compiled.accounts import WORK
from planner.compiled.arrays import empty_index, index, words, zeros
from planner.compiled.board import Board
from planner.kernels import abstractions as kernel
from planner.kernels import numbers as n
from planner.kernels import projections
from planner.kernels.abstractions import NO_NEED, Shares
from planner.kernels.scp import Lookup, Samples, Tables
from planner.records import dataclass

LARGEST: Final = 3
"""Variables of a pattern."""
SAMPLES: Final = 1000
MOST_STATES: Final = 2_000_000
"""Abstract states altogether."""
MOST_TRANSITIONS: Final = 10_000_000
MOST_VALUES: Final = 50_000_000
"""Distances that are kept, of all orders together."""
BUILDING: Final = 300_000_000
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
        self.orders: list[Order] = []
        self.projections: Projections

    def prepare(self) -> Turns:
        """Make projections, and find orders, for as long as both may take; yields often."""
        board = self._board
        made = moves(board.task, board.packed, board.check)
        yield
        self.projections = Projections(board.task, made, board.packed, board.entries)
        work = 0
        for pattern in interesting(made, LARGEST):
            counts = self.projections.counts
            full = counts[projections.STATES] > MOST_STATES or counts[projections.EDGES] > MOST_TRANSITIONS
            if full or work > BUILDING:
                break
            self.projections.add(pattern)
            work += counts[projections.WORK] + 50_000
            yield
        yield from self._share()

    def _share(self) -> Turns:
        """Find orders."""
        board = self._board
        every = range(len(self.projections.patterns))
        sizes = self._sizes()
        self._shares = room_for(self.projections, board.costs)
        base = list(accumulate(sizes, initial=0))
        self._alone = empty_index(base[-1])
        stolen = zeros(len(every))
        yield from self._run(kernel.INDEPENDENT, every, words(base), self._alone, stolen)
        yield from self._run(kernel.STOLEN, every, words(base), self._alone, stolen)
        lookup = self.projections.lookup(every)
        samples = yield from self._sampled(lookup, base)
        costs = words(self._board.costs)
        table = empty_index(base[-1])
        spent = 0
        for sample in range(samples.counts[0]):
            if spent > SHARING or sum(len(order.values) for order in self.orders) > MOST_VALUES:
                break
            states = samples.at[sample * len(every) : (sample + 1) * len(every)]
            values = [self._alone[first + state] for first, state in zip(base, states, strict=False)]
            order = best_order(values, stolen)
            self._shares.cost[:] = costs
            bases = list(accumulate([sizes[number] for number in order], initial=0))
            yield from self._run(kernel.IN_ORDER, order, words(bases), table, stolen)
            spent += self._work()
            shown = Tables(lookup, index([0, len(order)]), index(order), words(bases[:-1]), table, empty_index(1))
            if self._board.entries["judge"](shown, samples) or not self.orders:
                self.orders.append(self._kept(order, bases, table))
        self._samples = samples

    def _work(self) -> int:
        """Return about how many steps an order takes."""
        counts = self.projections.counts
        return 8 * counts[projections.EDGES] + 20 * counts[projections.STATES] + 4 * counts[projections.LABELS]

    def _sizes(self) -> list[int]:
        starts = self.projections.spaces.state_start
        return [starts[number + 1] - starts[number] for number in range(len(self.projections.patterns))]

    def _run(self, mode: int, order: Iterable[int], base: array[int], table: array[int], stolen: array[int]) -> Turns:
        """Share costs among the abstractions of `order`."""
        numbers, at = index(order), 0
        share = self._board.entries["share"]
        while at < len(numbers):
            at = share(mode, WORK, at, self.projections.spaces, self._shares, numbers, base, table, stolen)
            yield

    def _sampled(self, lookup: Lookup, base: list[int]) -> Generator[None, None, Samples]:
        """Return samples: the initial state, and where random walks end."""
        board, most, parts = self._board, self._most_samples, len(self.projections.patterns)
        number = zeros(n.HOW_MANY)
        samples = Samples(
            zeros(3), zeros((most + 2) * board.packed.words), index([0]) * (most * parts), words([-1]) * most
        )
        for word, value in enumerate(board.initial):
            samples.state[word] = value
        samples.counts[0] = 1
        shown = Tables(lookup, index([0]), index([]), words([]), index([]), samples.at)
        if not board.entries["place"](shown, samples.state):
            samples.counts[0] = 0
            return samples
        average = max(1, sum(board.costs) // max(1, board.actions))
        far = max([self._alone[first + samples.at[number]] for number, first in enumerate(base[:-1])], default=0)
        length = max(2, min(1000, 2 * far // average))
        walk = board.entries["walk"]
        while not walk(WORK, length, number, board.space, lookup, samples, board.found, board.stack):
            yield
        return samples

    def _kept(self, order: Sequence[int], base: Sequence[int], table: array[int]) -> Order:
        """Return what an order is worth keeping of: distances that are not all 0."""
        kept = Order([], [], index([]))
        for number, (begin, end) in zip(order, zip(base, islice(base, 1, None), strict=False), strict=True):
            values = table[begin:end]
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
            used = [*range(len(self.projections.patterns))]
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

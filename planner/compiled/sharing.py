"""Costs that projections share, by kernels: what each is worth by itself, and what is left for it in an order."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Sequence
from itertools import accumulate, pairwise

from planner.abstractions.partition import best_order
from planner.compiled.abstractions import Projections
from planner.compiled.accounts import WORK
from planner.compiled.arrays import empty_index, index, words, zeros
from planner.compiled.board import Board
from planner.kernels import abstractions as kernel
from planner.kernels.abstractions import NO_NEED, Shares
from planner.kernels.scp import Samples, Tables
from planner.search.run import Pauses


class Sharing:
    """Shares the costs of the task on `board` among `projections`; yields often.

    `works` is about how many steps it takes to find what is left for each.
    """

    def __init__(self, board: Board, projections: Projections) -> None:
        self._board, self.projections = board, projections
        self.every: Sequence[int] = range(len(projections.patterns))
        self.useful: Sequence[int] = self.every
        starts, edges = projections.spaces.state_start[: len(self.every) + 1], projections.spaces.edge_start
        self._sizes = [after - before for before, after in pairwise(starts)]
        self.works = [8 * (edges[after] - edges[before]) + 20 * (after - before) for before, after in pairwise(starts)]
        self._shares = room_for(projections, board.costs)
        self._first = words(accumulate(self._sizes, initial=0))
        self._alone, self._table = empty_index(self._first[-1]), empty_index(self._first[-1])
        self._stolen = zeros(len(self.every))
        self.lookup = projections.lookup(projections.patterns)

    def compare(self, useful: Sequence[int]) -> Pauses:
        """Leave others out; find out what each of these is worth by itself, and what it takes of what others need."""
        self.useful = useful
        self._shares.cost[:] = words(self._board.costs)
        self._shares.total[:] = zeros(len(self._shares.total))
        base = words(self._first[number] for number in useful)
        for mode in (kernel.INDEPENDENT, kernel.STOLEN):
            yield from self._run(mode, useful, base, self._alone)

    def best_order(self, samples: Samples, sample: int) -> list[int]:
        """Return an order that should be good for a sample."""
        values = self.values(samples, sample)
        places = best_order([values[number] for number in self.useful], self._stolen)
        return [self.useful[place] for place in places]

    def values(self, samples: Samples, sample: int) -> list[int]:
        """Return what each abstraction by itself estimates of a sample."""
        parts = len(self.every)
        states = samples.at[sample * parts : (sample + 1) * parts]
        return [self._alone[first + state] for first, state in zip(self._first, states, strict=False)]

    def share(self, order: list[int]) -> Generator[None, None, Tables]:
        """Share costs in this order; return the distances, until something else is shared."""
        base = words(accumulate([self._sizes[number] for number in order], initial=0))
        self._shares.cost[:] = words(self._board.costs)
        yield from self._run(kernel.IN_ORDER, order, base, self._table)
        return Tables(self.lookup, index([0, len(order)]), index(order), base, self._table, empty_index(1))

    def _run(self, mode: int, order: Iterable[int], base: array[int], table: array[int]) -> Pauses:
        numbers, at = index(order), 0
        share = self._board.entries["share"]
        while at < len(numbers):
            at = share(mode, WORK, at, self.projections.spaces, self._shares, numbers, base, table, self._stolen)
            yield


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

"""Projections of a task as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from planner.abstractions.moves import Moves
from planner.abstractions.patterns import Pattern
from planner.abstractions.projection import factors
from planner.compiled.arrays import empty_index, flat, index, lengthened, words, zeros
from planner.compiled.library import Call
from planner.compiled.packing import Packing
from planner.kernels import numbers as n
from planner.kernels import projections as kernel
from planner.kernels.abstractions import Abstractions
from planner.kernels.data import NOTHING
from planner.kernels.scp import Lookup
from planner.task import Task

MOST_INDICES: Final = 100_000
"""States of a projection by index, dead ones among them."""
MOST_EDGES: Final = 400_000
"""Transitions of a projection."""
MOST_RULES: Final = 1 << 15
MOST_KEY: Final = 1 << 62
"""Rules are numbers below this."""
MOST_VALUES: Final = 20_000
"""Values of all variables up to which pairs of them are looked at: they take 50 MB then."""
FEW: Final = 1 << 12
"""Elements for which there is room at first."""


class Projections:
    """Projections of `task` to `patterns`, as many as were made."""

    def __init__(self, task: Task, moves: Moves, packed: Packing, entries: dict[str, Call]) -> None:
        self._moves, self._packed, self._entries = moves, packed, entries
        self._arrays = packed_moves(task, moves)
        self._shop = _workshop(len(moves.sizes), len(task.actions))
        self.patterns: list[Pattern] = []
        self.number: dict[Pattern, int] = {}
        self.counts = zeros(kernel.COUNTS)
        self.spaces = Abstractions(*(index([0]) * FEW for _ in Abstractions._fields))
        self.rank = empty_index(FEW)
        self.first_rank: list[int] = []

    def add(self, pattern: Pattern) -> bool:
        """Make the projection to `pattern`, unless it would be too large; return whether it was made."""
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
            outcome = self._entries["project"](self._arrays, arrays, self._shop, self.spaces, self.rank, counts)
            if outcome != n.FULL:
                break
            self._grow()
        if outcome == n.DONE:
            self.number[pattern] = len(self.patterns)
            self.patterns.append(pattern)
            self.first_rank.append(ranks)
        return outcome == n.DONE

    def _grow(self) -> None:
        """Double all arrays, and more."""
        spaces, wanted = self.spaces, MOST_INDICES
        self.spaces = Abstractions(*[lengthened(each, 2 * len(each)) for each in spaces])
        lengthened(self.rank, max(2 * len(self.rank), len(self.rank) + wanted))

    def lookup(self, patterns: Iterable[Pattern]) -> Lookup:
        """Return how the states of the projections to `patterns` are found."""
        coding, starts, ranks, first = self._packed.coding, [0], index([]), []
        places: list[tuple[int, int]] = []
        for pattern in patterns:
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
        )


def packed_moves(task: Task, moves: Moves) -> kernel.Moves:
    """Return `moves` as arrays."""
    touches = [options for touched in moves.touches for options in touched.values()]
    options = [option for each in touches for option in each]
    condition_start, condition = flat([[variable for variable, _ in option.conditions] for option in options])
    affecting_start, affecting = flat(moves.affecting)
    return kernel.Moves(
        flat([range(len(touched)) for touched in moves.touches])[0],
        index(variable for touched in moves.touches for variable in touched),
        index(accumulate(map(len, touches), initial=0)),
        index(NOTHING if option.origin is None else option.origin for option in options),
        index(NOTHING if option.target is None else option.target for option in options),
        condition_start,
        condition,
        index(value for option in options for _, value in option.conditions),
        affecting_start,
        affecting,
        index(moves.sizes),
        index(accumulate(moves.sizes, initial=0)),
        _excluded(task, moves),
    )


def _excluded(task: Task, moves: Moves) -> array[int]:
    """Return which values are never together, a row of bits for each; nothing if there are too many."""
    first = list(accumulate(moves.sizes, initial=0))
    if first[-1] > MOST_VALUES:
        return index([])
    rows = [0] * first[-1]
    for group in task.mutexes:
        numbers = [first[place[0]] + place[1] for fact in group if (place := moves.places[fact]) is not None]
        together = sum([1 << number for number in numbers])
        for number in numbers:
            rows[number] |= together & ~(1 << number)
    width = 4 * ((first[-1] + 31) >> 5)
    found = array("I")
    found.frombytes(b"".join([row.to_bytes(width, "little") for row in rows]))
    return found


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

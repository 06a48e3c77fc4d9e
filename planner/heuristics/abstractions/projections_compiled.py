"""Abstractions of a task as arrays for the kernels: projections, and refined Cartesian abstractions.

The module also packs the effects of actions on single variables, and allocates abstract state spaces.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final, NamedTuple

from planner.heuristics.abstractions import abstract_states_kernel as space
from planner.heuristics.abstractions import projections_kernel as kernel
from planner.heuristics.abstractions.abstract_states_kernel import Abstractions
from planner.heuristics.abstractions.cost_partitioning_kernel import Lookup, Trees
from planner.heuristics.abstractions.projections import Moves, Pattern, compute_factors
from planner.jit.arrays import double_used, empty_index, flatten, index, lengthen, words, zeros
from planner.jit.common_kernel import DONE, FULL, NOTHING
from planner.jit.library import Call
from planner.task.ground_task import Task
from planner.task.packed_task_compiled import Packing

FEW: Final = 1 << 12
"""Initial capacity of arrays."""


def make_spaces() -> Abstractions:
    """Allocate empty abstract state spaces."""
    return Abstractions(*(index([0]) * FEW for _ in Abstractions._fields))


def lengthen_spaces(spaces: Abstractions, counts: array[int]) -> None:
    """Double the arrays of `spaces` that are half used according to `counts`; if none is, double all."""
    by_field = {
        "state_start": space.ABSTRACTIONS,
        "group_start": space.ABSTRACTIONS,
        "edge_start": space.STATES,
        "goal": space.STATES,
        "source": space.EDGES,
        "group": space.EDGES,
        "label_start": space.GROUPS,
        "loops": space.GROUPS,
        "label": space.LABELS,
    }
    double_used(spaces, {name: counts[place] for name, place in by_field.items()})


MOST_VALUES: Final = 20_000
"""Maximum number of values of all variables for a table of mutex pairs, which then takes 50 MB."""


def pack_moves(task: Task, moves: Moves) -> kernel.Moves:
    """Pack `moves` into arrays."""
    touches = [options for touched in moves.touches for options in touched.values()]
    options = [option for each in touches for option in each]
    condition_start, condition = flatten([[variable for variable, _ in option.conditions] for option in options])
    affecting_start, affecting = flatten(moves.affecting)
    return kernel.Moves(
        flatten([range(len(touched)) for touched in moves.touches])[0],
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
        _pack_exclusions(task, moves),
    )


def _pack_exclusions(task: Task, moves: Moves) -> array[int]:
    """Return the mutex values of each value as a row of bits; nothing if there are too many values."""
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


class Gathered(NamedTuple):
    """Abstractions so far: their `spaces`, with their `counts`; abstraction i has the tree with root `roots[i]`."""

    spaces: Abstractions
    counts: array[int]
    trees: Trees
    roots: list[int]


def gather_nothing() -> Gathered:
    """Return no abstractions, and room for some."""
    return Gathered(make_spaces(), zeros(space.COUNTS), Trees(*map(index, [[]] * 8)), [])


MOST_INDICES: Final = 100_000
"""Maximum number of state indices of a projection, dead ones included."""
MOST_ABSTRACT_EDGES: Final = 400_000
"""Maximum number of transitions of a projection."""
MOST_RULES: Final = 1 << 15
MOST_KEY: Final = 1 << 62
"""Upper bound of the keys of rules."""


class Projections:
    """The projections of a task with these `moves`, and Cartesian abstractions from `others`.

    `patterns` are their names: the pattern of a projection, or `(~i,)` for Cartesian abstraction i. With `anywhere`,
    unreachable states have estimates, too.
    """

    def __init__(
        self,
        moves: Moves,
        arrays: kernel.Moves,
        packed: Packing,
        entries: Mapping[str, Call],
        others: Gathered | None = None,
        *,
        anywhere: bool = False,
    ) -> None:
        self._anywhere = int(anywhere)
        self._others = others or gather_nothing()
        self._moves, self._arrays, self._packed, self._entries = moves, arrays, packed, entries
        self._shop = _make_workshop(len(moves.sizes), len(moves.touches))
        self.patterns: list[Pattern] = []
        self.number: dict[Pattern, int] = {}
        self.counts = zeros(space.COUNTS)
        self.spaces = make_spaces()
        self.rank = empty_index(FEW)
        self.first_rank: list[int] = []

    def adopt(self, number: int) -> None:
        """Add a Cartesian abstraction."""
        while self._entries["copy_abstraction"](number, self._others.spaces, self.spaces, self.counts) == FULL:
            lengthen_spaces(self.spaces, self.counts)
        self._name((~number,), 0)

    def _name(self, name: Pattern, ranks: int) -> None:
        self.number[name] = len(self.patterns)
        self.patterns.append(name)
        self.first_rank.append(ranks)

    def add(self, pattern: Pattern) -> bool:
        """Add the projection to `pattern` unless it would be too large; return whether it was added."""
        if pattern[0] < 0:
            self.adopt(~pattern[0])
            return True
        moves, counts = self._moves, self.counts
        rules = 1
        for variable in pattern:
            rules *= (moves.sizes[variable] + 1) ** 2
        if moves.count_states(pattern) > MOST_INDICES or rules >= MOST_KEY:
            return False
        arrays = kernel.Pattern(
            index(pattern),
            index(compute_factors(moves, pattern)),
            index(moves.initial[variable] for variable in pattern),
            index(moves.goal.get(variable, NOTHING) for variable in pattern),
        )
        ranks = counts[space.RANKS]
        while True:
            outcome = self._project(arrays)
            if outcome != FULL:
                break
            self._grow()
        if outcome == DONE:
            self._name(pattern, ranks)
        return outcome == DONE

    def _project(self, pattern: kernel.Pattern) -> int:
        room = self._shop, self.spaces, self.rank, self.counts
        return self._entries["project"](self._anywhere, self._arrays, pattern, *room)

    def _grow(self) -> None:
        """Lengthen arrays that may be too short."""
        lengthen_spaces(self.spaces, self.counts)
        if self.counts[space.RANKS] + MOST_INDICES > len(self.rank):
            lengthen(self.rank, max(2 * len(self.rank), len(self.rank) + MOST_INDICES))

    def lookup(self, patterns: Iterable[Pattern]) -> Lookup:
        """Return the lookup of the states of the abstractions with these names."""
        coding, starts, ranks, first = self._packed.coding, [0], index([]), []
        places: list[tuple[int, int]] = []
        for pattern in patterns:
            if pattern[0] < 0:
                starts.append(len(places))
                first.append(self._others.roots[~pattern[0]])
                continue
            places += zip(pattern, compute_factors(self._moves, pattern), strict=True)
            starts.append(len(places))
            first.append(len(ranks))
            begin = self.first_rank[self.number[pattern]]
            ranks += self.rank[begin : begin + self._moves.count_states(pattern)]
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


def _make_workshop(variables: int, actions: int) -> kernel.Workshop:
    """Allocate working memory for computing projections."""
    entries = empty_index(4 * actions + MOST_RULES)
    by_variable, by_rule = empty_index(variables + 1), empty_index(MOST_RULES)
    by_edge, by_state = empty_index(MOST_ABSTRACT_EDGES), empty_index(MOST_INDICES + 2)
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

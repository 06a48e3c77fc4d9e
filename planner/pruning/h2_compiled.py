"""What is known of pairs of values, by kernels: the twin of `planner.pruning.h2.Pairs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from planner.grounding.joins import batches
from planner.jit.arrays import Entries, empty_index, flatten, index, lengthen, words, zeros
from planner.jit.containers_kernel import Lists
from planner.limits import never
from planner.pruning import h2_kernel as kernel
from planner.pruning.disambiguation_kernel import Margin, Margins
from planner.pruning.disambiguation_kernel import Rows as PossibleRows
from planner.pruning.h2 import Rows, Sharpened
from planner.search.search_run import Pauses
from planner.task.finite_domain import BATCH, TRUE, Assignments, Operator
from planner.task.ground_task import State, facts_of

WORD: Final = 63
"""Bits of a word that are used."""
WORK: Final = 8_000_000
"""Steps of inner loops between two pauses: about 10 ms."""

MOST_KNOWN: Final = 1 << 26
"""Values that must hold around operators, from which on no more of them are found: they take 4 bytes each."""
ENDS: Final = 2
"""The initial state and the goal, after the operators."""

Gain = tuple[int, Sequence[int], Sequence[int]]
"""What is gained, and what is asked for where the operator starts and where it ends."""


class CompiledPairs:
    """What is known of pairs in `task`, by the kernels `entries`; `check` raises when a limit is reached meanwhile."""

    def __init__(
        self, task: Assignments, entries: Entries, check: Callable[[], None] = never, *, work: int = WORK
    ) -> None:
        self._entries, self._work = entries, work
        self._actions = len(task.operators)
        size = self._size = task.size
        width = self._width = -(-size // WORD)
        self._domains = kernel.Domains(
            index([value // WORD for value in range(size)]),
            words([1 << value % WORD for value in range(size)]),
            index(task.variable_of),
            index([*[values.start for values in task.variables], size]),
        )
        self._gains, self._back = _pack_gains(task, _gain_forwards, check), _pack_gains(task, _gain_backwards, check)
        most = max([_count_most_gains(self._gains), _count_most_gains(self._back)])
        variables = len(task.variables)
        self._room = kernel.Room(zeros(width), zeros(width), zeros(width), index([0] * (most + 1)))
        here, there = (Margin(zeros(width), empty_index(variables)) for _ in range(2))
        self._margins = Margins(here, there, empty_index(variables))
        rows = [zeros(size * width) for _ in range(2)]
        self._table = kernel.Table(rows[0], rows[1], zeros(size), zeros(self._actions + ENDS))
        ends = [(TRUE, *task.initial), (TRUE, *task.goal)]
        self._around = kernel.Around(
            _pack_lists([*[() if each is None else each.before for each in task.operators], *ends]),
            _pack_lists([*[() if each is None else each.after for each in task.operators], *ends]),
        )
        self._number = zeros(kernel.HOW_MANY)
        entries["init_pairs"](self._domains, _pack_lists([facts_of(group) for group in task.groups]), self._table)
        self._number[kernel.COUNT] = sum([word.bit_count() for word in self._table.possible])

    def sharpen(self) -> Sharpened:
        """Find what else must hold where each action is applied; return whether there may be a plan."""
        old, number = self._around, self._number
        new = kernel.Around(*[Lists(index([0]) * len(lists.start), lists.item[:]) for lists in old])
        number[kernel.POSITION] = 0
        outcome = kernel.BUSY
        while outcome != kernel.DONE:
            if outcome == kernel.FULL and sum([len(lists.item) for lists in new]) > MOST_KNOWN:
                return True
            if outcome == kernel.FULL:
                needed = [lists.start[number[kernel.POSITION]] + len(self._domains.first) for lists in new]
                new = kernel.Around(
                    *[Lists(lists.start, lengthen(lists.item, most)) for lists, most in zip(new, needed, strict=True)]
                )
            outcome = self._entries["sharpen_pairs"](
                self._work,
                number,
                self._domains,
                old,
                new,
                self._gains,
                PossibleRows(self._table.possible),
                self._margins,
            )
            yield
        self._around = new
        return all(new.here.start[end] < new.here.start[end + 1] for end in (self._actions, self._actions + 1))

    def forwards(self) -> Pauses:
        """Rule out the pairs that are not reached from the initial state."""
        return self._travel(self._actions, self._around, self._gains)

    def backwards(self) -> Pauses:
        """Rule out the pairs from which the goal is not reached."""
        around = kernel.Around(self._around.there, self._around.here)
        return self._travel(self._actions + 1, around, self._back)

    def _travel(self, start: int, around: kernel.Around, gains: kernel.Gains) -> Pauses:
        """Rule out the pairs that are not reached from the states that are on list `start` of what is `around`."""
        number, domains, table, room = self._number, self._domains, self._table, self._room
        self._entries["begin_spread"](start, number, domains, around, table, room)
        yield
        while self._entries["spread_pairs"](self._work, number, domains, around, gains, table, room) != kernel.DONE:
            yield
        self._entries["finish_spread"](number, table)

    def copy(self) -> Rows:
        """Return the rows as they are now."""
        rows, width = self._table.possible[:], self._width

        def row(value: int) -> State:
            found = 0
            for word in reversed(rows[value * width : (value + 1) * width]):
                found = found << WORD | word
            return found

        return row

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""
        start = self._around.here.start
        return [number for number in range(self._actions) if start[number] < start[number + 1]]

    def needed(self, action: int) -> tuple[int, ...]:
        """Return what must hold where an action is applied, if a plan may need it; else nothing."""
        start, item = self._around.here
        return tuple(item[start[action] : start[action + 1]])

    def count(self) -> int:
        """Return a number that is another one whenever more is known."""
        known = sum([lists.start[-1] for lists in self._around])
        return self._number[kernel.COUNT] + 4 * self._size * len(self.actions()) - known


def _gain_forwards(_task: Assignments, operator: Operator) -> Iterator[Gain]:
    for change in operator.changes:
        yield change.after, [value for value in change.condition if value not in operator.before], ()


def _gain_backwards(task: Assignments, operator: Operator) -> Iterator[Gain]:
    for change in operator.changes:
        here = () if change.after in operator.after else (change.after,)
        for value in task.befores(change):
            yield value, here, change.condition


def _pack_gains(
    task: Assignments, of: Callable[[Assignments, Operator], Iterable[Gain]], check: Callable[[], None]
) -> kernel.Gains:
    """Return what operators gain; the initial state and the goal gain nothing."""
    start, gains = index([0]), list[Gain]()
    for batch in batches(task.operators, BATCH):
        check()
        for operator in batch:
            if operator is not None:
                gains += of(task, operator)
            start.append(len(gains))
    start.extend([len(gains)] * ENDS)
    return kernel.Gains(
        start,
        index([value for value, _, _ in gains]),
        _pack_lists([here for _, here, _ in gains]),
        _pack_lists([there for _, _, there in gains]),
        _pack_lists([*[() if operator is None else operator.gone for operator in task.operators], *[()] * ENDS]),
    )


def _pack_lists(lists: Sequence[Sequence[int]]) -> Lists:
    return Lists(*flatten(lists))


def _count_most_gains(gains: kernel.Gains) -> int:
    """Return how many gains an operator has at most."""
    return max([end - first for first, end in pairwise(gains.start)])

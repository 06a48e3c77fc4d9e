"""Where each fact of a task is in a packed state.

A variable is a mutex group: its values are its facts and, unless one of them holds in every reachable state, "none of
them". Derived facts have a variable each, after the others. Variables are packed into words of 63 bits, the widest
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.compiled.arrays import index, words
from planner.kernels.data import NOTHING, Coding
from planner.records import dataclass
from planner.task import GroundAction, Task

WORD_BITS: Final = 63


@dataclass(frozen=True, slots=True)
class Packing:
    """`words` per state; fact f holds where `word & mask == bits` for `(word number, mask, bits)` of `places[f]`.

    `none[f]` are the bits of "none" in the variable of f, and `variable_of[f]` its number.
    """

    words: int
    coding: Coding
    places: list[tuple[int, int, int]]
    variable_of: list[int]

    def pack(self, facts: Iterable[int]) -> list[int]:
        """Return the words of the state in which exactly `facts` hold."""
        state = [0] * self.words
        for fact in facts:
            word, _, bits = self.places[fact]
            state[word] |= bits
        return state


def packing(task: Task) -> Packing:
    """Return how the states of `task` are packed."""
    variable_of = variables_of(task)
    return packed(task, variable_of, emptied(_effects(task), variable_of))


def variables_of(task: Task) -> list[int]:
    """Return for each fact which variable it is a value of."""
    variable_of = [0] * len(task.facts)
    for variable, facts in enumerate(task.fields):
        for fact in facts:
            variable_of[fact] = variable
    return variable_of


def packed(task: Task, variable_of: list[int], emptied: set[int]) -> Packing:
    """Return how the states of `task` are packed if actions may leave the variables `emptied` without a value."""
    variables = task.fields
    vague = emptied | _unset(task, variable_of)
    values = [((NOTHING, *facts) if number in vague else facts) for number, facts in enumerate(variables)]
    sites = _sites([max(1, (len(each) - 1).bit_length()) for each in values])
    places = [(0, 0, 0)] * len(task.facts)
    for (word, shift, width), facts in zip(sites, values, strict=True):
        for value, fact in enumerate(facts):
            if fact != NOTHING:
                places[fact] = (word, ((1 << width) - 1) << shift, value << shift)
    first, total = [], 0
    for facts in values:
        first.append(total)
        total += len(facts)
    coding = Coding(
        index(word for word, _, _ in sites),
        words(shift for _, shift, _ in sites),
        words((1 << width) - 1 for _, _, width in sites),
        index(first),
        index(fact for facts in values for fact in facts),
    )
    return Packing(max((word for word, _, _ in sites), default=0) + 1, coding, places, variable_of)


def emptied(effects: Iterable[tuple[tuple[int, ...], tuple[int, ...]]], variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts may hold after one of the `effects`, which add and delete facts."""
    found: set[int] = set()
    for adds, deletes in effects:
        if deletes:
            found |= {variable_of[fact] for fact in deletes} - {variable_of[fact] for fact in adds}
    return found


def may_lack_value(task: Task, variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts may hold, as far as initial state and actions tell."""
    return emptied(_effects(task), variable_of) | _unset(task, variable_of)


def _unset(task: Task, variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts holds initially."""
    return set(range(len(task.fields))) - {variable_of[fact] for fact in task.initial}


def _effects(task: Task) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [part for each in task.actions for part in _parts(each)]


def _parts(action: GroundAction) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(action.adds, action.deletes), *((effect.adds, effect.deletes) for effect in action.conditional)]


def _sites(widths: list[int]) -> list[tuple[int, int, int]]:
    """Return word, shift and width for fields of these widths: first fit, the widest first."""
    sites = [(0, 0, 0)] * len(widths)
    used: list[int] = []
    start: dict[int, int] = {}
    for number in sorted(range(len(widths)), key=lambda number: -widths[number]):
        width = widths[number]
        word = start.get(width, 0)
        while word < len(used) and used[word] + width > WORD_BITS:
            word += 1
        start[width] = word
        if word == len(used):
            used.append(0)
        sites[number] = (word, used[word], width)
        used[word] += width
    return sites

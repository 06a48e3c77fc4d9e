"""Novelty: whether a state has a fact, or a pair of facts, that no state of its kind had before.

From Lipovetzky and Geffner (2012). What was seen is noted in one table of bits by hash (approximate novelty: Singh,
Lipovetzky, Ramirez and Segovia-Aguas, 2021): now and then something new is taken for known.
"""

from __future__ import annotations

from planner.kernels.data import Coding
from planner.kernels.kernel import Index, Words, kernel
from planner.kernels.registry import LOW_BITS, MULTIPLIER


@kernel
def novelty(seen: Index, coding: Coding, kind: int, state: Words, parent: int, child: int) -> int:
    """Return 1 for a new fact, 2 for a new pair of facts, 3 for neither, and note what the state at `child` has.

    States of one `kind` are compared. Only pairs with a fact that the state at `parent` did not have are looked at.
    """
    found = 3
    for variable in range(len(coding.word)):
        fact = _value(coding, variable, state, child)
        if _note(seen, kind, fact, 0):
            found = 1
        if fact != _value(coding, variable, state, parent):
            for other in range(len(coding.word)):
                second = _value(coding, other, state, child)
                if _note(seen, kind, min(fact, second), 1 + max(fact, second)):
                    found = min(found, 2)
    return found


@kernel
def _value(coding: Coding, variable: int, state: Words, base: int) -> int:
    """Return a number for the value of a variable that no other value of any variable has."""
    return coding.first[variable] + (
        state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
    )


@kernel
def _note(seen: Index, kind: int, first: int, second: int) -> bool:
    """Note a pair; return whether it is new."""
    value = (kind * MULTIPLIER + first) & LOW_BITS
    value = ((value ^ (value >> 29)) * MULTIPLIER + second) & LOW_BITS
    value ^= value >> 31
    value = (value * MULTIPLIER) & LOW_BITS
    place = (value >> 20) & (len(seen) * 32 - 1)
    bit = 1 << (place & 31)
    known = seen[place >> 5] & bit
    seen[place >> 5] |= bit
    return known == 0

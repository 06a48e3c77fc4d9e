"""Boxes: sets of states by sets of values of each variable (Cartesian sets), and where actions lead from them.

The readable twin is `planner.abstractions.cartesian`.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, Words, kernel
from planner.kernels.projections import Moves


class Form(NamedTuple):
    """How boxes are written, and what is the same for all abstractions of a task.

    The values of variable v are bits of the words `word[v]` up to `end[v]` of a box, which has `word[-1]` words of 32
    bits; `mask[v]` says which bits of each, and they begin at `shift[v]` of the first. Variables have their `initial`
    values at first; actions have a `price`, above 0.
    """

    word: Index
    end: Index
    shift: Index
    mask: Index
    initial: Index
    price: Words


@kernel
def width_of(form: Form) -> int:
    """Return of how many words a box is."""
    return form.word[len(form.mask)] + 0


@kernel
def has(form: Form, box: Index, base: int, variable: int, value: int) -> bool:
    """Return whether the box at `base` has this value of the variable."""
    place = form.shift[variable] + value
    return box[base + form.word[variable] + (place >> 5)] >> (place & 31) & 1 == 1


@kernel
def include(form: Form, box: Index, variable: int, value: int) -> None:
    """Let the first box have this value, too."""
    place = form.shift[variable] + value
    word = form.word[variable] + (place >> 5)
    box[word] = box[word] | 1 << (place & 31)


@kernel
def goes(moves: Moves, form: Form, box: Index, action: int, variable: int, one: int, other: int) -> bool:
    """Return whether `action` may lead from a value of the variable in box `one` to one in box `other`."""
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] == variable:
            return _leads(moves, form, box, touch, one, other)
    return _meet(form, box, one, other, variable)


@kernel
def stays(moves: Moves, form: Form, box: Index, action: int, but: int, base: int) -> bool:
    """Return whether `action` may lead from the box at `base` to itself, whatever becomes of variable `but`."""
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] != but and not _leads(moves, form, box, touch, base, base):
            return False
    return True


@kernel
def _leads(moves: Moves, form: Form, box: Index, touch: int, one: int, other: int) -> bool:
    variable = moves.variable[touch] + 0
    for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
        origin, target = moves.origin[option] + 0, moves.target[option] + 0
        if origin == NOTHING and target == NOTHING:
            if _meet(form, box, one, other, variable):
                return True
        elif (origin == NOTHING or has(form, box, one, variable, origin)) and has(
            form, box, other, variable, origin if target == NOTHING else target
        ):
            return True
    return False


@kernel
def _meet(form: Form, box: Index, one: int, other: int, variable: int) -> bool:
    for word in range(form.word[variable], form.end[variable]):
        if box[one + word] & box[other + word] & form.mask[variable]:
            return True
    return False


@kernel
def size_of(form: Form, box: Index, base: int, variable: int) -> int:
    """Return how many values of the variable the box at `base` has."""
    many = 0
    for word in range(form.word[variable], form.end[variable]):
        bits = box[base + word] & (form.mask[variable] + 0)
        bits = bits - (bits >> 1 & 0x55555555)
        bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F
        many += (bits * 0x01010101 & NOTHING) >> 24
    return many

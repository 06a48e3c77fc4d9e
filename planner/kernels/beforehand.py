"""What may be reached before a fact is: without deletes, and without what adds the fact.

The readable twin is `planner.abstractions.aims`.
"""

from __future__ import annotations

from planner.kernels.boxes import Form, has, include
from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, Words, entry, kernel
from planner.kernels.projections import Moves


@entry
@kernel
def before(moves: Moves, form: Form, variable: int, value: int, box: Index, common: Words) -> int:
    """Write to `box` which values are reached without this one.

    Returns how many actions may lead to it first; `common` is how many of these need each value (numbered as in
    `moves.first`).
    """
    for word in range(len(box)):
        box[word] = 0
    for each in range(len(form.mask)):
        include(form, box, each, form.initial[each] + 0)
    going = True
    while going:
        going = False
        for action in range(len(moves.touch_start) - 1):
            if _is_possible(moves, form, box, action) and _reach(moves, form, box, action, variable, value):
                going = True
    return _count(moves, form, variable, value, box, common)


@kernel
def _count(moves: Moves, form: Form, variable: int, value: int, box: Index, common: Words) -> int:
    """Return how many actions may lead to this value from the `box`; write to `common` what they need."""
    for each in range(len(common)):
        common[each] = 0
    many = 0
    for action in range(len(moves.touch_start) - 1):
        if _may_lead_to(moves, action, variable, value) and _is_possible(moves, form, box, action):
            many += 1
            for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
                option = moves.option_start[touch] + 0
                if option + 1 == moves.option_start[touch + 1] and moves.origin[option] != NOTHING:
                    common[moves.first[moves.variable[touch]] + moves.origin[option]] += 1
    return many


@kernel
def _is_possible(moves: Moves, form: Form, box: Index, action: int) -> bool:
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        able = False
        for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
            origin = moves.origin[option] + 0
            able = able or origin == NOTHING or has(form, box, 0, moves.variable[touch] + 0, origin)
        if not able:
            return False
    return True


@kernel
def _reach(moves: Moves, form: Form, box: Index, action: int, variable: int, value: int) -> bool:
    """Include what `action` leads to, but not this value; return whether any of it is new."""
    is_new = False
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        each = moves.variable[touch] + 0
        for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
            target = moves.target[option] + 0
            if target != NOTHING and not (each == variable and target == value) and not has(form, box, 0, each, target):
                include(form, box, each, target)
                is_new = True
    return is_new


@kernel
def _may_lead_to(moves: Moves, action: int, variable: int, value: int) -> bool:
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] == variable:
            for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
                if moves.target[option] == value:
                    return True
    return False

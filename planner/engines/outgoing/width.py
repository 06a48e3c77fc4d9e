"""How wide conditions grow when they are multiplied out, as the translators of most planners do first of all."""

from __future__ import annotations

import math
from typing import Final

from planner.engines.outgoing.scopes import bottom_up
from planner.model import And, Formula, Imply, Not, Or, Problem
from planner.model.formulas import children

WIDE: Final = 5_000
"""From so many conjunctions on, a condition is left to our own grounding."""


def is_wide(problem: Problem) -> bool:
    """Return whether any condition of `problem` has `WIDE` conjunctions or more in disjunctive normal form."""
    actions = problem.domain.actions.values()
    formulas = [problem.goal.hard, *[action.requires for action in actions]]
    formulas += [effect.requires for action in actions for effect in action.when]
    return any(width(formula) >= WIDE for formula in formulas)


def width(formula: Formula) -> int:
    """Return the number of conjunctions that `formula` is multiplied out to, at most."""
    sizes: list[tuple[int, int]] = []
    for part, _ in bottom_up(formula, {}, lambda _: None):
        count = len(children(part))
        parts = sizes[len(sizes) - count :]
        sizes[len(sizes) - count :] = [_size(part, parts)]
    return sizes[0][0]


def _size(formula: Formula, parts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return how many conjunctions `formula` and its negation make, from what its parts make."""
    held, denied = [size for size, _ in parts], [size for _, size in parts]
    match formula:
        case Not():
            return denied[0], held[0]
        case And():
            return math.prod(held), sum(denied)
        case Or():
            return sum(held), math.prod(denied)
        case Imply():
            return denied[0] + held[1], held[0] * denied[1]
        case _:
            return parts[0] if parts else (1, 1)

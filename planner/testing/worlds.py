"""The ways in which the unknown facts of a problem may turn out."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from planner.model import Atom, Problem
from planner.model.hidden import Hidden, decided, hidden


def worlds(problem: Problem) -> Iterator[tuple[Fraction, Problem]]:
    """Yield each way in which the unknown facts of `problem` may turn out: its probability, and the problem then."""
    for choice in product(*[list(_ways(variable)) for variable in hidden(problem)]):
        chance, facts = Fraction(1), list[Atom]()
        for share, held in choice:
            chance *= share
            facts += held
        yield chance, decided(problem, facts)


def _ways(variable: Hidden) -> Iterator[tuple[Fraction, list[Atom]]]:
    for fact, chance in zip(variable.facts, variable.chances, strict=True):
        if chance:
            yield chance, [fact]
    if variable.none:
        yield variable.none, []

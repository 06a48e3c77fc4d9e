"""Walking formulas bottom-up, with what each variable stands for at hand, however deep they are nested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from planner.model import Exists, Forall, Formula, Term, Variable
from planner.model.formulas import children

Meaning = TypeVar("Meaning")


def bottom_up(
    formula: Formula, scope: Mapping[Term, Meaning], meaning: Callable[[Variable], Meaning]
) -> Iterator[tuple[Formula, Mapping[Term, Meaning]]]:
    """Yield every part of `formula`, parts first, with the scope it stands in: inner variables hide outer ones."""
    stack = [(formula, scope, False)]
    while stack:
        current, outer, done = stack.pop()
        if done:
            yield current, outer
            continue
        stack.append((current, outer, True))
        inner = outer
        if isinstance(current, Exists | Forall):
            inner = {**outer, **{variable.name: meaning(variable) for variable in current.variables}}
        stack.extend((part, inner, False) for part in reversed(children(current)))

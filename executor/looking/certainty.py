"""Whether a condition holds however the facts turn out that are not certain: Kleene's strong logic (1952)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.formulas import substitute
from planner.validate.conditions import Universe


def is_certain(formula: Formula, truth: Callable[[Atom], bool | None], universe: Universe, *, positive: bool) -> bool:
    """Return whether the ground `formula` (its negation unless `positive`) holds, whatever `truth` says None of."""
    match formula:
        case Atom():
            return truth(formula) is positive
        case Equals(left, right):
            return (left == right) is positive
        case Not(part):
            return is_certain(part, truth, universe, positive=not positive)
        case And() | Or() | Imply() | Forall() | Exists():
            together = all if isinstance(formula, And | Forall) is positive else any
            return together(is_certain(each, truth, universe, positive=positive) for each in _parts(formula, universe))


def _parts(formula: And | Or | Imply | Forall | Exists, universe: Universe) -> Iterable[Formula]:
    """Return what `formula` is a conjunction or a disjunction of."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Imply(premise, conclusion):
            return Not(premise), conclusion
        case Forall(variables, part) | Exists(variables, part):
            names = [each.name for each in variables]
            rows = product(*[tuple(universe.of_types(each.types)) for each in variables])
            return (substitute(part, dict(zip(names, row, strict=True))) for row in rows)

"""Guards: a variable does not stand for what does not exist.

No fact is about an object that does not exist: none is so initially, effects write facts of objects that exist or are
just created, and axioms are guarded. So a variable needs no guard where some fact about it must hold anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import (
    And,
    Atom,
    Axiom,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Term,
    TypeHierarchy,
    Variable,
    When,
)
from planner.model.formulas import children, conjunction, conjuncts, with_children
from planner.records import replace


class Guards:
    """Adds facts of `predicate`, "it exists", to conditions on variables that may be of a type in `created`."""

    def __init__(self, predicate: str, created: Iterable[str], types: TypeHierarchy) -> None:
        self._predicate = predicate
        self._created = list(created)
        self._types = types
        self.types: set[str] = set()
        """The types of the variables that were guarded: their objects have to be said to exist."""

    def condition(self, formula: Formula, variables: Iterable[Variable] = ()) -> Formula:
        """Return `formula` for what exists: guarded inside, and where it says nothing of some of `variables`."""
        needed = self._needed(variables, mentioned(formula))
        inside = self._inside(formula)
        return conjunction([*needed, *conjuncts(inside)]) if needed else inside

    def effect(self, when: When) -> When:
        """Return the conditional effect `when` for what exists."""
        return replace(when, requires=self.condition(when.requires, when.variables))

    def axiom(self, axiom: Axiom) -> Axiom:
        """Return `axiom`, which derives nothing about what does not exist."""
        return replace(axiom, condition=self.condition(axiom.condition, axiom.parameters))

    def _inside(self, formula: Formula) -> Formula:
        match formula:
            case Exists(variables, part):
                return Exists(variables, self.condition(part, variables))
            case Forall(variables, part):
                needed = self._needed(variables, mentioned(part, positive=False))
                inside = self._inside(part)
                return Forall(variables, Imply(conjunction(needed), inside) if needed else inside)
            case _:
                return with_children(formula, tuple([self._inside(part) for part in children(formula)]))

    def _needed(self, variables: Iterable[Variable], known: set[Term]) -> list[Formula]:
        found: list[Formula] = []
        for variable in variables:
            if variable.name not in known and self._types.is_a(self._created, variable.types):
                self.types.update(variable.types)
                found.append(Atom(self._predicate, (variable.name,)))
        return found


def mentioned(formula: Formula, *, positive: bool = True) -> set[Term]:
    """Return terms of which some fact must hold wherever `formula` does; or does not, unless `positive`."""
    match formula:
        case Atom(_, args):
            return set(args) if positive else set()
        case Not(part):
            return mentioned(part, positive=not positive)
        case And(parts) | Or(parts) if parts:
            found = [mentioned(part, positive=positive) for part in parts]
            return set.union(*found) if isinstance(formula, And) is positive else set.intersection(*found)
        case Imply(premise, conclusion):
            return mentioned(Or((Not(premise), conclusion)), positive=positive)
        case Exists(variables, part) | Forall(variables, part) if isinstance(formula, Exists) is positive:
            return mentioned(part, positive=positive) - {variable.name for variable in variables}
        case _:
            return set()

"""Regression of conditions through lifted actions (Waldinger, 1977; Reiter, 1991).

    after(fact)          the action adds the fact, or the fact holds and the action does not delete it
    becomes_true(fact)   the action adds the fact

Both say something about the state before the action, and extend to all constructs of formulas. They allow monitors to
watch a condition only in actions that may change it (Bonassi, Gerevini, Percassi and Scala, 2021, for ground actions).
Derived predicates cannot be regressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.lightweight import dataclass
from planner.model import formulas
from planner.model.actions import Action, When, negated_atoms, positive_atoms
from planner.model.domain import ROOT_TYPE, TypeHierarchy
from planner.model.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    negate,
)
from planner.model.problem import Problem

Types = Mapping[Term, tuple[str, ...]]
Writes = Mapping[str, Sequence[tuple[Atom, When]]]
"""By predicate: the atoms that effects write, each with its effect."""


class Objects:
    """The objects of a problem and the types of terms."""

    def __init__(self, problem: Problem) -> None:
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self.types: Types = {each.name: each.types for each in problem.all_objects}
        self._members = self._hierarchy.objects_by_type(problem.all_objects)

    def of(self, types: Iterable[str]) -> list[str]:
        """Return the names of the objects of any of `types`."""
        return list(dict.fromkeys(name for each in types for name in self._members.get(each, ())))

    def always_fits(self, types: Sequence[str], wanted: Sequence[str]) -> bool:
        """Return whether every object of one of `types` is of one of `wanted`."""
        return ROOT_TYPE in wanted or all(self._hierarchy.is_a([each], wanted) for each in types)

    def may_be(self, term: Term, types: Sequence[str]) -> bool:
        """Return whether `term` may be an object of one of `types`; a variable always may."""
        return formulas.is_variable(term) or self._hierarchy.is_a(self.types[term], types)


@dataclass(frozen=True, slots=True)
class Regression:
    """Regresses conditions through one plain ADL action.

    Conditions are in negation normal form. Their terms are objects and variables that they bind, and no parameters of
    the action. `types` has the types of all these terms and of the parameters.
    """

    objects: Objects
    types: Types
    adds: Writes
    deletes: Writes

    @classmethod
    def through(cls, action: Action, objects: Objects, bound: Types) -> Regression:
        """Return the regression through `action` of conditions that bind variables of the types in `bound`."""
        adds: dict[str, list[tuple[Atom, When]]] = {}
        deletes: dict[str, list[tuple[Atom, When]]] = {}
        for effect in action.effects:
            for table, atoms in ((adds, positive_atoms(effect.provides)), (deletes, negated_atoms(effect.provides))):
                for atom in atoms:
                    table.setdefault(atom.predicate, []).append((atom, effect))
        parameters = {each.name: each.types for each in action.parameters}
        return cls(objects, {**objects.types, **bound, **parameters}, adds, deletes)

    def after(self, condition: Formula) -> Formula:
        """Return the condition before the action that is equivalent to `condition` after it."""
        match condition:
            case Atom():
                kept = conjoin([condition, negate(self._is_written(condition, self.deletes))])
                return disjoin([self._is_written(condition, self.adds), kept])
            case Not(Atom() as atom):
                gone = disjoin([condition, self._is_written(atom, self.deletes)])
                return conjoin([gone, negate(self._is_written(atom, self.adds))])
            case And(parts):
                return conjoin([self.after(part) for part in parts])
            case Or(parts):
                return disjoin([self.after(part) for part in parts])
            case Exists(variables, part) | Forall(variables, part):
                return quantify(type(condition), variables, self.after(part))
            case _:
                return condition

    def becomes_true(self, condition: Formula) -> Formula:
        """Return a formula that holds before the action if the action makes `condition` true.

        The formula implies that `condition` is true after the action. If `condition` holds before and after the action,
        the formula may be true or false.
        """
        match condition:
            case Atom():
                return self._is_written(condition, self.adds)
            case Not(Atom() as atom):
                return conjoin([self._is_written(atom, self.deletes), negate(self._is_written(atom, self.adds))])
            case And(parts):
                made = [self.becomes_true(part) for part in parts]
                changed = [place for place, part in enumerate(made) if part != FALSE]
                if len(changed) == 1:
                    rest = [self.after(part) for place, part in enumerate(parts) if place not in changed]
                    return conjoin([made[changed[0]], *rest])
                return self.after(condition) if changed else FALSE
            case Or(parts):
                return disjoin([self.becomes_true(part) for part in parts])
            case Exists(variables, part):
                return quantify(Exists, variables, self.becomes_true(part))
            case Forall(_, part):
                return FALSE if self.becomes_true(part) == FALSE else self.after(condition)
            case _:
                return FALSE

    def _is_written(self, atom: Atom, writes: Writes) -> Formula:
        """Return the condition under which one of `writes` is `atom`."""
        return disjoin([self._is_same(atom, other, effect) for other, effect in writes.get(atom.predicate, ())])

    def _is_same(self, atom: Atom, other: Atom, effect: When) -> Formula:
        """Return the condition under which `effect` occurs and its atom `other` equals `atom`."""
        binding: dict[Term, Term] = {}
        equal: list[Formula] = []
        open_types = {variable.name: variable.types for variable in effect.variables}
        for mine, theirs in zip(atom.args, other.args, strict=True):
            theirs = binding.get(theirs, theirs)  # noqa: PLW2901 - what it stands for
            if mine == theirs:
                continue
            if not self._may_be_same(mine, theirs, open_types):
                return FALSE
            if theirs in open_types and self.objects.always_fits(self.types[mine], open_types[theirs]):
                binding[theirs] = mine
            else:
                equal.append(Equals(theirs, mine))
        equal = [formulas.substitute(part, binding) for part in equal]
        rest = tuple([each for each in effect.variables if each.name not in binding])
        return self._exists(rest, conjoin([*equal, formulas.substitute(effect.requires, binding)]))

    def _may_be_same(self, mine: Term, theirs: Term, open_types: Types) -> bool:
        if not formulas.is_variable(theirs):
            return formulas.is_variable(mine)
        return self.objects.may_be(mine, open_types[theirs] if theirs in open_types else self.types[theirs])

    def _exists(self, variables: tuple[Variable, ...], part: Formula) -> Formula:
        """Quantify `part` existentially; a variable that it does not name only needs an object of its types."""
        used = formulas.free_variables(part)
        if any(each.name not in used and not self.objects.of(each.types) for each in variables):
            return FALSE
        return quantify(Exists, tuple([each for each in variables if each.name in used]), part)


def conjoin(parts: Iterable[Formula]) -> Formula:
    """Return the simplified conjunction of `parts`."""
    found: dict[Formula, None] = {}
    for part in parts:
        if part == FALSE:
            return FALSE
        found.update(dict.fromkeys(part.parts if isinstance(part, And) else (part,)))
    return next(iter(found)) if len(found) == 1 else And(tuple(found))


def disjoin(parts: Iterable[Formula]) -> Formula:
    """Return the simplified disjunction of `parts`."""
    found: dict[Formula, None] = {}
    for part in parts:
        if part == TRUE:
            return TRUE
        found.update(dict.fromkeys(part.parts if isinstance(part, Or) else (part,)))
    return next(iter(found)) if len(found) == 1 else Or(tuple(found))


def quantify(kind: type[Exists | Forall], variables: tuple[Variable, ...], part: Formula) -> Formula:
    """Quantify `part` over `variables`, unless that changes nothing, even without objects."""
    if not variables or part == (FALSE if kind is Exists else TRUE):
        return part
    return kind(variables, part)


def bound_variables(formula: Formula) -> dict[Term, tuple[str, ...]]:
    """Return the types of the variables that quantifiers in `formula` bind."""
    bound = [part.variables for part in formulas.walk(formula) if isinstance(part, Exists | Forall)]
    return {each.name: each.types for variables in bound for each in variables}

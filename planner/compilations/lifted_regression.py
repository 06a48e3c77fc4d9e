"""What an action makes of a condition, said about the state before it: regression (Waldinger 1977; Reiter 1991).

    after(fact)   it is added, or it holds and is not deleted
    newly(fact)   it is added

and so on through all constructs. So a condition can be watched where it may change, and nowhere else (as Bonassi,
Gerevini, Percassi and Scala do for ground actions, 2021). Derived predicates cannot be regressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.lightweight import dataclass
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
    free_variables,
    is_variable,
    substitute,
    walk,
)
from planner.model.problem import Problem

Types = Mapping[Term, tuple[str, ...]]
Writes = Mapping[str, Sequence[tuple[Atom, When]]]
"""The atoms of each predicate that effects write, and the effects."""


class Objects:
    """The objects of a problem and the types of terms."""

    def __init__(self, problem: Problem) -> None:
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self.types: Types = {each.name: each.types for each in problem.all_objects}
        self._members = self._hierarchy.objects_by_type(problem.all_objects)

    def of(self, types: Iterable[str]) -> list[str]:
        """Return the names of the objects of any of `types`."""
        return list(dict.fromkeys(name for each in types for name in self._members.get(each, ())))

    def surely_fits(self, types: Sequence[str], wanted: Sequence[str]) -> bool:
        """Return whether all that is of `types` is of `wanted`, too."""
        return ROOT_TYPE in wanted or all(self._hierarchy.is_a([each], wanted) for each in types)

    def may_be(self, term: Term, types: Sequence[str]) -> bool:
        """Return whether the object or variable `term` may stand for something of `types`; variables always may."""
        return is_variable(term) or self._hierarchy.is_a(self.types[term], types)


@dataclass(frozen=True, slots=True)
class Regression:
    """One plain ADL action, whose effects conditions are taken back through.

    Conditions are in negation normal form; what they name is an object or a variable that they bind, which is none of
    the action's. `types` are those of all these terms.
    """

    objects: Objects
    types: Types
    adds: Writes
    deletes: Writes

    @classmethod
    def through(cls, action: Action, objects: Objects, bound: Types) -> Regression:
        """Return the regression through `action`, of conditions that bind variables of the types in `bound`."""
        adds: dict[str, list[tuple[Atom, When]]] = {}
        deletes: dict[str, list[tuple[Atom, When]]] = {}
        for effect in action.effects:
            for table, atoms in ((adds, positive_atoms(effect.provides)), (deletes, negated_atoms(effect.provides))):
                for atom in atoms:
                    table.setdefault(atom.predicate, []).append((atom, effect))
        parameters = {each.name: each.types for each in action.parameters}
        return cls(objects, {**objects.types, **bound, **parameters}, adds, deletes)

    def after(self, condition: Formula) -> Formula:
        """Return what holds before the action if and only if `condition` holds after it."""
        match condition:
            case Atom():
                kept = both([condition, opposite(self._written(condition, self.deletes))])
                return either([self._written(condition, self.adds), kept])
            case Not(Atom() as atom):
                gone = either([condition, self._written(atom, self.deletes)])
                return both([gone, opposite(self._written(atom, self.adds))])
            case And(parts):
                return both([self.after(part) for part in parts])
            case Or(parts):
                return either([self.after(part) for part in parts])
            case Exists(variables, part) | Forall(variables, part):
                return quantified(type(condition), variables, self.after(part))
            case _:
                return condition

    def newly(self, condition: Formula) -> Formula:
        """Return what holds before the action if it makes `condition` true, and only if that is true after it.

        Where the condition holds before and after, it may say either.
        """
        match condition:
            case Atom():
                return self._written(condition, self.adds)
            case Not(Atom() as atom):
                return both([self._written(atom, self.deletes), opposite(self._written(atom, self.adds))])
            case And(parts):
                made = [self.newly(part) for part in parts]
                changed = [place for place, part in enumerate(made) if part != FALSE]
                if len(changed) == 1:
                    rest = [self.after(part) for place, part in enumerate(parts) if place not in changed]
                    return both([made[changed[0]], *rest])
                return self.after(condition) if changed else FALSE
            case Or(parts):
                return either([self.newly(part) for part in parts])
            case Exists(variables, part):
                return quantified(Exists, variables, self.newly(part))
            case Forall(_, part):
                return FALSE if self.newly(part) == FALSE else self.after(condition)
            case _:
                return FALSE

    def _written(self, atom: Atom, writes: Writes) -> Formula:
        """Return when one of `writes` is `atom`."""
        return either([self._same(atom, other, effect) for other, effect in writes.get(atom.predicate, ())])

    def _same(self, atom: Atom, other: Atom, effect: When) -> Formula:
        """Return when `effect` happens, with its atom `other` being `atom`."""
        binding: dict[Term, Term] = {}
        equal: list[Formula] = []
        open_types = {variable.name: variable.types for variable in effect.variables}
        for mine, theirs in zip(atom.args, other.args, strict=True):
            theirs = binding.get(theirs, theirs)  # noqa: PLW2901 - what it stands for
            if mine == theirs:
                continue
            if not self._may_be_same(mine, theirs, open_types):
                return FALSE
            if theirs in open_types and self.objects.surely_fits(self.types[mine], open_types[theirs]):
                binding[theirs] = mine
            else:
                equal.append(Equals(theirs, mine))
        equal = [substitute(part, binding) for part in equal]
        rest = tuple([each for each in effect.variables if each.name not in binding])
        return self._for_some(rest, both([*equal, substitute(effect.requires, binding)]))

    def _may_be_same(self, mine: Term, theirs: Term, open_types: Types) -> bool:
        if not is_variable(theirs):
            return is_variable(mine)
        return self.objects.may_be(mine, open_types[theirs] if theirs in open_types else self.types[theirs])

    def _for_some(self, variables: tuple[Variable, ...], part: Formula) -> Formula:
        """Return `part` for some objects of `variables`; those that it does not name only need to have one."""
        used = free_variables(part)
        if any(each.name not in used and not self.objects.of(each.types) for each in variables):
            return FALSE
        return quantified(Exists, tuple([each for each in variables if each.name in used]), part)


def both(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction of `parts`, without what says nothing."""
    found: dict[Formula, None] = {}
    for part in parts:
        if part == FALSE:
            return FALSE
        found.update(dict.fromkeys(part.parts if isinstance(part, And) else (part,)))
    return next(iter(found)) if len(found) == 1 else And(tuple(found))


def either(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction of `parts`, without what says nothing."""
    found: dict[Formula, None] = {}
    for part in parts:
        if part == TRUE:
            return TRUE
        found.update(dict.fromkeys(part.parts if isinstance(part, Or) else (part,)))
    return next(iter(found)) if len(found) == 1 else Or(tuple(found))


def opposite(part: Formula) -> Formula:
    """Return the negation of `part`, moved inside what is no quantifier."""
    match part:
        case And(parts):
            return either([opposite(each) for each in parts])
        case Or(parts):
            return both([opposite(each) for each in parts])
        case Not(inner):
            return inner
        case _:
            return Not(part)


def quantified(kind: type[Exists | Forall], variables: tuple[Variable, ...], part: Formula) -> Formula:
    """Return `part` for some or all objects; one that says nothing of them stays where they may be none."""
    if not variables or part == (FALSE if kind is Exists else TRUE):
        return part
    return kind(variables, part)


def variables_in(formula: Formula) -> dict[Term, tuple[str, ...]]:
    """Return the types of the variables that quantifiers in `formula` bind."""
    bound = [part.variables for part in walk(formula) if isinstance(part, Exists | Forall)]
    return {each.name: each.types for variables in bound for each in variables}

"""Readings of conditions and constraints where facts may be unknown: surely, or possibly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planner.lightweight import dataclass, replace
from planner.model.actions import Constraint, ConstraintKind, Happening
from planner.model.formulas import Atom, Formula, Imply, Not, Or, atoms_in, children, with_children

Names = Mapping[str, str]
"""A renaming of predicates."""
Reading = Callable[[Atom, bool], Formula]
"""Maps an atom, and whether its truth helps the condition, to the formula that replaces it."""


def translate(formula: Formula, reading: Reading, *, helps: bool = True) -> Formula:
    """Replace every atom of `formula` by `reading`."""
    match formula:
        case Atom():
            return reading(formula, helps)
        case Not(part):
            return Not(translate(part, reading, helps=not helps))
        case Imply(premise, conclusion):
            return Imply(translate(premise, reading, helps=not helps), translate(conclusion, reading, helps=helps))
        case _:
            return with_children(formula, tuple([translate(part, reading, helps=helps) for part in children(formula)]))


def reading_of_known(possible: Names) -> Reading:
    """Return the reading under which a formula is known to hold."""
    return lambda atom, helps: atom if helps else rename(atom, possible)


def reading_of_possible(possible: Names) -> Reading:
    """Return the reading under which a formula possibly holds."""
    return lambda atom, helps: rename(atom, possible) if helps else atom


def rename(atom: Atom, names: Names) -> Atom:
    """Return `atom` with its predicate renamed."""
    return Atom(names.get(atom.predicate, atom.predicate), atom.args)


def mentions(formula: Formula, predicates: Iterable[str]) -> bool:
    """Return whether an atom of `formula` has one of `predicates`."""
    return any(atom.predicate in predicates for atom in atoms_in(formula))


@dataclass(frozen=True, slots=True)
class ConstraintReading:
    """Translates constraints so that they are kept `surely`, whatever is unknown; or else possibly.

    How often a condition begins to hold is known only where the condition is. Constraints on that also require that it
    is always known, or are left out where they are to be kept possibly.
    """

    possible: Names
    surely: bool

    def read_all(self, constraints: Iterable[Constraint]) -> list[Constraint]:
        """Return the translations of `constraints`, and of the demands that conditions are known, behind these."""
        read, known = list[Constraint](), list[Constraint]()
        for each in constraints:
            if not any(mentions(condition, self.possible) for condition in each.conditions):
                read.append(each)
            elif each.kind is not ConstraintKind.AT_MOST or not each.times:
                read.append(self._read(each))
            elif self.surely:
                read.append(self._rename(each, wanted=True, other=True))
                known.append(self._always_known(each))
        return read + known

    def _read(self, constraint: Constraint) -> Constraint:
        match constraint.kind:
            case ConstraintKind.ALWAYS | ConstraintKind.SOMETIME:
                return self._rename(constraint, wanted=True, other=True)
            case ConstraintKind.BEFORE:
                return self._rename(constraint, wanted=True, other=False)
        return self._rename(constraint, wanted=False, other=False)

    def _rename(self, constraint: Constraint, *, wanted: bool, other: bool) -> Constraint:
        """Return `constraint` with conditions that are known if they are wanted, and else possible."""

        def read(happening: Happening, helps: bool) -> Happening:
            if not isinstance(happening, Formula):
                return happening
            reading = (reading_of_known if helps is self.surely else reading_of_possible)(self.possible)
            return translate(happening, reading)

        second = None if constraint.other is None else read(constraint.other, other)
        return replace(constraint, what=read(constraint.what, wanted), other=second)

    def _always_known(self, constraint: Constraint) -> Constraint:
        assert isinstance(constraint.what, Formula)
        known = translate(constraint.what, reading_of_known(self.possible))
        may = translate(constraint.what, reading_of_possible(self.possible))
        return Constraint(ConstraintKind.ALWAYS, Or((known, Not(may))))

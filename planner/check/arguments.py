"""Lint of atoms: arguments of types that can never stand where they stand, such as two in the wrong order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.check.findings import Finding, Level
from planner.declare.types import Types
from planner.model import Atom, DomainModel, Exists, Forall, Formula, Variable
from planner.model.actions import added, deleted
from planner.model.formulas import children

Kinds = Mapping[str, tuple[str, ...]]
"""The types of variables and objects, by their names."""


def check_arguments(domain: DomainModel) -> Iterator[Finding]:
    """Yield the atoms in actions and derived predicates of which some argument can never have the type it must have."""
    types = Types.of(domain.types)
    constants = {each.name: each.types for each in domain.constants}
    for action in domain.actions.values():
        own = constants | _kinds(action.step_parameters)
        atoms = [*_atoms(action.requires, own), *[(item, own) for item in action.modifies]]
        for effect in action.effects:
            inside = own | _kinds(effect.variables)
            atoms += _atoms(effect.requires, inside)
            atoms += [(fact, inside) for fact in (*added(effect.provides), *deleted(effect.provides))]
        for outcome in action.outcomes:
            atoms += [(fact, own) for fact in (*added(outcome.provides), *deleted(outcome.provides))]
        yield from _misplaced(atoms, f"action {domain.versions.get(action.name, action.name)}", domain, types)
    for axiom in domain.axioms:
        own = constants | _kinds(axiom.parameters)
        atoms = [(axiom.head, own), *_atoms(axiom.condition, own)]
        yield from _misplaced(atoms, f"derived {axiom.predicate}", domain, types)


def _kinds(variables: Iterable[Variable]) -> dict[str, tuple[str, ...]]:
    return {each.name: each.types for each in variables}


def _atoms(formula: Formula, kinds: Kinds) -> Iterator[tuple[Atom, Kinds]]:
    """Yield the atoms of `formula`, each with the types of what it may name."""
    stack = [(formula, kinds)]
    while stack:
        part, known = stack.pop()
        if isinstance(part, Atom):
            yield part, known
        if isinstance(part, Forall | Exists):
            known = {**known, **_kinds(part.variables)}
        stack += [(each, known) for each in children(part)]


def _misplaced(atoms: Iterable[tuple[Atom, Kinds]], place: str, domain: DomainModel, types: Types) -> Iterator[Finding]:
    """Yield the arguments whose types do not overlap with those of the parameters that they stand for, each once."""
    told = set[str]()
    for atom, kinds in atoms:
        parameters = domain.predicates[atom.predicate].parameters if atom.predicate in domain.predicates else ()
        for number, (term, wanted) in enumerate(zip(atom.args, parameters, strict=False), start=1):
            if term in kinds and not types.overlap(kinds[term], wanted.types) and str(atom) not in told:
                told.add(str(atom))
                given, needed = " or ".join(kinds[term]), " or ".join(wanted.types)
                message = f"argument {number} of {atom} is of type '{given}', but '{atom.predicate}' takes '{needed}'"
                written = domain.misplaced.get((place, atom))
                where = place if written is None else f"{written}: {place}"
                yield Finding(Level.ERROR, "type", where, message, "look at the order of the arguments")

"""Lint of parameters: two that must be the same object or may be by oversight, types that are too wide, void groups.

Types do not tell two parameters of one type apart: what tells them apart is an inequality. An action that treats two
parameters alike, and does not require that they differ, needs one of them only where both are the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, ended_atoms, provided_atoms
from planner.model.actions import Action, CostFunction
from planner.model.domain import DomainModel, TypeHierarchy, amounts_of, numeric_effects
from planner.model.formulas import (
    And,
    Atom,
    Equals,
    Exists,
    Formula,
    Imply,
    Not,
    Variable,
    atoms_in,
    children,
    comparisons_in,
    conjuncts,
    functions_in,
    substitute,
    unmarked,
    walk,
)

FEWEST: Final = 2
"""Other actions that have to agree before one that does not is told."""


def check_parameters(domain: DomainModel) -> Iterator[Finding]:
    """Yield parameters that must be equal, that may be equal by oversight, and those of too wide a type."""
    equal = [each for action in domain.actions.values() for each in _check_equal(action)]
    yield from equal if len(equal) == 1 else ()
    for action in domain.actions.values():
        yield from _check_alike(action)
        atoms = [*_atoms_of(action)]
        yield from check_widths(f"action {action.name}", action.parameters, atoms, domain)
    yield from _check_moves(domain)
    yield from _check_groups(domain)
    for action in domain.actions.values():
        yield from _check_implications(f"action {action.name}", "requires", action.requires)
        for effect in action.effects:
            yield from _check_implications(f"action {action.name}", "provides", effect.requires)
    for axiom in domain.axioms:
        yield from _check_implications(f"axiom {axiom.predicate}", "", axiom.condition)


def _pairs_of(action: Action) -> Iterator[tuple[Variable, Variable]]:
    """Yield the pairs of parameters of one type."""
    return ((x, y) for x, y in combinations(action.parameters, 2) if x.types == y.types)


def _check_equal(action: Action) -> Iterator[Finding]:
    """Yield that an action requires two of its parameters to be the same object: one of them would do."""
    names = {each.name for each in action.parameters}
    for part in conjuncts(action.requires):
        if isinstance(part, Equals) and part.left != part.right and {part.left, part.right} <= names:
            one, other = unmarked(part.left), unmarked(part.right)
            message = f"it requires {unmarked(part)}, so that '{other}' is but another name of '{one}'"
            hint, pddl = f"should it be {one} != {other}?", f"should it be (not (= {part.left} {part.right}))?"
            place = f"action {action.name}"
            yield Finding(Level.HINT, "equal-parameters", place, message, hint, "requires", one, hint_pddl=pddl)


def _check_alike(action: Action) -> Iterator[Finding]:
    """Yield two parameters that an action treats alike, and that may be the same object: then one of them is void."""
    for one, other in _pairs_of(action):
        parts = set(conjuncts(action.requires))
        if _are_told_apart(one.name, other.name, parts) or not _is_plain(action):
            continue
        turn = {one.name: other.name, other.name: one.name}
        own = [part for part in parts if one.name in _terms_in(part)]
        is_same = all(substitute(part, turn) in parts for part in parts)
        effects: set[Formula] = {*provided_atoms(action), *(Not(each) for each in ended_atoms(action))}
        if own and is_same and {substitute(each, turn) for each in effects} == effects:
            names = f"'{unmarked(one.name)}' and '{unmarked(other.name)}'"
            message = f"{names} have the same conditions and effects, and may be the same object: one of them is void"
            hint = f"require {unmarked(one.name)} != {unmarked(other.name)}"
            pddl = f"require (not (= {one.name} {other.name}))"
            place, name = f"action {action.name}", unmarked(other.name)
            yield Finding(Level.HINT, "void-parameter", place, message, hint, "parameters", name, hint_pddl=pddl)


def _is_plain(action: Action) -> bool:
    """Return whether conditions and facts say all that the action does with its parameters."""
    amounts = [
        term for term in amounts_of(action) if isinstance(term, CostFunction) or any(True for _ in functions_in(term))
    ]
    special = action.when or action.outcomes or action.creates or action.senses or action.after or action.cases
    return not (special or amounts or action.has_moments or any(True for _ in numeric_effects(action)))


def _terms_in(part: Formula) -> set[str]:
    found = {arg for atom in atoms_in(part) for arg in atom.args}
    found |= {arg for each in comparisons_in(part) for term in each.functions for arg in term.args}
    return found | {x for each in walk(part) if isinstance(each, Equals) for x in (each.left, each.right)}


def _are_told_apart(one: str, other: str, parts: Iterable[Formula]) -> bool:
    """Return whether some condition is about both parameters: an inequality, or a relation that may rule it out."""
    return any({one, other} <= _terms_in(part) for part in parts)


@dataclass(frozen=True, slots=True)
class _Move:
    """An action ends a fact of `old` and gives the same one of `new`, both parameters of one type."""

    action: Action
    old: str
    new: str
    fact: Atom

    @property
    def is_guarded(self) -> bool:
        """Whether the action requires that both differ."""
        unequal = [x.part for x in conjuncts(self.action.requires) if isinstance(x, Not) and isinstance(x.part, Equals)]
        return any({x.left, x.right} == {self.old, self.new} for x in unequal)


def _moves_of(action: Action) -> Iterator[_Move]:
    kinds = {each.name: each.types for each in action.parameters}
    given = provided_atoms(action)
    for away in ended_atoms(action):
        for fact in given:
            pairs = [(x, y) for x, y in zip(away.args, fact.args, strict=False) if x != y]
            if away.predicate == fact.predicate and len(pairs) == 1 and all(each in kinds for each in pairs[0]):
                old, new = pairs[0]
                if kinds[old] == kinds[new]:
                    yield _Move(action, old, new, fact)


def _check_moves(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one action that may move something to where it is, though all others that move exclude that."""
    moves = {each.action.name: each for action in domain.actions.values() for each in _moves_of(action)}
    guarded = [each for each in moves.values() if each.is_guarded]
    open_ = [
        each for each in moves.values() if not _are_told_apart(each.old, each.new, conjuncts(each.action.requires))
    ]
    if len(open_) == 1 and len(guarded) >= FEWEST:
        move = open_[0]
        one, other = unmarked(move.old), unmarked(move.new)
        message = (
            f"'{one}' and '{other}' may be the same object; action {guarded[0].action.name} and the others that move"
            " something require two"
        )
        hint, pddl = f"require {one} != {other}", f"require (not (= {move.old} {move.new}))"
        place = f"action {move.action.name}"
        yield Finding(Level.HINT, "void-parameter", place, message, hint, "parameters", other, hint_pddl=pddl)


def _atoms_of(action: Action) -> Iterator[Atom]:
    yield from atoms_in(action.requires)
    for effect in action.effects:
        yield from atoms_in(effect.requires)
    yield from provided_atoms(action)
    yield from ended_atoms(action)


def check_widths(
    place: str,
    parameters: Sequence[Variable],
    atoms: Sequence[Atom],
    domain: DomainModel,
    owners: Mapping[str, Sequence[Variable]] | None = None,
) -> Iterator[Finding]:
    """Yield parameters of a type of which every use takes one subtype only.

    `owners` are the parameters of what `atoms` may name besides predicates, such as tasks.
    """
    hierarchy = TypeHierarchy(domain.types)
    for each in parameters:
        uses = [kind for atom in atoms for kind in _kinds_at(each.name, atom, domain, owners or {})]
        narrow = [kind for kind in uses if _is_narrower(kind, each.types, hierarchy)]
        if len(narrow) < FEWEST or len(each.types) > 1 or each.types[0] not in domain.types:
            continue
        tightest = [x for x in narrow if all(x == y or _is_narrower(x, y, hierarchy) for y in narrow)]
        if tightest:
            name, wide, meant = unmarked(each.name), each.types[0], " or ".join(tightest[0])
            message = f"'{name}' may be any {wide}, and all that is done with it takes a {meant}"
            yield Finding(Level.HINT, "wide-type", place, message, f"should it be of type {meant}?", "parameters", name)


def _is_narrower(kind: tuple[str, ...], other: tuple[str, ...], hierarchy: TypeHierarchy) -> bool:
    """Return whether every object of the types `kind` is of the types `other`, and not the other way round."""
    inside = all(hierarchy.is_a((each,), other) for each in kind)
    return inside and not any(hierarchy.is_a((each,), kind) for each in other)


def _kinds_at(
    name: str, atom: Atom, domain: DomainModel, owners: Mapping[str, Sequence[Variable]]
) -> Iterator[tuple[str, ...]]:
    """Yield the types that `atom` declares where `name` stands in it."""
    declared = domain.predicates.get(atom.predicate)
    parameters = owners.get(atom.predicate, declared.parameters if declared is not None else ())
    return (kind.types for arg, kind in zip(atom.args, parameters, strict=False) if arg == name)


def _check_groups(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one conjunction that stands in another one: it groups nothing, and may be meant for an alternative."""
    found = [
        (action, part)
        for action in domain.actions.values()
        for each in walk(action.requires)
        if isinstance(each, And)
        for part in children(each)
        if isinstance(part, And) and len(children(part)) > 1
    ]
    if len(found) == 1:
        action, part = found[0]
        names = " and ".join(unmarked(each) for each in children(part))
        message = f"the 'and' around {names} groups nothing: it stands in another 'and'"
        hint, atom = "is 'or' or 'imply' meant?", next(atoms_in(part), "")
        yield Finding(Level.HINT, "void-group", f"action {action.name}", message, hint, "requires", atom)


def _check_implications(place: str, field: str, condition: Formula) -> Iterator[Finding]:
    """Yield the existential conditions over an implication: an object that the premise does not fit is enough."""
    for part in walk(condition):
        if isinstance(part, Exists) and isinstance(part.part, Imply):
            own = {each.name for each in part.variables}
            atom = next((each for each in atoms_in(part.part.premise) if own.intersection(each.args)), None)
            if atom is not None:
                message = f"an object without {unmarked(part.part.premise)} is enough for 'exists' over an implication"
                hint = "is 'and' meant in place of 'imply', or 'forall' in place of 'exists'?"
                yield Finding(Level.WARNING, "exists-implies", place, message, hint, field, atom)

"""Conditions under incomplete knowledge: what surely holds and what possibly does.

For each predicate on which unknown facts may have an effect there is a second one: where p is what is known to hold,
`possibly-p` is what is not known to be false. A condition surely holds where its positive parts are known and its
negated ones are not even possible (the 0-approximation of Baral and Son, 1997). What would follow from a case
distinction alone is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from planner.model import Atom, Axiom, DomainModel, Formula, Imply, Literal, Not, Problem, When
from planner.model.formulas import atoms_in, children, with_children

Names = Mapping[str, str]
"""Predicates that stand for others."""
Reading = Callable[[Atom, bool], Formula]
"""What stands for an atom: given whether the atom helps the condition to hold."""


def read(formula: Formula, reading: Reading, *, helps: bool = True) -> Formula:
    """Return `formula` with every atom replaced by what `reading` gives for it."""
    match formula:
        case Atom():
            return reading(formula, helps)
        case Not(part):
            return Not(read(part, reading, helps=not helps))
        case Imply(premise, conclusion):
            return Imply(read(premise, reading, helps=not helps), read(conclusion, reading, helps=helps))
        case _:
            return with_children(formula, tuple([read(part, reading, helps=helps) for part in children(formula)]))


def surely(possible: Names) -> Reading:
    """Return the reading for what surely holds."""
    return lambda atom, helps: atom if helps else renamed(atom, possible)


def possibly(possible: Names) -> Reading:
    """Return the reading for what possibly holds."""
    return lambda atom, helps: renamed(atom, possible) if helps else atom


def renamed(atom: Atom, names: Names) -> Atom:
    """Return `atom` with the predicate that stands for its own."""
    return Atom(names.get(atom.predicate, atom.predicate), atom.args)


def mentions(formula: Formula, predicates: Iterable[str]) -> bool:
    """Return whether `formula` speaks of one of `predicates`."""
    return any(atom.predicate in predicates for atom in atoms_in(formula))


def affected(domain: DomainModel, unknown: Iterable[str]) -> dict[str, None]:
    """Return the predicates on which facts of the predicates `unknown` may have an effect, these first.

    The actions of `domain` are in plain ADL.
    """
    found = dict.fromkeys(unknown)
    effects = [effect for action in domain.actions.values() for effect in action.when]
    size = -1
    while size < len(found):
        size = len(found)
        for head in _following(domain.axioms, effects, found):
            found[head] = None
    return found


def _following(axioms: Iterable[Axiom], effects: Iterable[When], found: dict[str, None]) -> Iterator[str]:
    yield from [axiom.predicate for axiom in axioms if mentions(axiom.condition, found)]
    for effect in effects:
        if mentions(effect.requires, found):
            yield from [atom_of(literal).predicate for literal in effect.provides]


def atom_of(literal: Literal) -> Atom:
    """Return the atom of `literal`."""
    if isinstance(literal, Atom):
        return literal
    assert isinstance(literal.part, Atom)  # noqa: S101 - literals are atoms, or their negations
    return literal.part


def read_predicates(problem: Problem) -> set[str]:
    """Return the predicates that conditions, goals and derived predicates of `problem` read."""
    domain = problem.domain
    formulas = [problem.goal.hard, *[wish.condition for wish in problem.goal.soft]]
    for action in domain.actions.values():
        formulas += [action.requires, *[when.requires for when in action.when]]
    for constraint in problem.constraints:
        formulas += [each for each in (constraint.what, constraint.other) if isinstance(each, Formula)]
    found = {atom.predicate for formula in formulas for atom in atoms_in(formula)}
    queue = list(found)
    while queue:
        name = queue.pop()
        below = [atom for axiom in domain.axioms if axiom.predicate == name for atom in atoms_in(axiom.condition)]
        queue += {atom.predicate for atom in below} - found
        found.update([atom.predicate for atom in below])
    return found

"""Which facts a condition speaks about, derived predicates traced to what they are derived from."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import product

from planner.model import OPEN, And, Atom, DomainModel, Exists, Forall, Formula, Imply, Not, Or, is_variable
from planner.model.formulas import atoms_in, substitute
from planner.validate.conditions import Universe


def facts_of(
    formula: Formula,
    domain: DomainModel,
    universe: Universe,
    binding: Mapping[str, str],
    *,
    known: Container[Atom] = (),
) -> list[Atom]:
    """Return the ground facts, derived ones left out, whose truth `formula` may depend on; each once.

    Derived facts that are `known` depend on nothing.
    """
    derived = domain.derived
    return [
        fact
        for fact in _traced(formula, domain, universe, binding, known=known)
        if fact.predicate not in derived and fact not in known
    ]


def derived_of(formula: Formula, domain: DomainModel, universe: Universe) -> list[Atom]:
    """Return the ground derived facts whose truth the ground `formula` may depend on; each once."""
    derived = domain.derived
    return [fact for fact in _traced(formula, domain, universe, {}) if fact.predicate in derived] if derived else []


def patterns_of(formula: Formula, domain: DomainModel) -> list[Atom]:
    """Return a pattern for each quantified atom whose truth the ground `formula` may depend on; each once.

    A pattern has `OPEN` in place of each variable, and so stands for facts about objects of any name.
    """
    found: dict[Atom, None] = {}
    stack = [formula]
    while stack:
        for atom in atoms_in(stack.pop()):
            pattern = Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            if pattern not in found:
                found[pattern] = None
                stack += _explained(pattern, domain)
    return [pattern for pattern in found if OPEN in pattern.args]


def _explained(fact: Atom, domain: DomainModel) -> list[Formula]:
    """Return the conditions from which a derived fact, or a pattern of such facts, follows."""
    return [
        substitute(axiom.condition, dict(zip([each.name for each in axiom.parameters], fact.args, strict=True)))
        for axiom in domain.axioms
        if axiom.predicate == fact.predicate
    ]


def _traced(
    formula: Formula,
    domain: DomainModel,
    universe: Universe,
    binding: Mapping[str, str],
    *,
    known: Container[Atom] = (),
) -> dict[Atom, None]:
    """Return the ground facts that `formula` names, and those that the derived ones among them follow from."""
    derived = domain.derived
    found: dict[Atom, None] = {}
    stack = [substitute(formula, binding)]
    while stack:
        for fact in _atoms(stack.pop(), universe):
            if fact in found:
                continue
            found[fact] = None
            if fact.predicate in derived and fact not in known:
                stack += _explained(fact, domain)
    return found


def _atoms(formula: Formula, universe: Universe) -> Iterator[Atom]:
    """Yield the ground atoms of `formula`, quantified parts once for each choice of objects."""
    stack = [formula]
    while stack:
        match stack.pop():
            case Atom() as fact:
                yield fact
            case And(parts) | Or(parts):
                stack.extend(parts)
            case Not(part):
                stack.append(part)
            case Imply(premise, conclusion):
                stack += [premise, conclusion]
            case Forall(variables, part) | Exists(variables, part):
                names = [each.name for each in variables]
                choices = [tuple(universe.of_types(each.types)) for each in variables]
                stack += [substitute(part, dict(zip(names, each, strict=True))) for each in product(*choices)]

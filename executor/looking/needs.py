"""Which facts a condition speaks about, derived predicates traced to what they are derived from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from planner.model import And, Atom, DomainModel, Exists, Forall, Formula, Imply, Not, Or
from planner.model.formulas import substitute
from planner.validate.conditions import Universe


def facts_of(formula: Formula, domain: DomainModel, universe: Universe, binding: Mapping[str, str]) -> list[Atom]:
    """Return the ground facts, derived ones left out, whose truth `formula` may depend on; each once."""
    derived = domain.derived
    found: dict[Atom, None] = {}
    traced: set[Atom] = set()
    stack = [substitute(formula, binding)]
    while stack:
        for fact in _atoms(stack.pop(), universe):
            if fact.predicate not in derived:
                found[fact] = None
            elif fact not in traced:
                traced.add(fact)
                stack += [
                    substitute(
                        axiom.condition, dict(zip([each.name for each in axiom.parameters], fact.args, strict=True))
                    )
                    for axiom in domain.axioms
                    if axiom.predicate == fact.predicate
                ]
    return list(found)


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

"""The unknown numbers of a problem: values of functions that only a step tells which senses them.

For each function whose values actions measure there is a predicate: `known_amount(r)` says that the value of
`amount(r)` is known. The value that a problem has for an unknown number is a supposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from planner.lightweight import Final
from planner.model.domain import DomainModel, TypeHierarchy, cache_per_domain, measured_functions
from planner.model.formulas import Atom
from planner.model.problem import Problem

PREFIX: Final = "known_"


def known_fact(term: Atom) -> Atom:
    """Return the fact that the value of the function `term` is known."""
    return Atom(PREFIX + term.predicate, term.args)


@cache_per_domain
def known_predicates(domain: DomainModel) -> frozenset[str]:
    """Return the predicates of the facts that say which values are known."""
    return frozenset([PREFIX + name for name in measured_functions(domain)])


def list_terms(domain: DomainModel, problem: Problem) -> Iterator[Atom]:
    """Yield the ground terms of all functions of `domain` that actions measure, with the objects of `problem`."""
    names = sorted(measured_functions(domain))
    members = TypeHierarchy(domain.types).objects_by_type(problem.all_objects) if names else {}
    for name in names:
        parameters = domain.functions[name].parameters
        columns = [dict.fromkeys(each for kind in one.types for each in members.get(kind, ())) for one in parameters]
        yield from (Atom(name, row) for row in product(*columns))


def find_unread(problem: Problem) -> list[Atom]:
    """Return the function terms whose values are unknown in the initial state of `problem`."""
    if not measured_functions(problem.domain):
        return []
    held = set(problem.initial)
    return [term for term in list_terms(problem.domain, problem) if known_fact(term) not in held]

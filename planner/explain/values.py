"""Static values that a changed problem lacks: a corridor that is assumed has no length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Final

from planner.model import Action, Atom, Problem, TypeHierarchy
from planner.model.actions import CostTerm
from planner.plan import Step

VALUES: Final = 10_000
"""How many missing values of one function are filled in."""


def priced(problem: Problem) -> Problem:
    """Return `problem` with 0 for the values that its costs, and uses, may ask for and that it does not have."""
    missing = {atom: 0 for atom in _possible(problem) if atom not in problem.values}
    return replace(problem, values={**problem.values, **missing}) if missing else problem


def _possible(problem: Problem) -> Iterator[Atom]:
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    for name in dict.fromkeys(
        term.predicate
        for action in problem.domain.actions.values()
        for term in _terms(action)
        if isinstance(term, Atom)
    ):
        parameters = problem.domain.functions[name].parameters
        choices = [
            dict.fromkeys(each for kind in parameter.types for each in members[kind]) for parameter in parameters
        ]
        yield from (Atom(name, arguments) for arguments in islice(product(*choices), VALUES))


def _terms(action: Action) -> list[CostTerm]:
    return [*action.cost, *[term for used in action.uses.values() for term in used]]


def cost_values(problem: Problem, steps: Iterable[Step]) -> Iterator[Atom]:
    """Yield the static values that the costs and uses of `steps` ask for, each once."""
    seen: set[Atom] = set()
    for step in steps:
        action = problem.domain.actions[step.action]
        binding = {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}
        for term in _terms(action):
            if isinstance(term, Atom) and (value := term.substitute(binding)) not in seen:
                seen.add(value)
                yield value

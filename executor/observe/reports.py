"""Read the facts that a handler reports in its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executor.observe.beliefs import Beliefs
from executor.plans.created_objects import Bindings
from executor.tools.results import ActionResult
from executor.tools.returned_values import result_of
from planner.errors import InputError, did_you_mean
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import dataclass, field
from planner.model import Atom, DomainModel, Not


@dataclass(frozen=True, slots=True)
class Report:
    """Reported `facts` with their values; `strangers` are those about objects that the problem lacks."""

    facts: Mapping[Atom, bool] = field(default_factory=dict)
    strangers: Mapping[Atom, bool] = field(default_factory=dict)


def read_report(result: ActionResult, beliefs: Beliefs, objects: Bindings) -> Report:
    """Read the facts that `result` reports, with the names of objects in the plan; the last report on a fact counts.

    Raises `InputError` for a literal that cannot be reported in this domain.
    """
    if not result.observed:
        return NOTHING
    domain = beliefs.simulation.problem.domain
    facts: dict[Atom, bool] = {}
    strangers: dict[Atom, bool] = {}
    for literal in result.observed:
        named, holds = literal_of(literal)
        _check_fact(named, domain)
        fact = objects.renamed(named)
        if beliefs.describe_stranger(fact):
            strangers[named] = holds
        else:
            facts[fact] = holds
    return Report(facts, strangers)


def _check_fact(fact: Atom, domain: DomainModel) -> None:
    predicate = domain.predicates.get(fact.predicate)
    if predicate is None:
        hint = did_you_mean(fact.predicate, domain.predicates)
        raise InputError(f"the handler reports {fact}, and there is no predicate {fact.predicate!r}", hint=hint)
    count = len(predicate.parameters)
    if len(fact.args) != count:
        raise InputError(f"the handler reports {fact}, but {predicate.name} has {count} arguments")
    if fact.predicate in domain.derived:
        hint = "report what it follows from"
        raise InputError(f"the handler reports {fact}, which is derived from other facts", hint=hint)


def literal_of(literal: Any) -> tuple[Atom, bool]:
    """Parse a literal, given as a value or as text, to a fact and its value; raises `InputError`."""
    match literal:
        case Atom():
            return literal, True
        case Not(Atom() as fact):
            return fact, False
        case str():
            text = literal.strip()
            holds = not text.startswith("not ")
            try:
                return parse_atom(text if holds else text[4:].strip()), holds
            except NotationError as mistake:
                raise InputError(f"{literal!r} is no fact: {mistake.problem}", hint=mistake.hint) from None
        case _:
            raise InputError(f"{literal!r} is no fact", hint="a fact is written at(r1, hall), or not at(r1, hall)")


NOTHING = Report()


def check_result(returned: Any) -> ActionResult:
    """Convert the value that a handler returned to a result; raises `InputError` for invalid ones and their reports."""
    result = result_of(returned)
    for literal in result.observed:
        literal_of(literal)
    return result

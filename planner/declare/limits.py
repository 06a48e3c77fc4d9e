"""What a problem allows and expects besides its goal: budgets, a deadline, and how likely unknown facts are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from planner.declare.numbers import decimal, number
from planner.declare.places import Place
from planner.declare.syntax import shown
from planner.errors import did_you_mean
from planner.model import COST, Atom, DomainModel, Number
from planner.model.domain import resources
from planner.model.numbers import exact_number


def budgets_of(value: Any, domain: DomainModel, place: Place) -> dict[str, Number]:
    """Return how much a plan may cost, and use of each resource that actions of `domain` use."""
    if not isinstance(value, Mapping):
        raise place.error(f"budgets are a mapping from resources to numbers, not {shown(value)}")
    known = (COST, *resources(domain))
    found = {}
    for name, amount in value.items():
        here = place.within(name)
        if name not in known:
            near = did_you_mean(str(name), known) or f"there may be budgets of {', '.join(known)}"
            raise here.error(f"a budget of {shown(name)}, which no action uses", near)
        found[name] = number(amount, f"the budget of {name}", here)
    return found


def deadline_of(value: Any, place: Place) -> Number | None:
    """Return a time in seconds, above 0."""
    if value is None:
        return None
    seconds = decimal(value, "the deadline", place)
    if seconds == 0:
        raise place.error("the deadline is 0; it must be above 0", "it is in seconds")
    return exact_number(seconds)


def likely_of(
    value: Any,
    known: tuple[tuple[Atom, ...], tuple[Atom, ...]],
    fact_of: Callable[[Any, Place], Atom],
    place: Place,
) -> dict[Atom, Decimal]:
    """Return the probabilities of facts, where `known` are the patterns declared unknown and the facts stated."""
    if not isinstance(value, Mapping):
        raise place.error(f"'likely' is a mapping from unknown facts to probabilities, not {shown(value)}")
    unknown, stated = known
    found: dict[Atom, Decimal] = {}
    for key, chance in value.items():
        here = place.within(key) if isinstance(key, str) else place
        fact = fact_of(key, here)
        if not any(pattern.matches(fact) for pattern in unknown):
            hint = f"add it, or a pattern that covers it, to unknown: '{Atom(fact.predicate, ('_',) * len(fact.args))}'"
            raise here.error(f"{fact} is said to be likely, but is not declared unknown", hint)
        if fact in stated:
            raise here.error(f"{fact} is said to be likely, but is stated to hold", "leave out one of them")
        if fact in found:
            raise here.error(f"{fact} has two probabilities")
        probability = decimal(chance, f"the probability of {fact}", here)
        if not 0 < probability < 1:
            hint = "state what holds, and leave out what does not"
            raise here.error(f"the probability of {fact} is {probability}; it must be between 0 and 1", hint)
        found[fact] = probability
    return found

"""What a problem allows and expects besides its goal: budgets, a deadline, and how likely unknown facts are."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from planner.declare.numbers import decimal, number
from planner.declare.places import Place
from planner.declare.syntax import shown
from planner.errors import did_you_mean
from planner.model import COST, OPEN, Atom, DomainModel, Number, Problem
from planner.model.actions import has_open
from planner.model.domain import resources
from planner.model.hidden import ROUNDING, hidden
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


class Facts(Protocol):
    """What knows the facts of a problem."""

    def pattern(self, value: Any, place: Place) -> Atom:
        """Return a fact whose arguments may be open; raises an error at `place` for a mistake."""

    def instances(self, pattern: Atom) -> Iterable[Atom]:
        """Return the facts that `pattern` covers."""


def likely_of(
    value: Any, unknown: Iterable[Atom], stated: Container[Atom], facts: Facts, place: Place
) -> dict[Atom, Decimal]:
    """Return the probabilities of facts that a pattern of `unknown` covers.

    In `value`, a pattern stands for all facts that it covers, but for those that are `stated`, or named themselves.
    """
    if not isinstance(value, Mapping):
        raise place.error(f"'likely' is a mapping from unknown facts to probabilities, not {shown(value)}")
    by_pattern: dict[Atom, Decimal] = {}
    by_name: dict[Atom, Decimal] = {}
    for key, chance in value.items():
        here = place.within(key) if isinstance(key, str) else place
        pattern = facts.pattern(key, here)
        probability = _probability(chance, pattern, here)
        if not any(_covers(each, pattern) for each in unknown):
            cover = Atom(pattern.predicate, (OPEN,) * len(pattern.args))
            hint = f"add it, or a pattern that covers it, to unknown: '{cover}'"
            raise here.error(f"{pattern} is said to be likely, but is not declared unknown", hint)
        found = by_pattern if has_open(pattern) else by_name
        for fact in facts.instances(pattern):
            if fact in found:
                raise here.error(f"{fact} has two probabilities")
            if fact not in stated:
                found[fact] = probability
            elif found is by_name:
                raise here.error(f"{fact} is said to be likely, but is stated to hold", "leave out one of them")
    return by_pattern | by_name


def check_likely(problem: Problem, value: Mapping[Any, Any], facts: Facts, place: Place) -> None:
    """Raise an error where facts of which only one can hold are said in `value` to be likelier than that, together."""
    for variable in hidden(problem):
        stated = [fact for fact in variable.facts if fact in problem.likely]
        total = sum([Fraction(problem.likely[fact]) for fact in stated], Fraction(0))
        if total > 1 + ROUNDING:
            keys = [key for key in value if any(facts.pattern(key, place).matches(fact) for fact in stated)]
            here = place.within(keys[-1]) if isinstance(keys[-1], str) else place
            listed = ", ".join(map(str, stated))
            message = f"only one of {listed} can hold, and their probabilities sum to {float(total):g}"
            raise here.error(message, "let them sum to 1 at most")


def _covers(pattern: Atom, other: Atom) -> bool:
    """Return whether `pattern` covers all that `other` does."""
    return pattern.matches(other) and all(
        mine == OPEN for mine, theirs in zip(pattern.args, other.args, strict=True) if theirs == OPEN
    )


def _probability(value: Any, fact: Atom, place: Place) -> Decimal:
    probability = decimal(value, f"the probability of {fact}", place)
    if not 0 < probability < 1:
        hint = "state what holds, and leave out what does not"
        raise place.error(f"the probability of {fact} is {probability}; it must be between 0 and 1", hint)
    return probability

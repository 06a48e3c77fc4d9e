"""What plans are measured by: exact numbers, of which less is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final

from planner.errors import InputError, did_you_mean
from planner.model import Action, Number, Problem
from planner.model.numbers import exact_number
from planner.order.timing import makespan
from planner.plan import Plan, Step, exact_sum
from planner.records import dataclass, replace
from planner.selection.steps import Steps, classical, steps_meant
from planner.validate import resources, validate

Measure = Callable[[Plan], Number]

COUNT: Final = "count "
"""Begins the name of a criterion that counts steps: `count pay(_)`."""
PLACES: Final = Decimal(10) ** -12
"""Probabilities are rounded to this."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A measure of plans; `unit` goes with its numbers. Less is better, unless `more` is."""

    name: str
    measure: Measure
    unit: str = ""
    more: bool = False

    def charge(self, value: Number) -> Number:
        """Return `value` as a number of which less is better."""
        return -value if self.more else value

    def __str__(self) -> str:
        return f"-{self.name}" if self.more else self.name


def risk(plan: Plan) -> Number:
    """Return the probability that some step of `plan` fails or comes out otherwise than intended.

    Steps are taken to be independent of each other, and none is tried again.
    """
    actions = classical(plan).domain.actions
    smooth = Fraction(1)
    for step in plan.steps:
        smooth *= _smooth(actions[step.action], step)
    return _decimal(1 - smooth)


def _smooth(action: Action, step: Step) -> Fraction:
    """Return the probability that `step`, one of `action`, does what is intended, the first of its outcomes."""
    risk, odds = action.odds(step.arguments)
    likely = [Fraction(share) for share in odds] or [Fraction(1)]
    return (1 - Fraction(risk)) * likely[0] / sum(likely)


def _decimal(fraction: Fraction) -> Number:
    number = (Decimal(fraction.numerator) / Decimal(fraction.denominator)).quantize(PLACES)
    return int(number) if number == int(number) else number.normalize()


def forgone(plan: Plan) -> Number:
    """Return what the wishes are worth that do not come true in `plan`."""
    problem = replace(classical(plan), budgets={}, deadline=None)
    return exact_sum(wish.utility or 0 for wish in validate(problem, plan.steps).forgone)


KNOWN: Final[Mapping[str, Criterion]] = {
    each.name: each
    for each in (
        Criterion("cost", lambda plan: plan.cost),
        Criterion("length", len, "steps"),
        Criterion("duration", makespan, "s"),
        Criterion("risk", risk),
        Criterion("forgone", forgone),
        Criterion("irreversible", lambda plan: len(Steps("irreversible").among(plan)), "steps"),
        Criterion("approvals", lambda plan: len(Steps("needs_approval").among(plan)), "steps"),
    )
}
"""The criteria that every domain has; the resources of its actions, and `count …`, come on top."""


def criterion(what: str | Criterion | Measure, problem: Problem) -> Criterion:
    """Return the criterion that is meant: by its name (with `-` before it, more is better), or by a function of plans.

    Raises `InputError` for what means none in `problem`.
    """
    if isinstance(what, Criterion):
        return what
    if callable(what):
        return Criterion(getattr(what, "__name__", "value"), what)
    if not isinstance(what, str):
        raise InputError(f"{what!r} is no criterion", hint="give a name, or a function from a plan to a number")
    name = what.strip()
    if name.startswith("-"):
        found = criterion(name[1:], problem)
        return Criterion(found.name, found.measure, found.unit, not found.more)
    if name in KNOWN:
        return KNOWN[name]
    if name.startswith(COUNT):
        steps = steps_meant(name.removeprefix(COUNT), problem)
        return Criterion(f"{COUNT}{steps}", lambda plan: len(steps.among(plan)), "steps")
    known = dict.fromkeys(resource for action in problem.domain.actions.values() for resource in action.uses)
    if name not in known:
        names = [*KNOWN, *known]
        hint = did_you_mean(name, names) or f"there are {', '.join(names)} and 'count ACTION'"
        raise InputError(f"there is no criterion '{name}'", hint=hint)
    return Criterion(name, lambda plan: resources(plan)[name])


def measured(criterion: Criterion, plan: Plan) -> Number:
    """Return what `plan` has by `criterion`; raises `InputError` where a function gives no number."""
    value = criterion.measure(plan)
    try:
        return exact_number(Decimal(repr(value)) if isinstance(value, float) else value)
    except (ValueError, ArithmeticError):
        raise InputError(f"the criterion '{criterion.name}' gives {value!r}, which is no number") from None

"""From texts to a problem: the notation's own reader parses and type-checks them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from executor.agent.reading.answer import Meaning
from planner.declare import Domain, always, at_most, before, done, forbidden, mandatory, never
from planner.errors import InputError
from planner.model import Object, Problem
from planner.records import replace

STEP: Final = "do "
"""Before a step, where a condition may stand, too."""


def wanted(problem: Problem, meaning: Meaning) -> Problem:
    """Return `problem` with the goal, the constraints and the limits that `meaning` states, and with its new objects.

    What `problem` itself constrains and limits still holds. Raises `InputError` for the first mistake.
    """
    found = Domain.of(problem.domain).problem(
        problem.name,
        objects=[*problem.objects, *[Object(name, (kind,)) for name, kind in meaning.new_objects.items()]],
        goal={"hard": list(meaning.goal), "soft": [(each.condition, _exact(each.worth)) for each in meaning.wishes]},
        constraints=list(_constraints(meaning)),
        budgets={name: _exact(amount) for name, amount in meaning.budgets.items()},
        deadline=None if meaning.deadline_seconds is None else _exact(meaning.deadline_seconds),
    )
    budgets = dict(problem.budgets)
    for name, amount in found.budgets.items():
        budgets[name] = min(amount, budgets.get(name, amount))
    deadlines = [each for each in (problem.deadline, found.deadline) if each is not None]
    return replace(
        problem,
        objects=found.objects,
        goal=found.goal,
        constraints=(*problem.constraints, *found.constraints),
        budgets=budgets,
        deadline=min(deadlines, default=None),
    )


def mistakes(problem: Problem, meaning: Meaning) -> list[str]:
    """Return what is wrong with `meaning`, in words: each text is read on its own, so that all mistakes are told."""
    base = Meaning(new_objects=meaning.new_objects, deadline_seconds=None)
    found = list(_first(problem, base))
    if found:
        return found
    parts: list[dict[str, Any]] = [
        {name: [each]}
        for name in ("goal", "wishes", "forbidden", "mandatory", "never", "always", "before", "at_most")
        for each in getattr(meaning, name)
    ]
    parts += [{"budgets": {name: amount}} for name, amount in meaning.budgets.items()]
    return [text for part in parts for text in _first(problem, base.model_copy(update=part))]


def _first(problem: Problem, meaning: Meaning) -> Iterator[str]:
    try:
        wanted(problem, meaning)
    except InputError as error:
        message, hint = getattr(error, "message", str(error)), getattr(error, "hint", None)
        yield f"{message}{f' ({hint})' if hint else ''}"


def _constraints(meaning: Meaning) -> Iterator[Any]:
    yield from (forbidden(each) for each in meaning.forbidden)
    yield from (mandatory(each) for each in meaning.mandatory)
    yield from (never(each) for each in meaning.never)
    yield from (always(each) for each in meaning.always)
    yield from (before(_happening(each.first), _happening(each.then)) for each in meaning.before)
    yield from (at_most(each.times, _happening(each.what)) for each in meaning.at_most)


def _happening(text: str) -> Any:
    return done(text.removeprefix(STEP)) if text.startswith(STEP) else text


def _exact(number: float) -> Decimal:
    return Decimal(str(number))

"""What is better: by one criterion after the other, or by a weighted sum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from planner.errors import InputError
from planner.model import Number, Problem
from planner.plan import exact, exact_sum
from planner.records import dataclass
from planner.selection.criteria import Criterion, criterion

_TERM: Final = re.compile(r"\s*([+-]?)\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?([^+*]+?)\s*(?=[+]|\s-\s|$)")


@dataclass(frozen=True, slots=True)
class Order:
    """An order of plans. With `weights`, one for each criterion, their sum decides, else the first that differs."""

    criteria: tuple[Criterion, ...]
    weights: tuple[Number, ...] = ()

    def __str__(self) -> str:
        if not self.weights:
            return ", then ".join(map(str, self.criteria))
        text = ""
        for weight, each in zip(self.weights, self.criteria, strict=True):
            sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
            text += f"{sign}{'' if abs(weight) == 1 else f'{abs(weight)}*'}{each.name}"
        return text

    def score(self, values: Sequence[Number]) -> Number | None:
        """Return the weighted sum of `values`; None without weights."""
        if not self.weights:
            return None
        return exact_sum([Decimal(weight) * value for weight, value in zip(self.weights, values, strict=True)])

    def key(self, values: Sequence[Number]) -> tuple[Number, ...]:
        """Return what plans with these `values` are sorted by."""
        score = self.score(values)
        return tuple(self.charges(values)) if score is None else (score,)

    def charges(self, values: Sequence[Number]) -> list[Number]:
        """Return `values` as numbers of which less is better, weighted where there are weights."""
        if self.weights:
            return [exact(Decimal(weight) * value) for weight, value in zip(self.weights, values, strict=True)]
        return [each.charge(value) for each, value in zip(self.criteria, values, strict=True)]


def order(by: Any, problem: Problem) -> Order:
    """Return the order that `by` means: see `rank`. Raises `InputError` where it means none."""
    if isinstance(by, Order):
        return by
    if isinstance(by, str):
        return _read(by, problem)
    if isinstance(by, Mapping):
        return _weighted([(criterion(name, problem), weight) for name, weight in by.items()])
    if callable(by) or isinstance(by, Criterion):
        by = [by]
    if not isinstance(by, Iterable):
        raise InputError(f"{by!r} is no order of plans", hint="give criteria: 'cost, duration' or '2*cost + duration'")
    return _in_turn([criterion(each, problem) for each in by])


def _read(text: str, problem: Problem) -> Order:
    """Return the order that `text` writes: `cost, duration` or `2*cost + duration`."""
    if "*" not in text and "+" not in text:
        return _in_turn([criterion(name, problem) for name in _split(text)])
    terms, place = list[tuple[Criterion, Any]](), 0
    while place < len(text.rstrip()):
        match = _TERM.match(text, place)
        if match is None or match.end() == place:
            raise InputError(f"{text!r} is no sum of criteria", hint="write '2*cost + duration'")
        sign = -1 if match[1] == "-" else 1
        terms.append((criterion(match[3], problem), sign * Decimal(match[2] or 1)))
        place = match.end()
    return _weighted(terms)


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no brackets."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def _in_turn(criteria: list[Criterion]) -> Order:
    _check(criteria)
    return Order(tuple(criteria))


def _weighted(terms: list[tuple[Criterion, Any]]) -> Order:
    _check([each for each, _ in terms])
    weights = []
    for each, weight in terms:
        try:
            number = exact(Decimal(repr(weight) if isinstance(weight, float) else weight))
        except (ArithmeticError, TypeError, ValueError):
            raise InputError(f"the weight of '{each.name}' is {weight!r}, which is no number") from None
        weights.append(-number if each.more else number)
    return Order(tuple([Criterion(each.name, each.measure, each.unit) for each, _ in terms]), tuple(weights))


def _check(criteria: Sequence[Criterion]) -> None:
    if not criteria:
        raise InputError("no criteria to rank by", hint="write 'cost, duration' or '2*cost + duration'")
    names = [each.name for each in criteria]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"the criterion '{twice[0]}' is given twice")

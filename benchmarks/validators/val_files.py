"""What VAL is given in place of a task's own files, and what the metric is before the first step.

VAL tells upper from lower case, which PDDL does not: texts that `pddltext` has read are in lower case. It counts steps
for `total-time` where a domain with durations does not say so in its requirements, and takes no conditional effect
under a moment, `(at end (when (a) (b)))`, which means `(when (at end (a)) (at end (b)))`.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.pddltext import Expression, find_sections, write_expression
from benchmarks.planners.base import parse_number

OPERATIONS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.truediv,
}


def adapt_domain(domain: list[Expression]) -> list[Expression]:
    """Return `domain` as VAL takes it: with the requirement of its durations, and moments at single effects."""
    if not any(find_sections(domain, ":durative-action")):
        return domain
    stated = {word for section in find_sections(domain, ":requirements") for word in section[1:]}
    others = [_adapt_section(part) for part in domain if part[:1] != [":requirements"]]
    return [*others[:2], [":requirements", *sorted({*map(str, stated), ":durative-actions"})], *others[2:]]


def _adapt_section(section: Expression) -> Expression:
    if isinstance(section, str) or section[:1] != [":durative-action"]:
        return section
    return [
        push_moment(part) if before == ":effect" else part
        for before, part in zip(["", *section[:-1]], section, strict=True)
    ]


def push_moment(effect: Expression, moment: str = "") -> Expression:
    """Return `effect`, which comes at `moment`, with moments at its single effects and their conditions."""
    match effect:
        case ["at", "start" | "end" as own, [*inner]]:
            return push_moment(inner, str(own))
        case ["and", *parts]:
            return ["and", *[push_moment(part, moment) for part in parts]]
        case ["forall", variables, inner]:
            return ["forall", variables, push_moment(inner, moment)]
        case ["when", condition, inner] if moment:
            return ["when", ["at", moment, condition], push_moment(inner, moment)]
        case _:
            return ["at", moment, effect] if moment else effect


def read_values(problem: list[Expression]) -> dict[str, float]:
    """Return the numbers that functions have at first, by their text."""
    entries = [fact for section in find_sections(problem, ":init") for fact in section[1:]]
    found: dict[str, float] = {}
    for fact in entries:
        match fact:
            case ["=", [*function], str(number)]:
                found[write_expression(function)] = float(number)
    return found


def value_at_start(metric: Expression, values: Mapping[str, float]) -> float | None:
    """Return what `metric` is before the first step; None where it counts what only a plan has."""
    match metric:
        case str() if parse_number(metric) is not None:
            return float(metric)
        case ["total-time" | "total-cost"] | "total-time" | "total-cost":
            return values.get(write_expression(metric), 0.0)
        case ["-", operand]:
            inner = value_at_start(operand, values)
            return None if inner is None else -inner
        case ["+" | "-" | "*" | "/" as operator, first, *others]:
            found = value_at_start(first, values)
            for other in others:
                next_ = value_at_start(other, values)
                if found is None or next_ is None or (operator == "/" and not next_):
                    return None
                found = OPERATIONS[operator](found, next_)
            return found
        case _:
            return values.get(write_expression(metric))

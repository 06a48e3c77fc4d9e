"""Metrics: what a plan costs, and what its preferences are worth."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from planner.model import Metric, Number
from planner.model.numbers import exact_number
from planner.pddl import refused
from planner.pddl.conditions import is_number
from planner.pddl.definitions import Definition
from planner.pddl.effects import TOTAL_COST
from planner.pddl.lenient import warn
from planner.pddl.refused import unsupported
from planner.pddl.trees import Tree, nearest, quote
from planner.records import dataclass, field

_EXAMPLE = "'(:metric minimize (total-cost))'"
CONSTANT = ""
"""The term of a sum that multiplies nothing."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a metric says: how plans are counted, whether costs count at all, and what each preference is worth."""

    metric: Metric
    costs: bool = True
    worth: Mapping[str, Number] = field(default_factory=dict)


def read_metric(definition: Definition) -> Weights:
    """Return what the metric of a problem says; without one, plans are counted by their length.

    Raises `PddlError` for what is no metric, `UnsupportedError` for other metrics than sums of the total cost and of
    violated preferences.
    """
    section = definition.one(":metric")
    match section:
        case None:
            return Weights(Metric.LENGTH)
        case [_, "minimize", [str(name)] | str(name)] if name == TOTAL_COST:
            return Weights(Metric.COST)
        case [_, "maximize", ["reward"] | "reward"]:
            warn(definition.source, section, None, "the reward is left out: what counts is that the goal is reached")
            return Weights(Metric.LENGTH)
        case [_, "minimize" | "maximize", list(tree)]:
            return _weights(definition, section, tree)
        case [_, "minimize" | "maximize", _]:
            raise unsupported(definition.source, refused.METRIC, section)
        case [_, str(word), *_] if word not in ("minimize", "maximize"):
            hint = nearest(word, ("minimize", "maximize"))
            message = f"found {quote(word)}, expected 'minimize'"
            raise definition.source.error(message, section, 1, hint)
        case _:
            raise definition.source.error(f"found {quote(section)}, expected {_EXAMPLE}", section)


def _weights(definition: Definition, section: Tree, tree: Tree) -> Weights:
    terms = _sum(tree)
    if terms is None:
        raise unsupported(definition.source, refused.METRIC, section)
    sign = 1 if section[1] == "minimize" else -1
    found = {name: sign * weight for name, weight in terms.items() if name != CONSTANT and weight}
    cost = found.pop(TOTAL_COST, Decimal(0))
    worth = {name.removeprefix("!"): weight / (cost or 1) for name, weight in found.items()}
    exact = all(value * (cost or 1) == found[f"!{name}"] for name, value in worth.items())
    if cost < 0 or any(value < 0 for value in worth.values()) or not exact or not found:
        raise unsupported(definition.source, refused.METRIC, section)
    return Weights(Metric.COST, bool(cost), {name: exact_number(value) for name, value in worth.items()})


def _sum(tree: Tree | str) -> dict[str, Decimal] | None:
    """Return the terms of a linear expression: the total cost, preferences (after `!`), and the constant."""
    match tree:
        case str(word) if is_number(word):
            return {CONSTANT: Decimal(word)}
        case str(name) | [str(name)] if name == TOTAL_COST:
            return {TOTAL_COST: Decimal(1)}
        case ["is-violated", str(name)]:
            return {f"!{name}": Decimal(1)}
        case ["+" | "-" as sign, *parts] if parts:
            return _added([_sum(part) for part in parts], sign == "-")
        case ["*", *parts] if parts:
            return _product([_sum(part) for part in parts])
    return None


def _added(parts: list[dict[str, Decimal] | None], minus: bool) -> dict[str, Decimal] | None:  # noqa: FBT001 - private
    found: dict[str, Decimal] = {}
    for number, part in enumerate(parts):
        if part is None:
            return None
        sign = -1 if minus and (number or len(parts) == 1) else 1
        for name, weight in part.items():
            found[name] = found.get(name, Decimal(0)) + sign * weight
    return found


def _product(parts: list[dict[str, Decimal] | None]) -> dict[str, Decimal] | None:
    found: dict[str, Decimal] = {CONSTANT: Decimal(1)}
    for part in parts:
        if part is None:
            return None
        if set(found) > {CONSTANT} and set(part) > {CONSTANT}:
            return None
        constant, other = (found, part) if set(found) == {CONSTANT} else (part, found)
        if set(constant) != {CONSTANT}:
            return None
        found = {name: weight * constant[CONSTANT] for name, weight in other.items()}
    return found

"""Prices of steps that depend on the state: what a step adds to the metric.

Where no step ever lowers the metric, the change of the metric is the cost of a step. Where one may, but the variables
of the metric have bounds on the side that is wanted, a plan pays for how far they are from these bounds at its end. The
sum is the metric plus a constant in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, lcm

from planner.jit.arrays import words
from planner.lightweight import dataclass, replace
from planner.model.arithmetic import as_number
from planner.task.numeric_ranges import Form, Ranges, bound_change, find_ranges, forms_by_fact, known_forms
from planner.task.numeric_task import NumericEffects, NumericTask
from planner.task.packed_numbers_kernel import Prices


@dataclass(frozen=True, slots=True)
class Pricing:
    """The cost of plans of `source`, whose actions cost what no state changes; each step costs `least` or more.

    The cost of a plan is what it adds to the metric plus `offset`, in units of the task's resolution.
    """

    source: NumericTask
    prices: Prices
    least: Sequence[int]
    offset: int = 0


def price_by_state(source: NumericTask) -> Pricing | None:
    """Return the pricing of a task grounded with its metric; None where costs cannot be kept from being negative."""
    if not source.metric:
        return None
    task = source.task
    resolution = lcm(task.resolution, *[weight.denominator for _, weight in source.metric])
    if as_number(Fraction(1, resolution)) is None:
        return None
    factor = resolution // task.resolution
    actions = [replace(action, cost=action.cost * factor) for action in task.actions]
    source = replace(source, task=replace(task, actions=actions, resolution=resolution))
    weights = [0] * len(source.variables)
    for variable, weight in source.metric:
        weights[variable] = int(weight * resolution)
    ranges, costs, forms = find_ranges(source), [action.cost for action in actions], forms_by_fact(source)
    least = [
        _least_step(changes, ranges, known_forms(forms, action.precondition), weights)
        for action, changes in zip(actions, source.changes, strict=True)
    ]
    if all(more is not None and cost + more >= 0 for cost, more in zip(costs, least, strict=True)):
        sums = [cost + (more or 0) for cost, more in zip(costs, least, strict=True)]
        return Pricing(source, Prices(words(weights), words([]), words([0])), sums)
    best = _bound_metric(ranges, weights)
    if best is None or min(costs, default=0) < 0:
        return None
    now = sum([weight * each.initial for weight, each in zip(weights, source.variables, strict=True)])
    return Pricing(source, Prices(words([]), words(weights), words([-best])), costs, now - best)


def _least_step(
    changes: tuple[NumericEffects, ...], ranges: Ranges, known: list[Form], weights: Sequence[int]
) -> int | None:
    """Return a lower bound of what `changes` add to the sum of the variables times `weights`; None without one."""
    if not any(weights[effect.variable] for each in changes for effect in each.effects):
        return 0
    target: dict[int, int | Fraction] = {variable: -weight for variable, weight in enumerate(weights) if weight}
    most = bound_change(ranges, changes, known, target)
    return None if most is None else ceil(-most)


def _bound_metric(ranges: Ranges, weights: Sequence[int]) -> int | None:
    """Return a lower bound of the sum of the variables times `weights`; None without one."""
    total = ranges.least(({variable: weight for variable, weight in enumerate(weights) if weight}, 0))
    return None if total is None else int(total)

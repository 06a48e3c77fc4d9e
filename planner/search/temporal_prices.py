"""What plans in time pay: for their makespan, for the costs of their steps, and for the growth of numeric fluents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from planner.errors import UnsupportedError
from planner.lightweight import dataclass, field
from planner.model.actions import NumericEffect
from planner.model.arithmetic import Exact, Key
from planner.model.domain import numeric_effects, numeric_fluents
from planner.model.formulas import Atom
from planner.model.problem import TOTAL_COST, Metric, Problem
from planner.model.timing import TOTAL_TIME
from planner.semantics.changes_to_come import Direction, find_direction
from planner.semantics.linear_forms import Undefined, linear_form
from planner.semantics.numeric_state import Values
from planner.semantics.snap_actions import SnapProblem


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a plan pays for each second of its makespan, and for each unit that its steps cost, both 0 or more.

    `weights` are the prices of each unit by which fluents grow; a negative one is a gain.
    """

    time: Fraction
    cost: Fraction
    weights: Mapping[Atom, Fraction] = field(default_factory=dict)


def find_tariff(problem: Problem, snap: SnapProblem) -> Tariff | None:
    """Return the tariff of the metric of `problem`; None where it is not linear, or charges for lateness.

    `snap` has the snap actions of the problem.
    """
    if any(each.weight is not None for each in problem.due):
        return None
    metric = problem.metric
    if isinstance(metric, Metric):
        return Tariff(Fraction(0), Fraction(1))
    try:
        form = linear_form(metric.expression, {}, make_values(snap.problem, charged=True))
    except (Undefined, UnsupportedError):
        return None
    weights = {Atom(*key): -each if metric.maximize else each for key, each in form.weights.items()}
    is_fluent = TOTAL_COST.predicate in problem.domain.functions
    cost = Fraction(0) if is_fluent else weights.pop(TOTAL_COST, Fraction(0))
    time = weights.pop(TOTAL_TIME, Fraction(0))
    return Tariff(time, cost, weights) if min(time, cost) >= 0 else None


def make_values(problem: Problem, *, charged: bool = False) -> Callable[[Key], Exact | bool | None]:
    """Return the function from functions to their values, or to True where they change.

    What plans are `charged` for changes, too.
    """
    changing = set(numeric_fluents(problem.domain))
    if charged:
        changing |= {TOTAL_COST.predicate, TOTAL_TIME.predicate}
    values = Values.of(problem)
    return lambda key: True if key[0] in changing else values.get(key)


def may_gain(tariff: Tariff, snap: SnapProblem) -> bool:
    """Return whether a step of the snap problem may lower what plans pay, as far as the signs of its effects tell."""
    wanted: dict[str, set[Direction]] = {}
    for fluent, weight in tariff.weights.items():
        wanted.setdefault(fluent.predicate, set()).add(Direction.UP if weight > 0 else Direction.DOWN)
    names = {name for moments in snap.actions.values() for name in (moments.start, moments.end) if name}
    return any(
        {find_direction(effect, snap.problem)} != wanted[effect.fluent.predicate]
        for name in names
        for effect in numeric_effects(snap.problem.domain.actions[name])
        if effect.fluent.predicate in wanted
    )


def price_effects(
    effects: Iterable[NumericEffect], tariff: Tariff, value_of: Callable[[Key], Exact | bool | None]
) -> Fraction | None:
    """Return what the ground `effects` add to the metric; None where that depends on the state."""
    total = Fraction(0)
    for effect in effects:
        weight = tariff.weights.get(effect.fluent)
        if weight is None:
            continue
        try:
            form = linear_form(effect.value, {}, value_of)
        except (Undefined, UnsupportedError):
            return None
        if not effect.is_additive or not form.is_constant:
            return None
        total += weight * (form.constant if effect.operator == "+=" else -form.constant)
    return total

"""What constraints, budgets, wishes and metrics make of the way through the states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pairs.interpreter import State, World

from planner.model import Atom
from planner.model.actions import Constraint, ConstraintKind, Done
from planner.model.formulas import Arithmetic
from planner.model.problem import NumericMetric

MOST_GAIN = Fraction(10_000)
"""What a plan gains at most of a function without an upper bound: more than any plan here does."""
TOTAL_COST, TOTAL_TIME = Atom("total-cost"), Atom("total-time")


@dataclass(frozen=True)
class Kept:
    """How far one constraint is kept: what has happened, how often `what` began, and whether it is broken."""

    what: bool = False
    other: bool = False
    times: int = 0
    holds: bool = False
    broken: bool = False


def look(world: World, constraint: Constraint, kept: Kept, state: State | None, step: Atom | None) -> Kept:
    """Return `kept` after the next state, or after the next step."""
    what, other = [happens(world, each, state, step) for each in (constraint.what, constraint.other or constraint.what)]
    broken, times, holds = kept.broken, kept.times, kept.holds
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            broken |= what is False
        case ConstraintKind.AT_MOST:
            if what is not None:
                begins = what and (isinstance(constraint.what, Done) or not holds)
                times, holds = min(times + begins, constraint.times + 1), what and not isinstance(constraint.what, Done)
            broken |= times > constraint.times
        case ConstraintKind.BEFORE:
            broken |= bool(other) and not kept.what
        case ConstraintKind.NEVER_AFTER:
            broken |= bool(what) and kept.other
    return Kept(kept.what or bool(what), kept.other or bool(other), times, bool(holds), broken)


def happens(world: World, happening: Any, state: State | None, step: Atom | None) -> bool | None:
    """Return whether a condition or a step happens now; None where this moment is of the other sort."""
    if isinstance(happening, Done):
        pattern = happening.action
        return None if step is None else pattern.matches(Atom(step.predicate, step.args[: len(pattern.args)]))
    return None if state is None else world.holds(happening, state)


def look_all(
    world: World, kept: tuple[Kept, ...], state: State | None = None, step: Atom | None = None
) -> tuple[Kept, ...]:
    pairs = zip(world.problem.constraints, kept, strict=True)
    return tuple([look(world, each, mine, state, step) for each, mine in pairs])


def is_broken(constraint: Constraint, kept: Kept) -> bool:
    """Return whether `constraint` is not kept by a plan that ends now."""
    return kept.broken or (constraint.kind is ConstraintKind.SOMETIME and not kept.what)


def may_go_on(world: World, kept: tuple[Kept, ...]) -> bool:
    pairs = zip(world.problem.constraints, kept, strict=True)
    return not any(mine.broken and each.utility is None for each, mine in pairs)


def forgone(world: World, state: State, kept: tuple[Kept, ...]) -> Fraction | None:
    """Return the utilities that a plan which ends now forgoes; None where a hard constraint or the goal is not met."""
    problem = world.problem
    if not world.holds(problem.goal.hard, state):
        return None
    lost = Fraction(0)
    for each, mine in zip(problem.constraints, kept, strict=True):
        if is_broken(each, mine):
            if each.utility is None:
                return None
            lost += Fraction(each.utility)
    return lost + sum(Fraction(each.utility) for each in problem.goal.soft if not world.holds(each.condition, state))


class Price:
    """The charge of a plan: what the metric says at its end less what it says at the beginning; the least is best."""

    def __init__(self, world: World) -> None:
        self.world = world
        metric = world.problem.metric
        self.metric = metric if isinstance(metric, NumericMetric) else None
        self.begin = world.start()
        self.weights = self._find_weights()

    def _find_weights(self) -> dict[Atom, Fraction]:
        """Return the weight of each function in the metric, signed so that the least sum is best."""
        if self.metric is None:
            return {TOTAL_COST: Fraction(1)}
        sign = -1 if self.metric.maximize else 1
        found: dict[Atom, Fraction] = {}
        collect(self.metric.expression, Fraction(sign), found)
        return found

    def charge(self, state: State, cost: Fraction, makespan: Fraction) -> Fraction:
        now, first = dict(state.values), dict(self.begin.values)
        known = {TOTAL_COST: cost, TOTAL_TIME: makespan}
        total = Fraction(0)
        for term, weight in self.weights.items():
            total += weight * (known[term] if term in known else now[term] - first[term])
        return total

    def most_gain(self, state: State) -> Fraction:
        """Return how much less the charge may get by steps to come."""
        now, gain = dict(state.values), Fraction(0)
        for term, weight in self.weights.items():
            if weight < 0 and term not in (TOTAL_COST, TOTAL_TIME):
                high = self.world.domain.functions[term.predicate].high
                gain += MOST_GAIN if high is None else -weight * (Fraction(high) - now[term])
        return gain

    @property
    def counts_time(self) -> bool:
        return TOTAL_TIME in self.weights


def collect(expression: Any, weight: Fraction, found: dict[Atom, Fraction]) -> None:
    """Add the weights of the functions in a linear `expression`."""
    match expression:
        case Atom():
            found[expression] = found.get(expression, Fraction(0)) + weight
        case Arithmetic("+", operands):
            for each in operands:
                collect(each, weight, found)
        case Arithmetic("-", (only,)):
            collect(only, -weight, found)
        case Arithmetic("-", (first, second)):
            collect(first, weight, found)
            collect(second, -weight, found)
        case Arithmetic("*", (first, second)):
            number, other = (first, second) if not isinstance(first, Atom | Arithmetic) else (second, first)
            collect(other, weight * Fraction(number), found)


def within(budgets: Mapping[str, Any], spent: Mapping[str, Fraction]) -> bool:
    return all(spent.get(name, Fraction(0)) <= Fraction(limit) for name, limit in budgets.items())


def add_run(world: World, state: State, head: Atom) -> State:
    """Return `state` after the step `head` ran, if some action must come after it."""
    patterns = [each for action in world.domain.actions.values() for each in action.after]
    if any(each.predicate == head.predicate for each in patterns):
        return replace(state, ran=state.ran | {head})
    return state

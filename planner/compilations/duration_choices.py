"""Durations that effects depend on: each useful one of a range becomes an action with this duration alone.

A step that charges a battery for `?duration` may last any time within its range. Of these times, three kinds are
useful for most plans: the least, the greatest, and what is just enough for a condition on the number that grows or
shrinks by the duration. Plans of the compiled problem are plans of the declared one; but the declared one may have
plans that need other durations, so nothing is proved by the compiled problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.compilations import Claim, Compiled
from planner.lightweight import Final, replace
from planner.model.actions import DURATION, Action, DurationRange, Moment, NumericEffect
from planner.model.domain import numeric_effects, numeric_fluents
from planner.model.formulas import (
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Formula,
    comparisons_in,
    functions_in,
    is_variable,
    substitute_expression,
    with_conjuncts,
)
from planner.model.problem import Problem
from planner.model.timing import fix_duration
from planner.plan import Plan
from planner.semantics.durations import effects_depend_on_choice

MOST_AMOUNTS: Final = 6
"""Most durations of one action that are just enough for some condition."""


NOT_ALL: Final = "effects depend on durations that a plan chooses, and only some of these were tried"
"""Why there may be other plans than those that were found."""
SOME_DURATIONS: Final = Claim(plans=False, bounds=False, unsolvable=False, doubt=NOT_ALL)
"""What a problem with fixed durations says of its source: nothing but that its plans may be plans."""


def choose_durations(problem: Problem) -> Compiled | None:
    """Return `problem` with fixed durations where effects depend on a range; None where none does."""
    variants = find_useful_durations(problem)
    if not variants:
        return None

    def lift(plan: Plan) -> Plan:
        return replace(restore_actions(plan, variants), problem=problem)

    return Compiled(fix_durations(problem, variants), lift, SOME_DURATIONS)


def find_useful_durations(problem: Problem) -> dict[str, list[Action]]:
    """Return for each action whose effects depend on a range the actions that it becomes, one for each duration."""
    domain = problem.domain
    fluents = numeric_fluents(domain)
    conditions = list(_comparisons_of(problem))
    return {
        name: number_variants(name, _fix_usefully(action, fluents, conditions))
        for name, action in domain.actions.items()
        if effects_depend_on_choice(action)
    }


def number_variants(name: str, actions: Iterable[Action]) -> list[Action]:
    """Return the variants `actions` of the action `name` with names of their own."""
    return [replace(action, name=f"{name} {number}") for number, action in enumerate(actions)]


def restore_actions(plan: Plan, variants: Mapping[str, list[Action]]) -> Plan:
    """Return `plan` with the actions that its steps are `variants` of."""
    declared = {action.name: name for name, actions in variants.items() for action in actions}
    steps = [replace(step, action=declared.get(step.action, step.action)) for step in plan.steps]
    return replace(plan, steps=tuple(steps))


def fix_durations(problem: Problem, variants: Mapping[str, list[Action]]) -> Problem:
    """Return `problem` with the `variants` in place of the actions that they are of."""
    actions: dict[str, Action] = {}
    for name, action in problem.domain.actions.items():
        actions |= {each.name: each for each in variants.get(name, [action])}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _comparisons_of(problem: Problem) -> Iterator[Comparison]:
    """Yield the comparisons that steps and the goal require, and those that bounds of functions are."""
    formulas: list[Formula] = [problem.goal.hard, *[due.condition for due in problem.due]]
    for action in problem.domain.actions.values():
        formulas += [action.requires, action.throughout, action.at_start.requires, action.at_end.requires]
        formulas += [when.requires for when in action.effects]
    for formula in formulas:
        yield from comparisons_in(formula)
    for name, function in problem.domain.functions.items():
        fluent = Atom(name, tuple([parameter.name for parameter in function.parameters]))
        if function.high is not None:
            yield Comparison(fluent, "<=", function.high)
        if function.low is not None:
            yield Comparison(fluent, ">=", function.low)


def _fix_usefully(action: Action, fluents: frozenset[str], conditions: Iterable[Comparison]) -> Iterator[Action]:
    """Yield `action` with each useful duration; those that are just enough for some condition come first."""
    bounds = action.duration
    assert isinstance(bounds, DurationRange)
    for amount in _find_amounts(action, fluents, conditions):
        limits: list[Formula] = [Comparison(amount, ">=", bounds.low)]
        if bounds.high is not None:
            limits.append(Comparison(amount, "<=", bounds.high))
        start = Moment(
            with_conjuncts(action.at_start.requires, *limits),
            action.at_start.provides,
            action.at_start.modifies,
            action.at_start.when,
            action.at_start.numbers,
        )
        yield fix_duration(replace(action, duration=amount, at_start=start))
    if bounds.high is not None and bounds.high != bounds.low:
        yield fix_duration(replace(action, duration=bounds.high))
    yield fix_duration(replace(action, duration=bounds.low))


def _find_amounts(action: Action, fluents: frozenset[str], conditions: Iterable[Comparison]) -> list[Expression]:
    """Return the durations of `action` after which a number equals what one of `conditions` compares it with.

    What it is compared with, and the rate of its change, depend on none of the `fluents`.
    """
    found: dict[str, Expression] = {}
    given = {parameter.name for parameter in action.parameters}
    parts = list(conditions)
    for effect in numeric_effects(action):
        rate = _rate_of(effect)
        if rate is None or any(each.predicate in fluents for each in functions_in(rate)):
            continue
        for condition in parts:
            for term, other in ((condition.left, condition.right), (condition.right, condition.left)):
                binding = _match(term, effect.fluent)
                if binding is None:
                    continue
                target = substitute_expression(other, binding)
                needed = list(functions_in(target))
                if any(each == DURATION or each.predicate in fluents for each in needed):
                    continue
                if any(is_variable(arg) and arg not in given for each in needed for arg in each.args):
                    continue
                operands = (target, effect.fluent) if effect.operator == "+=" else (effect.fluent, target)
                missing: Expression = Arithmetic("-", operands)
                amount = missing if rate == 1 else Arithmetic("/", (missing, rate))
                found.setdefault(str(amount), amount)
    return list(found.values())[:MOST_AMOUNTS]


def _rate_of(effect: NumericEffect) -> Expression | None:
    """Return by how much `effect` changes its fluent for each second; None where it is not linear in the duration."""
    if effect.operator not in ("+=", "-="):
        return None
    if effect.value == DURATION:
        return 1
    match effect.value:
        case Arithmetic(operator="*", operands=(one, other)) if (one == DURATION) != (other == DURATION):
            rate = other if one == DURATION else one
            return None if DURATION in functions_in(rate) else rate
    return None


def _match(term: Expression, fluent: Atom) -> Mapping[str, str] | None:
    """Return the arguments of `fluent` for the variables of `term`, if it is the same function; else None."""
    if not isinstance(term, Atom) or term.predicate != fluent.predicate or len(term.args) != len(fluent.args):
        return None
    binding: dict[str, str] = {}
    for arg, own in zip(term.args, fluent.args, strict=True):
        if is_variable(arg) and binding.setdefault(arg, own) != own:
            return None
    return binding

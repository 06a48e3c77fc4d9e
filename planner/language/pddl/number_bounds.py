"""Compile the bounds of functions to conditions of the actions that change them: PDDL has no bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.model.actions import Action, NumericEffect, When
from planner.model.domain import DomainModel, Function, numeric_effects
from planner.model.formulas import (
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Expression,
    Forall,
    Formula,
    Imply,
    Not,
    conjunction,
    conjuncts,
    is_variable,
)
from planner.model.problem import Problem

_HINT: Final = "YAML and JSON documents say it (--to yaml)"


def require_bounds(problem: Problem, where: str = "in PDDL") -> Problem:
    """Return `problem` without bounds, whose actions require that their effects respect the bounds.

    Raises `UnsupportedError` where that depends on which of several conditional effects happen, or on an outcome, in a
    language that is named by `where`.
    """
    domain = problem.domain
    bounded = {name: each for name, each in domain.functions.items() if (each.low, each.high) != (None, None)}
    if not bounded:
        return problem
    actions = {name: _require_in(action, bounded, where) for name, action in domain.actions.items()}
    functions = {name: replace(each, low=None, high=None) for name, each in domain.functions.items()}
    plain: DomainModel = replace(domain, actions=actions, functions=functions)
    return replace(problem, domain=plain)


def _require_in(action: Action, bounded: dict[str, Function], where: str) -> Action:
    demands: list[Formula] = []
    for function in bounded.values():
        changing = [each for each in numeric_effects(action) if each.fluent.predicate == function.name]
        if changing:
            demands += _demands(action, function, changing, where)
    if not demands:
        return action
    return replace(action, requires=conjunction([*conjuncts(action.requires), *demands]))


def _demands(action: Action, function: Function, changing: list[NumericEffect], where: str) -> Iterator[Formula]:
    """Yield conditions under which the effects of `action` on `function`, which are `changing`, respect its bounds."""
    own = [each for each in action.numbers if each.fluent.predicate == function.name]
    if action.outcomes or (len(own) < len(changing) and len(changing) > 1):
        what = "outcomes" if action.outcomes else "several effects, some under conditions,"
        construct = f"{what} of '{action.name}' that change '{function.name}', which has bounds, {where}"
        raise UnsupportedError(construct, _HINT)
    if own:
        yield from _unconditional(action, function, own, where)
        return
    for when in action.when:
        bounded = [each for each in when.numbers if each.fluent.predicate == function.name]
        yield from (_conditional(when, function, each) for each in bounded)


def _conditional(when: When, function: Function, effect: NumericEffect) -> Formula:
    within = conjunction(_bounds(function, _result(effect.fluent, [effect])))
    held = within if when.requires == TRUE else Imply(when.requires, within)
    return Forall(when.variables, held) if when.variables else held


def _unconditional(action: Action, function: Function, effects: list[NumericEffect], where: str) -> Iterator[Formula]:
    """Yield conditions for `effects` that happen together; two functions may be one, if their arguments are equal."""
    fluents = list(dict.fromkeys(each.fluent for each in effects))
    if len(fluents) > 2:
        construct = f"effects of '{action.name}' on three values of '{function.name}', which has bounds, {where}"
        raise UnsupportedError(construct, _HINT)
    by_fluent = [[each for each in effects if each.fluent == fluent] for fluent in fluents]
    same = _equality(*fluents) if len(fluents) == 2 else None
    apart = And(tuple([part for own in by_fluent for part in _bounds(function, _result(own[0].fluent, own))]))
    if same is None:
        yield from apart.parts
        return
    if not all(each.is_additive for each in effects):
        construct = f"effects of '{action.name}' on '{function.name}', which has bounds and may be one value, {where}"
        raise UnsupportedError(construct, _HINT)
    yield Imply(Not(same), apart)
    yield Imply(same, conjunction(_bounds(function, _result(fluents[0], effects))))


def _equality(one: Atom, other: Atom) -> Formula | None:
    """Return the condition that both atoms are the same; None where they never are."""
    pairs = [pair for pair in zip(one.args, other.args, strict=True) if pair[0] != pair[1]]
    if any(not is_variable(left) and not is_variable(right) for left, right in pairs):
        return None
    return conjunction([Equals(left, right) for left, right in pairs])


def _result(fluent: Atom, effects: Sequence[NumericEffect]) -> Expression:
    """Return the value of `fluent` after `effects`, as an expression over the state before them."""
    result: Expression = fluent
    for effect in effects:
        result = effect.value if effect.operator == ":=" else Arithmetic(effect.operator[0], (result, effect.value))
    return result


def _bounds(function: Function, value: Expression) -> list[Comparison]:
    bounds = [(">=", function.low), ("<=", function.high)]
    return [Comparison(value, relation, bound) for relation, bound in bounds if bound is not None]

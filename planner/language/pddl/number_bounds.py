"""Compile the bounds of functions to conditions of the actions that change them: PDDL has no bounds.

An action requires that the value after its effects is within the bounds. An effect that only raises the value needs no
look at the lower bound, and one that only lowers it none at the upper one: conditions that are always true would keep
steps from happening at the same time. PDDL has no `?duration` in conditions, so a function that some effect changes by
`?duration` is looked at later: each action that may bring the value back requires that it is within the bounds before,
and so does the goal. A value that has left its bounds then stays outside, and the goal is not reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.model.actions import DURATION, Action, NumericEffect, When
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
    functions_in,
    is_variable,
    with_conjuncts,
)
from planner.model.problem import Goal, Problem

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
    late = {name: _find_late_bounds(domain, each) for name, each in bounded.items()}
    actions = {name: _require_in(action, bounded, late, where) for name, action in domain.actions.items()}
    functions = {name: replace(each, low=None, high=None) for name, each in domain.functions.items()}
    plain: DomainModel = replace(domain, actions=actions, functions=functions)
    wanted = [part for each in late.values() if each is not None for part in _require_at_end(problem, each, where)]
    goal = Goal(with_conjuncts(problem.goal.hard, *wanted), problem.goal.soft) if wanted else problem.goal
    return replace(problem, domain=plain, goal=goal)


def _find_late_bounds(domain: DomainModel, function: Function) -> Function | None:
    """Return `function` with the bounds that steps may cross by their duration alone; None without such bounds."""
    ways = [
        _direction(_changing(each, function)) for each in domain.actions.values() if _is_by_duration(each, function)
    ]
    low = None if all(each == 1 for each in ways) else function.low
    high = None if all(each == -1 for each in ways) else function.high
    return None if low is None and high is None else replace(function, low=low, high=high)


def _changing(action: Action, function: Function) -> list[NumericEffect]:
    return [each for each in numeric_effects(action) if each.fluent.predicate == function.name]


def _is_by_duration(action: Action, function: Function) -> bool:
    """Return whether `action` changes values of `function` by an amount that depends on its duration."""
    return any(DURATION in functions_in(each.value) for each in _changing(action, function))


def _require_at_end(problem: Problem, function: Function, where: str) -> Iterator[Formula]:
    """Yield the bounds of `function` as goals: one for each of its values.

    Raises `UnsupportedError` where a value may be set that the problem does not state, or at a known time.
    """
    terms = [term for term in problem.values if term.predicate == function.name]
    changing = [each for action in problem.domain.actions.values() for each in numeric_effects(action)]
    is_set = any(each.operator == ":=" for each in changing if each.fluent.predicate == function.name)
    is_open = is_set and bool(function.parameters)
    is_timed = any(each.fluent.predicate == function.name for change in problem.timed for each in change.numbers)
    if not terms or is_open or is_timed:
        construct = f"bounds of '{function.name}', which changes by '{DURATION}', {where}"
        if is_open or is_timed:
            raise UnsupportedError(f"{construct}, where it is set as well", _HINT)
        raise UnsupportedError(f"{construct}, without a problem", "name a problem that states values, or use --to yaml")
    for term in terms:
        yield from _bounds(function, term)


def _require_in(action: Action, bounded: dict[str, Function], late: dict[str, Function | None], where: str) -> Action:
    demands: list[Formula] = []
    for name, function in bounded.items():
        changing = _changing(action, function)
        behind = late[name]
        if behind is not None:
            demands += _find_demands_before(action, behind)
        if changing and not _is_by_duration(action, function):
            demands += _demands(action, function, changing, where)
    if not demands:
        return action
    return replace(action, requires=with_conjuncts(action.requires, *dict.fromkeys(demands)))


def _find_demands_before(action: Action, function: Function) -> Iterator[Formula]:
    """Yield the conditions that values that `action` may bring back are within the bounds of `function` before."""
    for effect in action.numbers:
        if effect.fluent.predicate == function.name:
            yield from _bounds_behind(function, effect)
    for when in action.when:
        for effect in when.numbers:
            if effect.fluent.predicate == function.name and (bounds := _bounds_behind(function, effect)):
                yield _quantify(when, conjunction(bounds))


def _bounds_behind(function: Function, effect: NumericEffect) -> list[Comparison]:
    """Return the bounds from beyond which `effect` may bring the value back."""
    back = {1: "<=", -1: ">="}.get(_direction([effect]))
    return [each for each in _bounds(function, effect.fluent) if each.relation != back]


def _direction(effects: Sequence[NumericEffect]) -> int:
    """Return 1 where `effects` never lower a value, -1 where they never raise it, else 0."""
    turns = {1 if each.operator == "+=" else -1 if each.operator == "-=" else 0 for each in effects}
    same = turns.pop() if len(turns) == 1 else 0
    if all(_is_positive(each.value) for each in effects):
        return same
    are_negative = all(isinstance(each.value, int | Decimal) and each.value <= 0 for each in effects)
    return -same if are_negative else 0


def _is_positive(amount: Expression) -> bool:
    """Return whether `amount` is made of numbers and durations from 0 on."""
    match amount:
        case int() | Decimal():
            return amount >= 0
        case Arithmetic("+" | "*" | "/", operands):
            return all(map(_is_positive, operands))
    return amount == DURATION


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
        found = [_bounds_after(function, [each]) for each in bounded]
        yield from (_quantify(when, conjunction(each)) for each in found if each)


def _quantify(when: When, within: Formula) -> Formula:
    """Return the condition `within` for all cases in which the effect `when` happens."""
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
    apart = And(tuple([part for own in by_fluent for part in _bounds_after(function, own)]))
    if same is None:
        yield from apart.parts
        return
    if not all(each.is_additive for each in effects):
        construct = f"effects of '{action.name}' on '{function.name}', which has bounds and may be one value, {where}"
        raise UnsupportedError(construct, _HINT)
    together = conjunction(_bounds_after(function, effects))
    yield from [Imply(Not(same), apart)] if apart.parts else []
    yield from [Imply(same, together)] if together != TRUE else []


def _equality(one: Atom, other: Atom) -> Formula | None:
    """Return the condition that both atoms are the same; None where they never are."""
    pairs = [pair for pair in zip(one.args, other.args, strict=True) if pair[0] != pair[1]]
    if any(not is_variable(left) and not is_variable(right) for left, right in pairs):
        return None
    return conjunction([Equals(left, right) for left, right in pairs])


def _bounds_after(function: Function, effects: Sequence[NumericEffect]) -> list[Comparison]:
    """Return the bounds of the value after `effects` on one fluent, without the one that they lead away from."""
    away = {1: ">=", -1: "<="}.get(_direction(effects))
    return [each for each in _bounds(function, _result(effects[0].fluent, effects)) if each.relation != away]


def _result(fluent: Atom, effects: Sequence[NumericEffect]) -> Expression:
    """Return the value of `fluent` after `effects`, as an expression over the state before them."""
    result: Expression = fluent
    for effect in effects:
        result = effect.value if effect.operator == ":=" else Arithmetic(effect.operator[0], (result, effect.value))
    return result


def _bounds(function: Function, value: Expression) -> list[Comparison]:
    bounds = [(">=", function.low), ("<=", function.high)]
    return [Comparison(value, relation, bound) for relation, bound in bounds if bound is not None]

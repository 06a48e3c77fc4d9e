"""Lint of guards: what an action requires of a number before it takes from it, or adds to it.

An action that requires `fuel(t) >= 5` guards a fall, one that requires `load(t) + 5 <= room(t)` a rise. Guards without
the change that they guard, against it, weaker than it, and changes that only one action leaves unguarded are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planner.lint.findings import Finding, Level
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import Exact, exact_value, show_number
from planner.model.domain import DomainModel, numeric_effects, numeric_fluents
from planner.model.formulas import (
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Number,
    conjuncts,
    unmarked,
)
from planner.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that lets `fluent` fall (`sign` -1) or rise (1) by `amount`; None where it names a limit alone."""

    fluent: Atom
    sign: int
    amount: Expression | None
    condition: Comparison


def sign_of(effect: NumericEffect) -> int:
    """Return 1 for a rise, -1 for a fall, 0 for what may be either; functions count as positive."""
    if not effect.is_additive:
        return 0
    sign = _sign_of_amount(effect.value)
    return sign if effect.operator == "+=" else -sign


def _sign_of_amount(value: Expression) -> int:
    """Return the sign of an amount: amounts that are functions, such as distances and prices, are rarely negative."""
    match value:
        case Atom():
            return 1
        case Arithmetic("*" | "+" | "/", operands):
            signs = {_sign_of_amount(each) for each in operands}
            return 1 if signs == {1} else 0
        case Arithmetic():
            return 0
        case _:
            number = exact_value(value)
            return (number > 0) - (number < 0)


def guards_of(action: Action) -> Iterator[Guard]:
    """Yield the guards among the conjuncts of what `action` requires."""
    for part in conjuncts(action.requires):
        if isinstance(part, Comparison) and part.relation in ("<", "<=", ">", ">="):
            less, more = (part.left, part.right) if part.relation in ("<", "<=") else (part.right, part.left)
            yield from _guards_in(less, more, part)


def _guards_in(less: Expression, more: Expression, part: Comparison) -> Iterator[Guard]:
    match less, more:
        case Atom(), Atom() | Arithmetic():
            yield Guard(less, 1, None, part)
            if isinstance(more, Atom):
                yield Guard(more, -1, less, part)
        case _, Atom():
            yield Guard(more, -1, less, part)
        case Atom(), _:
            yield Guard(less, 1, None, part)
    if isinstance(less, Arithmetic) and less.operator == "+" and len(less.operands) == 2:
        one, other = less.operands
        yield from (Guard(x, 1, y, part) for x, y in ((one, other), (other, one)) if isinstance(x, Atom))
    if isinstance(more, Arithmetic) and more.operator == "-" and len(more.operands) == 2:
        whole, amount = more.operands
        if isinstance(whole, Atom):
            yield Guard(whole, -1, amount, part)


@dataclass(frozen=True, slots=True)
class _Flow:
    """All changes and guards of one function, each with its action, and whether it has declared bounds."""

    changes: list[tuple[Action, NumericEffect]] = field(default_factory=list)
    guards: list[tuple[Action, Guard]] = field(default_factory=list)
    bounds: tuple[Number | None, Number | None] = (None, None)

    def is_used(self, guard: Guard) -> bool:
        """Return whether some action moves the fluent in the direction that `guard` lets it go."""
        return any(sign_of(effect) in (0, guard.sign) for _, effect in self.changes)


def _collect_flows(domain: DomainModel) -> dict[str, _Flow]:
    found = {name: _Flow(bounds=(each.low, each.high)) for name, each in domain.functions.items()}
    for action in domain.actions.values():
        for effect in dict.fromkeys(numeric_effects(action)):
            found.setdefault(effect.fluent.predicate, _Flow()).changes.append((action, effect))
        for guard in guards_of(action):
            found.setdefault(guard.fluent.predicate, _Flow()).guards.append((action, guard))
    return found


def check_guards(domain: DomainModel) -> Iterator[Finding]:
    """Yield guards that nothing uses or that an effect runs against, and falls that one action leaves unguarded."""
    flows = _collect_flows(domain)
    for action in domain.actions.values():
        told: set[str] = set()
        for guard in guards_of(action):
            name = guard.fluent.predicate
            found = [
                *_check_against(action, guard, flows[name]),
                *_check_unused(action, guard, flows[name]),
                *_check_untaken(action, guard, flows[name]),
                *_check_weak(action, guard, flows[name]),
            ]
            if found and name not in told:
                told.add(name)
                yield found[0]
        yield from _check_unguarded(action, flows)


def _check_against(action: Action, guard: Guard, flow: _Flow) -> Iterator[Finding]:
    """Yield that the action moves a fluent by the amount of a guard, the other way."""
    name = guard.fluent.predicate
    effects = [each for each in numeric_effects(action) if each.fluent == guard.fluent]
    for effect in effects if len(effects) == 1 else ():
        if effect.value == guard.amount and sign_of(effect) == -guard.sign:
            turned = "-=" if effect.operator == "+=" else "+="
            fluent, amount = unmarked(effect.fluent), unmarked(effect.value)
            does = "adds that to it" if effect.operator == "+=" else "takes that from it"
            never = not flow.is_used(guard)
            also = f"; nothing {'lowers' if guard.sign < 0 else 'raises'} {name}" if never else ""
            message = f"it requires {unmarked(guard.condition)}, and then {does}{also}"
            level, hint = Level.WARNING if never else Level.HINT, f"should it be {fluent} {turned} {amount}?"
            yield Finding(level, "wrong-sign", f"action {action.name}", message, hint, "modifies", name)


def _check_unused(action: Action, guard: Guard, flow: _Flow) -> Iterator[Finding]:
    """Yield that an action requires enough of a fluent, or room in it, and neither it nor another one takes that.

    A fluent that never changes is told only where the action moves just that amount of another one, and where no other
    action compares it: what a crane can lift limits each load alone. An action that changes no number takes none.
    """
    if guard.amount is None or _sign_of_amount(guard.amount) != 1 or flow.is_used(guard):
        return
    own = list(numeric_effects(action))
    compared = {term.predicate for term in guard.condition.functions}
    if not own or any(each.fluent.predicate in compared for each in own):
        return
    moved = next((x for x in own if x.is_additive and x.value == guard.amount), None)
    if flow.changes and not isinstance(guard.amount, Atom) and flow.bounds == (None, None):
        return
    is_limit = isinstance(guard.amount, Atom) or any(each is not action for each, _ in flow.guards)
    if not flow.changes and (moved is None or is_limit):
        return
    name, amount, fluent = guard.fluent.predicate, unmarked(guard.amount), unmarked(guard.fluent)
    verb, change = ("lowers", "-=") if guard.sign < 0 else ("raises", "+=")
    does = f"it does {unmarked(moved)}, and " if moved is not None and not flow.changes else ""
    message = f"{does}it requires {unmarked(guard.condition)}, and nothing {verb} {name}"
    hint = f"should it do {fluent} {change} {amount}?"
    yield Finding(Level.HINT, "unused-guard", f"action {action.name}", message, hint, "requires", guard.fluent)


def _check_untaken(action: Action, guard: Guard, flow: _Flow) -> Iterator[Finding]:
    """Yield that an action requires an amount and takes nothing; two others or more take what they require."""
    changed = {each.name for each, _ in flow.changes}
    others = {each.name for each, other in flow.guards if other.sign < 0 and each is not action}
    taken = {(each.name, effect.value) for each, effect in flow.changes if sign_of(effect) < 0}
    is_exact = all((each.name, other.amount) in taken for each, other in flow.guards if each.name in others)
    if (
        guard.sign > 0
        or not isinstance(guard.amount, Number)
        or action.name in changed
        or len(others) < 2
        or not is_exact
    ):
        return
    fluent, amount = unmarked(guard.fluent), unmarked(guard.amount)
    message = (
        f"it requires {unmarked(guard.condition)} and takes nothing, unlike actions {' and '.join(sorted(others)[:2])}"
    )
    hint = f"should it do {fluent} -= {amount}?"
    yield Finding(Level.HINT, "unused-guard", f"action {action.name}", message, hint, "requires", guard.fluent)


def _check_weak(action: Action, guard: Guard, flow: _Flow) -> Iterator[Finding]:
    """Yield that an action changes a fluent by more, or by something else, than it makes sure of."""
    fluent, place, name = unmarked(guard.fluent), f"action {action.name}", guard.fluent.predicate
    own = [each for each in numeric_effects(action) if each.fluent == guard.fluent]
    if guard.amount is None or len(own) != 1 or sum(x.fluent == guard.fluent for x in guards_of(action)) > 1:
        return
    effect, required = own[0], unmarked(guard.condition)
    others = [x for each, x in flow.changes if each is not action]
    is_counted = bool(others) and all(each.is_additive for each in others)
    is_amount = isinstance(effect.value, Number) and effect.value != 0
    if effect.operator == ":=" and is_counted and (is_amount or (guard.sign > 0 and effect.value == guard.amount)):
        message = (
            f"it requires {required}, and then sets {fluent} to {unmarked(effect.value)}, whatever that was before"
        )
        hint = f"should it be {fluent} {'-=' if guard.sign < 0 else '+='} {unmarked(effect.value)}?"
    elif sign_of(effect) == guard.sign and _is_less(guard.amount, effect.value):
        message = f"it requires {required}, and then does {unmarked(effect)}"
        hint = "should both be the same amount?"
    elif sign_of(effect) == guard.sign and _is_other(guard.amount, effect.value):
        message = f"it requires {required}, and then does {unmarked(effect)}"
        hint = f"should it be {fluent} {effect.operator} {unmarked(guard.amount)}?"
    else:
        return
    yield Finding(Level.HINT, "weak-guard", place, message, hint, "modifies", name)


def _is_less(one: Expression, other: Expression) -> bool:
    """Return whether both are numbers, and `one`, above 0, is less: a guard of 0 says that some is left."""
    return isinstance(one, Number) and isinstance(other, Number) and 0 < one < other


def _is_other(one: Expression, other: Expression) -> bool:
    """Return whether both are functions, but not the same, or not of the same."""
    return isinstance(one, Atom) and isinstance(other, Atom) and one != other


def _check_unguarded(action: Action, flows: Mapping[str, _Flow]) -> Iterator[Finding]:
    """Yield that an action lowers a fluent without a guard, though all others that lower it have one."""
    compared = {
        term.predicate for part in conjuncts(action.requires) if isinstance(part, Comparison) for term in part.functions
    }
    for effect in dict.fromkeys(numeric_effects(action)):
        name = effect.fluent.predicate
        flow = flows[name]
        if sign_of(effect) >= 0 or flow.bounds[0] is not None or name in compared or action.when:
            continue
        guarding = {each.name for each, guard in flow.guards if guard.sign < 0}
        others = {each.name for each, x in flow.changes if each is not action and sign_of(x) < 0}
        if others and others <= guarding:
            message = f"it does {unmarked(effect)} without requiring that there is enough, as action {min(others)} does"
            hint = f"require {unmarked(effect.fluent)} >= {unmarked(effect.value)}"
            yield Finding(Level.HINT, "weak-guard", f"action {action.name}", message, hint, "modifies", name)


def check_ranges(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    """Yield changes as large as the whole range of their fluent, and values of which no range has room."""
    for action in domain.actions.values():
        read = {
            term.predicate
            for part in conjuncts(action.requires)
            if isinstance(part, Comparison)
            for term in part.functions
        }
        for effect in numeric_effects(action):
            name = effect.fluent.predicate
            size = _size_of(name, domain)
            if size is None or size <= 1 or name in read:
                continue
            if effect.is_additive and isinstance(effect.value, Number) and abs(exact_value(effect.value)) == size:
                declared = domain.functions[name]
                end, start = (declared.high, declared.low) if sign_of(effect) > 0 else (declared.low, declared.high)
                message = f"'{unmarked(effect)}' is the whole range of {name}: it applies only where that is {start}"
                hint = f"should it be {unmarked(effect.fluent)} := {end}?"
                yield Finding(Level.HINT, "whole-range", f"action {action.name}", message, hint, "modifies", name)
    if problem is not None:
        yield from _check_amounts(domain, problem)


def _size_of(name: str, domain: DomainModel) -> Exact | None:
    declared = domain.functions.get(name)
    if declared is None or declared.low is None or declared.high is None:
        return None
    return exact_value(declared.high) - exact_value(declared.low)


def _check_amounts(domain: DomainModel, problem: Problem) -> Iterator[Finding]:
    """Yield the values of a function that are more than there can be of what they are taken from, or added to."""
    changing = numeric_fluents(domain)
    told: set[Atom] = set()
    for action in domain.actions.values():
        for guard in guards_of(action):
            most = _find_most(guard, domain, problem) if isinstance(guard.amount, Atom) else None
            if most is None or not isinstance(guard.amount, Atom) or guard.amount.predicate in changing:
                continue
            for term, value in problem.values.items():
                if term.predicate == guard.amount.predicate and exact_value(value) > most and term not in told:
                    told.add(term)
                    message = f"{term} is {value}, and action {action.name} requires {unmarked(guard.condition)}, where"
                    message += f" there is room for {show_number(most)} at most"
                    yield Finding(Level.WARNING, "whole-range", "values", message, "is it in another unit?", part=term)


def _find_most(guard: Guard, domain: DomainModel, problem: Problem) -> Exact | None:
    """Return the most that the guard may let its fluent change: its range, or the greatest limit; None if unknown."""
    size = _size_of(guard.fluent.predicate, domain)
    part = guard.condition
    limit = part.right if part.relation in ("<", "<=") else part.left
    if size is None and guard.sign > 0 and isinstance(limit, Atom) and limit.predicate not in numeric_fluents(domain):
        return max([exact_value(x) for t, x in problem.values.items() if t.predicate == limit.predicate], default=None)
    return size

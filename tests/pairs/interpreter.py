"""What a declared problem means, in as few lines as it can be said: conditions, effects, ground steps, costs.

Nothing here comes from `planner` but the declared model. States are sets of facts and of values, numbers are fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from planner.model import OPEN, And, Atom, Equals, Exists, Forall, Imply, Not, Or, Problem
from planner.model.actions import Action, NumericEffect, When
from planner.model.formulas import Arithmetic, Comparison
from planner.model.problem import Metric

RELATIONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}
DURATION = Atom("?duration")
MOST_CREATED = 2


@dataclass(frozen=True)
class State:
    """Facts, values of functions, steps that ran, and objects that were created, with their types."""

    facts: frozenset[Atom]
    values: frozenset[tuple[Atom, Fraction]]
    ran: frozenset[Atom] = frozenset()
    created: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Ground:
    """An action with objects for its parameters, and for what it creates."""

    action: Action
    binding: Mapping[str, str]

    @property
    def head(self) -> Atom:
        """The step as an atom, without created objects."""
        return Atom(self.action.name, tuple([self.binding[each.name] for each in self.action.parameters]))

    @property
    def step(self) -> Atom:
        """The step as an atom, with the objects that it creates after its arguments."""
        return Atom(self.action.name, (*self.head.args, *[name for name, _ in self.made]))

    @property
    def made(self) -> tuple[tuple[str, str], ...]:
        return tuple([(self.binding[name], kind) for name, kind in self.action.creates.items()])


@dataclass(frozen=True)
class Change:
    """What happens to a state: patterns that end, facts that come, and new values."""

    ended: frozenset[Atom] = frozenset()
    added: frozenset[Atom] = frozenset()
    numbers: tuple[tuple[Atom, Fraction], ...] = ()


class World:
    """One declared problem, and what its conditions and actions mean."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.domain = problem.domain
        self.objects = [(each.name, kind) for each in problem.all_objects for kind in each.types]
        self.written = {
            atom.predicate
            for action in self.domain.actions.values()
            for effect in effects_of(action)
            for atom in written_by(effect)
        } | {atom.predicate for each in problem.timed for atom in map(_bare, each.provides)}
        self.written |= {each.predicate for each in self.domain.axioms}
        self.written |= {each.name for each in self.domain.predicates.values() if each.stale_with}

    def start(self, unknown: Iterable[Atom] = ()) -> State:
        """Return the initial state in which the `unknown` facts hold."""
        values = frozenset((term, Fraction(value)) for term, value in self.problem.values.items())
        return State(frozenset(self.problem.initial) | frozenset(unknown), values, frozenset(self.problem.ran))

    def is_a(self, kind: str, wanted: Iterable[str]) -> bool:
        """Return whether objects of type `kind` are of one of the `wanted` types."""
        if "object" in wanted or kind in wanted:
            return True
        return any(self.is_a(parent, wanted) for parent in self.domain.types.get(kind, ()))

    def of_types(self, wanted: Iterable[str], state: State) -> list[str]:
        known = [*self.objects, *state.created]
        return list(dict.fromkeys(name for name, kind in known if self.is_a(kind, wanted)))

    def bindings(self, variables: Any, state: State) -> Iterator[dict[str, str]]:
        for found in product(*[self.of_types(each.types, state) for each in variables]):
            yield {variable.name: name for variable, name in zip(variables, found, strict=True)}

    def close(self, state: State) -> frozenset[Atom]:
        """Return the facts of `state` with what is derived; derived predicates are not negated in axioms here."""
        true = state.facts
        while True:
            more = {
                axiom.head.substitute(binding)
                for axiom in self.domain.axioms
                for binding in self.bindings(axiom.parameters, state)
                if self._holds(axiom.condition, true, state, binding)
            }
            if more <= true:
                return true
            true = true | more

    def holds(self, formula: Any, state: State, binding: Mapping[str, str] | None = None) -> bool:
        return self._holds(formula, self.close(state) if self.domain.axioms else state.facts, state, binding or {})

    def _holds(self, formula: Any, true: frozenset[Atom], state: State, binding: Mapping[str, str]) -> bool:
        match formula:
            case Atom():
                return formula.substitute(binding) in true
            case Equals(left, right):
                return binding.get(left, left) == binding.get(right, right)
            case Comparison(left, relation, right):
                one, other = self.value(left, state, binding), self.value(right, state, binding)
                return one is not None and other is not None and RELATIONS[relation](one, other)
            case Not(part):
                return not self._holds(part, true, state, binding)
            case And(parts):
                return all(self._holds(part, true, state, binding) for part in parts)
            case Or(parts):
                return any(self._holds(part, true, state, binding) for part in parts)
            case Imply(premise, conclusion):
                return not self._holds(premise, true, state, binding) or self._holds(conclusion, true, state, binding)
            case Forall(variables, part):
                return all(self._holds(part, true, state, {**binding, **b}) for b in self.bindings(variables, state))
            case Exists(variables, part):
                return any(self._holds(part, true, state, {**binding, **b}) for b in self.bindings(variables, state))
        raise TypeError(formula)

    def value(self, expression: Any, state: State, binding: Mapping[str, str]) -> Fraction | None:
        """Return the value of `expression`; None where it is undefined."""
        match expression:
            case Atom():
                return dict(state.values).get(expression.substitute(binding))
            case Arithmetic(operator, operands):
                numbers = [self.value(each, state, binding) for each in operands]
                if any(each is None for each in numbers):
                    return None
                return compute(operator, [each for each in numbers if each is not None])
            case _:
                return Fraction(expression)

    def ground(self, state: State) -> Iterator[Ground]:
        """Yield the steps over the objects of `state` whose conditions on what never changes hold."""
        for action in self.domain.actions.values():
            for binding in self.bindings(action.parameters, state):
                if all(self._may_hold(part, state, binding) for part in conjuncts_of(action.requires)):
                    names = [f"new{len(state.created) + place}" for place, _ in enumerate(action.creates)]
                    yield Ground(action, {**binding, **dict(zip(action.creates, names, strict=True))})

    def _may_hold(self, part: Any, state: State, binding: Mapping[str, str]) -> bool:
        if isinstance(part, Atom) and part.predicate not in self.written and not self.is_unknown(part):
            return part.substitute(binding) in state.facts
        return True

    def is_unknown(self, atom: Atom) -> bool:
        return any(each.predicate == atom.predicate for each in self.problem.unknown)

    def amounts(self, terms: Iterable[Any], state: State, binding: Mapping[str, str]) -> Fraction | None:
        """Return the sum of `terms`; None where one is undefined."""
        found = [self.value(each, state, binding) for each in terms]
        return None if any(each is None for each in found) else sum((each for each in found if each), Fraction(0))

    def cost(self, ground: Ground, state: State) -> Fraction | None:
        """Return what the step costs: 1 where plans are compared by their lengths; None where a value is undefined."""
        if self.problem.metric is Metric.LENGTH:
            return Fraction(1)
        return self.amounts(ground.action.cost, state, ground.binding)

    def change(
        self,
        effects: Iterable[tuple[Any, Iterable[Any], Iterable[Atom], Iterable[NumericEffect], Any]],
        state: State,
        binding: Mapping[str, str],
    ) -> Change | None:
        """Return what `effects` (condition, literals, modified items, numbers, variables) make of `state`.

        Return None where a value is undefined, two effects exclude each other, or a number leaves its bounds.
        """
        added, ended, items, numbers = set(), set(), set(), []
        for condition, literals, modified, changes, variables in effects:
            for found in self.bindings(variables, state):
                inner = {**binding, **found}
                if not self.holds(condition, state, inner):
                    continue
                added |= {each.substitute(inner) for each in literals if isinstance(each, Atom)}
                ended |= {each.part.substitute(inner) for each in literals if isinstance(each, Not)}
                items |= {each.substitute(inner) for each in modified}
                numbers += [(each, inner) for each in changes]
        retracted = ended | {each for each in items if OPEN in each.args}
        retracted |= self.stale(added | ended | items)
        values = self._values(numbers, state)
        if values is None:
            return None
        return Change(frozenset(retracted), frozenset(added), tuple(values.items()))

    def stale(self, written: set[Atom]) -> set[Atom]:
        found: set[Atom] = set()
        queue = [*written]
        while queue:
            item = queue.pop()
            for predicate in self.domain.predicates.values():
                for source in predicate.stale_with:
                    said = {a: b for a, b in zip(source.args, item.args, strict=False) if OPEN not in (a, b)}
                    same = source.predicate == item.predicate and len(source.args) == len(item.args)
                    pattern = Atom(predicate.name, tuple([said.get(each.name, OPEN) for each in predicate.parameters]))
                    if same and pattern not in found:
                        found.add(pattern)
                        queue.append(pattern)
        return found

    def _values(
        self, numbers: list[tuple[NumericEffect, Mapping[str, str]]], state: State
    ) -> dict[Atom, Fraction] | None:
        before, result, assigned = dict(state.values), {}, set()
        for effect, binding in numbers:
            fluent, amount = effect.fluent.substitute(binding), self.value(effect.value, state, binding)
            old = before.get(fluent)
            if amount is None or (effect.operator != ":=" and old is None) or fluent in assigned:
                return None
            if effect.operator not in ("+=", "-="):
                if fluent in result:
                    return None
                assigned.add(fluent)
                result[fluent] = amount if effect.operator == ":=" else compute(effect.operator[0], [old, amount])
                continue
            sign = 1 if effect.operator == "+=" else -1
            result[fluent] = result.get(fluent, old) + sign * amount
        for fluent, value in result.items():
            declared = self.domain.functions.get(fluent.predicate)
            low, high = (declared.low, declared.high) if declared else (None, None)
            if value is None or (low is not None and value < low) or (high is not None and value > high):
                return None
        return result


def apply(change: Change, state: State) -> State:
    """Return `state` after `change`: adding wins over ending."""
    left = frozenset(fact for fact in state.facts if not any(each.matches(fact) for each in change.ended))
    values = frozenset({**dict(state.values), **dict(change.numbers)}.items()) if change.numbers else state.values
    return replace(state, facts=left | change.added, values=values)


def compute(operator: str, numbers: list[Fraction]) -> Fraction | None:
    """Return the value of an operation; None where it divides by 0."""
    first, *others = numbers
    if operator == "-" and not others:
        return -first
    for each in others:
        match operator:
            case "+":
                first += each
            case "-":
                first -= each
            case "*":
                first *= each
            case _:
                if each == 0:
                    return None
                first /= each
    return first


def conjuncts_of(formula: Any) -> Iterator[Any]:
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts_of(part)
    else:
        yield formula


def effects_of(action: Action) -> Iterator[When]:
    """Yield all that steps of `action` may change, at whatever moment, with all outcomes."""
    yield When(provides=action.provides, modifies=action.modifies, numbers=action.numbers)
    yield from action.when
    for moment in (action.at_start, action.at_end):
        yield When(provides=moment.provides, modifies=moment.modifies, numbers=moment.numbers)
        yield from moment.when
    for outcome in action.outcomes:
        yield When(provides=outcome.provides, modifies=outcome.modifies, numbers=outcome.numbers)


def written_by(effect: When) -> Iterator[Atom]:
    yield from map(_bare, effect.provides)
    yield from effect.modifies


def _bare(literal: Any) -> Atom:
    return literal.part if isinstance(literal, Not) else literal


def atoms_of(formula: Any, binding: Mapping[str, str]) -> Iterator[Atom]:
    """Yield what `formula` mentions, with open arguments for quantified variables."""
    match formula:
        case Atom():
            bound = formula.substitute(binding)
            yield Atom(bound.predicate, tuple([OPEN if each.startswith("?") else each for each in bound.args]))
        case Not(part) | Forall(_, part) | Exists(_, part):
            yield from atoms_of(part, binding)
        case And(parts) | Or(parts):
            for each in parts:
                yield from atoms_of(each, binding)
        case Imply(premise, conclusion):
            yield from atoms_of(premise, binding)
            yield from atoms_of(conclusion, binding)


def functions_of(thing: Any, binding: Mapping[str, str]) -> Iterator[Atom]:
    """Yield the functions that a formula or an expression reads."""
    match thing:
        case Comparison(left, _, right):
            for side in (left, right):
                yield from terms_of(side, binding)
        case Not(part) | Forall(_, part) | Exists(_, part):
            yield from functions_of(part, binding)
        case And(parts) | Or(parts):
            for each in parts:
                yield from functions_of(each, binding)
        case Imply(premise, conclusion):
            yield from functions_of(premise, binding)
            yield from functions_of(conclusion, binding)


def terms_of(expression: Any, binding: Mapping[str, str]) -> Iterator[Atom]:
    if isinstance(expression, Atom):
        yield expression.substitute(binding)
    elif isinstance(expression, Arithmetic):
        for each in expression.operands:
            yield from terms_of(each, binding)

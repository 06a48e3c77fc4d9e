"""The semantics of PDDL with numbers (Fox and Long 2003, level 2), slow and obvious, on nested lists.

It shares no code with the planner and covers what `benchmarks.random_numeric` writes: objects of one type, literals,
conjunctions, disjunctions, negations, comparisons, conditional effects. Numbers are exact fractions.

A fluent without a value is undefined: a comparison that reads it is false, and an action that needs it for an effect
cannot be carried out. Effects read the state before the action; increases and decreases of one fluent add up, and
anything else beside another effect on it is a fault of the task.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

from benchmarks.pddltext import (
    NUMBER,
    Expression,
    find_option,
    find_sections,
    is_comparison,
    names_in,
    read_expression,
)

Term = tuple[str, ...]
"""A fact, a fluent or a step: a name and its arguments."""
Bindings = Mapping[str, str]
NOTHING: Final[Expression] = ["and"]


COMPARISONS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
UPDATES: Final[Mapping[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "increase": operator.add,
    "decrease": operator.sub,
    "scale-up": operator.mul,
    "scale-down": operator.truediv,
    "assign": lambda _, value: value,
}
"""What each effect makes of the value before and the value that it states."""


class UndefinedError(ArithmeticError):
    """An expression reads a fluent without a value."""


class ConflictError(Exception):
    """An action assigns or scales a fluent beside another effect on it."""


@dataclass(frozen=True, slots=True)
class State:
    """The facts that hold, and the values of the fluents that have one."""

    facts: frozenset[Term]
    values: frozenset[tuple[Term, Fraction]]

    def without(self, names: frozenset[str]) -> State:
        """Return the state without the values of these functions, which nothing but the metric reads."""
        return State(self.facts, frozenset(pair for pair in self.values if pair[0][0] not in names))


class NumericSemantics:
    """What a domain and a problem in PDDL mean: their initial state, what steps do, whether the goal holds."""

    def __init__(self, domain: str, problem: str) -> None:
        self.domain = read_expression(domain, "domain")
        self.problem = read_expression(problem, "problem")
        lists = [*find_sections(self.domain, ":constants"), *find_sections(self.problem, ":objects")]
        self.objects = [name for part in lists for name in names_in(part[1:])]
        self.actions = {str(action[1]): action for action in find_sections(self.domain, ":action")}
        self.goal = next((part[1] for part in find_sections(self.problem, ":goal")), NOTHING)
        self.metric: list[Expression] = next(find_sections(self.problem, ":metric"), [])

    def find_initial(self) -> State:
        """Return the initial state."""
        (stated,) = find_sections(self.problem, ":init")
        facts, values = set(), set()
        for part in stated[1:]:
            if part[0] == "=":
                values.add((ground(part[1], {}), Fraction(str(part[2]))))
            else:
                facts.add(ground(part, {}))
        return State(frozenset(facts), frozenset(values))

    def list_steps(self) -> list[Term]:
        """Return all steps, in the order of actions and objects."""
        return [
            (name, *arguments)
            for name, action in self.actions.items()
            for arguments in product(self.objects, repeat=len(parameters_of(action)))
        ]

    def apply(self, state: State, step: Term) -> State | None:
        """Return the state after `step`, or None where it cannot be carried out; raises `ConflictError`."""
        action = self.actions[step[0]]
        bindings = dict(zip(parameters_of(action), step[1:], strict=True))
        values = dict(state.values)
        if not holds(find_option(action, ":precondition") or NOTHING, state.facts, values, bindings):
            return None
        effects = list(find_effects(find_option(action, ":effect"), state.facts, values, bindings))
        try:
            changed = change_values(effects, values, bindings)
        except UndefinedError:
            return None
        deleted = {ground(effect[1], bindings) for effect in effects if effect[0] == "not"}
        added = {ground(effect, bindings) for effect in effects if effect[0] not in {"not", *UPDATES}}
        return State((state.facts - deleted) | added, frozenset(changed.items()))

    def successors(self, state: State) -> Iterator[tuple[Term, State]]:
        """Yield the steps that can be carried out, and the state after each."""
        for step in self.list_steps():
            after = self.apply(state, step)
            if after is not None:
                yield step, after

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds."""
        return holds(self.goal, state.facts, dict(state.values), {})

    def measure(self, state: State, steps: int) -> Fraction:
        """Return the value of the metric in `state`, smaller is better; without a metric the number of `steps`."""
        if not self.metric:
            return Fraction(steps)
        value = evaluate(self.metric[2], dict(state.values), {})
        return -value if self.metric[1] == "maximize" else value


def parameters_of(action: list[Expression]) -> list[str]:
    """Return the variables of an action."""
    return list(names_in(find_option(action, ":parameters")))


def ground(term: Expression, bindings: Bindings) -> Term:
    """Return a fact or fluent with objects for its variables."""
    words = [term] if isinstance(term, str) else [str(word) for word in term]
    return (words[0], *(bindings.get(word, word) for word in words[1:]))


def holds(condition: Expression, facts: frozenset[Term], values: Mapping[Term, Fraction], bindings: Bindings) -> bool:
    """Return whether `condition` is true."""
    head, parts = condition[0], condition[1:]
    match head:
        case "and":
            return all(holds(part, facts, values, bindings) for part in parts)
        case "or":
            return any(holds(part, facts, values, bindings) for part in parts)
        case "not":
            return not holds(parts[0], facts, values, bindings)
    if isinstance(condition, list) and is_comparison(condition):
        try:
            left, right = (evaluate(part, values, bindings) for part in parts)
        except UndefinedError:
            return False
        return COMPARISONS[str(head)](left, right)
    return ground(condition, bindings) in facts


def evaluate(expression: Expression, values: Mapping[Term, Fraction], bindings: Bindings) -> Fraction:
    """Return the value of a numeric expression; raises `UndefinedError`, also for a division by nothing."""
    if isinstance(expression, str) and NUMBER.fullmatch(expression):
        return Fraction(expression)
    if expression[0] not in {"+", "-", "*", "/"}:
        try:
            return values[ground(expression, bindings)]
        except KeyError:
            raise UndefinedError from None
    left, *right = (evaluate(part, values, bindings) for part in expression[1:])
    if not right:
        return -left
    match expression[0]:
        case "+":
            return left + right[0]
        case "-":
            return left - right[0]
        case "*":
            return left * right[0]
    if right[0] == 0:
        raise UndefinedError
    return left / right[0]


def find_effects(
    effect: Expression, facts: frozenset[Term], values: Mapping[Term, Fraction], bindings: Bindings
) -> Iterator[list[Expression]]:
    """Yield the effects that come about: those of `when` where its condition holds before the action."""
    assert isinstance(effect, list)
    match effect[0]:
        case "and":
            for part in effect[1:]:
                yield from find_effects(part, facts, values, bindings)
        case "when":
            if holds(effect[1], facts, values, bindings):
                yield from find_effects(effect[2], facts, values, bindings)
        case _:
            yield effect


def change_values(
    effects: list[list[Expression]], values: Mapping[Term, Fraction], bindings: Bindings
) -> dict[Term, Fraction]:
    """Return the values after `effects`, which all read those before; raises `UndefinedError` and `ConflictError`."""
    changed = dict(values)
    touched: dict[Term, set[bool]] = {}
    for effect in effects:
        if effect[0] not in UPDATES:
            continue
        fluent, value = ground(effect[1], bindings), evaluate(effect[2], values, bindings)
        adds = effect[0] in {"increase", "decrease"}
        if fluent in touched and not (adds and touched[fluent] == {True}):
            raise ConflictError(f"{fluent[0]} is changed in two ways")
        touched.setdefault(fluent, set()).add(adds)
        if (effect[0] != "assign" and fluent not in values) or (effect[0] == "scale-down" and value == 0):
            raise UndefinedError
        changed[fluent] = UPDATES[str(effect[0])](changed.get(fluent, value), value)
    return changed

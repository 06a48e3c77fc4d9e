"""Effects of unified-planning as those of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from unified_planning.model import EffectKind

from planner.errors import UnsupportedError
from planner.model import formulas
from planner.model.actions import Literal, NumericEffect, When
from planner.model.formulas import (
    FALSE,
    OPEN,
    TRUE,
    And,
    Atom,
    Comparison,
    Equals,
    Exists,
    Expression,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    functions_in,
)
from planner.unified_planning.formula_reader import FormulaReader

if TYPE_CHECKING:
    from unified_planning.model import Effect


@dataclass(frozen=True, slots=True)
class Assignment:
    """An object fluent's new value: `predicate(arguments, value)`, for all `variables`, where `condition` holds."""

    predicate: str
    arguments: tuple[Term, ...]
    value: Term
    condition: Formula
    variables: tuple[Variable, ...]
    quantified: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Effects:
    """An action's effects in the model, and the conditions under which no object fluent gets two values."""

    provides: tuple[Literal, ...]
    modifies: tuple[Atom, ...]
    numbers: tuple[NumericEffect, ...]
    when: tuple[When, ...]
    consistent: tuple[Formula, ...]


def read_effects(effects: Sequence[Effect], reader: FormulaReader) -> Effects:
    """Return `effects` as effects of the model.

    Raises `UnsupportedError` where a universal effect might give one fluent several values, and for effects in time.
    """
    changes: list[When] = []
    assignments: list[Assignment] = []
    numbers: list[NumericChange] = []
    for effect in effects:
        if effect.fluent.type.is_bool_type():
            changes += _read_boolean_effect(effect, reader)
        elif effect.fluent.type.is_user_type():
            assignment = _read_assignment(effect, reader)
            assignments.append(assignment)
            changes.append(_as_change(assignment))
        else:
            numbers.append(_read_numeric_effect(effect, reader, numbers))
    changes += [When(each.condition, variables=each.variables, numbers=(each.effect,)) for each in numbers]
    plain = [change for change in changes if change.requires == TRUE and not change.variables]
    return Effects(
        provides=tuple([literal for change in plain for literal in change.provides]),
        modifies=tuple([atom for change in plain for atom in change.modifies]),
        numbers=tuple([effect for change in plain for effect in change.numbers]),
        when=tuple([change for change in changes if change not in plain]),
        consistent=tuple(_consistency_conditions(assignments)),
    )


def _read_boolean_effect(effect: Effect, reader: FormulaReader) -> Iterator[When]:
    """Yield the change to a boolean fluent: one, or two where its new value is itself a formula."""
    condition, variables, arguments = _read_scope(effect, reader)
    fluent = effect.fluent.fluent()
    atom = Atom(reader.vocabulary.fluents.of(fluent, fluent.name), arguments)
    value = reader.formula(effect.value)
    for literal, holds in ((atom, value), (Not(atom), _negate(value))):
        if holds != FALSE:
            yield When(_conjoin((condition, holds)), provides=(literal,), variables=variables)


def _read_assignment(effect: Effect, reader: FormulaReader) -> Assignment:
    condition, variables, arguments = _read_scope(effect, reader)
    fluent, value = effect.fluent.fluent(), reader.value(effect.value)
    quantified = frozenset(variable.name for variable in variables)
    if not quantified <= set(arguments) and (value.term in quantified or value.reads):
        raise UnsupportedError(f"the effect {effect}, which may give one fluent several values at once")
    return Assignment(
        predicate=reader.vocabulary.fluents.of(fluent, fluent.name),
        arguments=arguments,
        value=value.term,
        condition=_conjoin((condition, *[atom for _, atom in value.reads])),
        variables=(*variables, *[variable for variable, _ in value.reads]),
        quantified=quantified,
    )


def _as_change(assignment: Assignment) -> When:
    return When(
        assignment.condition,
        provides=(Atom(assignment.predicate, (*assignment.arguments, assignment.value)),),
        modifies=(Atom(assignment.predicate, (*assignment.arguments, OPEN)),),
        variables=assignment.variables,
    )


_OPERATORS: Final = {EffectKind.ASSIGN: ":=", EffectKind.INCREASE: "+=", EffectKind.DECREASE: "-="}


@dataclass(frozen=True, slots=True)
class NumericChange:
    """A numeric effect, for all `variables`, where `condition` holds; it ranges over those `quantified`."""

    effect: NumericEffect
    condition: Formula
    variables: tuple[Variable, ...]
    quantified: frozenset[Term]


def _read_numeric_effect(effect: Effect, reader: FormulaReader, earlier: Sequence[NumericChange]) -> NumericChange:
    """Return a numeric effect; of two assignments that give a fluent the same value, only the first happens."""
    operator = _OPERATORS.get(effect.kind)
    if operator is None:
        raise UnsupportedError(f"the effect {effect}, which lasts")
    condition, variables, _ = _read_scope(effect, reader)
    fluent, amount = reader.number(effect.fluent).expression, reader.amount(effect.value)
    assert isinstance(fluent, Atom)
    change = NumericChange(
        NumericEffect(fluent, operator, amount.expression),
        _conjoin((condition, *[atom for _, atom in amount.reads])),
        (*variables, *[variable for variable, _ in amount.reads]),
        frozenset(variable.name for variable in variables),
    )
    if operator != ":=":
        return change
    if not change.quantified <= set(fluent.args) and (_is_read(change.quantified, amount.expression) or amount.reads):
        raise UnsupportedError(f"the effect {effect}, which may give one fluent several values at once")
    rivals = [each for each in earlier if _may_agree(each.effect, change.effect)]
    guards = [Not(_same_value(each, change)) for each in rivals]
    return replace(change, condition=_conjoin((change.condition, *guards)))


def _is_read(variables: frozenset[Term], expression: Expression) -> bool:
    return any(not variables.isdisjoint(term.args) for term in functions_in(expression))


def _may_agree(one: NumericEffect, other: NumericEffect) -> bool:
    """Return whether two assignments that are written differently may give one fluent the same value."""
    if one.fluent.predicate != other.fluent.predicate or one.operator != other.operator or one.value == other.value:
        return False
    return any(True for each in (one, other) for _ in functions_in(each.value))


def _same_value(one: NumericChange, other: NumericChange) -> Formula:
    """Return the condition that `one` happens too, to the same fluent with the same value as `other`."""
    if one.quantified or other.quantified:
        name = one.effect.fluent.predicate
        raise UnsupportedError(f"several assignments to {name} in one action, one of them universal")
    pairs = zip(one.effect.fluent.args, other.effect.fluent.args, strict=True)
    same = [Equals(*pair) for pair in pairs if pair[0] != pair[1]]
    clash = _conjoin((one.condition, *same, Comparison(one.effect.value, "=", other.effect.value)))
    inner = tuple([variable for variable in one.variables if variable not in other.variables])
    return Exists(inner, clash) if inner else clash


def _read_scope(effect: Effect, reader: FormulaReader) -> tuple[Formula, tuple[Variable, ...], tuple[Term, ...]]:
    """Return the condition of `effect`, the variables that it ranges over, and the arguments of its fluent."""
    variables = tuple([reader.variable(item) for item in effect.forall])
    arguments = tuple([value.term for value in reader.values(effect.fluent.args)])
    return reader.formula(effect.condition), variables, arguments


def _consistency_conditions(assignments: Sequence[Assignment]) -> Iterator[Formula]:
    """Yield the conditions under which no two assignments give one fluent two values."""
    for one, other in combinations(assignments, 2):
        if one.predicate != other.predicate or one.value == other.value:
            continue
        if one.quantified or other.quantified:
            raise UnsupportedError(f"several assignments to {one.predicate} in one action, one of them universal")
        same = [Equals(*pair) for pair in zip(one.arguments, other.arguments, strict=True)]
        clash = _conjoin((one.condition, other.condition, *same, Not(Equals(one.value, other.value))))
        variables = tuple(dict.fromkeys((*one.variables, *other.variables)))
        yield Not(Exists(variables, clash) if variables else clash)


def _conjoin(parts: Sequence[Formula]) -> Formula:
    """Return the conjunction of `parts`, flat."""
    return formulas.conjunction(dict.fromkeys(inner for part in parts for inner in formulas.conjuncts(part)))


def _negate(formula: Formula) -> Formula:
    match formula:
        case And(()):
            return FALSE
        case Or(()):
            return TRUE
        case _:
            return Not(formula)

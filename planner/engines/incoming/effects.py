"""Effects of unified-planning as `provides`, `modifies` and `When`.

An assignment to an object fluent, `position(robot) := place`, modifies `position(robot, _)` and provides
`position(robot, place)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from planner.engines.incoming.formulas import FormulaReader
from planner.errors import UnsupportedError
from planner.model import (
    FALSE,
    OPEN,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Formula,
    Literal,
    Not,
    Or,
    Term,
    Variable,
    When,
)
from planner.model.formulas import conjunction, conjuncts

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
    """An action's effects in the words of the model, and what must hold so that no fluent is given two values."""

    provides: tuple[Literal, ...]
    modifies: tuple[Atom, ...]
    when: tuple[When, ...]
    consistent: tuple[Formula, ...]


def read_effects(effects: Sequence[Effect], reader: FormulaReader) -> Effects:
    """Return `effects` in the words of the model.

    Raises `UnsupportedError` for effects on numbers, and where a universal effect might give one fluent several values.
    """
    changes: list[When] = []
    assignments: list[Assignment] = []
    for effect in effects:
        if not effect.is_assignment() or not (effect.fluent.type.is_bool_type() or effect.fluent.type.is_user_type()):
            raise UnsupportedError(f"the numeric effect {effect}")
        if effect.fluent.type.is_bool_type():
            changes += _boolean(effect, reader)
        else:
            assignment = _assignment(effect, reader)
            assignments.append(assignment)
            changes.append(_as_change(assignment))
    plain = [change for change in changes if change.requires == TRUE and not change.variables]
    return Effects(
        provides=tuple([literal for change in plain for literal in change.provides]),
        modifies=tuple([atom for change in plain for atom in change.modifies]),
        when=tuple([change for change in changes if change not in plain]),
        consistent=tuple(_consistency(assignments)),
    )


def _boolean(effect: Effect, reader: FormulaReader) -> Iterator[When]:
    """Yield the change to a boolean fluent: one, or two where its new value is itself a formula."""
    condition, variables, arguments = _scope(effect, reader)
    fluent = effect.fluent.fluent()
    atom = Atom(reader.vocabulary.fluents.of(fluent, fluent.name), arguments)
    value = reader.formula(effect.value)
    for literal, holds in ((atom, value), (Not(atom), _negation(value))):
        if holds != FALSE:
            yield When(_all((condition, holds)), provides=(literal,), variables=variables)


def _assignment(effect: Effect, reader: FormulaReader) -> Assignment:
    condition, variables, arguments = _scope(effect, reader)
    fluent, value = effect.fluent.fluent(), reader.value(effect.value)
    quantified = frozenset(variable.name for variable in variables)
    if not quantified <= set(arguments) and (value.term in quantified or value.reads):
        raise UnsupportedError(f"the effect {effect}, which may give one fluent several values at once")
    return Assignment(
        predicate=reader.vocabulary.fluents.of(fluent, fluent.name),
        arguments=arguments,
        value=value.term,
        condition=_all((condition, *[atom for _, atom in value.reads])),
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


def _scope(effect: Effect, reader: FormulaReader) -> tuple[Formula, tuple[Variable, ...], tuple[Term, ...]]:
    """Return the condition of `effect`, the variables that it ranges over, and the arguments of its fluent."""
    variables = tuple([reader.variable(item) for item in effect.forall])
    arguments = tuple([value.term for value in reader.values(effect.fluent.args)])
    return reader.formula(effect.condition), variables, arguments


def _consistency(assignments: Sequence[Assignment]) -> Iterator[Formula]:
    """Yield what keeps two assignments from giving one fluent two values: there, the action is not applicable."""
    for one, other in combinations(assignments, 2):
        if one.predicate != other.predicate or one.value == other.value:
            continue
        if one.quantified or other.quantified:
            raise UnsupportedError(f"several assignments to {one.predicate} in one action, one of them universal")
        same = [Equals(*pair) for pair in zip(one.arguments, other.arguments, strict=True)]
        clash = _all((one.condition, other.condition, *same, Not(Equals(one.value, other.value))))
        variables = tuple(dict.fromkeys((*one.variables, *other.variables)))
        yield Not(Exists(variables, clash) if variables else clash)


def _all(parts: Sequence[Formula]) -> Formula:
    """Return the conjunction of `parts`, flat."""
    return conjunction(dict.fromkeys(inner for part in parts for inner in conjuncts(part)))


def _negation(formula: Formula) -> Formula:
    match formula:
        case And(()):
            return FALSE
        case Or(()):
            return TRUE
        case _:
            return Not(formula)

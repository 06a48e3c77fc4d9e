"""Formulas and effects of unified-planning as those of the model, and unique names for its elements.

A fluent whose values are objects, `position(robot)`, becomes a predicate with one argument more,
`position(robot, place)`, of which exactly one fact holds for each `robot`. Where the value is used, a variable takes
its place, bound by that predicate: `free(position(robot))` is `exists ?p: position(robot, ?p) and free(?p)`. An
assignment `position(robot) := place` modifies `position(robot, _)` and provides `position(robot, place)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from unified_planning.model import OperatorKind
from unified_planning.model.walkers import DagWalker, handles

from planner.errors import UnsupportedError
from planner.model import formulas
from planner.model.actions import Literal, When
from planner.model.domain import ROOT_TYPE
from planner.model.formulas import (
    FALSE,
    OPEN,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Term,
    Variable,
)

if TYPE_CHECKING:
    from unified_planning.model import Effect, Fluent, FNode, Object, Type

Key = TypeVar("Key", bound=Hashable)


class Names(Generic[Key]):
    """Gives each key a unique name: the wanted name made legal, with a number where it is taken."""

    def __init__(self, legal: Callable[[str], str], taken: Iterable[str] = ()) -> None:
        self._legal = legal
        self._names: dict[Key, str] = {}
        self._keys: dict[str, Key] = {}
        self._taken = set(taken)

    def of(self, key: Key, wish: str) -> str:
        """Return the name of `key`; a new key gets `wish`, or a name like it."""
        if key not in self._names:
            self._names[key] = name = self._free(self._legal(wish))
            self._keys[name] = key
            self._taken.add(name)
        return self._names[key]

    def key(self, name: str) -> Key:
        """Return the key that has `name`. Raises `KeyError` where there is none."""
        return self._keys[name]

    def _free(self, wish: str) -> str:
        name, number = wish, 1
        while name in self._taken:
            number += 1
            name = f"{wish}-{number}"
        return name


def model_name(wish: str) -> str:
    """Return `wish` as a name of the model, where `?x` is a variable and `_` an open argument."""
    return wish if wish not in ("", "_") and not wish.startswith("?") else f"x{wish}"


def variable_name(wish: str) -> str:
    """Return `wish` as a variable of the model."""
    return f"?{wish.removeprefix('?')}"


class Vocabulary:
    """Maps the elements of one problem to names of the model, and back."""

    def __init__(self, user_types: list[Type]) -> None:
        self.actions: Names[Any] = Names(model_name)
        self.objects: Names[Object] = Names(model_name)
        self.fluents: Names[Fluent] = Names(model_name)
        self._types: Names[Type] = Names(model_name, [ROOT_TYPE])
        self._variables: Names[Any] = Names(variable_name)
        self._root = _common_root(user_types)

    def type(self, user_type: Type) -> str:
        """Return the name of `user_type`; a type above all others is the model's root type."""
        return ROOT_TYPE if user_type == self._root else self._types.of(user_type, user_type.name)

    def variable(self, role: str, name: str, user_type: Type) -> Variable:
        """Return the variable for `name`; another `role` (parameter, variable) or type gives another variable."""
        return Variable(self._variables.of((role, name, user_type), name), (self.type(user_type),))

    def fresh(self, key: object, wish: str, user_type: Type) -> Variable:
        """Return the variable that stands for the value of `key`."""
        return Variable(self._variables.of(("value", key), wish), (self.type(user_type),))


def _common_root(user_types: list[Type]) -> Type | None:
    roots = [user_type for user_type in user_types if user_type.father is None]
    return roots[0] if len(roots) == 1 and roots[0].name == ROOT_TYPE else None


TRANSLATED = frozenset(
    {
        OperatorKind.AND,
        OperatorKind.OR,
        OperatorKind.NOT,
        OperatorKind.IMPLIES,
        OperatorKind.IFF,
        OperatorKind.EXISTS,
        OperatorKind.FORALL,
        OperatorKind.FLUENT_EXP,
        OperatorKind.PARAM_EXP,
        OperatorKind.VARIABLE_EXP,
        OperatorKind.OBJECT_EXP,
        OperatorKind.BOOL_CONSTANT,
        OperatorKind.EQUALS,
    }
)


@dataclass(frozen=True, slots=True)
class Value:
    """An object, as a term; `reads` are the object fluents on the way to it, each with the variable of its value."""

    term: Term
    reads: tuple[tuple[Variable, Atom], ...] = ()


class FormulaReader(DagWalker):  # type: ignore[misc]
    """Walks an expression: boolean ones become a `Formula`, those of user types a `Value`."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def formula(self, expression: FNode) -> Formula:
        """Return the formula of a boolean `expression`; raises `UnsupportedError` for what the model cannot express."""
        found: Formula = self.walk(expression)
        return found

    def value(self, expression: FNode) -> Value:
        """Return the value of an `expression` of a user type."""
        found = self.walk(expression)
        if not isinstance(found, Value):
            raise UnsupportedError(f"the value {expression}, which is no object")
        return found

    def values(self, expressions: Iterable[FNode]) -> tuple[Value, ...]:
        """Return the values of several expressions of user types."""
        return tuple([self.value(expression) for expression in expressions])

    def walk_and(self, _: FNode, args: Sequence[Formula]) -> Formula:
        """Return a conjunction."""
        return formulas.conjunction(args)

    def walk_or(self, _: FNode, args: Sequence[Formula]) -> Formula:
        """Return a disjunction."""
        return Or(tuple(args))

    def walk_not(self, _: FNode, args: Sequence[Formula]) -> Formula:
        """Return a negation."""
        return Not(args[0])

    def walk_implies(self, _: FNode, args: Sequence[Formula]) -> Formula:
        """Return an implication."""
        return Imply(args[0], args[1])

    def walk_iff(self, _: FNode, args: Sequence[Formula]) -> Formula:
        """Return an implication each way."""
        return And((Imply(args[0], args[1]), Imply(args[1], args[0])))

    def walk_exists(self, expression: FNode, args: Sequence[Formula]) -> Formula:
        """Return an existential quantifier."""
        return Exists(self._bound(expression), args[0])

    def walk_forall(self, expression: FNode, args: Sequence[Formula]) -> Formula:
        """Return a universal quantifier."""
        return Forall(self._bound(expression), args[0])

    def walk_bool_constant(self, expression: FNode, **_: Any) -> Formula:
        """Return truth or falsity."""
        return TRUE if expression.is_true() else FALSE

    def walk_object_exp(self, expression: FNode, **_: Any) -> Value:
        """Return an object."""
        return Value(self.vocabulary.objects.of(expression.object(), expression.object().name))

    def walk_param_exp(self, expression: FNode, **_: Any) -> Value:
        """Return a parameter."""
        parameter = expression.parameter()
        return Value(self.parameter(parameter).name)

    def walk_variable_exp(self, expression: FNode, **_: Any) -> Value:
        """Return a quantified variable."""
        return Value(self.variable(expression.variable()).name)

    def walk_fluent_exp(self, expression: FNode, args: Sequence[Value]) -> Formula | Value:
        """Return an atom, or the value of an object fluent."""
        fluent, kind = expression.fluent(), expression.type
        if not (kind.is_bool_type() or kind.is_user_type()) or not all(isinstance(value, Value) for value in args):
            raise UnsupportedError(f"the numeric or boolean-valued term {expression} in a condition or effect")
        terms, reads = tuple([value.term for value in args]), _all_reads(args)
        name = self.vocabulary.fluents.of(fluent, fluent.name)
        if kind.is_bool_type():
            return bind_reads(reads, Atom(name, terms))
        variable = self.vocabulary.fresh(expression, f"{fluent.name}-value", kind)
        return Value(variable.name, (*reads, (variable, Atom(name, (*terms, variable.name)))))

    def walk_equals(self, expression: FNode, args: Sequence[Value]) -> Formula:
        """Return an equality of objects; `fluent(x) == y` is the one atom that says so."""
        if not all(isinstance(value, Value) for value in args):
            raise UnsupportedError(f"the numeric comparison {expression}")
        for value, other in (args, args[::-1]):
            if value.reads and not other.reads:
                *before, (variable, atom) = value.reads
                return bind_reads(before, atom.substitute({variable.name: other.term}))
        return bind_reads(_all_reads(args), Equals(args[0].term, args[1].term))

    @handles(set(OperatorKind) - TRANSLATED)  # type: ignore[untyped-decorator]
    def walk_refused(self, expression: FNode, **_: Any) -> Formula:
        """Refuse numeric, temporal and trajectory expressions."""
        raise UnsupportedError(f"the expression {expression} ({expression.node_type.name.lower().replace('_', ' ')})")

    def parameter(self, parameter: Any) -> Variable:
        """Return the variable of an action's parameter."""
        return self._typed("parameter", parameter)

    def variable(self, variable: Any) -> Variable:
        """Return the variable of a quantifier or of a universal effect."""
        return self._typed("variable", variable)

    def _typed(self, role: str, item: Any) -> Variable:
        if not item.type.is_user_type():
            raise UnsupportedError(f"the {role} {item.name} of type {item.type}", "use a user type with objects")
        return self.vocabulary.variable(role, item.name, item.type)

    def _bound(self, expression: FNode) -> tuple[Variable, ...]:
        return tuple([self.variable(variable) for variable in expression.variables()])


def bind_reads(reads: Sequence[tuple[Variable, Atom]], formula: Formula) -> Formula:
    """Bind the variables of the values that `formula` reads, if there are any."""
    if not reads:
        return formula
    return Exists(tuple([variable for variable, _ in reads]), And((*[atom for _, atom in reads], formula)))


def _all_reads(values: Sequence[Value]) -> tuple[tuple[Variable, Atom], ...]:
    """Return the fluents that `values` read, each once, inner ones first."""
    return tuple(dict.fromkeys(read for value in values for read in value.reads))


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
    """An action's effects in the model, and the conditions under which no fluent gets two values."""

    provides: tuple[Literal, ...]
    modifies: tuple[Atom, ...]
    when: tuple[When, ...]
    consistent: tuple[Formula, ...]


def read_effects(effects: Sequence[Effect], reader: FormulaReader) -> Effects:
    """Return `effects` as effects of the model.

    Raises `UnsupportedError` for effects on numbers, and where a universal effect might give one fluent several values.
    """
    changes: list[When] = []
    assignments: list[Assignment] = []
    for effect in effects:
        if not effect.is_assignment() or not (effect.fluent.type.is_bool_type() or effect.fluent.type.is_user_type()):
            raise UnsupportedError(f"the numeric effect {effect}")
        if effect.fluent.type.is_bool_type():
            changes += _read_boolean_effect(effect, reader)
        else:
            assignment = _read_assignment(effect, reader)
            assignments.append(assignment)
            changes.append(_as_change(assignment))
    plain = [change for change in changes if change.requires == TRUE and not change.variables]
    return Effects(
        provides=tuple([literal for change in plain for literal in change.provides]),
        modifies=tuple([atom for change in plain for atom in change.modifies]),
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

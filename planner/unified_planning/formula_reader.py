"""Formulas and numbers of unified-planning as those of the model, and unique names for its elements.

A fluent whose values are objects, `position(robot)`, becomes a predicate with one argument more,
`position(robot, place)`, of which exactly one fact holds for each `robot`. Where the value is used, a variable takes
its place, bound by that predicate: `free(position(robot))` is `exists ?p: position(robot, ?p) and free(?p)`. An
assignment `position(robot) := place` modifies `position(robot, _)` and provides `position(robot, place)`.

A fluent whose values are numbers becomes a function. Numbers are exact: a float stands for the decimal that it prints
as.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from unified_planning.model import OperatorKind
from unified_planning.model.walkers import DagWalker, handles

from planner.errors import UnsupportedError
from planner.model import formulas
from planner.model.arithmetic import as_number, exact_value
from planner.model.domain import ROOT_TYPE
from planner.model.formulas import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Term,
    Variable,
    exact_number,
)

if TYPE_CHECKING:
    from unified_planning.model import Fluent, FNode, Object, Type

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
        OperatorKind.INT_CONSTANT,
        OperatorKind.REAL_CONSTANT,
        OperatorKind.EQUALS,
        OperatorKind.LE,
        OperatorKind.LT,
        OperatorKind.PLUS,
        OperatorKind.MINUS,
        OperatorKind.TIMES,
        OperatorKind.DIV,
    }
)


LARGEST_WRITTEN: Final = 2**32
"""Fractions with larger denominators are taken for floats, since nobody writes them."""


def read_fraction(constant: FNode) -> Fraction:
    """Return an exact number; a fraction that was a float becomes the decimal that the float prints as."""
    value = Fraction(constant.constant_value())
    is_float = value.denominator > LARGEST_WRITTEN and value == Fraction(float(value))
    return Fraction(repr(float(value))) if is_float else value


def read_number(value: Fraction, what: str) -> Number:
    """Return `value` as a number of the model. Raises `UnsupportedError`, which names `what`, where it is none."""
    number = as_number(exact_value(value))
    if number is None:
        raise UnsupportedError(f"{what} {value}, which has no exact decimal", "scale all numbers of its kind")
    try:
        return exact_number(number)
    except ValueError as error:
        raise UnsupportedError(f"{what} {value}: {error}") from None


def read_constant(value: Fraction) -> Expression:
    """Return `value` as an expression: a number, or a quotient where it has no exact decimal."""
    if as_number(exact_value(value)) is not None:
        return read_number(value, "the number")
    parts = [read_number(Fraction(part), "the number") for part in (value.numerator, value.denominator)]
    return Arithmetic("/", tuple(parts))


@dataclass(frozen=True, slots=True)
class Value:
    """An object, as a term; `reads` are the object fluents on the way to it, each with the variable of its value."""

    term: Term
    reads: tuple[tuple[Variable, Atom], ...] = ()


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, as an expression; `reads` are as those of a `Value`."""

    expression: Expression
    reads: tuple[tuple[Variable, Atom], ...] = ()


class FormulaReader(DagWalker):  # type: ignore[misc]
    """Walks an expression: a boolean one becomes a `Formula`, a numeric one an `Amount`, another one a `Value`.

    `numeric_fluents` are those that it has met, by their names in the model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.numeric_fluents: dict[str, Fluent] = {}

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

    def amount(self, expression: FNode) -> Amount:
        """Return the number that an `expression` of a numeric type stands for."""
        found = self.walk(expression)
        assert isinstance(found, Amount)
        return found

    def number(self, expression: FNode) -> Amount:
        """Return the value of a numeric fluent."""
        fluent, values = expression.fluent(), self.values(expression.args)
        name = self.vocabulary.fluents.of(fluent, fluent.name)
        self.numeric_fluents[name] = fluent
        return Amount(Atom(name, tuple([value.term for value in values])), all_reads(values))

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

    def walk_fluent_exp(self, expression: FNode, args: Sequence[Value]) -> Formula | Amount | Value:
        """Return an atom, the value of an object fluent, or that of a numeric one."""
        fluent, kind = expression.fluent(), expression.type
        if not all(isinstance(value, Value) for value in args):
            raise UnsupportedError(f"the term {expression}, one of whose arguments is no object")
        if not (kind.is_bool_type() or kind.is_user_type()):
            return self.number(expression)
        terms, reads = tuple([value.term for value in args]), all_reads(args)
        name = self.vocabulary.fluents.of(fluent, fluent.name)
        if kind.is_bool_type():
            return bind_reads(reads, Atom(name, terms))
        variable = self.vocabulary.fresh(expression, f"{fluent.name}-value", kind)
        return Value(variable.name, (*reads, (variable, Atom(name, (*terms, variable.name)))))

    @handles([OperatorKind.INT_CONSTANT, OperatorKind.REAL_CONSTANT])  # type: ignore[untyped-decorator]
    def walk_number(self, expression: FNode, **_: Any) -> Amount:
        """Return a constant."""
        return Amount(read_constant(read_fraction(expression)))

    def walk_plus(self, _: FNode, args: Sequence[Amount]) -> Amount:
        """Return a sum."""
        return _calculate("+", args)

    def walk_minus(self, _: FNode, args: Sequence[Amount]) -> Amount:
        """Return a difference."""
        return _calculate("-", args)

    def walk_times(self, _: FNode, args: Sequence[Amount]) -> Amount:
        """Return a product."""
        return _calculate("*", args)

    def walk_div(self, _: FNode, args: Sequence[Amount]) -> Amount:
        """Return a quotient."""
        return _calculate("/", args)

    def walk_le(self, _: FNode, args: Sequence[Amount]) -> Formula:
        """Return a comparison of numbers."""
        return _compare("<=", args)

    def walk_lt(self, _: FNode, args: Sequence[Amount]) -> Formula:
        """Return a strict comparison of numbers."""
        return _compare("<", args)

    def walk_equals(self, expression: FNode, args: Sequence[Any]) -> Formula:
        """Return an equality of numbers or objects; `fluent(x) == y` is the one atom that says so for objects."""
        if any(isinstance(value, Amount) for value in args):
            return _compare("=", args)
        if not all(isinstance(value, Value) for value in args):
            raise UnsupportedError(f"the equality {expression}, which is one of truth values")
        for value, other in (args, args[::-1]):
            if value.reads and not other.reads:
                *before, (variable, atom) = value.reads
                return bind_reads(before, atom.substitute({variable.name: other.term}))
        return bind_reads(all_reads(args), Equals(args[0].term, args[1].term))

    @handles(set(OperatorKind) - TRANSLATED)  # type: ignore[untyped-decorator]
    def walk_refused(self, expression: FNode, **_: Any) -> Formula:
        """Refuse temporal and trajectory expressions."""
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


def _calculate(operator: str, parts: Sequence[Amount]) -> Amount:
    """Apply an operator of `Arithmetic`."""
    return Amount(Arithmetic(operator, tuple([part.expression for part in parts])), all_reads(parts))


def _compare(relation: str, sides: Sequence[Any]) -> Formula:
    """Return a comparison of two amounts."""
    left, right = sides
    return bind_reads(all_reads(sides), Comparison(left.expression, relation, right.expression))


def all_reads(values: Iterable[Value | Amount]) -> tuple[tuple[Variable, Atom], ...]:
    """Return the fluents that `values` read, each once, inner ones first."""
    return tuple(dict.fromkeys(read for value in values for read in value.reads))

"""Formulas of the model as expressions of unified-planning, and the tree of its types.

Formulas are walked bottom-up without recursion, so that they may nest deeply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeVar

from unified_planning.model import Variable as ForeignVariable

from planner.model import formulas
from planner.model.domain import ROOT_TYPE
from planner.model.formulas import (
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
)

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import Fluent, FNode, Type

Meaning = TypeVar("Meaning")


def walk_bottom_up(
    formula: Formula, scope: Mapping[Term, Meaning], meaning: Callable[[Variable], Meaning]
) -> Iterator[tuple[Formula, Mapping[Term, Meaning]]]:
    """Yield every part of `formula`, inner parts first, with its scope: inner variables hide outer ones."""
    stack = [(formula, scope, False)]
    while stack:
        current, outer, done = stack.pop()
        if done:
            yield current, outer
            continue
        stack.append((current, outer, True))
        inner = outer
        if isinstance(current, Exists | Forall):
            inner = {**outer, **{variable.name: meaning(variable) for variable in current.variables}}
        stack.extend((part, inner, False) for part in reversed(formulas.children(current)))


class Types:
    """A tree of types: each has at most one parent."""

    def __init__(self, types: Mapping[str, tuple[str, ...]], environment: Environment) -> None:
        self._parents = types
        self._manager = environment.type_manager

    def of(self, name: str) -> Type:
        """Return the type called `name` in the model."""
        father: Any = None
        for step in self._path(name):
            father = self._manager.UserType(step, father)
        return father

    def lowest(self, names: Iterable[str]) -> str:
        """Return the lowest type above all of `names`."""
        return reduce(self._meet, names)

    def _meet(self, one: str, other: str) -> str:
        shared = [name for name, twin in zip(self._path(one), self._path(other), strict=False) if name == twin]
        return shared[-1]

    def _path(self, name: str) -> list[str]:
        """Return the types from the root down to `name`."""
        path = [name]
        while path[-1] != ROOT_TYPE:
            path.append(next(iter(self._parents.get(path[-1], ())), ROOT_TYPE))
        return path[::-1]


Scope = Mapping[Term, Any]
"""The expression that stands for each variable."""

_CONNECTIVES: Final[dict[type, str]] = {Not: "Not", And: "And", Or: "Or", Imply: "Implies"}
_RELATIONS: Final = {"<": "LT", "<=": "LE", "=": "Equals", ">=": "GE", ">": "GT"}
_OPERATORS: Final = {"+": "Plus", "-": "Minus", "*": "Times", "/": "Div"}


class FormulaWriter:
    """Writes formulas over `fluents`, which the caller adds by name, and the objects of `add_object`."""

    def __init__(self, environment: Environment, types: Types) -> None:
        self._environment = environment
        self._manager = environment.expression_manager
        self._types = types
        self.fluents: dict[str, Fluent] = {}
        self._objects: dict[str, FNode] = {}
        self._inhabited: set[Type] = set()

    def add_object(self, name: str, expression: FNode) -> None:
        """Add an object. Add all objects before writing formulas."""
        self._objects[name] = expression
        self._inhabited.update(expression.type.ancestors)

    def has_instance(self, variables: Iterable[Variable]) -> bool:
        """Return whether there is an object for each of `variables`.

        unified-planning drops quantified variables that the body does not mention, though without an object `forall` is
        true, `exists` is false and a universal effect changes nothing.
        """
        return all(self._types.of(each.types[0]) in self._inhabited for each in variables)

    def formula(self, formula: Formula, scope: Scope) -> FNode:
        """Return the expression of `formula`, simplified."""
        done: list[FNode] = []
        for part, inner in walk_bottom_up(formula, scope, self.variable):
            count = len(formulas.children(part))
            parts = done[len(done) - count :]
            done[len(done) - count :] = [self._combine(part, parts, inner)]
        return done[0].simplify()

    def atom(self, atom: Atom, scope: Scope) -> FNode:
        """Return the fluent expression of `atom`."""
        return self._manager.FluentExp(self.fluents[atom.predicate], [self.term(term, scope) for term in atom.args])

    def number(self, number: Number) -> FNode:
        """Return a number exactly."""
        return self._manager.Int(int(number)) if number % 1 == 0 else self._manager.Real(Fraction(number))

    def expression(self, expression: Expression, scope: Scope) -> FNode:
        """Return a numeric expression."""
        match expression:
            case Atom():
                return self.atom(expression, scope)
            case Arithmetic("-", (operand,)):
                return self._manager.Times(self._manager.Int(-1), self.expression(operand, scope))
            case Arithmetic("-", (first, *others)):
                parts = [self.expression(each, scope) for each in (first, *others)]
                return reduce(self._manager.Minus, parts)
            case Arithmetic(operator, operands):
                return getattr(self._manager, _OPERATORS[operator])(*[self.expression(x, scope) for x in operands])
            case _:
                return self.number(expression)

    def variable(self, variable: Variable) -> FNode:
        """Return the expression of a quantified variable."""
        kind = self._types.of(variable.types[0])
        return self._manager.VariableExp(ForeignVariable(variable.name.removeprefix("?"), kind, self._environment))

    def term(self, term: Term, scope: Scope) -> FNode:
        """Return the expression of a variable or an object."""
        return scope[term] if formulas.is_variable(term) else self._objects[term]

    def _combine(self, formula: Formula, parts: list[FNode], scope: Scope) -> FNode:
        match formula:
            case Atom():
                return self.atom(formula, scope)
            case Equals(left, right):
                return self._equality(self.term(left, scope), self.term(right, scope))
            case Comparison(left, relation, right):
                sides = self.expression(left, scope), self.expression(right, scope)
                return getattr(self._manager, _RELATIONS[relation])(*sides)
            case Exists(variables, _) | Forall(variables, _) if not self.has_instance(variables):
                return self._manager.Bool(isinstance(formula, Forall))
            case Exists(variables, _) | Forall(variables, _):
                bound = [self.variable(variable).variable() for variable in variables]
                quantifier = self._manager.Exists if isinstance(formula, Exists) else self._manager.Forall
                return quantifier(parts[0], *bound)
            case _:
                return getattr(self._manager, _CONNECTIVES[type(formula)])(*parts)

    def _equality(self, left: FNode, right: FNode) -> FNode:
        """Return an equality, or its value where that is known: unified-planning compares no unrelated types."""
        if left == right:
            return self._manager.TRUE()
        related = left.type.is_compatible(right.type) or right.type.is_compatible(left.type)
        if not related or (left.is_object_exp() and right.is_object_exp()):
            return self._manager.FALSE()
        return self._manager.Equals(left, right)

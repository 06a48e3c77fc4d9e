"""Conditions of unified-planning as formulas of the model.

A fluent whose values are objects, `position(robot)`, becomes a predicate with one argument more,
`position(robot, place)`, of which exactly one fact holds for each `robot`. Where the value is used, a variable takes
its place, bound by that predicate: `free(position(robot))` is `exists ?p: position(robot, ?p) and free(?p)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unified_planning.model import OperatorKind
from unified_planning.model.walkers import DagWalker, handles

from planner.engines.incoming.vocabulary import Vocabulary
from planner.errors import UnsupportedError
from planner.model import (
    FALSE,
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
from planner.model.formulas import conjunction

if TYPE_CHECKING:
    from unified_planning.model import FNode

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
        """Return the formula of a boolean `expression`; raise `UnsupportedError` for what the model has no word for."""
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
        return conjunction(args)

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
            return under(reads, Atom(name, terms))
        variable = self.vocabulary.fresh(expression, f"{fluent.name}-value", kind)
        return Value(variable.name, (*reads, (variable, Atom(name, (*terms, variable.name)))))

    def walk_equals(self, expression: FNode, args: Sequence[Value]) -> Formula:
        """Return an equality of objects; `fluent(x) == y` is the one atom that says so."""
        if not all(isinstance(value, Value) for value in args):
            raise UnsupportedError(f"the numeric comparison {expression}")
        for value, other in (args, args[::-1]):
            if value.reads and not other.reads:
                *before, (variable, atom) = value.reads
                return under(before, atom.substitute({variable.name: other.term}))
        return under(_all_reads(args), Equals(args[0].term, args[1].term))

    @handles(set(OperatorKind) - TRANSLATED)  # type: ignore[untyped-decorator]
    def walk_refused(self, expression: FNode, **_: Any) -> Formula:
        """Refuse what is numeric, temporal or about whole trajectories."""
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


def under(reads: Sequence[tuple[Variable, Atom]], formula: Formula) -> Formula:
    """Return `formula` under the values that it reads: itself where there are none."""
    if not reads:
        return formula
    return Exists(tuple([variable for variable, _ in reads]), And((*[atom for _, atom in reads], formula)))


def _all_reads(values: Sequence[Value]) -> tuple[tuple[Variable, Atom], ...]:
    """Return what `values` read, each once, inner ones first."""
    return tuple(dict.fromkeys(read for value in values for read in value.reads))

"""Action costs of unified-planning as cost terms of the model.

The initial values of a unified-planning problem's fluents.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from unified_planning.model import OperatorKind
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.model.walkers import DagWalker, handles

from planner.errors import InputError, UnsupportedError
from planner.model import Atom, CostFunction, CostTerm, Function, Metric, Number, Variable
from planner.model.formulas import exact_number
from planner.unified_planning.incoming.formulas import FormulaReader

if TYPE_CHECKING:
    from unified_planning.model import Fluent, FNode, Object, Problem


class InitialValues:
    """Looks up initial values by fluent: those given for some arguments, and the default for all others."""

    def __init__(self, source: Problem) -> None:
        self._source = source
        self._given: dict[Fluent, dict[tuple[Object, ...], FNode]] = defaultdict(dict)
        for expression, value in source.explicit_initial_values.items():
            arguments = tuple([argument.object() for argument in expression.args])
            self._given[expression.fluent()][arguments] = value

    def get(self, fluent: Fluent, arguments: tuple[Object, ...]) -> FNode | None:
        """Return the value of one instance; None where it is undefined."""
        return self._given.get(fluent, {}).get(arguments, self._source.fluents_defaults.get(fluent))

    def of(self, fluent: Fluent) -> Iterator[tuple[tuple[Object, ...], FNode]]:
        """Yield arguments and value of every instance of `fluent` that is neither undefined nor false by default."""
        given = self._given.get(fluent, {})
        yield from given.items()
        default = self._source.fluents_defaults.get(fluent)
        if default is None or default.is_false():
            return
        objects = [list(self._source.objects(parameter.type)) for parameter in fluent.signature]
        for arguments in product(*objects):
            if arguments not in given:
                yield arguments, default


LARGEST_WRITTEN: Final = 2**32
"""Fractions with larger denominators, powers of two, nobody writes: they were floats."""


class CostReader:
    """Reads the metric of a problem; `functions` and `values` are the static functions that its costs use."""

    def __init__(self, source: Problem, reader: FormulaReader, initial: InitialValues) -> None:
        self._source = source
        self._reader = reader
        self._initial = initial
        self._costs = _cost_metric(source)
        self.functions: dict[str, Function] = {}
        self.values: dict[Atom, Number] = {}

    @property
    def metric(self) -> Metric:
        """What a plan's cost is; without a metric, its length."""
        return Metric.LENGTH if self._costs is None else Metric.COST

    def cost(self, action: Any) -> tuple[CostTerm, ...]:
        """Return the cost of `action`; raise `UnsupportedError` where it is negative or changes with the state."""
        if self._costs is None:
            return (1,)
        expression = self._costs.get_action_cost(action)
        if expression is None and not _may_occur(action, self._source):
            return (0,)
        if expression is None:
            raise UnsupportedError(f"the action {action.name} without a cost", "give the metric a default cost")
        parts = list(_summands(expression))
        if all(part.is_constant() or _is_lookup(part) for part in parts):
            return tuple([self._term(part) for part in parts])
        return (CostFunction(self._computed(action, expression)),)

    def _term(self, part: FNode) -> CostTerm:
        if part.is_constant():
            return _number(part)
        fluent = part.fluent()
        name = self._reader.vocabulary.fluents.of(fluent, fluent.name)
        if name not in self.functions:
            self.functions[name] = Function(name, _parameters(fluent, self._reader))
            self.values.update(self._table(name, fluent))
        return Atom(name, tuple([value.term for value in self._reader.values(part.args)]))

    def _table(self, name: str, fluent: Fluent) -> Iterator[tuple[Atom, Number]]:
        objects = self._reader.vocabulary.objects
        for arguments, value in self._initial.of(fluent):
            yield Atom(name, tuple([objects.of(item, item.name) for item in arguments])), _number(value)

    def _computed(self, action: Any, expression: FNode) -> Callable[..., Number]:
        """Return the function that computes an `expression` that is no sum, from the names of the arguments."""
        evaluator, objects = _Evaluator(self._initial), self._reader.vocabulary.objects

        def cost(*names: str) -> Number:
            arguments = [objects.key(name) for name in names]
            instance = expression.substitute(dict(zip(action.parameters, arguments, strict=True)))
            return _as_number(evaluator.walk(instance))

        return cost


def _may_occur(action: Any, source: Any) -> bool:
    """Return whether plans may have `action`: those of tasks have only what methods and the first network name."""
    if not isinstance(source, HierarchicalProblem):
        return True
    networks = [*source.methods, source.task_network]
    return any(subtask.task == action for network in networks for subtask in network.subtasks)


class _Evaluator(DagWalker):  # type: ignore[misc]
    """Computes expressions over constants and static fluents."""

    def __init__(self, initial: InitialValues) -> None:
        super().__init__()
        self._initial = initial

    def walk_fluent_exp(self, expression: FNode, **_: Any) -> Fraction:
        """Return the value of a static fluent."""
        arguments = tuple([argument.object() for argument in expression.args])
        value = self._initial.get(expression.fluent(), arguments)
        if value is None:
            raise InputError(f"{expression}, of which a cost is computed, has no value")
        return _fraction(value)

    @handles([OperatorKind.INT_CONSTANT, OperatorKind.REAL_CONSTANT])  # type: ignore[untyped-decorator]
    def walk_number(self, expression: FNode, **_: Any) -> Fraction:
        """Return a constant."""
        return _fraction(expression)

    @handles([OperatorKind.PARAM_EXP, OperatorKind.OBJECT_EXP])  # type: ignore[untyped-decorator]
    def walk_argument(self, expression: FNode, **_: Any) -> FNode:
        """Return an argument as it is: the fluent looks it up."""
        return expression

    def walk_plus(self, _: FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a sum."""
        return sum(args, start=Fraction(0))

    def walk_minus(self, _: FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a difference."""
        return args[0] - args[1]

    def walk_times(self, _: FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a product."""
        return math.prod(args, start=Fraction(1))

    def walk_div(self, expression: FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a quotient."""
        if not args[1]:
            raise InputError(f"{expression}, of which a cost is computed, divides by zero")
        return args[0] / args[1]


def _cost_metric(source: Problem) -> Any:
    """Return the cost metric of `source`, or None where the length of plans counts or nothing does."""
    for metric in source.quality_metrics:
        if metric.is_minimize_action_costs():
            return metric
        if not metric.is_minimize_sequential_plan_length():
            raise UnsupportedError(f"the metric: {metric}", "action costs and plan length can be minimised")
    return None


def _summands(expression: FNode) -> Iterator[FNode]:
    stack = [expression]
    while stack:
        current = stack.pop()
        if current.is_plus():
            stack.extend(reversed(current.args))
        else:
            yield current


def _is_lookup(part: FNode) -> bool:
    return part.is_fluent_exp() and not any(argument.is_fluent_exp() for argument in part.args)


def _parameters(fluent: Fluent, reader: FormulaReader) -> tuple[Variable, ...]:
    return tuple([reader.parameter(parameter) for parameter in fluent.signature])


def _fraction(constant: FNode) -> Fraction:
    """Return an exact number, where a fraction that only a float can be is what that float prints as."""
    value = Fraction(constant.constant_value())
    is_float = value.denominator > LARGEST_WRITTEN and value == Fraction(float(value))
    return Fraction(repr(float(value))) if is_float else value


def _number(constant: FNode) -> Number:
    return _as_number(_fraction(constant))


def _as_number(value: Fraction) -> Number:
    """Return an exact number; raise `UnsupportedError` where it is negative or no decimal."""
    if value < 0:
        raise UnsupportedError(f"the negative cost {value}")
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(decimal) != value:
        raise UnsupportedError(f"the cost {value}, which has no exact decimal", "scale all costs")
    try:
        return exact_number(decimal)
    except ValueError as error:
        raise UnsupportedError(f"the cost {value}: {error}") from None

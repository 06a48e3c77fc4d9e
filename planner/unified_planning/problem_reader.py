"""Problems of unified-planning as problems of the model: `from_unified_planning` reads them, and plans map both ways.

Names stay as far as they are legal, costs become cost terms, and invariants become conditions of all actions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from unified_planning.model import InstantaneousAction, OperatorKind
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.model.walkers import DagWalker, handles
from unified_planning.plans import ActionInstance, SequentialPlan

from planner.errors import InputError, UnsupportedError
from planner.model.actions import Action, CostFunction, CostTerm
from planner.model.domain import DomainModel, Function, Predicate
from planner.model.formulas import Atom, Formula, Number, Object, Variable, conjunction, conjuncts, exact_number
from planner.model.problem import Goal, Metric, Problem, seal
from planner.plan import Plan, Step
from planner.unified_planning.formula_reader import FormulaReader, Vocabulary, read_effects
from planner.unified_planning.problem_features import SUPPORTED, OtherIncoming, converter, describe_features
from planner.validation.validate import validate
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    import unified_planning.model as up
    from unified_planning.plans import Plan as ForeignPlan


@dataclass(frozen=True, slots=True)
class Incoming:
    """A problem of the model, made from `source`, with the way back for plans."""

    problem: Problem
    source: up.Problem
    vocabulary: Vocabulary

    def plan(self, plan: Plan | Iterable[Step]) -> SequentialPlan:
        """Return `plan`, or its steps, as a plan for `source`."""
        steps = plan.steps if isinstance(plan, Plan) else plan
        return SequentialPlan([self.instance(step) for step in steps], self.source.environment)

    def steps(self, plan: ForeignPlan) -> tuple[Step, ...]:
        """Return a sequential plan for `source` as steps without costs."""
        return tuple([self.step(instance) for instance in plan.actions])

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Check a sequential plan for `source`."""
        return validate(self.problem, self.steps(plan))

    def instance(self, step: Step) -> ActionInstance:
        """Return `step` as an action of a plan for `source`."""
        return ActionInstance(self.vocabulary.actions.key(step.action), self.arguments(step.arguments))

    def arguments(self, names: Iterable[str]) -> tuple[up.FNode, ...]:
        """Return the objects with these `names` in the model as arguments in `source`."""
        manager = self.source.environment.expression_manager
        return tuple([manager.ObjectExp(self.vocabulary.objects.key(name)) for name in names])

    def step(self, instance: ActionInstance) -> Step:
        """Return an action of a plan for `source` as a step without cost."""
        action = self.vocabulary.actions.of(instance.action, instance.action.name)
        return Step(action, self.names(instance.actual_parameters))

    def names(self, arguments: Iterable[up.FNode]) -> tuple[str, ...]:
        """Return the names in the model of the objects `arguments`."""
        objects = [argument.object() for argument in arguments]
        return tuple([self.vocabulary.objects.of(item, item.name) for item in objects])


AnyIncoming = Incoming | OtherIncoming


def from_unified_planning(source: up.Problem) -> AnyIncoming:
    """Return `source` as a problem of the model, with plans mapped both ways.

    A hierarchical problem becomes an `HtnProblem` (see `planner.unified_planning.problem_features`). Raises
    `UnsupportedError`, which names the construct, for numeric fluents outside costs, time, soft goals, several agents,
    trajectory constraints other than invariants, and undefined initial values.
    """
    features = frozenset(source.kind.features)
    other = converter(features)
    if other is not None:
        found: OtherIncoming = other.from_unified_planning(source)
        return found
    return Reading(source, features).result()


class Reading:
    """Reads one problem. Raises `UnsupportedError` for `features` that classical problems do not have."""

    def __init__(self, source: up.Problem, features: Iterable[str]) -> None:
        missing = set(features) - SUPPORTED
        if missing:
            raise UnsupportedError(describe_features(missing), "another unified-planning engine may take it")
        self._source = source
        self._vocabulary = Vocabulary(source.user_types)
        self.reader = FormulaReader(self._vocabulary)
        self._initial = InitialValues(source)
        self._costs = CostReader(source, self.reader, self._initial)
        self._always = [part for item in source.state_invariants for part in conjuncts(self.reader.formula(item))]

    def result(self) -> Incoming:
        """Return the problem; of a hierarchical one, the classical part."""
        actions = [self._action(action) for action in self._source.actions]
        symbolic = [fluent for fluent in self._source.fluents if _is_symbolic(fluent)]
        domain = DomainModel(
            name=self._source.name or "problem",
            types={name: parents for name, parents in map(self._type, self._source.user_types) if parents is not None},
            predicates={predicate.name: predicate for predicate in map(self._predicate, symbolic)},
            functions=self._costs.functions,
            actions={action.name: action for action in actions},
        )
        problem = Problem(
            name=domain.name,
            domain=domain,
            objects=tuple([self._object(item) for item in self._source.all_objects]),
            initial=tuple([fact for fluent in symbolic for fact in self._facts(fluent)]),
            goal=Goal(self._all(self._source.goals)),
            values=self._costs.values,
            metric=self._costs.metric,
        )
        return Incoming(seal(problem), self._source, self._vocabulary)

    def _type(self, user_type: Any) -> tuple[str, tuple[str, ...] | None]:
        name = self._vocabulary.type(user_type)
        if user_type.father is None:
            return name, None if name == "object" else ()
        return name, (self._vocabulary.type(user_type.father),)

    def _object(self, item: up.Object) -> Object:
        return Object(self._vocabulary.objects.of(item, item.name), (self._vocabulary.type(item.type),))

    def _predicate(self, fluent: up.Fluent) -> Predicate:
        parameters = [self.reader.parameter(parameter) for parameter in fluent.signature]
        if fluent.type.is_user_type():
            parameters.append(self._vocabulary.fresh(fluent, "value", fluent.type))
        return Predicate(self._vocabulary.fluents.of(fluent, fluent.name), tuple(parameters))

    def _facts(self, fluent: up.Fluent) -> Iterator[Atom]:
        name, objects = self._vocabulary.fluents.of(fluent, fluent.name), self._vocabulary.objects
        for arguments, value in self._initial.of(fluent):
            named = arguments if fluent.type.is_bool_type() else (*arguments, value.object())
            if not value.is_false():
                yield Atom(name, tuple([objects.of(item, item.name) for item in named]))

    def _action(self, action: Any) -> Action:
        if not isinstance(action, InstantaneousAction) or action.simulated_effect is not None:
            raise UnsupportedError(f"the action {action.name}, which has effects in time or computed by a function")
        parameters: tuple[Variable, ...] = tuple([self.reader.parameter(item) for item in action.parameters])
        effects = read_effects(action.effects, self.reader)
        return Action(
            name=self._vocabulary.actions.of(action, action.name),
            parameters=parameters,
            requires=self._all(action.preconditions, effects.consistent),
            provides=effects.provides,
            modifies=effects.modifies,
            when=effects.when,
            cost=self._costs.cost(action),
        )

    def _all(self, conditions: Iterable[up.FNode], more: Iterable[Formula] = ()) -> Formula:
        """Return the conjunction of `conditions`, `more`, and the invariants of the problem."""
        parts = [part for condition in conditions for part in conjuncts(self.reader.formula(condition))]
        return conjunction(dict.fromkeys((*parts, *more, *self._always)))


def _is_symbolic(fluent: up.Fluent) -> bool:
    kind = fluent.type
    return bool(kind.is_bool_type() or kind.is_user_type())


class InitialValues:
    """The initial values of fluents: those given for some arguments, and the default for all others."""

    def __init__(self, source: up.Problem) -> None:
        self._source = source
        self._given: dict[up.Fluent, dict[tuple[up.Object, ...], up.FNode]] = defaultdict(dict)
        for expression, value in source.explicit_initial_values.items():
            arguments = tuple([argument.object() for argument in expression.args])
            self._given[expression.fluent()][arguments] = value

    def get(self, fluent: up.Fluent, arguments: tuple[up.Object, ...]) -> up.FNode | None:
        """Return the value of one instance; None where it is undefined."""
        return self._given.get(fluent, {}).get(arguments, self._source.fluents_defaults.get(fluent))

    def of(self, fluent: up.Fluent) -> Iterator[tuple[tuple[up.Object, ...], up.FNode]]:
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
"""Fractions with larger denominators are taken for floats, since nobody writes them."""


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
        """The metric of the problem; without one, the length of plans."""
        return Metric.LENGTH if self._costs is None else Metric.COST

    def cost(self, action: Any) -> tuple[CostTerm, ...]:
        """Return the cost of `action`. Raises `UnsupportedError` if it is negative or depends on the state."""
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

    def _term(self, part: up.FNode) -> CostTerm:
        if part.is_constant():
            return _number(part)
        fluent = part.fluent()
        name = self._reader.vocabulary.fluents.of(fluent, fluent.name)
        if name not in self.functions:
            self.functions[name] = Function(name, _parameters(fluent, self._reader))
            self.values.update(self._table(name, fluent))
        return Atom(name, tuple([value.term for value in self._reader.values(part.args)]))

    def _table(self, name: str, fluent: up.Fluent) -> Iterator[tuple[Atom, Number]]:
        objects = self._reader.vocabulary.objects
        for arguments, value in self._initial.of(fluent):
            yield Atom(name, tuple([objects.of(item, item.name) for item in arguments])), _number(value)

    def _computed(self, action: Any, expression: up.FNode) -> Callable[..., Number]:
        """Return the function that computes the cost `expression` from the names of the arguments."""
        evaluator, objects = _Evaluator(self._initial), self._reader.vocabulary.objects

        def cost(*names: str) -> Number:
            arguments = [objects.key(name) for name in names]
            instance = expression.substitute(dict(zip(action.parameters, arguments, strict=True)))
            return _as_number(evaluator.walk(instance))

        return cost


def _may_occur(action: Any, source: Any) -> bool:
    """Return whether plans may contain `action`; in a hierarchical problem, a task network must name it."""
    if not isinstance(source, HierarchicalProblem):
        return True
    networks = [*source.methods, source.task_network]
    return any(subtask.task == action for network in networks for subtask in network.subtasks)


class _Evaluator(DagWalker):  # type: ignore[misc]
    """Computes expressions over constants and static fluents."""

    def __init__(self, initial: InitialValues) -> None:
        super().__init__()
        self._initial = initial

    def walk_fluent_exp(self, expression: up.FNode, **_: Any) -> Fraction:
        """Return the value of a static fluent."""
        arguments = tuple([argument.object() for argument in expression.args])
        value = self._initial.get(expression.fluent(), arguments)
        if value is None:
            raise InputError(f"{expression}, of which a cost is computed, has no value")
        return _fraction(value)

    @handles([OperatorKind.INT_CONSTANT, OperatorKind.REAL_CONSTANT])  # type: ignore[untyped-decorator]
    def walk_number(self, expression: up.FNode, **_: Any) -> Fraction:
        """Return a constant."""
        return _fraction(expression)

    @handles([OperatorKind.PARAM_EXP, OperatorKind.OBJECT_EXP])  # type: ignore[untyped-decorator]
    def walk_argument(self, expression: up.FNode, **_: Any) -> up.FNode:
        """Return an argument as it is: the fluent looks it up."""
        return expression

    def walk_plus(self, _: up.FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a sum."""
        return sum(args, start=Fraction(0))

    def walk_minus(self, _: up.FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a difference."""
        return args[0] - args[1]

    def walk_times(self, _: up.FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a product."""
        return math.prod(args, start=Fraction(1))

    def walk_div(self, expression: up.FNode, args: Sequence[Fraction]) -> Fraction:
        """Return a quotient."""
        if not args[1]:
            raise InputError(f"{expression}, of which a cost is computed, divides by zero")
        return args[0] / args[1]


def _cost_metric(source: up.Problem) -> Any:
    """Return the cost metric of `source`, or None where the length of plans counts or nothing does."""
    for metric in source.quality_metrics:
        if metric.is_minimize_action_costs():
            return metric
        if not metric.is_minimize_sequential_plan_length():
            raise UnsupportedError(f"the metric: {metric}", "action costs and plan length can be minimised")
    return None


def _summands(expression: up.FNode) -> Iterator[up.FNode]:
    stack = [expression]
    while stack:
        current = stack.pop()
        if current.is_plus():
            stack.extend(reversed(current.args))
        else:
            yield current


def _is_lookup(part: up.FNode) -> bool:
    return part.is_fluent_exp() and not any(argument.is_fluent_exp() for argument in part.args)


def _parameters(fluent: up.Fluent, reader: FormulaReader) -> tuple[Variable, ...]:
    return tuple([reader.parameter(parameter) for parameter in fluent.signature])


def _fraction(constant: up.FNode) -> Fraction:
    """Return an exact number; a fraction that was a float becomes the decimal that the float prints as."""
    value = Fraction(constant.constant_value())
    is_float = value.denominator > LARGEST_WRITTEN and value == Fraction(float(value))
    return Fraction(repr(float(value))) if is_float else value


def _number(constant: up.FNode) -> Number:
    return _as_number(_fraction(constant))


def _as_number(value: Fraction) -> Number:
    """Return an exact number. Raises `UnsupportedError` if it is negative or no decimal."""
    if value < 0:
        raise UnsupportedError(f"the negative cost {value}")
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(decimal) != value:
        raise UnsupportedError(f"the cost {value}, which has no exact decimal", "scale all costs")
    try:
        return exact_number(decimal)
    except ValueError as error:
        raise UnsupportedError(f"the cost {value}: {error}") from None

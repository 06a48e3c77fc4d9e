"""Classical and numeric problems of unified-planning as problems of the model, and the way back for plans.

Names stay as far as they are legal, costs become cost terms, and invariants become conditions of all actions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from unified_planning.model import InstantaneousAction
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.plans import ActionInstance, SequentialPlan

from planner.errors import InputError, UnsupportedError
from planner.language.pddl.pddl_costs import TOTAL_AS_FUNCTION
from planner.model.actions import Action, CostTerm, NumericEffect, When
from planner.model.domain import DomainModel, Function, Predicate
from planner.model.formulas import TRUE, Atom, Formula, Number, Object, Variable, conjunction, conjuncts
from planner.model.problem import Goal, Metric, NumericMetric, Problem, seal
from planner.model.timing import TOTAL_TIME
from planner.plan import Plan, Step
from planner.unified_planning.effect_reader import read_effects
from planner.unified_planning.formula_reader import FormulaReader, Vocabulary, read_fraction, read_number
from planner.unified_planning.problem_features import SUPPORTED, describe_features
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


class Reading:
    """Reads one problem. Raises `UnsupportedError` for `features` that it does not take."""

    taken = SUPPORTED

    def __init__(self, source: up.Problem, features: Iterable[str]) -> None:
        missing = set(features) - self.taken
        if missing:
            raise UnsupportedError(describe_features(missing), "another unified-planning engine may take it")
        self._source = source
        self._vocabulary = Vocabulary(source.user_types)
        self.reader = FormulaReader(self._vocabulary)
        self._initial = InitialValues(source)
        self._costs = CostReader(source, self.reader)
        self._always = [part for item in source.state_invariants for part in conjuncts(self.reader.formula(item))]

    def result(self) -> Incoming:
        """Return the problem; of a hierarchical one, the classical part."""
        actions = [self._action(action) for action in self._source.actions]
        goal, metric = self._all(self._source.goals), self._costs.metric
        symbolic = [fluent for fluent in self._source.fluents if _is_symbolic(fluent)]
        functions = list(map(self._function, self.reader.numeric_fluents))
        values = {term: number for name in self.reader.numeric_fluents for term, number in self._values(name)}
        if self._costs.total is not None:
            functions.append(Function(self._costs.total.predicate))
            values[self._costs.total] = 0
        domain = DomainModel(
            name=self._source.name or "problem",
            types={name: parents for name, parents in map(self._type, self._source.user_types) if parents is not None},
            predicates={predicate.name: predicate for predicate in map(self._predicate, symbolic)},
            functions={function.name: function for function in functions},
            actions={action.name: action for action in actions},
        )
        problem = Problem(
            name=domain.name,
            domain=domain,
            objects=tuple([self._object(item) for item in self._source.all_objects]),
            initial=tuple([fact for fluent in symbolic for fact in self._facts(fluent)]),
            goal=Goal(goal),
            values=values,
            metric=metric,
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

    def _function(self, name: str) -> Function:
        fluent = self.reader.numeric_fluents[name]
        low, high = [
            None if bound is None else read_number(Fraction(bound), f"the bound of {fluent.name}:")
            for bound in (fluent.type.lower_bound, fluent.type.upper_bound)
        ]
        return Function(name, tuple([self.reader.parameter(parameter) for parameter in fluent.signature]), low, high)

    def _values(self, name: str) -> Iterator[tuple[Atom, Number]]:
        fluent, objects = self.reader.numeric_fluents[name], self._vocabulary.objects
        low, high = fluent.type.lower_bound, fluent.type.upper_bound
        for arguments, constant in self._initial.of(fluent):
            term = Atom(name, tuple([objects.of(item, item.name) for item in arguments]))
            value = read_fraction(constant)
            if (low is not None and value < low) or (high is not None and value > high):
                raise InputError(f"the initial value {value} of {term} is outside its bounds, {low} to {high}")
            yield term, read_number(value, f"the initial value of {term}:")

    def _action(self, action: Any) -> Action:
        if not isinstance(action, InstantaneousAction) or action.simulated_effect is not None:
            raise UnsupportedError(f"the action {action.name}, which has effects in time or computed by a function")
        parameters: tuple[Variable, ...] = tuple([self.reader.parameter(item) for item in action.parameters])
        effects = read_effects(action.effects, self.reader)
        charged = self._costs.effects(action)
        return Action(
            name=self._vocabulary.actions.of(action, action.name),
            parameters=parameters,
            requires=self._all(action.preconditions, effects.consistent),
            provides=effects.provides,
            modifies=effects.modifies,
            when=(*effects.when, *[when for when in charged if when.requires != TRUE]),
            cost=self._costs.cost(action),
            numbers=(*effects.numbers, *[each for when in charged if when.requires == TRUE for each in when.numbers]),
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


class CostReader:
    """Reads the metric of a problem.

    Costs that are sums of static values are those of actions. Where a cost depends on the state, all are added up in a
    numeric fluent, `total`, which is to be least.
    """

    def __init__(self, source: up.Problem, reader: FormulaReader) -> None:
        self._source = source
        self._reader = reader
        self._metric = _only_metric(source)
        is_cost = self._metric is not None and self._metric.is_minimize_action_costs()
        self._costs: Any = self._metric if is_cost else None
        self._static = source.get_static_fluents()
        depends = self._costs is not None and any(map(self._depends_on_state, map(self._expression, self._actions())))
        self.total = Atom(reader.vocabulary.fluents.of(self, TOTAL_AS_FUNCTION)) if depends else None

    @property
    def metric(self) -> Metric | NumericMetric:
        """The metric of the problem; without one, the length of plans."""
        if self.total is not None:
            return NumericMetric(self.total)
        if self._costs is not None:
            return Metric.COST
        if self._metric is not None and self._metric.is_minimize_makespan():
            return NumericMetric(TOTAL_TIME)
        if self._metric is None or self._metric.is_minimize_sequential_plan_length():
            return Metric.LENGTH
        amount = self._reader.amount(self._metric.expression)
        if amount.reads:
            raise UnsupportedError(f"the metric: {self._metric}, which reads fluents whose values are objects")
        return NumericMetric(amount.expression, self._metric.is_maximize_expression_on_final_state())

    def cost(self, action: Any) -> tuple[CostTerm, ...]:
        """Return the cost of `action`. Raises `UnsupportedError` where it has none, or a negative one."""
        if self._costs is None:
            return (1,)
        if self.total is not None or not self._may_occur(action):
            return (0,)
        return tuple([self._term(part) for part in _summands(self._expression(action))])

    def effects(self, action: Any) -> tuple[When, ...]:
        """Return the effect that adds the cost of `action` to `total`, if there is one."""
        if self.total is None or not self._may_occur(action):
            return ()
        amount = self._reader.amount(self._expression(action))
        change = NumericEffect(self.total, "+=", amount.expression)
        variables = tuple([variable for variable, _ in amount.reads])
        return (When(conjunction([atom for _, atom in amount.reads]), variables=variables, numbers=(change,)),)

    def _actions(self) -> Iterator[Any]:
        return (action for action in self._source.actions if self._may_occur(action))

    def _may_occur(self, action: Any) -> bool:
        """Return whether plans may contain `action`: unless it has a cost, a task network of a problem must name it."""
        return self._costs.get_action_cost(action) is not None or _is_named(action, self._source)

    def _expression(self, action: Any) -> up.FNode:
        expression = self._costs.get_action_cost(action)
        if expression is None:
            raise UnsupportedError(f"the action {action.name} without a cost", "give the metric a default cost")
        return expression

    def _depends_on_state(self, expression: up.FNode) -> bool:
        terms = self._source.environment.free_vars_extractor.get(expression)
        return any(
            term.fluent() not in self._static or any(argument.is_fluent_exp() for argument in term.args)
            for term in terms
        )

    def _term(self, part: up.FNode) -> CostTerm:
        if not part.is_constant():
            return self._reader.amount(part).expression
        value = read_fraction(part)
        if value < 0:
            raise UnsupportedError(f"the negative cost {value}")
        return read_number(value, "the cost")


def _is_named(action: Any, source: Any) -> bool:
    """Return whether a task network of `source` names `action`; all actions count in a classical problem."""
    if not isinstance(source, HierarchicalProblem):
        return True
    networks = [*source.methods, source.task_network]
    return any(subtask.task == action for network in networks for subtask in network.subtasks)


def _only_metric(source: up.Problem) -> Any:
    """Return the metric of `source`; None where there is none."""
    metrics = source.quality_metrics
    if len(metrics) > 1:
        raise UnsupportedError(f"several metrics: {', '.join(map(str, metrics))}", "leave one")
    return metrics[0] if metrics else None


def _summands(expression: up.FNode) -> Iterator[up.FNode]:
    stack = [expression]
    while stack:
        current = stack.pop()
        if current.is_plus():
            stack.extend(reversed(current.args))
        else:
            yield current

"""A unified-planning problem as a problem of the model, and plans there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unified_planning.model import InstantaneousAction
from unified_planning.plans import ActionInstance, SequentialPlan

from planner.errors import UnsupportedError
from planner.model import Action, Atom, DomainModel, Formula, Goal, Object, Predicate, Problem, Variable
from planner.model.formulas import conjunction, conjuncts
from planner.model.problem import sealed
from planner.plan import Plan, Step
from planner.unified_planning.incoming.costs import CostReader, InitialValues
from planner.unified_planning.incoming.formulas import FormulaReader, Vocabulary, read_effects
from planner.unified_planning.problem_features import SUPPORTED, OtherIncoming, converter, in_words
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
        """Return a plan of ours, or its steps, as a plan for `source`."""
        steps = plan.steps if isinstance(plan, Plan) else plan
        return SequentialPlan([self.instance(step) for step in steps], self.source.environment)

    def steps(self, plan: ForeignPlan) -> tuple[Step, ...]:
        """Return a sequential plan for `source` as steps, without costs."""
        return tuple([self.step(instance) for instance in plan.actions])

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Return whether a sequential plan for `source` works."""
        return validate(self.problem, self.steps(plan))

    def instance(self, step: Step) -> ActionInstance:
        """Return one step of ours as one of a plan for `source`."""
        return ActionInstance(self.vocabulary.actions.key(step.action), self.arguments(step.arguments))

    def arguments(self, names: Iterable[str]) -> tuple[up.FNode, ...]:
        """Return the objects called `names` in the model as arguments in `source`."""
        manager = self.source.environment.expression_manager
        return tuple([manager.ObjectExp(self.vocabulary.objects.key(name)) for name in names])

    def step(self, instance: ActionInstance) -> Step:
        """Return one step of a plan for `source` as one of ours, without cost."""
        action = self.vocabulary.actions.of(instance.action, instance.action.name)
        return Step(action, self.names(instance.actual_parameters))

    def names(self, arguments: Iterable[up.FNode]) -> tuple[str, ...]:
        """Return what the objects that are `arguments` in `source` are called in the model."""
        objects = [argument.object() for argument in arguments]
        return tuple([self.vocabulary.objects.of(item, item.name) for item in objects])


AnyIncoming = Incoming | OtherIncoming


def from_unified_planning(source: up.Problem) -> AnyIncoming:
    """Return `source` as a problem of the model, with plans mapped both ways.

    A hierarchical problem becomes an `HtnProblem`, by what `planner.unified_planning.problem_features` finds. Raises
    `UnsupportedError`, naming what it is, for numeric fluents outside costs, time, soft goals, several agents,
    trajectory constraints other than invariants, and undefined initial values.
    """
    features = frozenset(source.kind.features)
    other = converter(features)
    if other is not None:
        found: OtherIncoming = other.from_unified_planning(source)
        return found
    return Reading(source, features).result()


class Reading:
    """One problem being read; raises `UnsupportedError` for `features` that are none of classical problems."""

    def __init__(self, source: up.Problem, features: Iterable[str]) -> None:
        missing = set(features) - SUPPORTED
        if missing:
            raise UnsupportedError(in_words(missing), "another unified-planning engine may take it")
        self._source = source
        self._vocabulary = Vocabulary(source.user_types)
        self.reader = FormulaReader(self._vocabulary)
        self._initial = InitialValues(source)
        self._costs = CostReader(source, self.reader, self._initial)
        self._always = [part for item in source.state_invariants for part in conjuncts(self.reader.formula(item))]

    def result(self) -> Incoming:
        """Return the problem: of a hierarchical one, what is classical."""
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
        return Incoming(sealed(problem), self._source, self._vocabulary)

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
        """Return `conditions`, `more`, and what must always hold: before each action, and at the end."""
        parts = [part for condition in conditions for part in conjuncts(self.reader.formula(condition))]
        return conjunction(dict.fromkeys((*parts, *more, *self._always)))


def _is_symbolic(fluent: up.Fluent) -> bool:
    kind = fluent.type
    return bool(kind.is_bool_type() or kind.is_user_type())

"""A problem of the model as one of unified-planning, and plans back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import unified_planning.model as up
from unified_planning.environment import get_environment

from planner.budget import Budget
from planner.engines.outgoing.costs import tabulate, uniform_cost
from planner.engines.outgoing.formulas import FormulaWriter, Scope
from planner.engines.outgoing.refused import refuse
from planner.engines.outgoing.signatures import signatures
from planner.engines.outgoing.types import Types
from planner.errors import UnsupportedError
from planner.model import Action, Atom, CostTerm, Problem, When
from planner.model.actions import added, deleted
from planner.model.formulas import conjuncts
from planner.normalise import to_adl
from planner.pddl.costs import in_integers, with_tables
from planner.pddl.names import Names
from planner.pddl.renamed import renamed
from planner.pddl.untyped import with_plain_types
from planner.plan import Step

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import FNode
    from unified_planning.plans import Plan as ForeignPlan


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A problem of unified-planning, with the way back for plans: what its actions and objects are called in ours."""

    problem: up.Problem
    actions: Mapping[str, str]
    objects: Mapping[str, str]

    def steps(self, plan: ForeignPlan) -> tuple[Step, ...]:
        """Return a sequential plan for `problem` as steps of the source, without costs."""
        return tuple([self._step(instance) for instance in plan.actions])

    def _step(self, instance: Any) -> Step:
        arguments = [self.objects[item.object().name] for item in instance.actual_parameters]
        return Step(self.actions[instance.action.name], tuple(arguments))


def to_unified_planning(
    problem: Problem, environment: Environment | None = None, budget: Budget | None = None
) -> Outgoing:
    """Return `problem` as one of unified-planning, in the given or the global environment, with the way back for plans.

    Names are made legal for all planners, and costs integers. Raises `UnsupportedError` for derived predicates, soft
    goals, facts declared unknown, created objects and uncertain outcomes, which have no words there, and `LimitReached`
    where `budget` does not suffice to compute the costs.
    """
    if problem.domain.axioms:
        raise UnsupportedError("derived predicates")
    refuse(problem)
    costed = tabulate(with_tables(to_adl(problem), budget or Budget()))
    plain, _ = in_integers(with_plain_types(costed))
    names = Names.of(plain)
    return Outgoing(
        _Writing(renamed(plain, names), get_environment(environment)).result(),
        {word: name for name, word in names.actions.items()},
        {word: name for name, word in names.objects.items()},
    )


class _Writing:
    """A plain ADL problem with legal names, types in a tree and integer costs being written."""

    def __init__(self, source: Problem, environment: Environment) -> None:
        self._source = source
        self._environment = environment
        self._manager = environment.expression_manager
        self._types = Types(source.domain.types, environment)
        self._writer = FormulaWriter(environment, self._types)
        self._target = up.Problem(source.name, environment)

    def result(self) -> up.Problem:
        """Write all parts, in the order in which they need each other."""
        for item in self._source.all_objects:
            entity = self._target.add_object(item.name, self._types.of(item.types[0]))
            self._writer.objects[item.name] = self._manager.ObjectExp(entity)
        self._add_fluents()
        self._add_initial_values()
        self._add_actions()
        goal = self._writer.formula(self._source.goal.hard, {})
        self._target.add_goal(self._never() if goal.is_false() else goal)
        return self._target

    def _add_fluents(self) -> None:
        widths = signatures(self._source, self._types)
        for name in (*self._source.domain.predicates, *self._source.domain.functions):
            kind = up.types.BOOL if name in self._source.domain.predicates else self._environment.type_manager.IntType()
            signature = {f"x{place}": self._types.of(width) for place, width in enumerate(widths[name], start=1)}
            self._writer.fluents[name] = up.Fluent(name, kind, environment=self._environment, **signature)
            default = False if kind.is_bool_type() else None
            self._target.add_fluent(self._writer.fluents[name], default_initial_value=default)

    def _add_initial_values(self) -> None:
        for fact in self._source.initial:
            self._target.set_initial_value(self._writer.atom(fact, {}), value=True)
        for key, number in self._source.values.items():
            self._target.set_initial_value(self._writer.atom(key, {}), self._manager.Int(int(number)))

    def _add_actions(self) -> None:
        costs = {}
        for action in self._source.domain.actions.values():
            schema, cost = self._action(action)
            if schema.effects and not any(condition.is_false() for condition in schema.preconditions):
                self._target.add_action(schema)
                costs[schema] = cost
        if uniform_cost(self._source):
            self._target.add_quality_metric(up.metrics.MinimizeSequentialPlanLength(self._environment))
        else:
            self._target.add_quality_metric(up.metrics.MinimizeActionCosts(costs, environment=self._environment))

    def _action(self, action: Action) -> tuple[up.InstantaneousAction, FNode]:
        """Return `action` and its cost."""
        types = {each.name.removeprefix("?"): self._types.of(each.types[0]) for each in action.parameters}
        schema = up.InstantaneousAction(action.name, types, self._environment)
        scope = {f"?{each.name}": self._manager.ParameterExp(each) for each in schema.parameters}
        for part in conjuncts(action.requires):
            schema.add_precondition(self._writer.formula(part, scope))
        for effect in action.effects:
            self._add_effect(schema, effect, scope)
        return schema, self._cost(action.cost[0], scope)

    def _cost(self, cost: CostTerm, scope: Scope) -> FNode:
        return self._writer.atom(cost, scope) if isinstance(cost, Atom) else self._manager.Int(int(cost))  # type: ignore[arg-type]  # computed costs are tables by now

    def _add_effect(self, action: up.InstantaneousAction, effect: When, outer: Scope) -> None:
        bound = {variable.name: self._writer.variable(variable) for variable in effect.variables}
        scope = {**outer, **bound}
        condition = self._writer.formula(effect.requires, scope)
        forall = [each.variable() for each in bound.values()]
        changes = [
            *[(atom, True) for atom in added(effect.provides)],
            *[(atom, False) for atom in deleted(effect.provides)],
        ]
        for atom, value in changes if not condition.is_false() else ():
            action.add_effect(self._writer.atom(atom, scope), value, condition, forall=forall)

    def _never(self) -> FNode:
        """Return a fluent that nothing makes true: the goal that cannot be reached."""
        fluent = up.Fluent("never" if not self._target.has_name("never") else "never-2", environment=self._environment)
        self._target.add_fluent(fluent, default_initial_value=False)
        return self._manager.FluentExp(fluent)

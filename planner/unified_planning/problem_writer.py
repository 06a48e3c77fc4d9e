"""Classical and numeric problems of the model as problems of unified-planning, and the way back for plans.

The written problem is plain ADL with legal names, a tree of types, and one cost term for each action, which is integral
where there are no other numbers. Its
predicates and functions have parameters of the lowest types that fit every use, since unified-planning checks types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import unified_planning.model as up
from unified_planning.environment import get_environment
from unified_planning.exceptions import UPConflictingEffectsException, UPTypeError

from planner.compilations.cost_tables import scale_to_integers, with_tables
from planner.compilations.passes import compile_away
from planner.compilations.required_values import require_values
from planner.compilations.soft_goals import compile_wishes, name_stages
from planner.compilations.types_as_predicates import with_plain_types
from planner.errors import UnsupportedError
from planner.language.pddl.legal_names import Names, Renaming
from planner.language.pddl.number_bounds import require_bounds
from planner.language.pddl.timed_form import asks_for_time
from planner.limits import Limits
from planner.model.actions import Action, CostTerm, NumericEffect, When, negated_atoms, positive_atoms
from planner.model.constructs import CONSTRAINED, REFUSED_WITH_TASKS, Construct, Service, find_refused, has, way_round
from planner.model.domain import Function, Predicate, amounts_of
from planner.model.formulas import (
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Formula,
    Number,
    Term,
    Variable,
    conjuncts,
    functions_in,
    is_variable,
)
from planner.model.problem import Metric, NumericMetric, Problem, is_numeric
from planner.model.timing import TOTAL_TIME
from planner.plan import Step
from planner.unified_planning.formula_writer import FormulaWriter, Scope, Types, walk_bottom_up
from planner.unified_planning.number_writer import find_integral_functions, prepare_numbers

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import FNode
    from unified_planning.plans import Plan as ForeignPlan


TypeScope = Mapping[Term, str]
WHERE = "in unified-planning"


def find_signatures(problem: Problem, types: Types) -> dict[str, tuple[str, ...]]:
    """Return, for each predicate and function, the lowest type of each parameter that takes all arguments in use.

    In the model, the declared types of a predicate keep nothing out; in unified-planning they do.
    """
    declared: list[Predicate | Function] = [*problem.domain.predicates.values(), *problem.domain.functions.values()]
    widths = {item.name: [variable.types[0] for variable in item.parameters] for item in declared}
    objects = {item.name: item.types[0] for item in problem.all_objects}
    for atom, scope in _atoms_in_use(problem):
        found = [scope[term] if is_variable(term) else objects[term] for term in atom.args]
        known = widths.setdefault(atom.predicate, found)
        widths[atom.predicate] = [types.lowest(pair) for pair in zip(known, found, strict=True)]
    return {name: tuple(parameters) for name, parameters in widths.items()}


def _atoms_in_use(problem: Problem) -> Iterator[tuple[Atom, TypeScope]]:
    """Yield every atom, with the types of the variables around it."""
    yield from ((fact, {}) for fact in (*problem.initial, *problem.values))
    yield from _atoms_inside(problem.goal.hard, {})
    for action in problem.domain.actions.values():
        outer = _types_of(action.parameters)
        for condition in (action.requires, action.throughout, action.at_start.requires, action.at_end.requires):
            yield from _atoms_inside(condition, outer)
        yield from ((term, outer) for amount in amounts_of(action) for term in functions_in(amount))  # type: ignore[arg-type]  # computed costs are tables by now
        for effect in action.effects:
            inner = {**outer, **_types_of(effect.variables)}
            yield from _atoms_inside(And((effect.requires, *effect.provides)), inner)
            for number in effect.numbers:
                yield from ((term, inner) for term in (number.fluent, *functions_in(number.value)))
    for change in problem.timed:
        yield from _atoms_inside(And(change.provides), {})
        yield from ((number.fluent, {}) for number in change.numbers)
    if isinstance(problem.metric, NumericMetric):
        yield from ((term, {}) for term in functions_in(problem.metric.expression) if term != TOTAL_TIME)


def _atoms_inside(formula: Formula, scope: TypeScope) -> Iterator[tuple[Atom, TypeScope]]:
    for part, inner in walk_bottom_up(formula, scope, lambda variable: variable.types[0]):
        if isinstance(part, Atom | Comparison):
            yield from ((atom, inner) for atom in ([part] if isinstance(part, Atom) else part.functions))


def _types_of(variables: Iterable[Variable]) -> dict[Term, str]:
    return {variable.name: variable.types[0] for variable in variables}


def refuse(problem: Problem, *, takes_time: bool = False) -> None:
    """Raise `UnsupportedError` for the first construct of `problem` that unified-planning cannot express.

    Deadlines, and what else asks for time, are expressed by durative actions only, where the caller `takes_time`.
    """
    taken = (Construct.DEADLINE,) if takes_time and asks_for_time(problem) else ()
    constructs = [
        *(each.value for each in find_refused(problem, Service.UNIFIED_PLANNING) if each not in taken),
        *(["durations"] if asks_for_time(problem) and not takes_time else []),
    ]
    if constructs:
        raise UnsupportedError(constructs[0], way_round(Service.UNIFIED_PLANNING))


def with_single_costs(problem: Problem) -> Problem:
    """Give each action of `problem`, which `with_tables` has treated, exactly one cost term."""
    if problem.metric is Metric.LENGTH:
        actions = {name: replace(action, cost=(1,)) for name, action in problem.domain.actions.items()}
        plain = replace(problem, domain=replace(problem.domain, actions=actions))
        return plain if is_numeric(problem) else replace(plain, domain=replace(plain.domain, functions={}), values={})
    actions = {name: replace(action, cost=_one_term(action.cost)) for name, action in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _one_term(cost: tuple[CostTerm, ...]) -> tuple[CostTerm]:
    """Return the sum of the terms of `cost`, of which there are several only beside numbers."""
    return cost if len(cost) == 1 else (Arithmetic("+", cost) if cost else 0,)  # type: ignore[arg-type]  # as for `uniform_cost`


def uniform_cost(actions: Iterable[Action]) -> Number | None:
    """Return what each of `actions`, of a problem with single costs, costs, where that is one number; else None."""
    costs = {action.cost[0] for action in actions}
    only = next(iter(costs), 1)
    return only if len(costs) <= 1 and isinstance(only, int | Decimal) else None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A problem of unified-planning; `actions`, `objects` and `functions` map its names to those of the source."""

    problem: up.Problem
    actions: Mapping[str, str]
    objects: Mapping[str, str]
    functions: Mapping[str, str]

    def steps(self, plan: ForeignPlan) -> tuple[Step, ...]:
        """Return a sequential plan for `problem` as steps of the source without costs; those that grant wishes go."""
        return tuple([self.step(instance) for instance in plan.actions if instance.action.name in self.actions])

    def step(self, instance: Any) -> Step:
        """Return an action of a plan for `problem` as a step of the source without cost."""
        arguments = [self.objects[item.object().name] for item in instance.actual_parameters]
        return Step(self.actions[instance.action.name], tuple(arguments))


def write_problem(
    problem: Problem, environment: Environment | None, limits: Limits, *, typed_bounds: bool = True
) -> Outgoing:
    """Return a classical `problem` as one of unified-planning; raises as `to_unified_planning` does.

    Bounds of functions become bounds of types, unless an effect changes a fluent by an amount outside its bounds, which
    unified-planning takes for an error of types, or `typed_bounds` is not set: then they become conditions of actions.
    Wishes become actions that grant or forgo them.
    """
    refuse(problem)
    source, names = prepare(
        name_stages(compile_wishes(problem, whole=True).problem) if problem.wishes else problem, limits
    )
    try:
        written = _write(source if typed_bounds else require_bounds(source, "in unified-planning"), environment)
    except UPTypeError:
        written = _write(require_bounds(source, "in unified-planning"), environment)
    return Outgoing(
        written,
        {word: name for name, word in names.actions.items() if name in problem.domain.actions},
        {word: name for name, word in names.objects.items()},
        {word: name for name, word in names.functions.items()},
    )


def _write(source: Problem, environment: Environment | None) -> up.Problem:
    return ProblemWriter(source, up.Problem(source.name, get_environment(environment))).result()


def prepare(problem: Problem, limits: Limits) -> tuple[Problem, Names]:
    """Compile `problem` to plain ADL with legal names, a tree of types and single costs, and return the names.

    Costs become integers, unless there are other numbers, and budgets numbers. Raises as `to_unified_planning` does.
    """
    if has(problem, *REFUSED_WITH_TASKS[Service.UNIFIED_PLANNING]):
        raise UnsupportedError(f"wishes beside tasks, {WHERE}", way_round(Service.UNIFIED_PLANNING))
    if problem.domain.axioms:
        raise UnsupportedError("derived predicates", "planners that read PDDL and HDDL files may take them")
    refuse(problem)
    costed = with_single_costs(
        with_tables(compile_away(require_values(problem), Construct.CHANGES, *CONSTRAINED, Construct.BUDGETS), limits)
    )
    plain = prepare_numbers(costed) if is_numeric(costed) else scale_to_integers(costed)[0]
    typed = with_plain_types(plain)
    names = Names.of(typed)
    return Renaming(names).problem(typed), names


class ProblemWriter:
    """Writes a prepared problem into `target`, which is empty.

    `actions` names the actions to write, with their exact costs. By default, all actions with an effect are written,
    and costs that are all the same become plan length, which more planners take.
    """

    def __init__(self, source: Problem, target: up.Problem, actions: Collection[str] | None = None) -> None:
        self._source = source
        self._target = target
        self._actions = actions
        self._environment = target.environment
        self._manager = target.environment.expression_manager
        self._types = Types(source.domain.types, target.environment)
        self.writer = FormulaWriter(target.environment, self._types)

    def result(self) -> up.Problem:
        """Write all parts, in the order of their dependencies, and return the target."""
        for item in self._source.all_objects:
            entity = self._target.add_object(item.name, self._types.of(item.types[0]))
            self.writer.add_object(item.name, self._manager.ObjectExp(entity))
        self._add_fluents()
        self._add_initial_values()
        self._add_actions()
        goal = self.writer.formula(self._source.goal.hard, {})
        self._target.add_goal(self._never() if goal.is_false() else goal)
        return self._target

    def parameters(self, variables: Iterable[Variable]) -> list[up.Parameter]:
        """Return `variables` as parameters."""
        return [
            up.Parameter(each.name.removeprefix("?"), self._types.of(each.types[0]), self._environment)
            for each in variables
        ]

    def scope(self, parameters: Iterable[up.Parameter]) -> Scope:
        """Return the expressions of the variables of `parameters`."""
        return {f"?{each.name}": self._manager.ParameterExp(each) for each in parameters}

    def _add_fluents(self) -> None:
        widths, integral = find_signatures(self._source, self._types), find_integral_functions(self._source)
        functions = self._source.domain.functions
        for name in (*self._source.domain.predicates, *functions):
            kind = self._type(functions[name], name in integral) if name in functions else up.types.BOOL
            signature = {f"x{place}": self._types.of(width) for place, width in enumerate(widths[name], start=1)}
            self.writer.fluents[name] = up.Fluent(name, kind, environment=self._environment, **signature)
            default = False if kind.is_bool_type() else None
            self._target.add_fluent(self.writer.fluents[name], default_initial_value=default)

    def _type(self, function: Function, is_integral: bool) -> up.Type:
        """Return the type of the values of `function`."""
        low, high = [None if bound is None else Fraction(bound) for bound in (function.low, function.high)]
        manager = self._environment.type_manager
        if is_integral:
            return manager.IntType(None if low is None else int(low), None if high is None else int(high))
        return manager.RealType(low, high)

    def _add_initial_values(self) -> None:
        for fact in self._source.initial:
            self._target.set_initial_value(self.writer.atom(fact, {}), value=True)
        for key, number in self._source.values.items():
            self._target.set_initial_value(self.writer.atom(key, {}), self.writer.number(number))

    def _add_actions(self) -> None:
        costs = {}
        actions = self._source.domain.actions
        wanted = [actions[name] for name in (actions if self._actions is None else self._actions)]
        for action in wanted:
            schema, cost = self._action(action)
            if self._actions is not None or is_useful(schema):
                self._target.add_action(schema)
                costs[schema] = cost
        self._add_metric(wanted, costs)

    def _add_metric(self, wanted: list[Action], costs: dict[up.Action, FNode]) -> None:
        cost, metric = uniform_cost(wanted), self._source.metric
        if isinstance(metric, NumericMetric):
            kind = "Maximize" if metric.maximize else "Minimize"
            value = self.writer.expression(metric.expression, {})
            final = getattr(up.metrics, f"{kind}ExpressionOnFinalState")(value, self._environment)
            self._target.add_quality_metric(final)
        elif cost == 1 or (cost and self._actions is None):
            self._target.add_quality_metric(up.metrics.MinimizeSequentialPlanLength(self._environment))
        else:
            self._target.add_quality_metric(up.metrics.MinimizeActionCosts(costs, environment=self._environment))

    def _action(self, action: Action) -> tuple[up.Action, FNode]:
        """Return `action` and its cost."""
        types = {each.name: each.type for each in self.parameters(action.parameters)}
        schema = up.InstantaneousAction(action.name, types, self._environment)
        self._fill(schema, self.scope(schema.parameters), [(schema, action.requires, action.effects)])
        return self._priced(schema, action)

    def _priced(self, schema: up.Action, action: Action) -> tuple[up.Action, FNode]:
        """Return `schema` with the cost of `action`."""
        cost = self.writer.expression(action.cost[0], self.scope(schema.parameters))  # type: ignore[arg-type]  # computed costs are tables by now
        return schema, cost

    def _fill(self, schema: up.Action, scope: Scope, moments: Iterable[tuple[Any, Formula, tuple[When, ...]]]) -> None:
        """Add conditions and effects to `schema`: `moments` have what takes them, such as the action itself."""
        taken = []
        try:
            for target, condition, effects in moments:
                taken.append(target)
                for part in conjuncts(condition):
                    target.add_precondition(self.writer.formula(part, scope))
                always = {atom for effect in effects if is_plain(effect) for atom in positive_atoms(effect.provides)}
                for effect in effects:
                    self._add_effect(target, effect, scope, always)
        except UPConflictingEffectsException:  # they always exclude each other, so that the action is never applicable
            schema.clear_effects()
            taken[0].add_precondition(self._manager.FALSE())

    def _add_effect(self, action: Any, effect: When, outer: Scope, always: Collection[Atom]) -> None:
        """Add `effect` to an action, without deletes of what that `always` adds: some engines reject these."""
        bound = {variable.name: self.writer.variable(variable) for variable in effect.variables}
        scope = {**outer, **bound}
        condition = self.writer.formula(effect.requires, scope)
        forall = [each.variable() for each in bound.values()]
        changes = [
            *[(atom, True) for atom in positive_atoms(effect.provides)],
            *[(atom, False) for atom in negated_atoms(effect.provides) if effect.variables or atom not in always],
        ]
        happens = not condition.is_false() and self.writer.has_instance(effect.variables)
        for atom, value in changes if happens else ():
            action.add_effect(self.writer.atom(atom, scope), value, condition, forall=forall)
        for number in effect.numbers if happens else ():
            self._add_numeric_effect(action, number, condition, scope, forall)

    def _add_numeric_effect(
        self, action: Any, effect: NumericEffect, condition: FNode, scope: Scope, forall: list[Any]
    ) -> None:
        adders = {"+=": action.add_increase_effect, "-=": action.add_decrease_effect}
        add = adders.get(effect.operator, action.add_effect)
        value = effect.value
        if effect.operator in ("*=", "/="):
            value = Arithmetic(effect.operator[0], (effect.fluent, value))
        fluent, amount = self.writer.atom(effect.fluent, scope), self.writer.expression(value, scope)
        if effect.is_additive:
            amount = self._manager.Times(amount, self._count_idle(forall, (fluent, amount, condition))).simplify()
        add(fluent, amount, condition, forall=forall)

    def _count_idle(self, forall: list[Any], parts: Iterable[FNode]) -> int:
        """Return how often an effect with these `parts` happens for variables that it does not mention.

        unified-planning drops such variables.
        """
        oracle = self._environment.free_vars_oracle
        used = {variable for part in parts for variable in oracle.get_free_variables(part)}
        return prod(len(list(self._target.objects(each.type))) for each in forall if each not in used)

    def _never(self) -> FNode:
        """Return a fluent that nothing makes true, as an unreachable goal."""
        fluent = up.Fluent("never" if not self._target.has_name("never") else "never-2", environment=self._environment)
        self._target.add_fluent(fluent, default_initial_value=False)
        return self._manager.FluentExp(fluent)


def is_plain(effect: When) -> bool:
    """Return whether `effect` always happens, once."""
    return effect.requires == TRUE and not effect.variables


def is_useful(action: Any) -> bool:
    """Return whether `action` has effects and may be applicable; one that lasts may be, as far as is seen here."""
    if isinstance(action, up.DurativeAction):
        return True
    return bool(action.effects) and not any(condition.is_false() for condition in action.preconditions)

"""Problems in time as problems of unified-planning: durative actions, changes at known times, the makespan.

What the text of PDDL cannot say of time is compiled as for PDDL (`planner.language.pddl.timed_form`): capacities become
numbers, deadlines facts that end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import unified_planning.model as up
from unified_planning.environment import get_environment

from planner.compilations.cost_tables import scale_to_integers, with_tables
from planner.compilations.passes import compile_away
from planner.errors import UnsupportedError
from planner.language.pddl.legal_names import Names, Renaming
from planner.language.pddl.timed_form import compile_time
from planner.limits import Limits
from planner.model.actions import DURATION, Action, DurationRange, When
from planner.model.constructs import REFUSED_IN_TIME, Construct, Service, has, way_round
from planner.model.domain import numeric_effects
from planner.model.formulas import Arithmetic, Formula, Not, functions_in
from planner.model.problem import TOTAL_COST, Metric, NumericMetric, Problem, is_numeric
from planner.model.timing import TOTAL_TIME
from planner.plan import Plan
from planner.unified_planning.formula_writer import Scope
from planner.unified_planning.number_writer import refuse_divisions
from planner.unified_planning.problem_writer import WHERE, Outgoing, ProblemWriter, refuse, with_single_costs
from planner.unified_planning.timed_reader import exact_duration, read_timed_plan

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import FNode
    from unified_planning.plans import Plan as ForeignPlan


_MAKESPANS = (TOTAL_TIME, Arithmetic("*", (1, TOTAL_TIME)), Arithmetic("*", (TOTAL_TIME, 1)))
"""The expressions that are the makespan alone."""


@dataclass(frozen=True, slots=True)
class TimedOutgoing(Outgoing):
    """A problem in time of unified-planning, made from `source`."""

    source: Problem

    def plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan with times for `problem` as one for the source, without steps that only compiling added."""
        own = [each for each in plan.timed_actions if each[1].action.name in self.actions]
        return read_timed_plan(own, self.step, self.source)

    def foreign_plan(self, plan: Plan) -> ForeignPlan:
        """Return `plan` as one for `problem`; a goal that is due is reached as soon as it holds.

        Raises `UnsupportedError` where compiling added actions that a plan must have.
        """
        from unified_planning.plans import ActionInstance, TimeTriggeredPlan

        if len(self.problem.actions) > len(self.actions):
            raise UnsupportedError("plans of ours for a problem with deadlines of goals, in unified-planning")
        words = {name: word for word, name in self.actions.items()}
        objects = {name: word for word, name in self.objects.items()}
        manager = self.problem.environment.expression_manager
        timed = []
        for step, time in zip(plan.steps, plan.times, strict=True):
            arguments = [manager.ObjectExp(self.problem.object(objects[name])) for name in step.arguments]
            action = self.problem.action(words[step.action])
            lasts = exact_duration(self.source, step, time)
            timed.append((Fraction(time.start), ActionInstance(action, tuple(arguments)), lasts))
        return TimeTriggeredPlan(timed, self.problem.environment)


def write_timed_problem(problem: Problem, environment: Environment | None, limits: Limits) -> TimedOutgoing:
    """Return `problem`, which asks for time, as one of unified-planning.

    Raises as `planner.unified_planning.conversion.to_unified_planning` does.
    """
    if problem.domain.axioms:
        raise UnsupportedError("derived predicates", "planners that read PDDL files may take them")
    refuse(problem, takes_time=True)
    refused = next((x for x in Construct if x in REFUSED_IN_TIME[Service.UNIFIED_PLANNING] and has(problem, x)), None)
    if refused is not None:
        raise UnsupportedError(f"{refused.value} in a problem in time, {WHERE}", way_round(Service.UNIFIED_PLANNING))
    form = compile_time(compile_away(problem, Construct.BUDGETS), WHERE)
    plain = with_single_costs(with_tables(form.problem, limits))
    if is_numeric(plain):
        refuse_divisions(plain)
    else:
        plain = scale_to_integers(plain)[0]
    for name, action in plain.domain.actions.items():
        if any(DURATION in functions_in(each.value) for each in numeric_effects(action)):
            raise UnsupportedError(f"an effect that depends on the duration (of {name}), {WHERE}")
    names = Names.of(plain)
    written = Renaming(names, in_time=True).problem(plain)
    target = up.Problem(written.name, get_environment(environment))
    return TimedOutgoing(
        TimedWriter(written, target).result(),
        {word: name for name, word in names.actions.items() if name not in form.added},
        {word: name for name, word in names.objects.items()},
        {word: name for name, word in names.functions.items()},
        problem,
    )


@dataclass(frozen=True, slots=True)
class _Moment:
    """An action at one of its moments, with the methods that an action without a duration has."""

    action: up.DurativeAction
    timing: up.Timing

    def add_precondition(self, condition: FNode) -> None:
        """Add a condition."""
        self.action.add_condition(self.timing, condition)

    def add_effect(self, *change: Any, forall: list[Any]) -> None:
        """Add an assignment."""
        self.action.add_effect(self.timing, *change, forall=forall)

    def add_increase_effect(self, *change: Any, forall: list[Any]) -> None:
        """Add an increase."""
        self.action.add_increase_effect(self.timing, *change, forall=forall)

    def add_decrease_effect(self, *change: Any, forall: list[Any]) -> None:
        """Add a decrease."""
        self.action.add_decrease_effect(self.timing, *change, forall=forall)


class TimedWriter(ProblemWriter):
    """Writes a problem whose actions have plain conditions and effects at their moments."""

    def result(self) -> up.Problem:
        """Write all parts, and return the target."""
        target = super().result()
        for change in self._source.timed:
            timing = up.GlobalStartTiming(Fraction(change.time))
            for literal in change.provides:
                atom: Any = literal.part if isinstance(literal, Not) else literal
                target.add_timed_effect(timing, self.writer.atom(atom, {}), not isinstance(literal, Not))
            for number in change.numbers:
                value = self.writer.expression(number.value, {})
                target.add_timed_effect(timing, self.writer.atom(number.fluent, {}), value)
        return target

    def _add_metric(self, wanted: list[Action], costs: dict[up.Action, FNode]) -> None:
        metric = self._source.metric
        if metric is Metric.COST or metric is Metric.LENGTH:
            self._target.add_quality_metric(up.metrics.MinimizeActionCosts(costs, environment=self._environment))
        elif isinstance(metric, NumericMetric) and metric.expression in _MAKESPANS and not metric.maximize:
            self._target.add_quality_metric(up.metrics.MinimizeMakespan(self._environment))
        elif isinstance(metric, NumericMetric) and not {TOTAL_TIME, TOTAL_COST} & {*functions_in(metric.expression)}:
            super()._add_metric(wanted, costs)
        else:
            what = f"the metric {metric}, which weighs time or cost with something else, {WHERE}"
            raise UnsupportedError(what, way_round(Service.UNIFIED_PLANNING))

    def _action(self, action: Action) -> tuple[up.Action, FNode]:
        if action.duration is None:
            return super()._action(action)
        types = {each.name: each.type for each in self.parameters(action.parameters)}
        schema = up.DurativeAction(action.name, types, self._environment)
        scope = self.scope(schema.parameters)
        self._set_duration(schema, action, scope)
        moments = [(_Moment(schema, moment), needed, effects) for moment, needed, effects in _moments_of(action)]
        self._fill(schema, scope, moments)
        return self._priced(schema, action)

    def _set_duration(self, schema: up.DurativeAction, action: Action, scope: Scope) -> None:
        match action.duration:
            case DurationRange(_, None):
                raise UnsupportedError(f"the duration of {action.name} without a greatest one, {WHERE}", "give one")
            case DurationRange(low, high):
                bounds = [self.writer.expression(each, scope) for each in (low, high)]  # type: ignore[arg-type]
                schema.set_closed_duration_interval(*bounds)
            case fixed:
                assert fixed is not None
                schema.set_fixed_duration(self.writer.expression(fixed, scope))


def _moments_of(action: Action) -> Iterator[tuple[Any, Formula, tuple[When, ...]]]:
    """Yield what a plain durative `action` requires and changes at its start, throughout and at its end."""
    start, end = up.StartTiming(), up.EndTiming()
    provided = When(provides=action.provides)
    yield start, action.requires, action.at_start.effects
    yield up.OpenTimeInterval(start, end), action.throughout, ()
    yield end, action.at_end.requires, (provided, *action.at_end.effects)

"""Problems in time of unified-planning as problems of the model: actions that last, and changes at known times.

A condition over a closed interval must hold at its ends as well; one over an open interval only between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from unified_planning.model import InstantaneousAction, TimepointKind
from unified_planning.plans import PlanKind, TimeTriggeredPlan

from planner.errors import UnsupportedError
from planner.model.actions import NO_MOMENT, Action, Duration, DurationRange, Moment, When
from planner.model.domain import DomainModel, numeric_fluents
from planner.model.formulas import OPEN, TRUE, Atom, Formula, Not, conjunction, conjuncts, functions_in
from planner.model.problem import NumericMetric, Problem, seal
from planner.model.timing import TOTAL_TIME, TimedEffect
from planner.plan import Plan, Step, StepTime
from planner.semantics.durations import as_seconds
from planner.semantics.numeric_state import Values
from planner.semantics.simulation import bind_parameters
from planner.unified_planning.effect_reader import Effects, read_effects
from planner.unified_planning.formula_reader import read_number
from planner.unified_planning.problem_features import SUPPORTED, TIME
from planner.unified_planning.problem_reader import Incoming, Reading
from planner.validation.timed_replay import price_plan
from planner.validation.validate import validate
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    import unified_planning.model as up
    from unified_planning.plans import Plan as ForeignPlan


class TimedIncoming(Incoming):
    """A problem in time, made from `source`, with the way back for plans that have times."""

    __slots__ = ()

    def plan(self, plan: Plan | Iterable[Step]) -> ForeignPlan:
        """Return `plan` with its times as one for `source`; steps without times are a sequence."""
        if not isinstance(plan, Plan) or (plan.steps and not plan.times):
            return super().plan(plan)
        timed = [
            (Fraction(time.start), self.instance(step), exact_duration(self.problem, step, time))
            for step, time in zip(plan.steps, plan.times, strict=True)
        ]
        return TimeTriggeredPlan(timed, self.source.environment)

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Check a plan for `source`: one with times, or a sequence whose steps come one after another."""
        if plan.kind is not PlanKind.TIME_TRIGGERED_PLAN:
            return super().verdict(plan)
        return validate(self.problem, self.timed_plan(plan))

    def timed_plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan with times for `source` as one of ours."""
        return read_timed_plan(plan.timed_actions, self.step, self.problem)


def read_timed_plan(actions: Iterable[tuple[Any, Any, Any]], step_of: Callable[[Any], Step], problem: Problem) -> Plan:
    """Return the plan for `problem` of timed actions, which are starts, actions, and durations, if they last."""
    timed = sorted(actions, key=lambda each: each[0])
    times = [StepTime(as_seconds(Fraction(start)), as_seconds(Fraction(lasts or 0))) for start, _, lasts in timed]
    steps = tuple([step_of(instance) for _, instance, _ in timed])
    return price_plan(Plan(steps, problem, times=tuple(times)))


def exact_duration(problem: Problem, step: Step, time: StepTime) -> Fraction | None:
    """Return how long `step` lasts, by fractions where its duration is none of thousandths; None where it has none."""
    action, stated = problem.domain.actions[step.action], Fraction(time.duration)
    duration = action.duration
    if duration is None:
        return None
    changed = numeric_fluents(problem.domain)
    if isinstance(duration, DurationRange) or any(term.predicate in changed for term in functions_in(duration)):
        return stated
    exact = Values.of(problem).evaluate(duration, dict(bind_parameters(action, step)))
    return stated if exact is None or as_seconds(exact) != time.duration else Fraction(exact)


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What an action requires at its start, at its end, and between."""

    start: list[Formula]
    between: list[Formula]
    end: list[Formula]


class TimedReading(Reading):
    """Reads one problem in time; without a metric, the makespan counts."""

    taken = SUPPORTED | TIME

    def result(self) -> Incoming:
        """Return the problem."""
        if self._always:
            raise UnsupportedError("state invariants beside time", "let actions require what must hold")
        found = super().result()
        metric = found.problem.metric
        if not self._source.quality_metrics:
            metric = NumericMetric(TOTAL_TIME)
        timed = [
            self._known_change(timing, effects, found.problem.domain)
            for timing, effects in self._source.timed_effects.items()
        ]
        timed.sort(key=lambda each: each.time)
        problem = replace(found.problem, metric=metric, timed=tuple(timed))
        return TimedIncoming(seal(problem), found.source, found.vocabulary)

    def _action(self, action: Any) -> Action:
        if isinstance(action, InstantaneousAction):
            return super()._action(action)
        if action.simulated_effects or getattr(action, "continuous_effects", None):
            raise UnsupportedError(f"the action {action.name}, with effects computed by a function, or continuous ones")
        where = f"of the action {action.name}"
        parameters = tuple([self.reader.parameter(item) for item in action.parameters])
        conditions = self._conditions(action, where)
        first, last = [self._effects_at(kind, action, where) for kind in (TimepointKind.START, TimepointKind.END)]
        charged = self._costs.effects(action)
        start = Moment(provides=first.provides, modifies=first.modifies, when=first.when, numbers=first.numbers)
        end = Moment(
            requires=_join(conditions.end, last.consistent),
            provides=last.provides,
            modifies=last.modifies,
            when=(*last.when, *[when for when in charged if when.requires != TRUE]),
            numbers=(*last.numbers, *_plain_numbers(charged)),
        )
        return Action(
            name=self._vocabulary.actions.of(action, action.name),
            parameters=parameters,
            requires=_join(conditions.start, first.consistent),
            cost=self._costs.cost(action),
            duration=self._duration(action, where),
            throughout=_join(conditions.between),
            at_start=NO_MOMENT if start.is_empty else start,
            at_end=NO_MOMENT if end.is_empty else end,
        )

    def _conditions(self, action: Any, where: str) -> _Conditions:
        found = _Conditions([], [], [])
        for interval, expressions in action.conditions.items():
            lower, upper = [_kind(timing, "a condition", where) for timing in (interval.lower, interval.upper)]
            formulas = [self.reader.formula(each) for each in expressions]
            if lower is upper is TimepointKind.START:
                found.start.extend(formulas)
            elif lower is upper:
                found.end.extend(formulas)
            else:
                found.between.extend(formulas)
                found.start.extend([] if interval.is_left_open() else formulas)
                found.end.extend([] if interval.is_right_open() else formulas)
        return found

    def _effects_at(self, kind: TimepointKind, action: Any, where: str) -> Effects:
        effects = [
            each
            for timing, changes in action.effects.items()
            if _kind(timing, "an effect", where) is kind
            for each in changes
        ]
        return read_effects(effects, self.reader)

    def _duration(self, action: Any, where: str) -> Duration:
        interval = action.duration
        if interval.is_left_open() or interval.is_right_open():
            raise UnsupportedError(f"the open interval of durations {interval} {where}", "close it")
        amounts = [self.reader.amount(each) for each in (interval.lower, interval.upper)]
        if any(amount.reads for amount in amounts):
            raise UnsupportedError(f"the duration {interval} {where}, which reads fluents whose values are objects")
        low, high = [amount.expression for amount in amounts]
        return low if low == high else DurationRange(low, high)

    def _known_change(self, timing: Any, effects: list[Any], domain: DomainModel) -> TimedEffect:
        if not timing.is_from_start():
            raise UnsupportedError(f"an effect at {timing}, which the plan's end decides", "give the time itself")
        found = read_effects(effects, self.reader)
        if found.when:
            raise UnsupportedError(f"an effect at {timing} under a condition, or for all objects", "name the objects")
        time = read_number(Fraction(timing.delay), "the time")
        others = [Not(other) for item in found.modifies for other in self._others(item, found, domain)]
        return TimedEffect(time, (*found.provides, *others), found.numbers)

    def _others(self, item: Atom, found: Effects, domain: DomainModel) -> Iterator[Atom]:
        """Yield the values that an object fluent no longer has, as a change at a known time retracts by name."""
        *_, value = domain.predicates[item.predicate].parameters
        for each in self._source.all_objects:
            name = self._vocabulary.objects.of(each, each.name)
            kinds = [self._vocabulary.type(kind) for kind in (each.type, *each.type.ancestors)]
            atom = Atom(item.predicate, tuple([name if term == OPEN else term for term in item.args]))
            if value.types[0] in kinds and atom not in found.provides:
                yield atom


def _kind(timing: up.Timing, what: str, where: str) -> TimepointKind:
    """Return whether `timing` is the start or the end of an action."""
    kind: TimepointKind = timing.timepoint.kind
    if timing.delay or kind not in (TimepointKind.START, TimepointKind.END):
        raise UnsupportedError(f"{what} at {timing} {where}", "state it at the start, at the end, or over all")
    return kind


def _join(*parts: Iterable[Formula]) -> Formula:
    return conjunction(dict.fromkeys(inner for part in parts for formula in part for inner in conjuncts(formula)))


def _plain_numbers(charged: Iterable[When]) -> list[Any]:
    return [each for when in charged if when.requires == TRUE for each in when.numbers]

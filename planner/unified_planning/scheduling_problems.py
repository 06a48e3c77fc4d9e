"""Scheduling problems of unified-planning: read as projects and solved exactly, and written from plans in time.

An activity is a task. What activities borrow is a resource; an order, a distance, a release date or a deadline is an
edge or a bound of starts; a choice between two orders is an alternative.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING, Final

from unified_planning import engines as up
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.model import EffectKind, OperatorKind, Timepoint, TimepointKind, Timing
from unified_planning.model.metrics import MinimizeMakespan
from unified_planning.model.scheduling import Activity, SchedulingProblem
from unified_planning.plans import Schedule as ForeignSchedule

from planner.errors import PlanError, UnsupportedError
from planner.plan import Plan, StepTime
from planner.scheduling.exact_schedule import Allowance, find_least_schedule, find_least_schedule_by_cp_sat, has_cp_sat
from planner.scheduling.happening_schedule import Network
from planner.scheduling.project import Edge, Project, Resource, Schedule
from planner.scheduling.rescheduling import model_project
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import price_plan

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import Effect, FNode

SCHEDULES: Final = frozenset({"DISCRETE_TIME", "SCHEDULING"})
"""The features that scheduling problems have besides."""
PATIENCE: Final = 10.0
"""Seconds for the search where there is no limit."""
_SMALLEST: Final = Fraction(1, 1000)
"""Seconds between what is strictly ordered where time is continuous and the problem has no separation."""


@dataclass(frozen=True, slots=True)
class _Point:
    """A point in time: so many seconds after the start of an activity, by its place, or after the beginning."""

    activity: int | None
    offset: Fraction


@dataclass(slots=True)
class _Limits:
    """Least distances between starts, by places, and bounds of starts, in seconds."""

    edges: list[tuple[int, int, Fraction]] = field(default_factory=list)
    earliest: dict[int, Fraction] = field(default_factory=dict)
    latest: dict[int, Fraction] = field(default_factory=dict)
    is_possible: bool = True

    def add(self, first: _Point, second: _Point, least: Fraction = Fraction(0)) -> None:
        """Let `second` come at least so many seconds after `first`."""
        one, other = first.activity, second.activity
        distance = first.offset - second.offset + least
        if one == other:
            self.is_possible &= distance <= 0
        elif one is None and other is not None:
            self.earliest[other] = max(self.earliest.get(other, distance), distance)
        elif one is not None and other is None:
            self.latest[one] = min(self.latest.get(one, -distance), -distance)
        elif one is not None and other is not None:
            self.edges.append((one, other, distance))


@dataclass(frozen=True, slots=True)
class IncomingSchedule:
    """A scheduling problem as a `project` with `scale` ticks to a unit of time; None where it contradicts itself.

    The first tasks are the activities; the others take what there is less of a resource at known times.
    """

    project: Project | None
    source: SchedulingProblem
    scale: int

    def makespan(self, found: Schedule) -> int:
        """Return the tick at which the last activity ends."""
        assert self.project is not None
        pairs = [*zip(found.starts, self.project.durations, strict=True)][: len(self.source.activities)]
        return max([start + lasts for start, lasts in pairs], default=0)

    def schedule(self, found: Schedule) -> ForeignSchedule:
        """Return a schedule of the project as one for `source`."""
        assert self.project is not None
        assignment = {}
        for place, activity in enumerate(self.source.activities):
            start, lasts = found.starts[place], self.project.durations[place]
            assignment[activity.start] = Fraction(start, self.scale)
            assignment[activity.end] = Fraction(start + lasts, self.scale)
        return ForeignSchedule(list(self.source.activities), assignment, self.source.environment)


def read_scheduling(source: SchedulingProblem) -> IncomingSchedule:
    """Return a scheduling problem as a project.

    Raises `UnsupportedError`, which names the construct, for decision variables, durations that are no constants,
    conditions, effects other than borrowing and known changes of resources, and constraints other than orders,
    distances and bounds of activities.
    """
    return _ScheduleReading(source).result()


class _ScheduleReading:
    def __init__(self, source: SchedulingProblem) -> None:
        self._source = source
        self._places = {activity.name: place for place, activity in enumerate(source.activities)}
        self._apart = Fraction(source.epsilon or _SMALLEST)
        self._limits = _Limits()
        self._gaps: dict[FNode, Fraction] = {}
        self._changes: dict[FNode, list[tuple[Fraction, Fraction]]] = {}
        self._either: list[tuple[tuple[int, int, Fraction], tuple[int, int, Fraction]]] = []

    def result(self) -> IncomingSchedule:
        self._refuse()
        self._durations = [_duration(activity) for activity in self._source.activities]
        demands = self._demands()
        for constraint, _ in self._source.all_constraints():
            for part in _conjuncts(constraint):
                self._constrain(part)
        capacities = {fluent: self._block(fluent, each) for fluent, each in demands.items()}
        limits = self._limits
        numbers = [*self._durations, *limits.earliest.values(), *limits.latest.values(), *self._gaps.values()]
        numbers += [least for _, _, least in (*limits.edges, *[edge for pair in self._either for edge in pair])]
        scale = lcm(*[number.denominator for number in numbers])
        if self._source.discrete_time and scale != 1:
            raise UnsupportedError("times that are no whole numbers in discrete time", "use integers")

        def ticks(edge: tuple[int, int, Fraction]) -> Edge:
            return edge[0], edge[1], int(edge[2] * scale)

        project = Project(
            tuple([int(each * scale) for each in self._durations]),
            tuple(map(ticks, limits.edges)),
            tuple([(ticks(one), ticks(other)) for one, other in self._either]),
            tuple([self._resource(fluent, capacities[fluent], each, scale) for fluent, each in demands.items()]),
            {place: int(tick * scale) for place, tick in limits.earliest.items()},
            {place: int(tick * scale) for place, tick in limits.latest.items()},
        )
        return IncomingSchedule(project if limits.is_possible else None, self._source, scale)

    def _refuse(self) -> None:
        source = self._source
        metrics = [each for each in source.quality_metrics if not each.is_minimize_makespan()]
        variables = [*source.base_variables, *[each for activity in source.activities for each in activity.parameters]]
        reasons = [
            *[f"the metric {each}" for each in metrics],
            *[f"the variable {each.name}" for each in variables],
            *[f"the condition {condition}" for _, condition, _ in source.all_conditions()],
        ]
        if reasons:
            raise UnsupportedError(f"{reasons[0]} of a scheduling problem", "a problem with actions may say it")

    def _demands(self) -> dict[FNode, dict[int, Fraction]]:
        """Return how much of each resource each activity, by its place, borrows; note how late it gives that back."""
        taken: dict[FNode, dict[int, Fraction]] = {}
        given: dict[FNode, dict[int, Fraction]] = {}
        for timing, effect, activity in self._source.all_effects():
            if activity is None:
                self._add_change(timing, effect)
                continue
            sides = {EffectKind.DECREASE: (TimepointKind.START, taken), EffectKind.INCREASE: (TimepointKind.END, given)}
            kind, amounts = sides.get(effect.kind, (None, taken))
            is_own = timing.timepoint.container in (None, activity.name) and timing.timepoint.kind is kind
            is_early = timing.delay < 0 or (timing.delay and amounts is taken)
            if not is_own or is_early or effect.is_conditional() or not effect.value.is_constant():
                raise UnsupportedError(f"the effect {effect} at {timing} of {activity.name}", "let it borrow by uses()")
            place = self._places[activity.name]
            own = amounts.setdefault(effect.fluent, {})
            own[place] = own.get(place, Fraction(0)) + Fraction(effect.value.constant_value())
            if amounts is given and self._gaps.setdefault(effect.fluent, Fraction(timing.delay)) != timing.delay:
                raise UnsupportedError(f"{effect.fluent}, which activities give back after different delays")
        for fluent in {*taken, *given}:
            if taken.get(fluent) != given.get(fluent):
                raise UnsupportedError(f"{fluent}, which activities do not give back as they took it", "use uses()")
            if fluent.type.lower_bound is None:
                raise UnsupportedError(f"{fluent}, which has no lower bound", "add_resource gives it one")
        return taken

    def _add_change(self, timing: Timing, effect: Effect) -> None:
        """Note how much of a resource there is more or less from a known time on."""
        sign = {EffectKind.DECREASE: -1, EffectKind.INCREASE: 1}.get(effect.kind, 0)
        known = timing.timepoint.kind is TimepointKind.GLOBAL_START and timing.delay >= 0
        if not sign or not known or effect.is_conditional() or not effect.value.is_constant():
            hint = "state by how much a resource grows or shrinks, and when"
            raise UnsupportedError(f"the effect {effect} at {timing} of a scheduling problem", hint)
        amount = sign * Fraction(effect.value.constant_value())
        self._changes.setdefault(effect.fluent, []).append((Fraction(timing.delay), amount))

    def _block(self, fluent: FNode, demands: dict[int, Fraction]) -> Fraction:
        """Return how much there ever is of a resource; while there is less, a task at a known time takes the rest."""
        value = self._source.initial_value(fluent)
        levels = [(Fraction(0), Fraction(value.constant_value()) - Fraction(fluent.type.lower_bound))]
        for tick, amount in sorted(self._changes.get(fluent, [])):
            levels.append((tick, levels[-1][1] + amount))
        if len(levels) > 1 and self._gaps[fluent]:
            raise UnsupportedError(f"{fluent}, which changes and which activities give back after a delay")
        most = max(level for _, level in levels)
        if levels[-1][1] != most:
            raise UnsupportedError(f"{fluent}, of which there is less in the end than before", "let it grow again")
        for (begin, level), (end, _) in pairwise(levels):
            if level < most and begin < end:
                place = len(self._durations)
                self._durations.append(end - begin)
                self._limits.earliest[place] = self._limits.latest[place] = begin
                demands[place] = most - level
        return most

    def _resource(self, fluent: FNode, capacity: Fraction, demands: Mapping[int, Fraction], ticks: int) -> Resource:
        scale = lcm(capacity.denominator, *[each.denominator for each in demands.values()])
        whole = {place: int(each * scale) for place, each in demands.items()}
        return Resource(int(capacity * scale), whole, int(self._gaps[fluent] * ticks))

    def _constrain(self, constraint: FNode) -> None:
        if constraint.is_bool_constant():
            self._limits.is_possible &= constraint.is_true()
        elif constraint.is_or() and len(constraint.args) == 2:
            self._either.append((self._only_edge(constraint.args[0]), self._only_edge(constraint.args[1])))
        else:
            self._bound(constraint, self._limits)

    def _only_edge(self, constraint: FNode) -> tuple[int, int, Fraction]:
        limits = _Limits()
        self._bound(constraint, limits)
        if len(limits.edges) != 1 or limits.earliest or limits.latest:
            raise UnsupportedError(f"the alternative {constraint}", "each is to order two activities")
        return limits.edges[0]

    def _bound(self, constraint: FNode, limits: _Limits) -> None:
        if constraint.node_type not in (OperatorKind.LE, OperatorKind.LT, OperatorKind.EQUALS):
            raise UnsupportedError(f"the constraint {constraint} of a scheduling problem", "order activities by times")
        first, second = [self._point(each, constraint) for each in constraint.args]
        limits.add(first, second, self._apart if constraint.is_lt() else Fraction(0))
        if constraint.is_equals():
            limits.add(second, first)

    def _point(self, expression: FNode, constraint: FNode) -> _Point:
        if expression.is_int_constant() or expression.is_real_constant():
            return _Point(None, Fraction(expression.constant_value()))
        if expression.is_timing_exp():
            return self._timing_point(expression.timing(), constraint)
        if expression.is_plus() or (expression.is_minus() and len(expression.args) == 2):
            points = [self._point(each, constraint) for each in expression.args]
            sign = 1 if expression.is_plus() else -1
            named = [each for each in points if each.activity is not None]
            if not named or (len(named) == 1 and (sign > 0 or points[0].activity is not None)):
                offset = points[0].offset + sign * sum([each.offset for each in points[1:]], Fraction(0))
                return _Point(named[0].activity if named else None, offset)
        raise UnsupportedError(f"the term {expression} in {constraint}", "a time is that of one activity, and a number")

    def _timing_point(self, timing: Timing, constraint: FNode) -> _Point:
        point, delay = timing.timepoint, Fraction(timing.delay)
        if point.kind is TimepointKind.GLOBAL_START:
            return _Point(None, delay)
        place = self._places.get(point.container)
        if place is None:
            raise UnsupportedError(f"the time {timing} in {constraint}", "name the start or the end of an activity")
        return _Point(place, delay + (self._durations[place] if point.kind is TimepointKind.END else 0))


def _duration(activity: Activity) -> Fraction:
    low, high = activity.duration.lower, activity.duration.upper
    if low != high or not low.is_constant():
        raise UnsupportedError(f"the duration {activity.duration} of {activity.name}", "give it a fixed one")
    return Fraction(low.constant_value())


def _conjuncts(constraint: FNode) -> Iterator[FNode]:
    if constraint.is_and():
        for part in constraint.args:
            yield from _conjuncts(part)
    else:
        yield constraint


def solve_scheduling(source: SchedulingProblem, name: str, timeout: float | None = None) -> up.PlanGenerationResult:
    """Return a schedule of the least makespan for `source` as the result of the engine `name`.

    Branch and bound has half of the time; then CP-SAT goes on, where OR-tools is installed. Raises `UnsupportedError`
    as `read_scheduling` does.
    """
    incoming = read_scheduling(source)
    if incoming.project is None:
        return up.PlanGenerationResult(Outcome.UNSOLVABLE_PROVEN, None, name)
    found, is_complete = find_best_schedule(incoming.project, PATIENCE if timeout is None else timeout)
    if found is None:
        return up.PlanGenerationResult(Outcome.UNSOLVABLE_PROVEN if is_complete else Outcome.TIMEOUT, None, name)
    proved = found.is_least and found.makespan == incoming.makespan(found) and bool(source.quality_metrics)
    status = Outcome.SOLVED_OPTIMALLY if proved else Outcome.SOLVED_SATISFICING
    return up.PlanGenerationResult(status, incoming.schedule(found), name)


def find_best_schedule(project: Project, seconds: float) -> tuple[Schedule | None, bool]:
    """Return the best schedule found within `seconds`, and whether the search looked at all."""
    began = time.monotonic()
    allowance = Allowance(seconds / 2 if has_cp_sat() else seconds)
    found = find_least_schedule(project, may_go_on=allowance)
    if not allowance.is_over or not has_cp_sat():
        return found, not allowance.is_over
    limit = None if found is None else found.makespan
    better = find_least_schedule_by_cp_sat(project, seconds - (time.monotonic() - began), limit)
    return better or found, False


@dataclass(frozen=True, slots=True)
class OutgoingSchedule:
    """A scheduling problem in ticks of the `network` of a plan, `source`, whose steps are the activities."""

    problem: SchedulingProblem
    source: Plan
    network: Network

    def plan(self, schedule: ForeignSchedule) -> Plan:
        """Return the steps at the times of a schedule for `problem`."""
        activities = self.problem.activities
        starts = [int(schedule.get(each.start).constant_value()) for each in activities]
        order = sorted(range(len(starts)), key=lambda place: (starts[place], place))
        times = [StepTime(self.network.seconds(starts[each]), self.source.times[each].duration) for each in order]
        steps = tuple([self.source.steps[each] for each in order])
        return price_plan(Plan(steps, self.source.problem, times=tuple(times)))


def to_scheduling_problem(plan: Plan, environment: Environment | None = None) -> OutgoingSchedule:
    """Return the scheduling problem that asks when each step of `plan`, a valid plan in time, is to start.

    What steps provide for each other orders them; machines and capacities are resources. Raises `PlanError` where a
    plan has no times, or where what its steps wait for cannot be said.
    """
    if plan.steps and not plan.times:
        raise PlanError("the plan has no times", hint="solve a problem in time, or give each step a start")
    modelled = model_project(plan.problem, make_snap_problem(plan.problem), plan)
    if modelled is None:
        raise PlanError("the steps of the plan cannot be scheduled by themselves")
    project, network = modelled
    problem = SchedulingProblem(plan.problem.name, environment)
    activities = [_add_activity(problem, plan, place, last) for place, last in enumerate(project.durations)]
    manager = problem.environment.expression_manager

    def order(edge: Edge) -> FNode:
        one, other, least = edge
        return manager.LE(_after(activities[one].start, least), activities[other].start)

    for edge in project.edges:
        problem.add_constraint(order(edge))
    for first, second in project.either:
        problem.add_constraint(manager.Or(order(first), order(second)))
    for place, tick in project.earliest.items():
        activities[place].add_constraint(manager.LE(tick, activities[place].start))
    for place, tick in project.latest.items():
        activities[place].add_constraint(manager.LE(activities[place].start, tick))
    for number, resource in enumerate(project.resources, start=1):
        _add_resource(problem, activities, resource, f"resource{number}")
    problem.add_quality_metric(MinimizeMakespan(problem.environment))
    return OutgoingSchedule(problem, plan, network)


def _add_activity(problem: SchedulingProblem, plan: Plan, place: int, duration: int) -> Activity:
    step = plan.steps[place]
    return problem.add_activity("_".join([f"{place + 1}", step.action, *step.arguments]), duration)


def _add_resource(problem: SchedulingProblem, activities: Sequence[Activity], resource: Resource, name: str) -> None:
    fluent = problem.add_resource(name, resource.capacity)
    for place, demand in resource.demands.items():
        activities[place].add_decrease_effect(activities[place].start, fluent, demand)
        activities[place].add_increase_effect(_after(activities[place].end, resource.gap), fluent, demand)


def _after(point: Timepoint, ticks: int) -> Timing:
    return Timing(ticks, point)

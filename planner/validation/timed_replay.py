"""Check plans in time: replay their happenings (Fox and Long, 2003: PDDL 2.1, level 3).

Steps start and end at single moments, and changes at known times happen then. Of two happenings of which one writes
what the other reads or writes, the second comes at least `SEPARATION` later. What must hold throughout a step is looked
at after all happenings of each moment from its start on, until its end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from planner.compilations.object_creation import for_steps
from planner.errors import InputError, Location, PlanError
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import DURATION
from planner.model.arithmetic import exact_value
from planner.model.formulas import Arithmetic, Atom, Comparison, Formula, Number, conjuncts, functions_in
from planner.model.problem import NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.plan import Plan, Step, StepTime, exact, exact_sum, name_as_written
from planner.semantics.constraint_monitors import TimedMonitors
from planner.semantics.durations import SEPARATION, duration_of
from planner.semantics.numeric_state import change_of_metric, charge_time
from planner.semantics.simulation import ChangeHistory, Objection, Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem, free_name, make_snap_problem, name_as_declared
from planner.semantics.spending import Amounts, add_up, describe_exceeded
from planner.semantics.step_effects import Changes, cost_of, spending_of
from planner.semantics.undefined_values import describe_undefined
from planner.validation.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Happening:
    """A start, an end, or a change at a known time: an action of the snap problem.

    `number` is that of the step, from 1; 0 for a change at a known time. `rank` orders happenings of one moment.
    """

    time: Number
    rank: int
    number: int
    step: Step

    @property
    def is_start(self) -> bool:
        """Whether a step starts."""
        return self.rank == _START


_EVENT: Final = 0
_END: Final = 1
_START: Final = 2


def find_happenings(
    problem: Problem, snap: SnapProblem, steps: Sequence[Step], times: Sequence[StepTime]
) -> list[Happening]:
    """Return the happenings of a plan in the order of their times: changes at known times, then ends, then starts."""
    found = [
        Happening(effect.time, _EVENT, 0, Step(name)) for name, effect in zip(snap.events, problem.timed, strict=True)
    ]
    for number, (step, time) in enumerate(zip(steps, times, strict=True), start=1):
        moments = snap.actions[step.action]
        found.append(Happening(time.start, _START, number, Step(moments.start, step.arguments)))
        if moments.end:
            # a step of no duration ends after it started
            rank = _END if time.duration else _START + 1
            found.append(Happening(time.end, rank, number, Step(moments.end, step.arguments)))
    return sorted(found, key=lambda each: (each.time, each.rank, each.number))


def apply_happening(simulation: Simulation, happening: Happening, times: Sequence[StepTime]) -> Changes:
    """Apply `happening`, which can happen now, to the state of the snap problem; return what it changes."""
    fluents = simulation.world.state.values.fluents
    if happening.number:
        fluents[DURATION.predicate, ()] = exact_value(times[happening.number - 1].duration)
    changes = simulation.apply(happening.step)
    fluents.pop((DURATION.predicate, ()), None)
    return changes


class TimedReplay:
    """Replays the happenings of one plan; `find_fault` says what is wrong with it."""

    def __init__(self, problem: Problem, steps: Sequence[Step], times: Sequence[StepTime]) -> None:
        self._declared = problem
        self.problem = problem = for_steps(problem, steps)
        self.snap = make_snap_problem(problem)
        self.simulation = Simulation(self.snap.problem)
        self._steps = tuple(steps)
        self._written = name_as_written(steps, problem)
        self._times = tuple(times)
        self._chronicle = ChangeHistory(problem.domain.derived, self.simulation.world.state.values)
        self._running: dict[int, Step] = {}
        self._reached: dict[int, Number] = {}
        self._costs: list[Number] = [0] * len(self._steps)
        self._spent: list[Amounts] = []
        self._event_cost: Number = 0
        self._replayed: list[Happening] = []
        self._monitors = TimedMonitors(problem.constraints, self.simulation) if problem.constraints else None

    @property
    def makespan(self) -> Number:
        """When the last step ends."""
        return max([each.end for each in self._times], default=0)

    def judge(self, claimed: Number | None) -> Verdict:
        """Return the verdict on the plan, which claims the cost `claimed`."""
        found = self._judge(claimed)
        return found if found.valid else replace(found, reason=name_as_declared(found.reason, self.problem))

    def price_replayed(self) -> Plan | None:
        """Replay the plan and return it with what it costs; None where its happenings cannot be replayed."""
        return self.price() if self._find_misfit() is None and self._replay() is None else None

    def _judge(self, claimed: Number | None) -> Verdict:
        for check in (self._find_misfit, self._replay):
            fault = check()
            if fault is not None:
                return fault
        cost = self.price().cost
        for check in (self._find_unmet, self._find_collision):
            fault = check()
            if fault is not None:
                return replace(fault, cost=cost)
        broken = "; ".join([*self._describe_lateness(), *self._describe_exceeded_budgets()])
        if broken:
            return Verdict(valid=False, cost=cost, reason=broken)
        if claimed is not None and claimed != cost:
            return Verdict(valid=False, cost=cost, reason=f"the plan claims cost {claimed}, and it costs {cost}")
        forgone = [wish for wish in self.problem.goal.soft if not self.simulation.holds(wish.condition)]
        constraints = [] if self._monitors is None else self._monitors.forgone
        pairs = zip(self._declared.wishes, self.problem.wishes, strict=True)
        lost = (*forgone, *constraints)
        return Verdict(valid=True, cost=cost, forgone=tuple([wish for wish, guarded in pairs if guarded in lost]))

    def _find_misfit(self) -> Verdict | None:
        """Return the verdict on a step that is no instance of an action, or whose times are none."""
        for number, (step, time) in enumerate(zip(self._steps, self._times, strict=True), start=1):
            known = step.action in self.problem.domain.actions
            snapped = replace(step, action=self.snap.actions[step.action].start) if known else step
            reason = self.simulation.rules.mismatch(snapped)
            if not reason:
                action = self.problem.domain.actions[step.action]
                reason = describe_undefined(self.problem, action, bind_parameters(action, step))
            if not reason and time.start < 0:
                reason = f"it starts at {time.start}, before the plan begins"
            if not reason and time.duration < 0:
                reason = f"it lasts {time.duration} s, less than nothing"
            if reason:
                return self._reject(number, "", reason)
        return None

    def _reject(self, number: int, moment: str, reason: str, condition: Formula | None = None) -> Verdict:
        step = self._written[number - 1]
        return Verdict(
            valid=False,
            cost=0,
            reason=f"step {number} {step}{moment}: {reason}",
            failing_step=number,
            condition=condition,
        )

    def _replay(self) -> Verdict | None:
        """Replay all happenings; return a verdict where one cannot happen, or an invariant does not hold."""
        happenings = find_happenings(self.problem, self.snap, self._steps, self._times)
        self._note_reached(0)
        fault = self._find_broken("the initial state breaks")
        if fault is not None:
            return fault
        for time, group in groupby(happenings, key=lambda each: each.time):
            together = list(group)
            for happening in together:
                fault = self._happen(happening)
                if fault is not None:
                    return fault
            fault = self._check_running(time)
            fault = self._watch(time, together) if fault is None else fault
            if fault is not None:
                return fault
            self._note_reached(time)
        return None

    def _watch(self, time: Number, together: Sequence[Happening]) -> Verdict | None:
        """Return a verdict where the happenings of the moment `time` break a constraint."""
        if self._monitors is None:
            return None
        begun = [self._steps[each.number - 1] for each in together if each.is_start]
        ended = [self._steps[each.number - 1] for each in together if each.number and self._is_last(each)]
        self._monitors.close(time, self.simulation, begun, ended)
        number = next((each.number for each in together if each.number), None)
        return self._find_broken(f"what happens at {time} breaks", number)

    def _is_last(self, happening: Happening) -> bool:
        """Return whether a step ends with `happening`."""
        return not (happening.is_start and self.snap.actions[self._steps[happening.number - 1].action].end)

    def _find_broken(self, words: str, number: int | None = None) -> Verdict | None:
        constraint = None if self._monitors is None else self._monitors.broken
        if constraint is None:
            return None
        reason = f"{words} the constraint '{constraint}'"
        return Verdict(valid=False, cost=0, reason=reason, failing_step=number, constraint=constraint)

    def _happen(self, happening: Happening) -> Verdict | None:
        number, simulation = happening.number, self.simulation
        if number:
            fault = self._check_duration(happening) if happening.is_start else None
            if fault is not None:
                return fault
            simulation.world.state.values.fluents[DURATION.predicate, ()] = exact_value(
                self._times[number - 1].duration
            )
            if not happening.is_start:
                self._running.pop(number, None)
        objection = simulation.find_objection(happening.step)
        if objection is not None:
            return self._explain(happening, objection)
        try:
            self._charge(happening)
        except InputError as error:
            return self._explain(happening, Objection(str(error)))
        changes = simulation.apply(happening.step)
        simulation.world.state.values.fluents.pop((DURATION.predicate, ()), None)
        self._replayed.append(happening)
        if number:
            self._chronicle.record(number, self._written[number - 1], changes)
            moments = self.snap.actions[self._steps[number - 1].action]
            if happening.is_start and moments.lasting:
                self._running[number] = Step(moments.lasting, happening.step.arguments)
        else:
            self._chronicle.record(f"the change at {happening.time},", happening.step, changes)
        return None

    def _check_duration(self, happening: Happening) -> Verdict | None:
        """Return a verdict where the step of `happening`, a start, may not last as long as it does."""
        step, time = self._steps[happening.number - 1], self._times[happening.number - 1]
        action = self.problem.domain.actions[step.action]
        try:
            lasting = duration_of(action, self.simulation.world.state.values, bind_parameters(action, step))
        except PlanError as error:
            return self._reject(happening.number, f" starts at {time.start}", error.message)
        if lasting.allows(time.duration):
            return None
        return self._reject(
            happening.number, "", f"it lasts {time.duration} s in the plan, and its duration is {lasting}"
        )

    def _explain(self, happening: Happening, objection: Objection) -> Verdict:
        if not happening.number:
            reason = f"the change at {happening.time} cannot happen: {objection.misfit or objection.condition}"
            return Verdict(valid=False, cost=0, reason=reason)
        moment = f" {'starts' if happening.is_start else 'ends'} at {happening.time}"
        if objection.misfit:
            return self._reject(happening.number, moment, objection.misfit)
        condition = objection.condition
        demand, declared = self._describe_demand(condition)
        return self._reject(happening.number, moment, f"{demand}, {self._chronicle.account(condition)}", declared)

    def _describe_demand(self, condition: Formula) -> tuple[str, Formula]:
        """Say what a step requires, or how much of a capacity it holds; return also the condition on the capacity."""
        free = {Atom(free_name(name)): name for name in self.problem.capacity}
        match condition:
            case Comparison(left=Arithmetic(operator="-", operands=(Atom() as fluent, amount)) as left) if (
                fluent in free
            ):
                named = replace(condition, left=replace(left, operands=(Atom(free[fluent]), amount)))
                return f"holds {amount} of {free[fluent]}", named
        return f"requires {condition}", condition

    def _check_running(self, time: Number) -> Verdict | None:
        """Return a verdict where something does not hold now, after `time`, that a running step needs throughout."""
        for number, lasting in self._running.items():
            objection = self.simulation.find_objection(lasting)
            if objection is not None:
                condition = objection.condition
                reason = f"requires {condition} throughout, {self._chronicle.account(condition)}"
                return self._reject(number, f" lasts after {time}", reason, condition)
        return None

    def _note_reached(self, time: Number) -> None:
        for place, due in enumerate(self.problem.due):
            if place not in self._reached and self.simulation.holds(due.condition):
                self._reached[place] = time

    def _find_unmet(self) -> Verdict | None:
        unmet = tuple(
            [
                self.simulation.inspector.smallest_failure(part, {})
                for part in conjuncts(self.problem.goal.hard)
                if not self.simulation.holds(part)
            ]
        )
        if unmet:
            parts = "; ".join(f"{condition}, {self._chronicle.account(condition)}" for condition in unmet)
            return Verdict(valid=False, cost=0, reason=f"at the end, the goal requires {parts}", unmet=unmet)
        missing = None if self._monitors is None else self._monitors.unmet
        if missing is None:
            return None
        reason = f"at the end, the constraint '{missing}' is not met"
        return Verdict(valid=False, cost=0, reason=reason, constraint=missing)

    def _find_collision(self) -> Verdict | None:
        """Return a verdict where two happenings are too close to each other."""
        times = [each.time for each in self._replayed]
        apart = [later - earlier >= SEPARATION for earlier, later in pairwise(times)]
        if all(apart):
            return None
        from planner.partial_order.happening_order import find_separated

        moments = list(accumulate(apart, initial=0))
        lasts = [self._times[each.number - 1].duration if each.number else None for each in self._replayed]
        for each in find_separated(self.snap.problem, [each.step for each in self._replayed], lasts, moments):
            if each.later > len(self._replayed):
                continue
            first, second = self._replayed[each.earlier - 1], self._replayed[each.later - 1]
            if second.time - first.time < SEPARATION:
                names = " and ".join(map(self._name, (first, second)))
                reason = f"{names} are less than {SEPARATION} s apart, and both touch {each.about}"
                return Verdict(valid=False, cost=0, reason=reason, failing_step=second.number or first.number or None)
        return None

    def _name(self, happening: Happening) -> str:
        if not happening.number:
            return f"the change at {happening.time}"
        moment = "start" if happening.is_start else "end"
        return f"the {moment} of step {happening.number} {self._written[happening.number - 1]} at {happening.time}"

    def _describe_lateness(self) -> Iterator[str]:
        if self.problem.deadline is not None and self.makespan > self.problem.deadline:
            yield f"the plan takes {self.makespan} seconds, and the deadline is {self.problem.deadline}"
        for place, due in enumerate(self.problem.due):
            when = self._reached.get(place)
            if due.weight is None and (when is None or when > due.by):
                reached = "never" if when is None else f"at {when}"
                yield f"{due.condition} is due by {due.by}, and it is reached {reached}"

    def _describe_exceeded_budgets(self) -> Iterator[str]:
        yield from describe_exceeded(self.problem, add_up(self.problem, self._spent))

    def price(self) -> Plan:
        """Return the replayed plan with the costs of its steps, and what the metric charges for its times."""
        steps = [replace(step, cost=exact(cost)) for step, cost in zip(self._steps, self._costs, strict=True)]
        return Plan(tuple(steps), self._declared, times=self._times, time_cost=self._find_time_cost())

    def _find_time_cost(self) -> Number:
        late = [
            max(self._reached.get(place, self.makespan) - due.by, 0) * due.weight
            for place, due in enumerate(self.problem.due)
            if due.weight is not None
        ]
        metric = self.problem.metric
        charged: Number = 0
        if isinstance(metric, NumericMetric) and TOTAL_TIME in functions_in(metric.expression):
            charged = charge_time(metric, self.simulation.world.state.values, self.makespan)
        return exact_sum([charged, self._event_cost, *late])

    def _charge(self, happening: Happening) -> None:
        """Add what the metric charges for `happening`, which can happen now, to the cost of its step."""
        problem, simulation, number = self.problem, self.simulation, happening.number
        cost: Number = 0
        if happening.is_start:
            step = self._steps[number - 1]
            action = problem.domain.actions[step.action]
            binding = bind_parameters(action, step)
            cost = cost_of(problem, action, binding)
            self._spent.append(spending_of(problem, action, binding))
        if isinstance(problem.metric, NumericMetric):
            changes = simulation.numbers(happening.step)
            cost = change_of_metric(problem.metric, simulation.world.state.values, changes, cost)
        if number:
            self._costs[number - 1] += cost
        else:
            self._event_cost += cost


def price_plan(plan: Plan) -> Plan:
    """Return a plan in time with the costs that its problem says; one that cannot be replayed stays as it is.

    Whether the plan is valid is not judged.
    """
    return TimedReplay(plan.problem, plan.steps, plan.times).price_replayed() or plan


def make_timed_plan(steps: Sequence[Step], times: Sequence[StepTime | None], problem: Problem, place: Location) -> Plan:
    """Return the plan in time of `steps`, in the order of their starts; without any times, they have none.

    Raises `PlanError` at `place` where only some steps have times.
    """
    known = [each for each in times if each is not None]
    if not known:
        return Plan(tuple(steps), problem)
    if len(known) < len(steps):
        missing = steps[list(times).index(None)]
        hint = "give each step a start and a duration, as in '0.000: (move a b) [5.000]'"
        raise PlanError(f"the step {missing} has no time, and others have one", place, hint)
    order = sorted(range(len(steps)), key=lambda number: known[number].start)
    return price_plan(
        Plan(tuple([steps[each] for each in order]), problem, times=tuple([known[each] for each in order]))
    )


def in_turn(problem: Problem, steps: Sequence[Step]) -> Plan:
    """Return the plan in which `steps` are taken one after another, each as early as that allows.

    A step whose duration has no value lasts no time; the verdict on the plan says so.
    """
    declared, problem = problem, for_steps(problem, steps)
    snap = make_snap_problem(problem)
    simulation = Simulation(snap.problem)
    times: list[StepTime] = []
    now: Number = 0
    for step in steps:
        action = problem.domain.actions.get(step.action)
        lasting: Number = 0
        if action is not None and len(step.arguments) == len(action.parameters):
            with contextlib.suppress(PlanError):
                lasting = duration_of(action, simulation.world.state.values, bind_parameters(action, step)).low
            moments = snap.actions[step.action]
            for name in filter(None, (moments.start, moments.end)):
                happening = Step(name, step.arguments)
                if simulation.find_objection(happening) is None:
                    simulation.apply(happening)
        times.append(StepTime(exact(now), lasting))
        now = now + lasting + SEPARATION
    return price_plan(Plan(tuple(steps), declared, times=tuple(times)))

"""Problems in time taken in turn: each step begins when the one before has ended, as early as it can.

A step of a plan in turn is its start, what happens at known times meanwhile, and its end, with `SEPARATION` between it
and the step before; a range of durations gives its least one. The start waits for what happens at known times where the
step cannot begin at once. So an execution in turn is a plan in time. Where a step has several outcomes, each of them
must be possible at the time of its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Any, Final, Protocol, dataclass, replace
from planner.model import Action, Atom, Formula, Not, Number, Predicate, Problem
from planner.model.actions import DurationRange
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.domain import Axiom, DomainModel, Function
from planner.model.formulas import (
    OPEN,
    Arithmetic,
    Exists,
    Expression,
    Variable,
    atoms_in,
    comparisons_in,
    functions_in,
    with_conjuncts,
)
from planner.model.problem import Metric, NumericMetric
from planner.model.timing import TOTAL_TIME, GoalDeadline, fix_duration
from planner.plan import Step, exact_sum
from planner.semantics.durations import SEPARATION, duration_of
from planner.semantics.numeric_state import Values, change_between, charge_time
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import make_snap_problem

DUE: Final = "@due-"
"""Prefix of the actions that test whether what is due has been reached."""
_RAN: Final = "ran-"
"""Prefix of the predicates that say which actions ran, as `planner.compilations.adl` names them."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The snap actions of an action with one of its outcomes; `end` and `lasting` are "" where there are none."""

    start: str
    end: str
    lasting: str


@dataclass(frozen=True, slots=True)
class Clock:
    """When the last step ended, None before the first, and how many changes at known times have happened until then.

    `reached` are the numbers of what is due and was reached in time. The next step starts no earlier than `since`.
    """

    end: Number | None = None
    events: int = 0
    reached: frozenset[int] = frozenset()
    since: Number | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A change at a known time: an action without parameters."""

    time: Number
    action: str


class Engine(Protocol):
    """States of the world, to which snap actions are applied."""

    def apply(self, state: Any, action: str, arguments: tuple[str, ...]) -> Any:
        """Return the state after a snap action; None where it is not applicable."""

    def values(self, state: Any) -> Values:
        """Return the values of functions in `state`."""


def may_last_longer(problem: Problem) -> bool:
    """Return whether some step of `problem` may last longer than its least duration, which steps in turn have."""
    return any(isinstance(each.duration, DurationRange) for each in problem.domain.actions.values())


def refused_in_turn(problem: Problem) -> tuple[str, str] | None:
    """Return a construct that steps in turn do not take, and a way round; None where they take all of `problem`."""
    if has(problem, Construct.UNKNOWN):
        return "facts declared unknown in a problem in time", "state which of them hold, or leave the times out"
    if has(problem, *CONSTRAINED):
        return "constraints in a problem in time", "let actions require what must hold, or leave the times out"
    return None


def refuse_in_turn(problem: Problem) -> None:
    """Raise `UnsupportedError` where steps in turn do not take all of `problem`."""
    refused = refused_in_turn(problem)
    if refused is not None:
        raise UnsupportedError(*refused)


class Turns:
    """The snap actions of a problem in time with all outcomes of its actions; `problem` has them as its actions."""

    def __init__(self, source: Problem) -> None:
        self.source = source = _with_history(_fix_durations(source))
        most = max([len(action.outcomes) for action in source.domain.actions.values()], default=0)
        snaps = [make_snap_problem(_with_outcome(source, number)) for number in range(max(most, 1))]
        actions: dict[str, Action] = {}
        predicates: dict[str, Predicate] = {}
        functions: dict[str, Function] = {}
        values: dict[Atom, Number] = {}
        axioms: list[Axiom] = []
        self.moments: dict[str, list[Moments]] = {}
        for number, snap in enumerate(snaps):
            predicates |= snap.problem.domain.predicates
            functions |= snap.problem.domain.functions
            values |= snap.problem.values
            derived = {axiom.predicate for axiom in axioms}
            axioms += [axiom for axiom in snap.problem.domain.axioms if axiom.predicate not in derived]
            for name, action in source.domain.actions.items():
                if number and number >= len(action.outcomes):
                    continue
                own = snap.actions[name]
                names = [
                    f"{each}{f' {number}' if number else ''}" if each else ""
                    for each in (own.start, own.end, own.lasting)
                ]
                for new, old in zip(names, (own.start, own.end, own.lasting), strict=True):
                    if old:
                        actions[new] = replace(snap.problem.domain.actions[old], name=new)
                self.moments.setdefault(name, []).append(Moments(*names))
        first = snaps[0].problem
        pairs = zip(snaps[0].events, source.timed, strict=True)
        self.events = sorted([Event(effect.time, name) for name, effect in pairs], key=lambda each: each.time)
        actions |= {each.action: first.domain.actions[each.action] for each in self.events}
        self.dues = source.due
        for number, due in enumerate(self.dues):
            actions[f"{DUE}{number}"] = Action(f"{DUE}{number}", requires=due.condition, cost=())
        domain = replace(
            first.domain, actions=actions, predicates=predicates, functions=functions, axioms=tuple(axioms)
        )
        metric = _without_time(source.metric)
        self.problem = replace(first, domain=domain, goal=source.goal, values=values, metric=metric)
        self._touched = _Touched(domain)
        times = [*[each.time for each in self.events], *[each.by for each in self.dues], 0]
        self.horizon = max(times)
        """The time after which nothing depends on the time."""
        self.rate = self._find_rate()

    def _find_rate(self) -> Number:
        """Return what the metric charges for a second."""
        metric = self.source.metric
        if not isinstance(metric, NumericMetric):
            return 0
        rate = charge_time(metric, Values.of(self.problem), 1)
        if rate < 0:
            raise UnsupportedError(f"the metric '{metric}', which falls with time, in policies", "leave the time out")
        return rate

    def cost_of(self, declared: Number) -> Number:
        """Return what the metric charges for a step of this `declared` cost, but for numbers and time."""
        metric = self.source.metric
        if not isinstance(metric, NumericMetric):
            return declared
        values = Values.of(self.problem)
        cost = change_between(metric, values, values, declared)
        if cost < 0:
            what = f"the metric '{metric}', which falls with the cost of steps, in policies"
            raise UnsupportedError(what, "leave total-cost out")
        return cost

    def begins(self, clock: Clock) -> Number | None:
        """Return when the next step can begin at the earliest; None where that does not matter any more."""
        return None if self._is_past(clock) else self._ready(clock)

    @staticmethod
    def _ready(clock: Clock) -> Number:
        """Return when the next step can start at the earliest."""
        ready = 0 if clock.end is None else exact_sum([clock.end, SEPARATION])
        return ready if clock.since is None else max(ready, clock.since)

    def _is_past(self, clock: Clock) -> bool:
        limited = self.source.deadline is not None
        return clock.end == self.horizon and clock.events == len(self.events) and not limited and clock.end is not None

    def is_lost(self, clock: Clock) -> bool:
        """Return whether something was due that was not reached."""
        if clock.end is None:
            return False
        return any(each.weight is None and clock.end > each.by for each in self._open(clock))

    def _open(self, clock: Clock) -> list[GoalDeadline]:
        return [each for number, each in enumerate(self.dues) if number not in clock.reached]

    def begin(self, engine: Engine, state: Any) -> Clock:
        """Return the clock of the initial `state`."""
        return Clock(reached=self._note(engine, state, frozenset(), 0))

    def _note(self, engine: Engine, state: Any, reached: frozenset[int], time: Number) -> frozenset[int]:
        found = [
            number
            for number, due in enumerate(self.dues)
            if number not in reached
            and (due.weight is not None or time <= due.by)
            and engine.apply(state, f"{DUE}{number}", ()) is not None
        ]
        return reached.union(found) if found else reached

    def take(
        self, engine: Engine, state: Any, clock: Clock, step: Step, outcomes: list[int]
    ) -> tuple[list[tuple[Any, Clock, Number]], tuple[Any, Clock, Number]] | None:
        """Take `step` as early as it can be with each of `outcomes`; None where it cannot.

        Return for each outcome, and for a step that fails, the state after it, its clock, and what its time costs.
        """
        if self.is_lost(clock):
            return None
        for start in self._starts(engine, state, clock, step):
            runs = [self._run(engine, state, clock, step, number, start=start) for number in outcomes]
            idle = self._run(engine, state, clock, step, None, start=start)
            known = [each for each in runs if each is not None]
            if idle is not None and len(known) == len(runs):
                return known, idle
        return None

    def _starts(self, engine: Engine, state: Any, clock: Clock, step: Step) -> list[Number]:
        """Return when the step may start first: at once, or where its start or its end follows a change."""
        ready = self._ready(clock)
        lasting = self.duration(engine, state, step)
        if lasting is None:
            return []
        found: set[Number] = {ready}
        for event in self.events[clock.events :]:
            for after in (0, SEPARATION):
                found |= {exact_sum([event.time, after]), exact_sum([event.time, after, -lasting])}
        return sorted([each for each in found if each >= ready])

    def wait(
        self, engine: Engine, state: Any, clock: Clock, holds: Callable[[Any], bool], read: Iterable[str]
    ) -> tuple[Any, Clock] | None:
        """Wait until a condition `holds` that reads the predicates and functions `read`; None where it never does.

        Return the state at that time, and the clock by which the next step starts no earlier.
        """
        names = frozenset(self._touched.rest_on(read))
        ready = self._ready(clock)
        after = [exact_sum([event.time, gap]) for event in self.events[clock.events :] for gap in (0, SEPARATION)]
        times: list[Number] = [ready, *[each for each in after if each > ready]]
        for time in sorted(set(times)):
            run = _Run(self, engine, state, clock.events, clock.reached)
            if not run.pass_events(time):
                return None
            if not any(self._touched.writes(each.action, names) for each in self._near(time)) and holds(run.state):
                if time == ready:
                    return state, clock
                return run.state, replace(clock, events=run.events, reached=run.reached, since=time)
        return None

    def duration(self, engine: Engine, state: Any, step: Step) -> Number | None:
        """Return how long `step` lasts if it starts in `state`; None where that has no value."""
        action = self.source.domain.actions[step.action]
        try:
            return duration_of(action, engine.values(state), bind_parameters(action, step)).low
        except PlanError:
            return None

    def _run(
        self, engine: Engine, state: Any, clock: Clock, step: Step, number: int | None, *, start: Number
    ) -> tuple[Any, Clock, Number] | None:
        """Return what comes of `step` with an outcome, from `start` on; None where it cannot start then.

        Without a `number`, the step fails: nothing comes of it but that its time passes.
        """
        moments = self.moments[step.action][number or 0]
        run = _Run(self, engine, state, clock.events, clock.reached)
        if not run.pass_events(start) or self._collides(moments.start, start):
            return None
        lasting = self.duration(engine, run.state, step)
        if lasting is None:
            return None
        end = exact_sum([start, lasting])
        if self.source.deadline is not None and end > self.source.deadline:
            return None
        if number is not None and not run.apply(moments.start, step.arguments, start):
            return None
        if number is None:
            if engine.apply(run.state, moments.start, step.arguments) is None or not run.pass_events(end):
                return None
        elif moments.end:
            between = moments.lasting if lasting > 0 else ""
            if not run.last(between, step.arguments, end) or self._collides(moments.end, end):
                return None
            if not run.apply(moments.end, step.arguments, end):
                return None
        return run.state, self._settle(Clock(end, run.events, run.reached)), self._price(clock, end, run)

    def _collides(self, action: str, time: Number) -> bool:
        """Return whether a change at a known time and a snap action at `time` would be too close to each other."""
        return any(self._touched.meet(action, each.action) for each in self._near(time))

    def _near(self, time: Number) -> list[Event]:
        """Return the changes at known times that are too close to `time` for what they touch."""
        return [each for each in self.events if -SEPARATION < exact_sum([each.time, -time]) < SEPARATION]

    def _settle(self, clock: Clock) -> Clock:
        """Return one clock for all times after the horizon."""
        past = clock.end is not None and clock.end >= self.horizon and clock.events == len(self.events)
        return (
            replace(clock, end=self.horizon)
            if past and self.source.deadline is None and not self.is_lost(clock)
            else clock
        )

    def _price(self, clock: Clock, end: Number, run: _Run) -> Number:
        before = clock.end or 0
        late = [
            self._lateness(due, run.times.get(number, end), before)
            for number, due in enumerate(self.dues)
            if number not in clock.reached and due.weight is not None
        ]
        return exact_sum([self.rate * exact_sum([end, -before]), *late])

    @staticmethod
    def _lateness(due: GoalDeadline, until: Number, since: Number) -> Number:
        """Return what the time from `since` to `until` costs where `due` is not reached meanwhile."""
        return max(max(until - due.by, 0) - max(since - due.by, 0), 0) * (due.weight or 0)

    def finish(self, engine: Engine, state: Any, clock: Clock) -> tuple[Any, bool, Number] | None:
        """Return the state when all changes at known times have happened, whether dues are kept, and what that costs.

        Return None where one of the changes cannot happen.
        """
        run = _Run(self, engine, state, clock.events, clock.reached)
        last = max([each.time for each in self.events], default=0)
        if not run.pass_events(last):
            return None
        kept = all(each.weight is not None for each in self._open(Clock(reached=run.reached)))
        end = clock.end or 0
        late = [
            self._lateness(due, run.times[number], end)
            for number, due in enumerate(self.dues)
            if number in run.times and due.weight is not None
        ]
        return run.state, kept and not self.is_lost(clock), exact_sum(late)


class _Run:
    """A state on its way through one step; `times` are when what was due was reached."""

    def __init__(self, turns: Turns, engine: Engine, state: Any, events: int, reached: frozenset[int]) -> None:
        self._turns, self._engine = turns, engine
        self.state, self.events, self.reached = state, events, reached
        self.times: dict[int, Number] = {}

    def apply(self, action: str, arguments: tuple[str, ...], time: Number) -> bool:
        """Apply a snap action at `time`; return whether it is applicable."""
        after = self._engine.apply(self.state, action, arguments)
        if after is None:
            return False
        self.state = after
        now = self._turns._note(self._engine, after, self.reached, time)  # noqa: SLF001 - its own
        self.times.update(dict.fromkeys(now - self.reached, time))
        self.reached = now
        return True

    def pass_events(self, until: Number) -> bool:
        """Let the changes until this time happen; return whether they can."""
        return all(self.apply(each.action, (), each.time) for each in self._next_events(until, strictly=False))

    def _next_events(self, until: Number, *, strictly: bool) -> Iterator[Event]:
        events = self._turns.events
        while self.events < len(events):
            event = events[self.events]
            if event.time > until or (strictly and event.time == until):
                return
            self.events += 1
            yield event

    def last(self, tested: str, arguments: tuple[str, ...], end: Number) -> bool:
        """Let the changes until the `end` happen; return whether the condition `tested` holds in between."""
        if tested and self._engine.apply(self.state, tested, arguments) is None:
            return False
        for event in self._next_events(end, strictly=True):
            if not self.apply(event.action, (), event.time):
                return False
            if tested and self._engine.apply(self.state, tested, arguments) is None:
                return False
        return self.pass_events(end)


class _Touched:
    """The predicates and functions that snap actions read and write."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._known: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def meet(self, one: str, other: str) -> bool:
        """Return whether one of two snap actions may write what the other reads or writes."""
        reads, writes = self._of(one)
        others_reads, others_writes = self._of(other)
        return not (writes.isdisjoint(others_reads | others_writes) and others_writes.isdisjoint(reads | writes))

    def rest_on(self, names: Iterable[str]) -> set[str]:
        """Return `names`, with what derived predicates among them rest on."""
        return self._close(set(names))

    def writes(self, name: str, read: frozenset[str]) -> bool:
        """Return whether a snap action writes what is `read`."""
        return not self._of(name)[1].isdisjoint(read)

    def _of(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        if name not in self._known:
            action = self._domain.actions[name]
            read = {*names_in(action.requires)}
            written: set[str] = set()
            for when in action.effects:
                read |= {*names_in(when.requires)}
                read |= {each.predicate for number in when.numbers for each in functions_in(number.value)}
                parts = [each.part if isinstance(each, Not) else each for each in when.provides]
                written |= {each.predicate for each in (*parts, *when.modifies) if isinstance(each, Atom)}
                written |= {each.fluent.predicate for each in when.numbers}
            self._known[name] = frozenset(self._close(read)), frozenset(self._spread(written))
        return self._known[name]

    def _close(self, names: set[str]) -> set[str]:
        """Add what derived predicates rest on."""
        size = -1
        while size != len(names):
            size = len(names)
            names |= {
                name for each in self._domain.axioms if each.predicate in names for name in names_in(each.condition)
            }
        return names

    def _spread(self, names: set[str]) -> set[str]:
        """Add what is stale with what is written."""
        size = -1
        while size != len(names):
            size = len(names)
            names |= {
                each.name
                for each in self._domain.predicates.values()
                if any(source.predicate in names for source in each.stale_with)
            }
        return names


def names_in(formula: Formula) -> Iterator[str]:
    """Yield the predicates and functions that `formula` reads."""
    yield from (each.predicate for each in atoms_in(formula))
    yield from (each.predicate for comparison in comparisons_in(formula) for each in comparison.functions)


def _fix_durations(problem: Problem) -> Problem:
    """Give each action of `problem` its least duration, also in its effects."""
    actions = {name: fix_duration(_with_least_duration(each)) for name, each in problem.domain.actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _with_least_duration(action: Action) -> Action:
    duration = action.duration
    return replace(action, duration=duration.low) if isinstance(duration, DurationRange) else action


def _with_outcome(problem: Problem, number: int) -> Problem:
    """Return `problem` with the outcome of this number for each action that has so many."""
    actions = {
        name: replace(each, provides=own.provides, modifies=own.modifies, numbers=own.numbers, outcomes=())
        for name, each in problem.domain.actions.items()
        for own in [each.outcomes[min(number, len(each.outcomes) - 1)] if each.outcomes else each]
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _with_history(problem: Problem) -> Problem:
    """Return `problem` with facts about which actions ran, where some must come after others."""
    named = {pattern.predicate for action in problem.domain.actions.values() for pattern in action.after}
    if not named:
        return problem
    domain = problem.domain

    def ran(pattern: Atom) -> Formula:
        parameters = domain.actions[pattern.predicate].parameters
        pairs = [*enumerate(zip(pattern.args, parameters, strict=True))]
        open_ = tuple([Variable(f"?ran{place}", each.types) for place, (arg, each) in pairs if arg == OPEN])
        args = tuple([f"?ran{place}" if arg == OPEN else arg for place, (arg, _) in pairs])
        fact = Atom(f"{_RAN}{pattern.predicate}", args)
        return Exists(open_, fact) if open_ else fact

    def remember(action: Action) -> Action:
        requires = with_conjuncts(action.requires, *[ran(each) for each in action.after])
        own = Atom(f"{_RAN}{action.name}", tuple([each.name for each in action.parameters]))
        provides = (*action.provides, own) if action.name in named else action.provides
        outcomes = tuple(
            [
                replace(each, provides=(*each.provides, own)) if action.name in named else each
                for each in action.outcomes
            ]
        )
        return replace(action, requires=requires, provides=provides, outcomes=outcomes, after=())

    actions = {name: remember(each) for name, each in domain.actions.items()}
    predicates = {f"{_RAN}{name}": Predicate(f"{_RAN}{name}", domain.actions[name].parameters) for name in named}
    initial = [Atom(f"{_RAN}{each.predicate}", each.args) for each in problem.ran if each.predicate in named]
    domain = replace(domain, actions=actions, predicates={**domain.predicates, **predicates})
    return replace(problem, domain=domain, initial=(*problem.initial, *initial), ran=())


def _without_time(metric: Metric | NumericMetric) -> Metric | NumericMetric:
    """Return `metric` where no time has passed; `Metric.COST` where nothing else is left of it."""
    if not isinstance(metric, NumericMetric):
        return Metric.COST
    left = [each for each in functions_in(metric.expression) if each != TOTAL_TIME]
    return replace(metric, expression=_stop_time(metric.expression)) if left else Metric.COST


def _stop_time(expression: Expression) -> Expression:
    if isinstance(expression, Arithmetic):
        return Arithmetic(expression.operator, tuple([_stop_time(each) for each in expression.operands]))
    return 0 if expression == TOTAL_TIME else expression

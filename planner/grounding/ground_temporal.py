"""Ground a problem in time: its snap actions, with facts that say which steps run and which changes are still to come.

The end of a step needs that the step runs and that what must hold throughout holds; so relaxed plans see both. A
deadline of a goal becomes an action that can happen while the goal holds and the deadline is open, and a change at the
known time that closes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm

from planner.compilations.sequential_steps import Regression
from planner.errors import PlanError, UnsupportedError
from planner.grounding.ground import ground
from planner.grounding.ground_numeric import ground_numeric
from planner.grounding.temporal_relevance import keep_relevant_steps
from planner.lightweight import dataclass, field, replace
from planner.limits import Limits, enforce, under_limits
from planner.model.actions import Action, DurationRange, Moment
from planner.model.domain import DomainModel, Predicate, numeric_fluents, written_predicates
from planner.model.formulas import (
    And,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    atoms_in,
    comparisons_in,
    conjunction,
    conjuncts,
    with_conjuncts,
)
from planner.model.problem import Goal, Metric, Problem, is_numeric
from planner.model.timing import GoalDeadline
from planner.plan import Step
from planner.semantics.durations import SEPARATION, Lasting, duration_of
from planner.semantics.numeric_state import Values
from planner.semantics.snap_actions import SnapProblem, duration_fluent, greatest_fluent
from planner.task.numeric_task import NumericTask
from planner.task.temporal_task import ENDING, FOREVER, INSTANT, Lapse, TemporalTask

Row = tuple[str, ...]
"""The name of an action and its arguments."""


def ground_temporal(problem: Problem, snap: SnapProblem, limits: Limits) -> TemporalTask:
    """Ground `problem`, whose snap actions are `snap`, to what its relaxation reaches and its goal needs.

    If no relaxed plan reaches the goal, the task has only `unreachable_goal`. Raises what `ground_numeric` raises.
    """
    deadlines = hard_deadlines(problem)
    search = add_running(snap, deadlines)
    source = _ground(search, limits)
    if source.task.unreachable_goal is not None:
        return TemporalTask(source, (), (), 0, 1)
    with enforce(limits):
        return keep_relevant_steps(_Pairing(problem, snap, source, Values.of(problem)).task())


def hard_deadlines(problem: Problem) -> list[GoalDeadline]:
    """Return the deadlines of goals that a plan of `problem` must meet."""
    return [each for each in problem.due if each.weight is None]


def _ground(problem: Problem, limits: Limits) -> NumericTask:
    if is_numeric(problem):
        return ground_numeric(problem, limits, whole=True)
    task = ground(problem, limits, whole=True)
    return NumericTask(task, (), (), [()] * len(task.actions))


def running(name: str) -> str:
    """Return the predicate that says that a step of the action `name` runs."""
    return f"{name} is running"


def _pending(event: str) -> Atom:
    return Atom(f"{event} is to come")


def add_running(snap: SnapProblem, deadlines: Sequence[GoalDeadline]) -> Problem:
    """Return the problem of snap actions in which facts say which steps run, and which `deadlines` are met."""
    domain = snap.problem.domain
    actions, predicates = dict(domain.actions), dict(domain.predicates)
    early = _find_early(snap)
    for name, moments in snap.actions.items():
        if not moments.end:
            continue
        start, end = actions[moments.start], actions[moments.end]
        fact = Atom(running(name), tuple([parameter.name for parameter in start.parameters]))
        predicates[fact.predicate] = Predicate(fact.predicate, start.parameters)
        through = actions[moments.lasting].requires if moments.lasting else conjunction([])
        actions[moments.start] = replace(
            start, requires=_require_early(start, end, early.get(name, ()), domain), provides=(*start.provides, fact)
        )
        needs = [fact, *conjuncts(end.requires), *conjuncts(through)]
        actions[moments.end] = replace(
            end, requires=conjunction(list(dict.fromkeys(needs))), provides=(*end.provides, Not(fact))
        )
        if moments.lasting:
            lasted = Atom(f"{name} has lasted", fact.args)
            predicates[lasted.predicate] = Predicate(lasted.predicate, start.parameters)
            lasting = actions[moments.lasting]
            needs = [fact, *conjuncts(lasting.requires)]
            actions[moments.lasting] = replace(lasting, requires=conjunction(needs), provides=(lasted,))
    initial = list(snap.problem.initial)
    for event in snap.events:
        action, fact = actions[event], _pending(event)
        predicates[fact.predicate] = Predicate(fact.predicate)
        initial.append(fact)
        actions[event] = replace(action, requires=fact, provides=(*action.provides, Not(fact)))
    goal = [*conjuncts(snap.problem.goal.hard)]
    for place, due in enumerate(deadlines):
        is_open, met = opening(place), Atom(meeting_fact(place))
        predicates |= {each.predicate: Predicate(each.predicate) for each in (is_open, met)}
        name = meeting(place)
        reached = with_conjuncts(due.condition, is_open, Not(met))
        actions[name] = Action(name, requires=reached, provides=(met,), cost=())
        actions[closing(place)] = Action(closing(place), requires=is_open, provides=(Not(is_open),), cost=())
        initial.append(is_open)
        goal.append(met)
    return replace(
        snap.problem,
        domain=replace(domain, actions=actions, predicates=predicates),
        initial=tuple(initial),
        goal=Goal(conjunction(goal)),
        metric=Metric.LENGTH,
    )


def meeting(place: int) -> str:
    """Return the name of the action by which deadline `place` is met."""
    return f"meet deadline {place}"


def meeting_fact(place: int) -> str:
    """Return the predicate that says that deadline `place` is met."""
    return f"deadline {place} is met"


def opening(place: int) -> Atom:
    """Return the fact that deadline `place` may still be met."""
    return Atom(f"deadline {place} is open")


def find_meetings(problem: Problem, task: TemporalTask) -> dict[int, int]:
    """Return the actions of `task` by which deadlines of goals are met, with the place of each deadline."""
    place_of = {meeting(place): place for place in range(len(hard_deadlines(problem)))}
    names = [action.step.action for action in task.source.task.actions]
    return {number: place_of[name] for number, name in enumerate(names) if name in place_of}


def closing(place: int) -> str:
    """Return the name of the change that closes deadline `place`."""
    return f"close deadline {place}"


def _require_early(start: Action, end: Action, early: Iterable[Formula], domain: DomainModel) -> Formula:
    """Return what `start` requires, with what must hold `early`, and what no action changes until the end."""
    written = written_predicates(domain)
    rigid = [part for part in conjuncts(end.requires) if all(each.predicate not in written for each in atoms_in(part))]
    rigid = [part for part in rigid if not any(True for _ in comparisons_in(part))]
    return conjunction(list(dict.fromkeys([*conjuncts(start.requires), *rigid, *early])))


def _find_early(snap: SnapProblem) -> dict[str, list[Formula]]:
    """Return for each action what must hold before its start so that what it needs throughout holds after it.

    Steps that start at one moment may give each other what they need throughout: nothing is said of such actions.
    """
    actions = snap.problem.domain.actions
    early: dict[str, list[Formula]] = {}
    gives: dict[str, set[tuple[str, bool]]] = {}
    for name, moments in snap.actions.items():
        if not moments.lasting:
            continue
        start, through = actions[moments.start], actions[moments.lasting].requires
        moment = Moment(start.requires, start.provides, start.modifies, start.when, start.numbers)
        given = [literal for effect in start.effects for literal in effect.provides]
        given += [Not(item) for effect in start.effects for item in effect.modifies]
        gives[name] = {pair for literal in given for pair in find_mentions(literal)}
        fluents = {each.fluent.predicate for effect in start.effects for each in effect.numbers}
        gives[name] |= {(fluent, holds) for fluent in fluents for holds in (True, False)}
        with contextlib.suppress(UnsupportedError):
            early[name] = list(conjuncts(Regression.through(moment, through).regress(through)))
    feeds: dict[str, set[str]] = {}
    for name, parts in early.items():
        needs = {pair for part in parts for pair in find_mentions(part)}
        feeds[name] = {other for other, given in gives.items() if given & needs}
    return {name: parts for name, parts in early.items() if not _leads_to(name, name, feeds)}


def find_mentions(condition: Formula, *, holds: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield the predicates of `condition`, and whether their facts help it when true; numbers help both ways."""
    match condition:
        case Atom():
            yield condition.predicate, holds
        case Not(part):
            yield from find_mentions(part, holds=not holds)
        case And(parts) | Or(parts):
            for part in parts:
                yield from find_mentions(part, holds=holds)
        case Imply(premise, conclusion):
            yield from find_mentions(premise, holds=not holds)
            yield from find_mentions(conclusion, holds=holds)
        case Forall(_, part) | Exists(_, part):
            yield from find_mentions(part, holds=holds)
        case Comparison():
            yield from ((term.predicate, each) for term in condition.functions for each in (True, False))


def _leads_to(one: str, other: str, edges: Mapping[str, set[str]]) -> bool:
    """Return whether a way of at least one edge leads from `one` to `other`."""
    seen: set[str] = set()
    waiting = [one]
    while waiting:
        for each in edges.get(waiting.pop(), ()):
            if each == other:
                return True
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return False


@dataclass(slots=True)
class _Pairing:
    """Finds the ends that belong to each start."""

    problem: Problem
    snap: SnapProblem
    source: NumericTask
    values: Values
    places: dict[Atom, int] = field(init=False)
    """The numbers of the variables, by their fluents."""

    def __post_init__(self) -> None:
        self.places = {each.fluent: place for place, each in enumerate(self.source.variables)}

    def task(self) -> TemporalTask:
        task = self.source.task
        roles = {moments.start: name for name, moments in self.snap.actions.items()}
        numbers: dict[Row, list[int]] = {}
        for number, action in enumerate(under_limits(task.actions)):
            numbers.setdefault((action.step.action, *action.step.arguments), []).append(number)
        facts = {fact: number for number, fact in enumerate(task.facts)}
        lapses: list[Lapse] = []
        begins: list[int] = []
        known: dict[Row, int] = {}
        deadlines = hard_deadlines(self.problem)
        seconds: list[Number] = [SEPARATION, *[each.time for each in self.problem.timed], *[x.by for x in deadlines]]
        met = {meeting(place) for place in range(len(deadlines))}
        ranges: dict[int, Lasting] = {}
        for action in under_limits(task.actions):
            name = roles.get(action.step.action)
            if name is None:
                begins.append(INSTANT if action.step.action in met else ENDING)
                continue
            if not self.snap.actions[name].end:
                begins.append(INSTANT)
                continue
            row = (name, *action.step.arguments)
            if row not in known:
                step = Step(name, action.step.arguments)
                lapse = self._find_lapse(step, numbers, facts)
                known[row] = len(lapses)
                if lapse.variable is None and lapse.ends:
                    found = self._find_range(step)
                    if found is None:
                        lapse = replace(lapse, ends=())
                    else:
                        ranges[len(lapses)] = found
                        seconds += [found.low] if found.high is None else [found.low, found.high]
                lapses.append(lapse)
            begins.append(known[row] if lapses[known[row]].ends else ENDING)
        resolution = lcm(*[Fraction(number).denominator for number in set(seconds)])
        _refuse_far_times(seconds, resolution)
        lapses = [
            _measure(lapse, ranges[place], resolution)
            if place in ranges
            else replace(lapse, factor=lapse.factor * resolution)
            for place, lapse in enumerate(under_limits(lapses))
        ]
        events = [
            Lapse(tuple(numbers.get((name,), ())), ticks=int(effect.time * resolution))
            for name, effect in zip(self.snap.events, self.problem.timed, strict=True)
        ]
        events += [
            Lapse(tuple(numbers.get((closing(place),), ())), ticks=int(due.by * resolution))
            for place, due in enumerate(deadlines)
        ]
        return TemporalTask(self.source, (*lapses, *events), tuple(begins), len(lapses), resolution)

    def _find_lapse(self, step: Step, numbers: dict[Row, list[int]], facts: Mapping[Atom | Not, int]) -> Lapse:
        """Return the lapse of `step`, still without ticks."""
        moments = self.snap.actions[step.action]
        ends = tuple(numbers.get((moments.end, *step.arguments), ()))
        runs = facts.get(Atom(running(step.action), step.arguments), -1)
        lasting = numbers.get((moments.lasting, *step.arguments), []) if moments.lasting else []
        if moments.lasting and not lasting:
            ends = ()
        conditions = [self.source.task.actions[number].precondition for number in lasting]
        invariants = tuple([tuple([fact for fact in each if fact != runs]) for each in conditions])
        invariants = () if () in invariants else invariants
        action = self.problem.domain.actions[step.action]
        fluent = duration_fluent(action, step.arguments, numeric_fluents(self.problem.domain))
        if fluent is None:
            return Lapse(ends, invariants, running=runs)
        place = self.places[fluent]
        lapse = Lapse(ends, invariants, variable=place, divisor=self.source.variables[place].scale, running=runs)
        if not isinstance(action.duration, DurationRange):
            return lapse
        if action.duration.high is None:
            return replace(lapse, slack=FOREVER)
        place = self.places[greatest_fluent(fluent)]
        return replace(lapse, greatest=place, greatest_divisor=self.source.variables[place].scale)

    def _find_range(self, step: Step) -> Lasting | None:
        """Return how long `step` may last, which depends on no state; None if it never starts."""
        action = self.problem.domain.actions[step.action]
        names = [parameter.name for parameter in action.parameters]
        try:
            found = duration_of(action, self.values, dict(zip(names, step.arguments, strict=True)))
        except PlanError:
            return None
        return found if found.high is None or found.low <= found.high else None


def _refuse_far_times(seconds: Iterable[Number], resolution: int) -> None:
    """Raise `UnsupportedError` for a time of so many ticks that two of them could not be told from `FOREVER`."""
    far = next((each for each in dict.fromkeys(seconds) if abs(Fraction(each)) * resolution * 2 >= FOREVER), None)
    if far is not None:
        least = FOREVER // (2 * resolution)
        raise UnsupportedError(f"the time {far} s, beyond {least} s", "count from a later beginning")


def _measure(lapse: Lapse, lasting: Lasting, resolution: int) -> Lapse:
    """Return `lapse` with the ticks that `lasting` says."""
    ticks = int(lasting.low * resolution)
    slack = FOREVER if lasting.high is None else int(lasting.high * resolution) - ticks
    return replace(lapse, ticks=ticks, slack=min(slack, FOREVER))

"""Search for plans that meet a deadline: the makespan is that of the partial order, in which steps run at once.

A cheapest plan may take too long where a dearer one is in time. The goal distance with durations for costs, by h_max
(Haslum and Geffner, 2001), bounds the makespan of every plan from below. Three searches take turns: the portfolio,
whose plans may be late, and two best-first searches over timed labels, one for the least makespan and one for the least
cost.

A timed label is a state with its costs and with the times from which its facts may be read and ended. A step begins
when all that it reads is there, when nobody reads what it ends, and when nobody else changes what it changes in place.
A label is dropped if every plan through it is late, or if another label of its state dominates it.

The partial order may let steps wait longer than labels do: a step that makes a fact true again waits for the step that
ended it if the fact is read later. So plans that labels exclude are late, but a plan of labels may be late, too. Then
the search goes on without a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from heapq import heapify, heappop, heappush
from operator import le

from planner.compilations import Claim, Compiled, reserve_name
from planner.compilations.adl import list_busy_items
from planner.compilations.driver import Driver
from planner.compilations.trajectory_constraints import is_monitor
from planner.errors import PlanError, UnsupportedError
from planner.grounding.action_tables import common_resolution
from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics.relaxation import relax
from planner.lightweight import Final, dataclass, replace
from planner.model import Number, Problem
from planner.model.problem import is_temporal
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Status, exact
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.tiers import Contender, take_turns
from planner.portfolio.workplace import Workplace
from planner.resources.label_setting import ResourceLimits, Rest, Vector
from planner.resources.resource_portfolio import (
    cost_allowance,
    resource_allowances,
    search_with_budgets,
    select_label_heuristic,
)
from planner.scheduling.schedule import makespan
from planner.search.astar import LifoOpenList
from planner.search.search_run import Ending, Run, Steps, advance
from planner.semantics.durations import least_duration
from planner.semantics.simulation import price_steps
from planner.semantics.spending import make_sequential
from planner.task.ground_task import INFINITY, State, Task, bits, facts_of
from planner.task.successor_generator import Space

OVERLAPPING_LIMIT: Final = 30.0
"""Time limit, in seconds, of the search in time that follows the other ones where there is no limit: it may not end."""

LATE: Final = "the plan without a deadline is late"
IN_TURN: Final = "only plans whose steps are taken in turn were searched for"
OVERLAPPING: Final = "plans whose steps overlap were not searched to the end"
"""Why the answer of a stage is none about all plans."""


def solve_sequentially(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, which has a deadline that timed search does not support, without timed search.

    Timed search reads facts only, not numbers; compiling wishes together with constraints loses what these say about
    the order of a plan. First solve the problem without its deadline: that gives a bound, and the answer if the plan
    is in time. Then solve it for sequences of steps: their duration is a resource, and the deadline a budget. Last,
    where no such plan is known, solve it as a problem in time, whose steps may overlap. Plans of the later stages are
    proved optimal if they meet the bound.
    """
    driver = Driver(problem, options, solve)
    lift = _lift_to(problem)
    free = Compiled(replace(problem, deadline=None), lift, Claim(plans=False, doubt=LATE))
    found = driver.ask(free, driver.limits.share(1 / 2))
    if found.status is Status.UNSUPPORTED:
        return found
    if driver.is_optimal or found.status is Status.UNSOLVABLE:
        return driver.finish(found, free)
    compiled = Compiled(make_sequential(problem), lift, Claim(bounds=False, unsolvable=False, doubt=IN_TURN))
    found = driver.ask(compiled, driver.limits.share(1 / 2))
    overlapping = _overlap(problem) if driver.plan is None else None
    if overlapping is not None:
        compiled = overlapping
        found = driver.ask(compiled, driver.limits.part(OVERLAPPING_LIMIT if options.time_limit is None else None))
    return driver.finish(found, compiled)


def _overlap(problem: Problem) -> Compiled | None:
    """Compile to a problem in time, whose steps may overlap; return None where planning in time does not take it.

    A capacity that nothing holds is what asks for a plan in time.
    """
    if is_temporal(problem) or problem.goal.soft or problem.constraints or problem.budgets:
        return None
    name = reserve_name("@clock", {name for action in problem.domain.actions.values() for name in action.holds})
    free = replace(problem, deadline=None)

    def lift(plan: Plan) -> Plan:
        with suppress(PlanError, UnsupportedError):
            return Plan(price_steps(free, plan.steps), problem)
        return Plan(plan.steps, problem)

    compiled = replace(problem, capacity={name: 1})
    return Compiled(compiled, lift, Claim(plans=False, bounds=False, unsolvable=False, doubt=OVERLAPPING))


def _lift_to(problem: Problem) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, problem=problem)


Times = Mapping[int, int]
"""Times of facts, 0 for those that are missing."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The `durations` of the actions, by number, and the `deadline` in units, of which `resolution` make a second.

    `reads` are the preconditions of the actions, `writes` what they change in place: facts, or numbers from the number
    of facts on. `monitors` are the facts of compiled constraints, as bits; they do not make steps wait.
    """

    durations: list[int]
    reads: list[tuple[int, ...]]
    writes: list[tuple[int, ...]]
    monitors: State
    deadline: int
    resolution: int

    def seconds(self, units: int) -> Number:
        """Return a number of units in seconds."""
        return exact(Decimal(units) / self.resolution)


def clock_of(problem: Problem, task: Task, deadline: Number) -> Clock:
    """Return the clock for `task`, which was ground from `problem`."""
    seconds = [least_duration(problem, action.step) for action in task.actions]
    resolution = common_resolution(set(seconds))
    durations = [int(each * resolution) for each in seconds]
    watched = bits([number for number, fact in enumerate(task.facts) if is_monitor(fact)])
    reads = [tuple([fact for fact in action.precondition if not watched >> fact & 1]) for action in task.actions]
    return Clock(durations, reads, _find_writes(problem, task), watched, int(deadline * resolution), resolution)


def _find_writes(problem: Problem, task: Task) -> list[tuple[int, ...]]:
    numbers = {fact: number for number, fact in enumerate(task.facts)}
    found: list[tuple[int, ...]] = []
    for ground in task.actions:
        action = problem.domain.actions[ground.step.action]
        names = [parameter.name for parameter in action.step_parameters]
        busy = list_busy_items(action)
        binding = dict(zip(names, ground.step.arguments, strict=True)) if busy else {}
        items = [item.substitute(binding) for item in busy]
        found.append(tuple([numbers.setdefault(item, len(numbers)) for item in items]))
    return found


Finish = Callable[[State, Times], int]


def critical_path_of(task: Task, durations: list[int]) -> Finish:
    """Return a function from a state and the times of its facts to the earliest time of the goal.

    It is h_max with durations for costs: a relaxed search by time, `INFINITY` if the goal cannot be reached.
    """
    relaxed = relax(task, durations)
    counts = [len(facts) for facts in relaxed.preconditions]
    goal, needed_by, effects, lasts = relaxed.goal, relaxed.needed_by, relaxed.effects, relaxed.costs

    def finish(state: State, since: Times) -> int:
        value = [INFINITY] * relaxed.size
        missing = counts[:]
        waiting = [(since.get(fact, 0), fact) for fact in (*facts_of(state), relaxed.start)]
        for when, fact in waiting:
            value[fact] = when
        heapify(waiting)
        while waiting:
            now, fact = heappop(waiting)
            if value[fact] < now:
                continue
            if fact == goal:
                return now
            for operator in needed_by[fact]:
                missing[operator] -= 1
                if not missing[operator]:
                    then = now + lasts[operator]
                    for effect in effects[operator]:
                        if then < value[effect]:
                            value[effect] = then
                            heappush(waiting, (then, effect))
        return INFINITY

    return finish


PAUSE: Final = 4
"""Labels that are expanded between two pauses."""


@dataclass(slots=True, eq=False)
class Timed:
    """A path to `state` of cost and uses `vector`: the path of the label `before`, then `action`.

    Facts that hold may be read from `since` on, and ended or changed in place from `busy` on.
    """

    state: State
    vector: Vector
    since: Times
    busy: Times
    before: Timed | None = None
    action: int = -1

    def path(self) -> list[int]:
        """Return the actions of the path."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]

    def dominates(self, other: Timed) -> bool:
        """Return whether `other`, a label of the same state, is better in no respect."""
        return (
            all(map(le, self.vector, other.vector))
            and _is_no_later(self.since, other.since)
            and _is_no_later(self.busy, other.busy)
        )


def _is_no_later(one: Times, other: Times) -> bool:
    return all(time <= other.get(fact, 0) for fact, time in one.items())


class TimedSpace:
    """The successors of labels: states of `space` with times by `clock`."""

    def __init__(self, space: Space, clock: Clock, charges: list[Vector]) -> None:
        self.space = space
        self._clock = clock
        self._charges = charges

    def first(self) -> Timed:
        """Return the label of the initial state."""
        return Timed(self.space.initial, (0,) * len(self._charges[0]), {}, {})

    def after(self, label: Timed, action: int, state: State) -> tuple[Timed, int]:
        """Return the label after `action`, which leads to `state`, and the time when the action ends."""
        reads, writes, watched = self._clock.reads[action], self._clock.writes[action], self._clock.monitors
        ended = facts_of(label.state & ~state & ~watched)
        begin = max([label.since.get(fact, 0) for fact in (*reads, *writes)], default=0)
        begin = max([begin, *[label.busy.get(fact, 0) for fact in (*ended, *writes)]])
        end = begin + self._clock.durations[action]
        since, busy = dict(label.since), dict(label.busy)
        for fact in ended:
            since.pop(fact, None)
            busy.pop(fact, None)
        if end:
            busy.update([(fact, max(busy.get(fact, 0), end)) for fact in reads if fact not in ended])
            for fact in writes:
                since[fact] = busy[fact] = end
            since.update(dict.fromkeys(facts_of(state & ~label.state & ~watched), end))
        vector = tuple([paid + more for paid, more in zip(label.vector, self._charges[action], strict=True)])
        return Timed(state, vector, since, busy, label, action), end


@dataclass(frozen=True, slots=True)
class Aims:
    """The bounds on labels: budgets, by the estimates of `rest`, and the `deadline`, by the estimate `finish`."""

    limits: ResourceLimits
    rest: Rest
    finish: Finish
    deadline: int


class Labels:
    """The open list of labels and the Pareto front of each state; in a `hurry`, the least makespan comes first."""

    def __init__(self, aims: Aims, *, hurry: bool) -> None:
        self._aims = aims
        self._hurry = hurry
        self._fronts: dict[State, list[Timed]] = {}
        self._waiting = LifoOpenList()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, label: Timed) -> None:
        """Add `label` unless it exceeds a bound, or another label dominates it."""
        aims, state = self._aims, label.state
        known = aims.rest.known(state) or aims.rest.of(state)
        if not aims.limits.allow(label.vector, known):
            return
        done = aims.finish(state, label.since)
        front = self._fronts.setdefault(state, [])
        if done > aims.deadline or any(other.dominates(label) for other in front):
            return
        front[:] = [other for other in front if not label.dominates(other)]
        front.append(label)
        if self._hurry:
            self._waiting.push(done, known[0], label)
        else:
            self._waiting.push(label.vector[0] + known[0], done, label)

    def pop(self) -> tuple[int, Timed]:
        """Remove and return the next label, with its key."""
        key, _, label = self._waiting.pop()
        return key, label

    def contains(self, label: Timed) -> bool:
        """Return whether `label` is still in its front."""
        return any(other is label for other in self._fronts[label.state])


def search_timed_labels(
    timed: TimedSpace, aims: Aims, take: Callable[[list[int]], bool], run: Run, *, hurry: bool
) -> Steps:
    """Search for plans that meet a deadline; `take` returns whether a plan does, and reports it.

    Labels come by the estimated makespan in a `hurry`, else by the estimated cost. When the search ends, all plans in
    time that are cheaper than `run.limit` are excluded, unless a plan of labels was late.
    """
    space, labels, exact = timed.space, Labels(aims, hurry=hurry), True
    labels.put(timed.first())
    while labels:
        key, label = labels.pop()
        if not hurry and exact:
            run.raise_bound(key)
        if not hurry and key >= run.limit:
            break
        if not labels.contains(label):
            continue
        if space.is_goal(label.state):
            exact = take(label.path()) and exact
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, state in space.successors(label.state):
            run.generated += 1
            after, end = timed.after(label, action, state)
            if end <= aims.deadline:
                labels.put(after)
    if not exact:
        return Ending.INCOMPLETE
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


NOT_ALL: Final = "not all plans that may meet the deadline were tried"


@dataclass(slots=True)
class Meeting:
    """The searches for plans of `problem` that meet its deadline; `unsolvable` says that there is no plan at all."""

    workplace: Workplace
    problem: Problem
    clock: Clock
    finish: Finish
    unsolvable: bool = False

    @property
    def run(self) -> Run:
        """The best plan that meets the deadline."""
        return self.workplace.run

    def take(self, actions: list[int]) -> bool:
        """Report a plan to the run if it meets the deadline; return whether it does."""
        steps = tuple([self.workplace.task.actions[action].step for action in actions])
        if makespan(Plan(steps, replace(self.problem, deadline=None))) > (self.problem.deadline or 0):
            return False
        self.run.report_plan(actions, self.workplace.space.cost_of(actions))
        return True

    def search_without_deadline(self, mode: str) -> Steps:
        """Search for plans that may be late; lower bounds hold for all plans."""
        run = Run(seed=self.run.seed, failures=self.run.failures)
        workplace = Workplace(self.workplace.task, self.workplace.space, run, self.workplace.check)
        steps = search_with_budgets(workplace, mode) if workplace.task.allowances else run_portfolio(mode, workplace)
        plan: list[int] | None = None
        ending: Ending | None = None
        while ending is None:
            ending = advance(steps)
            if run.plan is not plan and run.plan is not None:
                plan, self.run.by = run.plan, run.found_by
                self.take(plan)
            self.run.raise_bound(run.lower_bound, run.news_by)
            self.run.by = run.by
            self.run.note_tier(*run.tiers)
            if ending is Ending.EXHAUSTED and plan is None:
                self.unsolvable, self.run.excluded = True, run.excluded
                return Ending.EXHAUSTED
            if self.run.lower_bound >= self.run.limit:
                return Ending.EXHAUSTED
            yield
        return Ending.INCOMPLETE

    def search_with_times(self, heuristic: str, *, hurry: bool) -> Steps:
        """Search timed labels by the estimated makespan in a `hurry`, else by the estimated cost."""
        task, check, run = self.workplace.task, self.workplace.check, self.run
        limited = resource_allowances(task)
        columns = [cost_allowance(task).uses, *(each.uses for each in limited)]
        limits = ResourceLimits([each.most for each in limited], run)
        rest = Rest([HEURISTICS[heuristic].build_for(task, column, check, run.seed) for column in columns])
        run.note_tier("reference")
        space = TimedSpace(self.workplace.space, self.clock, list(zip(*columns, strict=True)))
        run.by = ("timed", heuristic)
        aims = Aims(limits, rest, self.finish, self.clock.deadline)
        return (yield from search_timed_labels(space, aims, self.take, run, hurry=hurry))

    def take_turns(self, mode: str) -> Steps:
        """Let the searches take turns."""
        contenders = [
            Contender(self.search_without_deadline(mode), 2),
            Contender(self.search_with_times("blind", hurry=True), 2),
            Contender(self.search_with_times("lmcut", hurry=False), 1),
        ]
        return take_turns(contenders, self.run)


def search_with_deadline(
    workplace: Workplace, problem: Problem, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan of `problem` that meets its deadline; a named `search` is one of `LABELLED`.

    If every plan is late, `run.excluded` says so.
    """
    task, run = workplace.task, workplace.run
    deadline: Number = problem.deadline or 0
    clock = clock_of(problem, task, deadline)
    meeting = Meeting(workplace, problem, clock, critical_path_of(task, clock.durations))
    least = meeting.finish(workplace.space.initial, {})
    if least > clock.deadline:
        run.excluded = f"every plan takes {clock.seconds(least)} seconds or more, and the deadline is {deadline}"
        return Ending.EXHAUSTED
    run.limit = min(run.limit, cost_allowance(task).most + 1)
    if search is None:
        ending = yield from meeting.take_turns(mode)
    else:
        name = select_label_heuristic(workplace, search, heuristic)
        ending = yield from meeting.search_with_times(name, hurry=False)
        ending = ending if run.trusted else Ending.INCOMPLETE
    if ending is Ending.EXHAUSTED and run.plan is None and not meeting.unsolvable:
        also = " and keeps the budgets" if task.allowances else ""
        run.excluded = f"no plan meets the deadline of {deadline} seconds{also}"
    return ending

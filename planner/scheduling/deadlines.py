"""Which searches are run for a task with a deadline, and how they share the time.

Deadlines of problems that search with times does not take as they are.

How long actions take and what they keep waiting, as integers.

Critical paths: how soon the goal can be reached where nothing ever becomes false and all may be done at once.

That is h_max with durations for costs (Haslum and Geffner, 2001): a fact is there when one of its achievers is done,
which begins when the last of its conditions is there. No plan is done sooner, whatever its order.

Best-first search over timed labels: states with what was spent, and when their facts may be read and ended.

A step begins when all that it reads is there, when all that it ends is no longer read, and when nobody else is at what
it changes in place. A label knows how soon every plan through it can be done, and is cut off when that is too late. One
is dropped where another at its state has spent no more and lets no fact wait longer.

The order of a plan may make steps wait that need not wait here: a step that makes a fact true again waits for the one
that ended it if the fact is read later. So no plan is in time whose labels are not, and what is excluded is proved; and
a plan that is found may be late all the same. Then the search goes on, and proves no more than it has.

Plans that meet a deadline: the time that they take is that of their partial order, in which steps run at once.

A plan that costs the least may take too long, and a dearer one be done in time. `critical` says how long any plan takes
at least; `timed` searches with what is known of the times of facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from heapq import heapify, heappop, heappush
from operator import le

from planner.compilations.trajectory_constraints import is_monitor
from planner.grounding.action_tables import common_resolution
from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics.relaxation import relax
from planner.lightweight import Final, dataclass, replace
from planner.model import Number, Problem
from planner.model.actions import has_open_argument
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy, exact
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.tiers import Contender, take_turns
from planner.portfolio.workplace import Workplace
from planner.resources.label_setting import ResourceLimits, Rest, Vector, allowances, cost_allowance
from planner.resources.resource_portfolio import counting, within_budgets
from planner.scheduling.schedule import makespan
from planner.search.astar import LifoOpenList
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import INFINITY, State, Task, bits, facts_of
from planner.task.state_space import Space
from planner.validation.validate import check_steps

SECONDS: Final = "seconds"
"""The resource that steps use as long as they last, where they are taken one after the other."""


def solve_in_turn(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Return the answer to `problem`, which has a deadline, constraints and wishes: search with times does not take it.

    Wishes are compiled away together with constraints, and with them what these say about the order of a plan. So the
    problem is solved without its deadline first: that gives a bound, and the answer where the plan is in time. Plans
    whose steps are taken in turn need no order: their time is a resource, and the deadline a budget. That one of these
    is best is proved where it is as good as the bound; others may be in time, too.
    """
    limits, report = options.limits(), options.on_progress
    free = solve(replace(problem, deadline=None), options.within(limits, 1 / 2, on_progress=None))
    early = _settled(free, problem)
    if early is not None:
        return early

    def told(progress: Progress) -> None:
        assert report is not None
        report(replace(progress, plan=_of(progress.plan, problem), lower_bound=free.lower_bound))

    found = solve(in_turn(problem), options.within(limits, on_progress=None if report is None else told))
    return _bounded(replace(found, plan=_of(found.plan, problem), lower_bound=free.lower_bound))


def _settled(free: Result, problem: Problem) -> Result | None:
    """Return the answer where that of the problem without its deadline will do."""
    if free.status in (Status.UNSOLVABLE, Status.UNSUPPORTED):
        return free
    plan = _of(free.plan, problem)
    if free.status is Status.OPTIMAL and plan is not None and check_steps(problem, plan).valid:
        return replace(free, plan=plan)
    return None


def _bounded(found: Result) -> Result:
    """Return what was found among plans whose steps are taken in turn, with what is proved by the bound for all."""
    if found.plan is not None and found.lower_bound is not None and found.plan.charge <= found.lower_bound:
        return replace(found, status=Status.OPTIMAL)
    if found.status not in (Status.OPTIMAL, Status.UNSOLVABLE):
        return found
    status = Status.UNKNOWN if found.plan is None else Status.SOLVED
    reason = "only plans whose steps are taken in turn were searched for"
    return replace(found, status=status, stopped_by=StoppedBy.INCOMPLETE, reason=reason)


def in_turn(problem: Problem) -> Problem:
    """Return `problem` with a budget on the sum of the durations in place of its deadline."""
    domain, name = problem.domain, SECONDS
    while any(name in action.uses for action in domain.actions.values()):
        name = f"{name} at work"
    actions = {
        each.name: replace(each, uses={**each.uses, name: (each.duration or 0,)}) for each in domain.actions.values()
    }
    assert problem.deadline is not None
    budgets = {**problem.budgets, name: problem.deadline}
    return replace(problem, domain=replace(domain, actions=actions), budgets=budgets, deadline=None)


def _of(plan: Plan | None, problem: Problem) -> Plan | None:
    return None if plan is None else replace(plan, problem=problem)


Times = Mapping[int, int]
"""From facts to times; those that are missing are 0."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The `durations` of the actions, by number, and the `deadline`; `resolution` units make a second.

    `reads` are the preconditions of actions, and `writes` what they change in place: facts, or numbers from the number
    of facts on. Facts of `monitors`, as bits, are of constraints: who may be at work with whom, these say otherwise.
    """

    durations: list[int]
    reads: list[tuple[int, ...]]
    writes: list[tuple[int, ...]]
    monitors: State
    deadline: int
    resolution: int

    def seconds(self, units: int) -> Number:
        """Return so many units in seconds."""
        return exact(Decimal(units) / self.resolution)


def clock_of(problem: Problem, task: Task, deadline: Number) -> Clock:
    """Return the times of the actions of `task`, which is that of `problem`."""
    declared = {name: action.duration or 0 for name, action in problem.domain.actions.items()}
    resolution = common_resolution({declared[action.step.action] for action in task.actions})
    durations = [int(declared[action.step.action] * resolution) for action in task.actions]
    watched = bits([number for number, fact in enumerate(task.facts) if is_monitor(fact)])
    reads = [tuple([fact for fact in action.precondition if not watched >> fact & 1]) for action in task.actions]
    return Clock(durations, reads, _writes(problem, task), watched, int(deadline * resolution), resolution)


def _writes(problem: Problem, task: Task) -> list[tuple[int, ...]]:
    numbers = {fact: number for number, fact in enumerate(task.facts)}
    found: list[tuple[int, ...]] = []
    for ground in task.actions:
        action = problem.domain.actions[ground.step.action]
        names = [parameter.name for parameter in action.step_parameters]
        binding = dict(zip(names, ground.step.arguments, strict=True)) if action.modifies else {}
        items = [item.substitute(binding) for item in action.modifies if not has_open_argument(item)]
        found.append(tuple([numbers.setdefault(item, len(numbers)) for item in items]))
    return found


Finish = Callable[[State, Times], int]


def critical_path(task: Task, durations: list[int]) -> Finish:
    """Return a function from a state, and from when on its facts hold, to when the goal can be reached at the soonest.

    It is `INFINITY` where the goal cannot be reached.
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
    """A way to `state` that has spent `vector`: the label `before`, and then `action`.

    Facts that hold may be read from `since` on, and ended, or changed in place, from `busy` on.
    """

    state: State
    vector: Vector
    since: Times
    busy: Times
    before: Timed | None = None
    action: int = -1

    def path(self) -> list[int]:
        """Return the actions on the way."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]

    def spares(self, other: Timed) -> bool:
        """Return whether `other`, at the same state, is no better in any respect."""
        return (
            all(map(le, self.vector, other.vector))
            and _none_later(self.since, other.since)
            and _none_later(self.busy, other.busy)
        )


def _none_later(one: Times, other: Times) -> bool:
    return all(time <= other.get(fact, 0) for fact, time in one.items())


class TimedSpace:
    """What follows a label: states are those of `space`, times those of `clock`."""

    def __init__(self, space: Space, clock: Clock, charges: list[Vector]) -> None:
        self.space = space
        self._clock = clock
        self._charges = charges

    def first(self) -> Timed:
        """Return the label of the initial state."""
        return Timed(self.space.initial, (0,) * len(self._charges[0]), {}, {})

    def after(self, label: Timed, action: int, state: State) -> tuple[Timed, int]:
        """Return the label after `action`, which leads to `state`, and when it is done at the soonest."""
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
    """What labels are kept for: plans within `limits` that are done by the `deadline`.

    `rest` estimates what else must be spent, `finish` when all is done at the soonest.
    """

    limits: ResourceLimits
    rest: Rest
    finish: Finish
    deadline: int


class Labels:
    """The labels that wait, and the best ones at each state; in a `hurry`, what is done soonest comes first."""

    def __init__(self, aims: Aims, *, hurry: bool) -> None:
        self._aims = aims
        self._hurry = hurry
        self._fronts: dict[State, list[Timed]] = {}
        self._waiting = LifoOpenList()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, label: Timed) -> None:
        """Let `label` wait, unless it is too dear or too late, or another is as good."""
        aims, state = self._aims, label.state
        known = aims.rest.known(state) or aims.rest.of(state)
        if not aims.limits.allow(label.vector, known):
            return
        done = aims.finish(state, label.since)
        front = self._fronts.setdefault(state, [])
        if done > aims.deadline or any(other.spares(label) for other in front):
            return
        front[:] = [other for other in front if not label.spares(other)]
        front.append(label)
        if self._hurry:
            self._waiting.push(done, known[0], label)
        else:
            self._waiting.push(label.vector[0] + known[0], done, label)

    def pop(self) -> tuple[int, Timed]:
        """Take out the next label, with its key."""
        key, _, label = self._waiting.pop()
        return key, label

    def has(self, label: Timed) -> bool:
        """Return whether nothing better than `label` was found."""
        return any(other is label for other in self._fronts[label.state])


def timed_search(timed: TimedSpace, aims: Aims, take: Callable[[list[int]], bool], run: Run, *, hurry: bool) -> Steps:
    """Search for plans that are done by a deadline; `take` takes those that are.

    What is done soonest comes first if it is in a `hurry`, else what costs the least by the estimates. All plans in
    time that are cheaper than `run.limit` are excluded when it ends, unless one that was tried is not taken.
    """
    space, labels, exact = timed.space, Labels(aims, hurry=hurry), True
    labels.put(timed.first())
    while labels:
        key, label = labels.pop()
        if not hurry and exact:
            run.raise_bound(key)
        if not hurry and key >= run.limit:
            break
        if not labels.has(label):
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
    """The search for plans of `problem`, which has a deadline, that meet it.

    `unsolvable` says that there is no plan, however long it takes.
    """

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
        """Take a plan if it meets the deadline; return whether it does."""
        steps = tuple([self.workplace.task.actions[action].step for action in actions])
        if makespan(Plan(steps, replace(self.problem, deadline=None))) > (self.problem.deadline or 0):
            return False
        self.run.report_plan(actions, self.workplace.space.cost_of(actions))
        return True

    def whenever(self, mode: str) -> Steps:
        """Search for plans that may be late: they may be in time, and what is proved of them holds for all."""
        run, free = Run(), replace(self.problem, deadline=None)
        workplace = Workplace(self.workplace.task, self.workplace.space, run, self.workplace.check)
        steps = within_budgets(workplace, free, mode) if free.budgets else run_portfolio(mode, workplace)
        plan: list[int] | None = None
        ending: Ending | None = None
        while ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
            if run.plan is not plan and run.plan is not None:
                plan = run.plan
                self.take(plan)
            self.run.raise_bound(run.lower_bound)
            self.run.by = run.by
            if ending is Ending.EXHAUSTED and plan is None:
                self.unsolvable, self.run.excluded = True, run.excluded
                return Ending.EXHAUSTED
            if self.run.lower_bound >= self.run.limit:
                return Ending.EXHAUSTED
            yield
        return Ending.INCOMPLETE

    def timed(self, heuristic: str, *, hurry: bool) -> Steps:
        """Search with times, for what is done soon if in a `hurry`, else for what costs little."""
        task, check, run = self.workplace.task, self.workplace.check, self.run
        limited = allowances(self.problem, task)
        columns = [cost_allowance(self.problem, task).uses, *(each.uses for each in limited)]
        limits = ResourceLimits([each.most for each in limited], run)
        rest = Rest([HEURISTICS[heuristic].build(task, column, check) for column in columns])
        space = TimedSpace(self.workplace.space, self.clock, list(zip(*columns, strict=True)))
        run.by = ("timed", heuristic)
        aims = Aims(limits, rest, self.finish, self.clock.deadline)
        return (yield from timed_search(space, aims, self.take, run, hurry=hurry))

    def turns(self, mode: str) -> Steps:
        """Let all searches take turns."""
        contenders = [
            Contender(self.whenever(mode), 2),
            Contender(self.timed("blind", hurry=True), 2),
            Contender(self.timed("lmcut", hurry=False), 1),
        ]
        return take_turns(contenders, self.run)


def meeting_deadline(
    workplace: Workplace, problem: Problem, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan of `problem` that meets its deadline; `search` is one of `LABELLED`, if given.

    Where every plan is late, `run.excluded` says so.
    """
    task, run = workplace.task, workplace.run
    deadline: Number = problem.deadline or 0
    clock = clock_of(problem, task, deadline)
    meeting = Meeting(workplace, problem, clock, critical_path(task, clock.durations))
    least = meeting.finish(workplace.space.initial, {})
    if least > clock.deadline:
        run.excluded = f"every plan takes {clock.seconds(least)} seconds or more, and the deadline is {deadline}"
        return Ending.EXHAUSTED
    run.limit = min(run.limit, cost_allowance(problem, task).most + 1)
    if search is None:
        ending = yield from meeting.turns(mode)
    else:
        name = counting(workplace, search, heuristic)
        ending = yield from meeting.timed(name, hurry=False)
        ending = ending if run.trusted else Ending.INCOMPLETE
    if ending is Ending.EXHAUSTED and run.plan is None and not meeting.unsolvable:
        also = " and keeps the budgets" if problem.budgets else ""
        run.excluded = f"no plan meets the deadline of {deadline} seconds{also}"
    return ending

"""Planning in time: the searches that run, and the best plan in time so far.

Search over decision epochs finds plans whose steps must overlap, and plans around changes at known times. Search for
sequences of steps uses all that classical and numeric search have; the schedule of a sequence lets its steps overlap
where they can. Each plan is validated by a replay in time. A* over the happenings raises the lower bound until it meets
the best plan, and proves that there is none where it ends without one; it takes turns with the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from random import Random

from planner.compilations import Compilation
from planner.compilations.duration_choices import choose_durations
from planner.errors import PlanError, UnsupportedError
from planner.grounding.clocks import separate_clocks
from planner.grounding.ground_temporal import find_meetings, ground_temporal, hard_deadlines, meeting_fact
from planner.grounding.lasting_facts import add_lasting_facts
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.jit.common_kernel import INFINITE
from planner.jit.library import Call
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import STOPS, Limits, stop_reason
from planner.model.arithmetic import as_number, evaluate, exact_value
from planner.model.domain import creates_objects
from planner.model.formulas import Number, functions_in
from planner.model.problem import TOTAL_COST, Metric, NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.options import Solve, SolveOptions
from planner.plan import (
    Plan,
    Progress,
    Result,
    Statistics,
    Status,
    Step,
    StepTime,
    StoppedBy,
    unsupported_result,
)
from planner.portfolio.search_history import Recorder
from planner.portfolio.timed_sequence_searches import TimedSequenceSearches
from planner.scheduling.happening_schedule import END, EVENT, START, Moment, in_sequence, schedule_happenings
from planner.scheduling.landmark_steps import NO_LANDMARKS, LandmarkSchedule, schedule_landmarks
from planner.scheduling.rescheduling import reschedule
from planner.scheduling.shorten_durations import shorten_durations
from planner.search.search_run import Run
from planner.search.temporal_astar import TemporalAstar, schedule_trace
from planner.search.temporal_happenings import Happening, HappeningRules, find_rules
from planner.search.temporal_search_compiled import TemporalBestFirst
from planner.search.timed_sequences_compiled import SequenceSpace
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import SnapProblem, make_snap_problem, name_as_declared
from planner.task.ground_task import INFINITY
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.task.temporal_task import TemporalTask
from planner.validation.timed_replay import TimedReplay, price_plan
from planner.validation.validate import check_steps

FIRST_TURN: Final = 2_000
"""Evaluations of the first search over decision epochs before another one begins; each one gets twice as many."""
EPOCH_SEARCHES: Final[tuple[dict[str, bool], ...]] = ({"novel": True}, {"youngest": True}, {})
"""The options of the searches over decision epochs, in the order in which they begin."""
BEGINNINGS: Final = {"decision epochs": 0.0, "proof": 0.02, "costs": 0.02, "sequence": 0.05, "scheduled sequences": 0.1}
"""When each search begins: processor time of those before it, in seconds divided by their shares.

Of 109 tasks of the competitions, decision epochs solve 72 first, in 0.3 s of processor time in median; sequences
without time 28, and scheduled sequences 9, both in 1.8 s.
"""
FINDING: Final = {"decision epochs": 4, "proof": 1, "costs": 1, "sequence": 4, "scheduled sequences": 4}
IMPROVING: Final = {"decision epochs": 1, "proof": 3, "costs": 3, "sequence": 1, "scheduled sequences": 5}
PROVING: Final = {**IMPROVING, "proof": 9, "costs": 9}
"""The shares of the searches until there is a plan, after it, and in mode "optimal"."""
SLICE: Final = 0.25
"""Seconds of the first search for a sequence without time; each one after it starts anew and gets twice as many."""
ASSUMED_LIMIT: Final = 30.0
"""Seconds of a time limit with which `BEGINNINGS` and `SLICE` count in full; shorter ones shorten them."""
PROOF_ACTIONS: Final = 1_500
"""Ground happenings of the largest task for which a proof is searched for."""
SCHEDULE_SECONDS: Final = 0.1
SCHEDULE_SHARE: Final = 0.05
"""Seconds for scheduling a plan's steps anew, and the part of the time so far that is added to them."""
CP_SAT_AFTER: Final = 5.0
"""Seconds before CP-SAT, whose package takes a second to load, schedules what branch and bound gives up."""
SHORTENING_SECONDS: Final = 0.2
"""Processor time for shorter durations of one plan."""
_NO_PROOF: Final = (
    "the searches gave up parts without proof",
    "effects depend on durations that a plan chooses, and only some of these were tried",
)
"""Why there may be a plan that was not found: of all problems, and of those that are solved by some durations."""
MOST_FAILURES: Final = 10
"""Sequences of happenings without a schedule after which a search is given up."""


def solve_in_time(problem: Problem, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, which asks for a plan in time, and has neither soft goals nor budgets.

    `answer` solves problems without time.
    """
    try:
        choices = choose_durations(problem)
        if choices is not None:
            return _ChosenDurations(problem, choices, options, answer).run()
        return _Best(problem, make_snap_problem(problem), options, answer).run()
    except UnsupportedError as error:
        return unsupported_result(name_as_declared(error.construct, problem))


def refuse_in_time(problem: Problem, options: SolveOptions) -> Result | None:
    """Return a refusal of what search in time does not take."""
    has = {
        f"the search {options.search!r}": options.search is not None,
        f"the heuristic {options.heuristic!r}": options.heuristic is not None,
        "plain search": options.plain,
        "facts declared unknown": bool(problem.unknown),
        "a trajectory constraint": bool(problem.constraints),
        "actions that create objects": creates_objects(problem.domain),
        "a metric that is maximised": isinstance(problem.metric, NumericMetric) and problem.metric.maximize,
    }
    found = next((what for what, there in has.items() if there), None)
    return None if found is None else unsupported_result(f"{found} in a problem in time")


@dataclass(frozen=True, slots=True)
class Rates:
    """What plans pay for a second of their makespan, and for a unit of the costs of their steps."""

    time: Fraction
    cost: Fraction

    def price(self, seconds: Number, cost: Number) -> Number:
        """Return the price, rounded down where it is no finite decimal."""
        exact = self.time * Fraction(exact_value(seconds)) + self.cost * Fraction(exact_value(cost))
        number = as_number(exact_value(exact))
        return floor(exact) if number is None else number


def find_rates(problem: Problem) -> Rates | None:
    """Return the rates of the metric of `problem`, if it charges for time and costs of steps only; else None."""
    metric = problem.metric
    if isinstance(metric, Metric):
        return Rates(Fraction(0), Fraction(1))
    if metric.maximize or not {*functions_in(metric.expression)} <= {TOTAL_TIME, TOTAL_COST}:
        return None

    def charge(seconds: int, cost: int) -> Fraction:
        values = {TOTAL_TIME.predicate: seconds, TOTAL_COST.predicate: cost}
        return Fraction(evaluate(metric.expression, lambda term: values[term[0]], {}) or 0)

    nothing = charge(0, 0)
    time, cost = charge(1, 0) - nothing, charge(0, 1) - nothing
    is_linear = charge(3, 0) - nothing == 3 * time and charge(2, 5) - nothing == 2 * time + 5 * cost
    is_fluent = TOTAL_COST.predicate in problem.domain.functions
    return Rates(time, Fraction(0) if is_fluent else cost) if is_linear and min(time, cost) >= 0 else None


@dataclass(slots=True)
class _ChosenDurations:
    """Solves `problem`, whose effects depend on durations that plans choose, by a few of these durations.

    Plans of `choices` are mapped back, and their chosen durations shortened. Nothing is proved.
    """

    problem: Problem
    choices: Compilation
    options: SolveOptions
    answer: Solve
    snap: SnapProblem = field(init=False)
    best: Plan | None = None
    limits: Limits = field(init=False)
    recorder: Recorder = field(default_factory=Recorder)

    def __post_init__(self) -> None:
        self.snap = make_snap_problem(self.problem)
        self.limits = self.options.limits()

    def run(self) -> Result:
        """Search until a first plan where no more is asked for, or a limit."""
        snap = make_snap_problem(self.choices.problem)
        options = replace(self.options, on_progress=self._report)
        result = _Best(self.choices.problem, snap, options, self.answer, is_partial=True).run()
        if result.plan is not None:
            self._take(result.plan)
        if result.plan is not None and self.best is None:
            return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, None, None, result.statistics, _NO_PROOF[True])
        self.recorder.take_turns(result.history, 0.0)
        return self.recorder.finish(self.limits.elapsed, replace(result, plan=self.best))

    def _report(self, progress: Progress) -> None:
        if progress.plan is None or not self._take(progress.plan):
            return
        self.recorder.note_progress(self.limits.elapsed, self.best, progress.lower_bound, progress.statistics)
        if self.options.on_progress is not None:
            self.options.on_progress(replace(progress, plan=self.best))

    def _take(self, chosen: Plan) -> bool:
        """Take the plan that `chosen` stands for, if it is better than the best one so far."""
        plan = price_plan(self.choices.map_back(chosen))
        if not check_steps(self.problem, plan).valid:
            return False
        until = time.thread_time() + SHORTENING_SECONDS
        plan = shorten_durations(plan, self.snap, lambda: time.thread_time() < until)
        if self.best is not None and self.best.cost <= plan.cost:
            return False
        self.best = plan
        return True


@dataclass(slots=True)
class _Best:
    """The best plan in time of `problem` so far, and the searches for better ones.

    If it `is_partial`, the problem has only some of the plans of the declared one: nothing is proved by it.
    """

    problem: Problem
    snap: SnapProblem
    options: SolveOptions
    answer: Solve
    is_partial: bool = False
    limits: Limits = field(init=False)
    plan: Plan | None = None
    bound: Number | None = None
    tasks: int = 0
    search_run: Run = field(default_factory=Run)
    by: str = ""
    recorder: Recorder = field(default_factory=Recorder)
    no_plan: bool = False
    scheduled: Plan | None = None
    """The plan that was scheduled anew."""
    rates: Rates | None = None
    seconds: Number = 0
    """The least makespan, by the critical path."""
    searches: list[_EpochSearch | _Proof] = field(default_factory=list)
    """The searches that hand their plans over by a method of theirs, which makes a reference cycle of each."""

    def __post_init__(self) -> None:
        self.limits = self.options.limits()

    @property
    def is_timed(self) -> bool:
        """Whether the makespan is all that plans are compared by."""
        metric = self.problem.metric
        return isinstance(metric, NumericMetric) and metric.expression == TOTAL_TIME and not self.problem.due

    def run(self) -> Result:
        """Search until a proof, a first plan where no more is asked for, or a limit."""
        try:
            return self._search()
        except STOPS as stop:
            return self._result(stop_reason(stop))
        finally:
            while self.searches:
                self.searches.pop().close()

    def _search(self) -> Result:
        at_once = TimedReplay(self.problem, (), ())
        if at_once.judge(None).valid:
            self.take(at_once.price(), "no search")
        task = ground_temporal(self.problem, self.snap, self.limits)
        if task.source.task.unreachable_goal is not None:
            if self.is_partial:
                return self._result(StoppedBy.INCOMPLETE)
            part = task.source.task.unreachable_goal
            met = {meeting_fact(place): due for place, due in enumerate(hard_deadlines(self.problem))}
            reason = f"nothing makes this part of the goal true: {met.get(str(part), part)}"
            return self._unsolvable(reason)
        self.tasks = len(task.source.task.actions)
        meetings = find_meetings(self.problem, task)
        found = bound_makespan(task, int(SEPARATION * task.resolution), meetings)
        landmarks = self._schedule_landmarks(task, found.begun) if found.ticks < INFINITY else NO_LANDMARKS
        ticks = found.ticks if landmarks.ticks >= INFINITY else max(found.ticks, landmarks.ticks)
        earliest: dict[int, int] = {}
        for action, then in found.met.items():
            earliest[meetings[action]] = min(then, earliest.get(meetings[action], INFINITY))
        late = self._describe_lateness(task, ticks, earliest)
        if not late and landmarks.ticks >= INFINITY:
            late = landmarks.describe_crowding()
        if late and not self.is_partial:
            return self._unsolvable(late)
        self.bound = self._find_bound(task, 0 if self.is_partial else ticks)
        if self.bound:
            self._note("critical path")
        for _ in self._take_turns(task, ticks):
            self.limits.check()
            self._reschedule()
            if self._is_done() or self.no_plan:
                break
        if self.no_plan and self.plan is None:
            reason = "no sequence of happenings leads to the goal"
            if self.problem.deadline is not None:
                reason += f" by {self.problem.deadline} s"
            return self._unsolvable(reason)
        return self._result(StoppedBy.FIRST_PLAN if self.options.mode == "first" else StoppedBy.INCOMPLETE)

    def _unsolvable(self, reason: str) -> Result:
        history = self.recorder.history()
        return Result(
            Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=self._statistics(), reason=reason, history=history
        )

    def _schedule_landmarks(self, task: TemporalTask, begun: Mapping[int, int]) -> LandmarkSchedule:
        """Schedule the steps that every plan takes, and take the schedule if it is a plan."""
        found = schedule_landmarks(self.problem, self.snap, task, int(SEPARATION * task.resolution), begun)
        for each in (found, found.spaced):
            if each is not None and each.times:
                plan = price_plan(Plan(each.steps, self.problem, times=each.times))
                if check_steps(self.problem, plan).valid:
                    self.take(plan, "landmarks")
                    break
        return found

    def _reschedule(self) -> None:
        """Choose anew the orders of the best plan's steps that share a machine or a capacity, for a short while."""
        plan = self.plan
        if plan is None or plan is self.scheduled or self.options.mode == "first" or not self.is_timed:
            return
        begin, seconds = self.limits.elapsed, SCHEDULE_SECONDS + SCHEDULE_SHARE * self.limits.elapsed
        more = seconds if begin > CP_SAT_AFTER else 0.0
        found = reschedule(self.problem, self.snap, plan, lambda: self.limits.elapsed < begin + seconds, more)
        if found is not None:
            self.take(found, f"{self.by}, rescheduled")
        self.scheduled = self.plan

    def _is_done(self) -> bool:
        return self.plan is not None and (self.options.mode == "first" or self._is_proved())

    def _is_proved(self) -> bool:
        return self.plan is not None and self.bound is not None and self.plan.cost <= self.bound

    def _describe_lateness(self, task: TemporalTask, ticks: int, earliest: Mapping[int, int]) -> str:
        """Say that every plan misses a deadline, where the critical path of `ticks` proves it.

        The deadline of a goal at a place can be met no sooner than at the tick `earliest`.
        """
        for place, due in enumerate(hard_deadlines(self.problem)):
            reached = Fraction(earliest.get(place, 0), task.resolution)
            if reached > due.by:
                return f"no plan reaches {due.condition} before {float(reached):g} s, and it is due by {due.by} s"
        deadline = self.problem.deadline
        if deadline is None or ticks >= INFINITY or Fraction(ticks, task.resolution) <= deadline:
            return ""
        least = float(Fraction(ticks, task.resolution))
        return f"every plan takes at least {least:g} s, and the deadline is {deadline} s"

    def _find_bound(self, task: TemporalTask, ticks: int) -> Number | None:
        """Return a lower bound on the cost of plans; None where the metric has none that we know of."""
        self.rates = find_rates(self.problem)
        if self.rates is None:
            return None
        self.seconds = _seconds(ticks, task.resolution) if ticks < INFINITY else 0
        return self.rates.price(self.seconds, 0)

    def _take_turns(self, plain: TemporalTask, ticks: int) -> Iterator[None]:
        """Let the searches share the time: each one that goes on is the one that had least of its share.

        No plan ends before tick `ticks`.
        """
        searches = self._begin_searches(plain, ticks)
        is_first, improving = self.options.mode == "first", False
        while searches:
            if self.plan is not None and not improving and not is_first:
                improving = True
                shares = PROVING if self.options.mode == "optimal" else IMPROVING
                for each in searches:
                    each.due, each.share = 0.0, shares[each.name]
            search = min(searches, key=lambda each: each.due)
            before, begin = time.thread_time(), self.limits.elapsed
            if next(search.steps, self) is self:
                searches.remove(search)
            search.due += (time.thread_time() - before) / search.share
            self.recorder.note_turn((search.name, ""), begin, self.limits.elapsed)
            self._note(search.name)
            yield

    def _begin_searches(self, plain: TemporalTask, ticks: int) -> list[_Sharer]:
        """Return the searches for plans of the task."""
        task = add_lasting_facts(plain)
        space = pack_numeric_task(task.source, self.limits.check)
        found: dict[str, Iterator[None]] = {}
        if space is not None:
            from planner.jit import library

            entries = library.load_or_plain()
            found["decision epochs"] = self._search_epochs(task, space, entries)
        proof = None if self.is_partial else _Proof.of(self, plain)
        if proof is not None and self.options.mode != "first":
            found["proof"] = proof.turns()
        if space is not None:
            sequences = self._schedule_sequences(plain, task, space, entries, ticks)
            found |= {} if sequences is None else {"scheduled sequences": sequences}
        if not self.problem.timed:
            found["sequence"] = self._search_sequences()
        if self.rates is not None and self.rates.cost and not self.is_partial and self.options.mode != "first":
            found["costs"] = self._bound_costs(self.rates)
        scale = self._scale()
        return [_Sharer(name, steps, FINDING[name], scale * BEGINNINGS[name]) for name, steps in found.items()]

    def _scale(self) -> float:
        return min(1.0, (self.limits.time_limit or ASSUMED_LIMIT) / ASSUMED_LIMIT)

    def _search_epochs(self, task: TemporalTask, space: NumericSpace, entries: Mapping[str, Call]) -> Iterator[None]:
        """Let the searches over decision epochs take turns; the first one is alone for some evaluations."""
        searches: list[_EpochSearch] = []
        for options in EPOCH_SEARCHES:
            each = _EpochSearch(self, task, TemporalBestFirst(task, space, entries, _ignore, **options))
            searches.append(each)
            while each.is_open and each.search.has_evaluated_fewer(FIRST_TURN << len(searches)):
                each.advance()
                yield
        while any(each.is_open for each in searches):
            for each in searches:
                if each.is_open:
                    each.advance()
                    yield

    def _schedule_sequences(
        self, plain: TemporalTask, task: TemporalTask, space: NumericSpace, entries: Mapping[str, Call], ticks: int
    ) -> Iterator[None] | None:
        """Return the turns of searches for scheduled sequences; None where steps change what events change."""
        separated = separate_clocks(plain if plain.events < len(plain.lapses) else task)
        if separated is None:
            return None
        without, clocks = separated
        if without is not task:
            packed = pack_numeric_task(without.source, self.limits.check)
            if packed is None:
                return None
            space = packed
        shared = SequenceSpace.of(without, space, clocks, int(SEPARATION * task.resolution))

        def take(actions: list[int]) -> int:
            plan = self.take_happenings(*read_happenings(without, self.snap, actions), "scheduled sequences")
            return self.limit_of(task, plan)

        searches = TimedSequenceSearches(
            shared,
            self.snap,
            entries,
            take,
            lambda: self.plan,
            lambda: self.limit_of(task, self.plan),
            self.search_run,
            ticks,
            Random(self.options.seed),
        )
        return searches.turns()

    def limit_of(self, task: TemporalTask, plan: Plan | None) -> int:
        """Return the tick before which plans are to end that are better than `plan`, and in time."""
        deadline, metric = self.problem.deadline, self.problem.metric
        limit = INFINITE if deadline is None else int(deadline * task.resolution) + 1
        is_timed = isinstance(metric, NumericMetric) and metric.expression == TOTAL_TIME
        if is_timed and plan is not None and plan.makespan is not None:
            limit = min(limit, int(plan.makespan * task.resolution))
        return limit

    def _search_sequences(self) -> Iterator[None]:
        """Search for sequences of steps as if there was no time, for longer and longer, and schedule them."""
        from planner.compilations.sequential_steps import compile_sequential

        def report(progress: Progress) -> None:
            if progress.plan is not None:
                self.take_sequence(progress.plan.steps)

        try:
            by_durations, by_costs = (compile_sequential(self.problem, by_costs=each) for each in (False, True))
        except UnsupportedError:
            return
        seconds = SLICE * self._scale()
        while True:
            is_cheap = self.plan is not None and isinstance(self.problem.metric, Metric)
            sequential = by_costs if is_cheap else by_durations
            mode = "first" if self.options.mode == "first" or self.plan is None else "anytime"
            found = self._answer(sequential, seconds, mode, report)
            if found.plan is not None:
                self.take_sequence(found.plan.steps)
            elif found.stopped_by is not StoppedBy.TIME:
                return
            if found.status is Status.OPTIMAL or (mode == "first" and found.plan is not None and self.plan is None):
                return
            yield
            seconds *= 2

    def _answer(self, problem: Problem, seconds: float, mode: str, report: Callable[[Progress], None] | None) -> Result:
        """Solve a problem without time for so long, and count what is searched."""
        found = self.answer(problem, self.options.within(self.limits.part(seconds), mode=mode, on_progress=report))
        self.search_run.expanded += found.statistics.expanded
        self.search_run.evaluated += found.statistics.evaluated
        return found

    def _bound_costs(self, rates: Rates) -> Iterator[None]:
        """Bound what steps cost by that of happenings without time, for longer and longer."""
        from planner.compilations.costs_of_happenings import price_happenings

        happenings = price_happenings(self.problem)
        seconds = SLICE * self._scale()
        while True:
            found = self._answer(happenings, seconds, "optimal", None)
            if found.status is Status.UNSOLVABLE:
                self.no_plan = True
            if found.lower_bound is not None:
                self.bound = max(self.bound or 0, rates.price(self.seconds, found.lower_bound))
            if found.stopped_by is not StoppedBy.TIME:
                return
            yield
            seconds *= 2

    def take_sequence(self, steps: Sequence[Step]) -> None:
        """Schedule `steps`, which can be taken one after another, and take the plan."""
        plain = [replace(step, cost=0) for step in steps]
        self.take_happenings(plain, in_sequence(len(plain)), "sequence")

    def take_happenings(self, steps: Sequence[Step], sequence: Sequence[Moment], by: str) -> Plan | None:
        """Schedule the happenings of `steps` in the order of `sequence`; return the plan if it is valid."""
        try:
            plan = schedule_happenings(self.problem, self.snap, steps, sequence)
        except PlanError:
            return None
        if plan is None or not check_steps(self.problem, plan).valid:
            return None
        self.take(plan, by)
        return plan

    def take(self, plan: Plan, by: str) -> None:
        """Take the valid `plan` if it is better than the best one so far."""
        if self.plan is not None and self.plan.cost <= plan.cost:
            return
        self.plan, self.by = plan, by
        self._note(by)
        if self.options.on_progress is not None:
            self.options.on_progress(Progress(plan, self.bound, self.limits.elapsed, self._statistics()))

    def _note(self, by: str) -> None:
        """Record what is known."""
        search, _, how = by.partition(", ")
        cost = None if self.plan is None else self.plan.cost
        self.recorder.note(self.limits.elapsed, cost, self.bound, (search, how))

    def _statistics(self) -> Statistics:
        run = self.search_run
        return Statistics(
            search="in time",
            heuristic=self.by,
            actions=self.tasks,
            expanded=run.expanded,
            evaluated=run.evaluated,
            generated=run.generated,
            search_seconds=self.limits.elapsed,
        )

    def _result(self, stopped_by: StoppedBy) -> Result:
        history = self.recorder.history()
        if self._is_proved():
            return Result(
                Status.OPTIMAL, StoppedBy.EXHAUSTED, self.plan, self.bound, self._statistics(), history=history
            )
        status = Status.UNKNOWN if self.plan is None else Status.SOLVED
        reason = _NO_PROOF[self.is_partial] if self.plan is None else ""
        if stopped_by is StoppedBy.FIRST_PLAN and self.plan is None:
            stopped_by = StoppedBy.INCOMPLETE
        reason = reason if stopped_by is StoppedBy.INCOMPLETE else ""
        return Result(status, stopped_by, self.plan, self.bound, self._statistics(), reason, history)


@dataclass(slots=True)
class _Sharer:
    """A search with a share of the time; `due` is the processor time that it has had, divided by its share."""

    name: str
    steps: Iterator[None]
    share: int
    due: float


def _ignore(_: list[int]) -> int:
    return 0


@dataclass(slots=True)
class _EpochSearch:
    """A search over decision epochs whose plans go to `best`; it `is_open` until it has ended."""

    best: _Best
    task: TemporalTask
    search: TemporalBestFirst
    is_open: bool = True
    failures: int = 0
    steps: Iterator[None] = field(init=False)

    def __post_init__(self) -> None:
        self.best.searches.append(self)
        self.search.take = self._take
        self.steps = self.search.steps(self.best.search_run)
        deadline = self.best.problem.deadline
        if deadline is not None:
            self.search.limit = int(deadline * self.task.resolution) + 1

    def close(self) -> None:
        """End the search; its memory is given back at once."""
        self.steps = iter(())
        self.search.take = _ignore

    def advance(self) -> None:
        """Search for a moment."""
        plan, metric = self.best.plan, self.best.problem.metric
        is_timed = isinstance(metric, NumericMetric) and metric.expression == TOTAL_TIME
        if is_timed and plan is not None and plan.makespan is not None:
            self.search.limit = min(self.search.limit, int(plan.makespan * self.task.resolution))
        if next(self.steps, self) is self or self.failures > MOST_FAILURES:
            self.is_open = False

    def _take(self, actions: list[int]) -> int:
        """Take the plan of happenings `actions`; return the tick before which better plans end."""
        steps, sequence = read_happenings(self.task, self.best.snap, actions)
        plan = self.best.take_happenings(steps, sequence, "decision epochs")
        if plan is None or plan.makespan is None:
            self.failures += 1
            return self.search.limit
        return min(self.search.limit, int(plan.makespan * self.task.resolution))


@dataclass(slots=True)
class _Proof:
    """A* for the least makespan of `best`, which takes its plan, its bound, and that there is no plan."""

    best: _Best
    task: TemporalTask
    rules: HappeningRules
    search: TemporalAstar = field(init=False)
    is_open: bool = True
    run: Run = field(default_factory=Run)
    steps: Iterator[None] = field(init=False)

    def __post_init__(self) -> None:
        self.best.searches.append(self)
        self.search = TemporalAstar(self.rules, int(SEPARATION * self.task.resolution), self._take)
        self.steps = self.search.steps(self.run)
        deadline = self.best.problem.deadline
        if deadline is not None:
            self.search.limit = int(deadline * self.task.resolution) + 1

    @classmethod
    def of(cls, best: _Best, task: TemporalTask) -> _Proof | None:
        """Return the search for `task`; None where it is large, or it is not told exactly what waits for what."""
        if len(task.source.task.actions) > PROOF_ACTIONS:
            return None
        rules = find_rules(best.problem, best.snap, task)
        return None if rules is None else cls(best, task, rules)

    def close(self) -> None:
        """End the search; its memory is given back at once."""
        self.steps = iter(())
        del self.search

    def turns(self) -> Iterator[None]:
        """Search until the proof."""
        while self.is_open:
            self.advance()
            yield

    def advance(self) -> None:
        """Search for a moment."""
        best, search = self.best, self.search
        if best.is_timed and best.plan is not None and best.plan.makespan is not None:
            search.limit = min(search.limit, ceil(Fraction(best.plan.makespan) * self.task.resolution))
        expanded = self.run.expanded
        if next(self.steps, self) is self:
            self.is_open = False
        best.search_run.expanded += self.run.expanded - expanded
        if best.is_timed and best.bound is not None and search.bound < INFINITY:
            bound = as_number(exact_value(Fraction(search.bound, self.task.resolution)))
            if bound is not None and self.is_open | search.is_complete:
                best.bound = max(best.bound, bound)
        if search.is_complete and search.found is None:
            best.no_plan = best.plan is None

    def _take(self, trace: list[tuple[Happening, int]], ticks: int) -> None:
        """Take the plan of `trace`, which ends at tick `ticks`; give up where it does not replay."""
        best, resolution = self.best, self.task.resolution
        starts = {moments.start: name for name, moments in best.snap.actions.items()}
        steps: list[Step] = []
        times: list[StepTime] = []
        for each in sorted(schedule_trace(self.rules, trace), key=lambda each: each.start):
            step = self.task.source.task.actions[each.action].step
            steps.append(Step(starts[step.action], step.arguments))
            times.append(StepTime(_seconds(each.start, resolution), _seconds(each.end - each.start, resolution)))
        plan = price_plan(Plan(tuple(steps), best.problem, times=tuple(times)))
        if not check_steps(best.problem, plan).valid or Fraction(plan.makespan or 0) * resolution != ticks:
            self.is_open = self.search.is_complete = False
            return
        best.take(plan, "proof")


def _seconds(ticks: int, resolution: int) -> Number:
    number = as_number(exact_value(Fraction(ticks, resolution)))
    assert number is not None
    return number


def read_happenings(task: TemporalTask, snap: SnapProblem, actions: Sequence[int]) -> tuple[list[Step], list[Moment]]:
    """Return the steps whose happenings are `actions` of the ground task, and the happenings in their order."""
    starts = {moments.start: name for name, moments in snap.actions.items()}
    ends = {moments.end: name for name, moments in snap.actions.items() if moments.end}
    steps: list[Step] = []
    sequence: list[Moment] = []
    running: dict[Step, int] = {}
    for number in actions:
        step = replace(task.source.task.actions[number].step, cost=0)
        if step.action in starts:
            declared = replace(step, action=starts[step.action])
            running[declared] = len(steps)
            sequence.append(Moment(START, len(steps)))
            steps.append(declared)
        elif step.action in ends:
            sequence.append(Moment(END, running.pop(replace(step, action=ends[step.action]))))
        elif step.action in snap.events:
            sequence.append(Moment(EVENT, snap.events.index(step.action)))
    return steps, sequence

"""Planning in time: the searches that run, and the best plan in time so far.

Search over decision epochs finds plans whose steps must overlap, and plans around changes at known times. Search for
sequences of steps uses all that classical and numeric search have; the schedule of a sequence lets its steps overlap
where they can. Each plan is validated by a replay in time. A* over the happenings raises the lower bound until it meets
the best plan, and proves that there is none where it ends without one; it takes turns with the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import floor
from random import Random

from planner.compilations import Compiled
from planner.compilations.driver import Driver
from planner.compilations.duration_choices import choose_durations
from planner.errors import UnsupportedError
from planner.grounding.clocks import separate_clocks
from planner.grounding.ground_temporal import find_meetings, ground_temporal, hard_deadlines, meeting_fact
from planner.grounding.lasting_facts import add_lasting_facts
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.jit import library
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import STOPS, enforce, stop_reason
from planner.model.arithmetic import as_number, evaluate, exact_value
from planner.model.constructs import Service, name_refused
from planner.model.formulas import Number, functions_in
from planner.model.problem import TOTAL_COST, Metric, NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.options import Solve, SolveOptions
from planner.plan import (
    Plan,
    Progress,
    Result,
    Status,
    StoppedBy,
    unsupported_result,
)
from planner.portfolio.timed_incumbent import TimedIncumbent
from planner.portfolio.timed_searches import (
    PROOF_ACTIONS,
    EpochSearch,
    TimedProof,
    complete_happenings,
    read_happenings,
    seconds_of,
    take_nothing,
)
from planner.portfolio.timed_sequence_searches import TimedSequenceSearches
from planner.pruning.h2_in_time import exclude_plans
from planner.scheduling.landmark_steps import NO_LANDMARKS, LandmarkSchedule, schedule_landmarks
from planner.scheduling.rescheduling import reschedule
from planner.scheduling.shorten_durations import shorten_durations
from planner.search.temporal_search_compiled import TemporalBestFirst
from planner.search.timed_sequences_compiled import SequenceSpace
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import make_snap_problem, name_as_declared
from planner.semantics.undefined_values import name_lacking
from planner.task.ground_task import INFINITY
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.task.temporal_task import TemporalTask
from planner.validation.timed_replay import TimedReplay, price_plan
from planner.validation.validate import check_steps

FIRST_TURN: Final = 2_000
"""Evaluations of the first search over decision epochs before another one begins; each one gets twice as many."""
EPOCH_SEARCHES: Final[tuple[tuple[str, ...], ...]] = (("novel",), ("youngest",), ())
"""The options of the searches over decision epochs, in the order in which they begin."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the portfolio table."""

    name: str
    begins: float
    """Processor time of the searches before it, in seconds divided by their shares, after which it begins."""
    finding: int
    """Its share of the time until there is a plan,"""
    improving: int
    """after it,"""
    proving: int
    """and after it in mode "optimal"."""
    why: str
    finds: bool = True
    """Whether it finds plans: where only others end without an error, the errors of these are raised."""


TABLE: Final = (
    Entry("critical path", 0.05, 1, 1, 1, "bounds the makespan, or proves that every plan is late", finds=False),
    Entry("scheduled sequences", 0.0, 4, 5, 5, "a state is a sequence and its schedule: few states, and short plans"),
    Entry("sequence", 0.2, 4, 1, 1, "all that classical and numeric search have; the schedule comes afterwards"),
    Entry("decision epochs", 0.2, 4, 1, 1, "only here can two steps need each other"),
    Entry("h2", 0.2, 1, 1, 1, "pairs of facts that exclude each other often prove that there is no plan", finds=False),
    Entry("proof", 0.2, 1, 3, 9, "only A* over the happenings proves a makespan optimal"),
    Entry("costs", 0.2, 1, 3, 9, "what steps cost is bounded best without time"),
)
"""The searches in time, in the order in which they take turns after the first plan.

Each of the three that find plans was tried alone on 123 tasks of the competitions (2026-12-01, 8 or 16 s, a busy
machine), of which they solve 104: scheduled sequences 86, first on 79 of them, and 71 within 0.5 s of processor time;
sequences without time 84, 7 of them alone; decision epochs 89, 8 of them, whose steps need each other, alone. Nothing
else comes before a first plan.
"""
LAST: Final = 0.5
"""When the search for a proof begins in mode "first": it finds plans that must wait between two happenings."""
LONGEST_SLICE: Final = 30.0
"""Seconds after which a search for bounds of numbers that ended without one is not begun again."""
SLICE: Final = 0.25
"""Seconds of the first search for a sequence without time; each one after it starts anew and gets twice as many."""
ASSUMED_LIMIT: Final = 30.0
"""Seconds of a time limit with which the beginnings of `TABLE` and `SLICE` count in full; shorter ones shorten them."""
SCHEDULE_SECONDS: Final = 0.1
SCHEDULE_SHARE: Final = 0.05
"""Seconds for scheduling a plan's steps anew, and the part of the time so far that is added to them."""
CP_SAT_AFTER: Final = 5.0
"""Seconds before CP-SAT, whose package takes a second to load, schedules what branch and bound gives up."""
SHORTENING_SECONDS: Final = 0.2
"""Processor time for shorter durations of one plan."""


def solve_in_time(problem: Problem, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, which asks for a plan in time, and has neither soft goals nor budgets.

    `answer` solves problems without time.
    """
    try:
        choices = choose_durations(problem)
        if choices is not None:
            return _solve_by_choices(problem, choices, options, answer)
        limits = options.limits()
        snap = make_snap_problem(problem, limits.check)
        return _TemporalPortfolio(TimedIncumbent(problem, snap, options.within(limits)), answer).run()
    except UnsupportedError as error:
        return unsupported_result(name_as_declared(error.construct, problem), error.hint)
    except STOPS as stop:
        return Result(Status.UNKNOWN, stop_reason(stop))


def refuse_in_time(problem: Problem, options: SolveOptions) -> Result | None:
    """Return a refusal of what search in time does not take."""
    refused = {
        f"the search {options.search!r}": options.search is not None,
        f"the heuristic {options.heuristic!r}": options.heuristic is not None,
        "plain search": options.plain,
    }
    found = next((what for what, there in refused.items() if there), None)
    found = found or next(iter(name_refused(problem, Service.TIME)), None)
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
    if not {*functions_in(metric.expression)} <= {TOTAL_TIME, TOTAL_COST}:
        return None
    sense = -1 if metric.maximize else 1

    def charge(seconds: int, cost: int) -> Fraction:
        values = {TOTAL_TIME.predicate: seconds, TOTAL_COST.predicate: cost}
        return sense * Fraction(evaluate(metric.expression, lambda term: values[term[0]], {}) or 0)

    nothing = charge(0, 0)
    time, cost = charge(1, 0) - nothing, charge(0, 1) - nothing
    is_linear = charge(3, 0) - nothing == 3 * time and charge(2, 5) - nothing == 2 * time + 5 * cost
    is_fluent = TOTAL_COST.predicate in problem.domain.functions
    return Rates(time, Fraction(0) if is_fluent else cost) if is_linear and min(time, cost) >= 0 else None


def counts_numbers_alone(metric: Metric | NumericMetric) -> bool:
    """Return whether the metric is about numbers at the end of a plan, and not about its makespan."""
    return isinstance(metric, NumericMetric) and TOTAL_TIME not in functions_in(metric.expression)


def _solve_by_choices(problem: Problem, choices: Compiled, options: SolveOptions, answer: Solve) -> Result:
    """Solve `problem`, whose effects depend on durations that plans choose, by `choices`, a few of these durations.

    The chosen durations of plans are shortened where that is possible. Nothing is proved but by a bound.
    """
    snap = make_snap_problem(problem)

    def lift(plan: Plan) -> Plan:
        found = price_plan(choices.lift(plan))
        if not check_steps(problem, found).valid:
            return found
        until = time.thread_time() + SHORTENING_SECONDS
        return shorten_durations(found, snap, lambda: time.thread_time() < until)

    def search(chosen: Problem, given: SolveOptions) -> Result:
        best = TimedIncumbent(chosen, make_snap_problem(chosen), given, is_partial=True)
        return _TemporalPortfolio(best, answer).run()

    driver = Driver(problem, options, search)
    compiled = replace(choices, lift=lift)
    return driver.finish(driver.ask(compiled), compiled)


@dataclass(slots=True)
class _Sharer:
    """A search with a share of the time; `due` is the processor time that it has had, divided by its share."""

    name: str
    steps: Iterator[None]
    entry: Entry
    due: float
    share: int = 0

    def __post_init__(self) -> None:
        self.share = self.entry.finding


@dataclass(slots=True)
class _TemporalPortfolio:
    """The searches for plans in time, which share the time and the incumbent `best`.

    `answer` solves problems without time.
    """

    best: TimedIncumbent
    answer: Solve
    scheduled: Plan | None = None
    """The plan that was scheduled anew."""
    rates: Rates | None = None
    """What plans pay, where a bound of it is known."""
    seconds: Number = 0
    """The least makespan, by the critical path."""
    late: str = ""
    """Why no plan is in time, where the critical path proves that."""
    packed: tuple[TemporalTask, NumericSpace | None] | None = None
    open: list[EpochSearch | TimedProof] = field(default_factory=list)
    """The searches that are to be closed."""

    def run(self) -> Result:
        """Search until a proof, a first plan where no more is asked for, or a limit.

        Raises the error that ends all searches unless there is a plan by then.
        """
        try:
            with enforce(self.best.limits):
                return self._search()
        except STOPS as stop:
            return self.best.end(stop_reason(stop))
        except Exception as error:
            if self.best.plan is None:
                raise
            self.best.run.contain(error)
            return self.best.end(StoppedBy.INCOMPLETE)
        finally:
            for each in self.open:
                each.close()
            self.open.clear()

    def _search(self) -> Result:
        at_once = TimedReplay(self.best.problem, (), ())
        if at_once.judge(None).valid:
            self.best.take(at_once.price(), "no search")
        task = ground_temporal(self.best.problem, self.best.snap, self.best.limits)
        if task.source.task.unreachable_goal is not None:
            if self.best.is_partial:
                return self.best.end(StoppedBy.INCOMPLETE)
            part = task.source.task.unreachable_goal
            met = {meeting_fact(place): due for place, due in enumerate(hard_deadlines(self.best.problem))}
            reason = f"nothing makes this part of the goal true: {met.get(str(part), part)}"
            reason += name_lacking(self.best.problem)
            return self.best.end_unsolvable(reason)
        self.best.actions = len(task.source.task.actions)
        self.rates = find_rates(self.best.problem)
        self.best.bound = None if self.rates is None else self.rates.price(0, 0)
        for _ in self._take_turns(task):
            self.best.limits.check()
            self.best.run.by = ("rescheduling", "")
            try:
                self._reschedule()
            except Exception as error:  # noqa: BLE001 - the history tells it
                self.best.run.contain(error)
                self.scheduled = self.best.plan
            if self.best.is_done() or self.best.no_plan:
                break
        if self.best.no_plan and self.best.plan is None:
            return self.best.end_unsolvable(self.late or self._describe_exhaustion())
        return self.best.end(StoppedBy.FIRST_PLAN if self.best.options.mode == "first" else StoppedBy.INCOMPLETE)

    def _describe_exhaustion(self) -> str:
        deadline = self.best.problem.deadline
        return "no sequence of happenings leads to the goal" + ("" if deadline is None else f" by {deadline} s")

    def _bound_makespan(self, task: TemporalTask) -> Iterator[None]:
        """Bound the makespan by the critical path and by the steps that every plan takes, and say what is too late."""
        meetings = find_meetings(self.best.problem, task)
        found = bound_makespan(task, int(SEPARATION * task.resolution), meetings)
        yield
        landmarks = self._schedule_landmarks(task, found.begun) if found.ticks < INFINITY else NO_LANDMARKS
        ticks = found.ticks if landmarks.ticks >= INFINITY else max(found.ticks, landmarks.ticks)
        earliest: dict[int, int] = {}
        for action, then in found.met.items():
            earliest[meetings[action]] = min(then, earliest.get(meetings[action], INFINITY))
        self.late = self._describe_lateness(task, ticks, earliest)
        if not self.late and landmarks.ticks >= INFINITY:
            self.late = landmarks.describe_crowding()
        self.best.no_plan |= bool(self.late)
        self.seconds = seconds_of(ticks, task.resolution) if ticks < INFINITY else 0
        if self.rates is not None:
            self.best.raise_bound(self.rates.price(self.seconds, 0))
            if self.best.bound:
                self.best.note("critical path")

    def _schedule_landmarks(self, task: TemporalTask, begun: Mapping[int, int]) -> LandmarkSchedule:
        """Schedule the steps that every plan takes, and take the schedule if it is a plan."""
        found = schedule_landmarks(self.best.problem, self.best.snap, task, int(SEPARATION * task.resolution), begun)
        for each in (found, found.spaced):
            if each is not None and each.times:
                plan = price_plan(Plan(each.steps, self.best.problem, times=each.times))
                if check_steps(self.best.problem, plan).valid:
                    self.best.take(plan, "landmarks")
                    break
        return found

    def _reschedule(self) -> None:
        """Choose anew the orders of the best plan's steps that share a machine or a capacity, for a short while."""
        plan = self.best.plan
        if plan is None or plan is self.scheduled or self.best.options.mode == "first" or not self.best.is_timed:
            return
        begin, seconds = self.best.limits.elapsed, SCHEDULE_SECONDS + SCHEDULE_SHARE * self.best.limits.elapsed
        more = seconds if begin > CP_SAT_AFTER else 0.0
        found = reschedule(
            self.best.problem, self.best.snap, plan, lambda: self.best.limits.elapsed < begin + seconds, more
        )
        if found is not None:
            self.best.take(found, f"{self.best.by}, rescheduled")
        self.scheduled = self.best.plan

    def _describe_lateness(self, task: TemporalTask, ticks: int, earliest: Mapping[int, int]) -> str:
        """Say that every plan misses a deadline, where the critical path of `ticks` proves it.

        The deadline of a goal at a place can be met no sooner than at the tick `earliest`.
        """
        for place, due in enumerate(hard_deadlines(self.best.problem)):
            reached = Fraction(earliest.get(place, 0), task.resolution)
            if reached > due.by:
                return f"no plan reaches {due.condition} before {float(reached):g} s, and it is due by {due.by} s"
        deadline = self.best.problem.deadline
        if deadline is None or ticks >= INFINITY or Fraction(ticks, task.resolution) <= deadline:
            return ""
        least = float(Fraction(ticks, task.resolution))
        return f"every plan takes at least {least:g} s, and the deadline is {deadline} s"

    def _take_turns(self, plain: TemporalTask) -> Iterator[None]:
        """Let the searches share the time: each one that goes on is the one that had least of its share."""
        searches = self._begin_searches(plain)
        is_first, improving = self.best.options.mode == "first", False
        first: Exception | None = None
        has_ended = not searches
        while searches:
            if self.best.plan is not None and not improving and not is_first:
                improving = True
                proves = self.best.options.mode == "optimal"
                for each in searches:
                    each.due, each.share = 0.0, each.entry.proving if proves else each.entry.improving
            search = min(searches, key=lambda each: each.due)
            before, begin = time.thread_time(), self.best.limits.elapsed
            self.best.run.by = (search.name, "")
            try:
                next(search.steps)
            except StopIteration:
                searches.remove(search)
                has_ended |= search.entry.finds
            except Exception as error:  # noqa: BLE001 - the history tells it
                self.best.run.by = (search.name, "")
                self.best.run.contain(error)
                searches.remove(search)
                first = first or error
            search.due += (time.thread_time() - before) / search.share
            self.best.recorder.note_turn((search.name, ""), begin, self.best.limits.elapsed)
            self.best.note(search.name)
            yield
        if first is not None and not has_ended:
            raise first

    def _begin_searches(self, plain: TemporalTask) -> list[_Sharer]:
        """Return the searches for plans of the task, none of which has prepared anything yet."""
        task = add_lasting_facts(plain)
        is_first, proves = self.best.options.mode == "first", not self.best.is_partial
        is_priced = self.rates.cost if self.rates is not None else counts_numbers_alone(self.best.problem.metric)
        steps = {
            "critical path": None if self.best.is_partial else self._bound_makespan(plain),
            "scheduled sequences": self._schedule_sequences(plain, task),
            "decision epochs": self._search_epochs(task),
            "sequence": None if self.best.problem.timed else self._search_sequences(),
            "h2": None if self.best.is_partial else self._exclude_plans(plain),
            "proof": self._prove(plain) if proves else None,
            "costs": self._bound_costs() if proves and is_priced and not is_first else None,
        }
        scale = self._scale()
        return [
            _Sharer(each.name, found, each, scale * (LAST if is_first and each.name == "proof" else each.begins))
            for each in TABLE
            if (found := steps[each.name]) is not None
        ]

    def _pack(self, task: TemporalTask) -> NumericSpace | None:
        """Return `task` as arrays; packed once for all searches."""
        if self.packed is None or self.packed[0] is not task:
            self.packed = task, pack_numeric_task(task.source, self.best.limits.check)
        return self.packed[1]

    def _prove(self, task: TemporalTask) -> Iterator[None]:
        """Work out the rules of the proof, and search by them."""
        proof = yield from TimedProof.prepare(self.best, task)
        if proof is not None:
            self.open.append(proof)
            yield from proof.turns()

    def _exclude_plans(self, task: TemporalTask) -> Iterator[None]:
        """Look for a proof by h² that there is no plan, until there is one."""
        if len(task.source.task.actions) > PROOF_ACTIONS:
            return
        steps = exclude_plans(task, library.load_or_plain(), self.best.limits.check)
        while self.best.plan is None:
            try:
                next(steps)
            except StopIteration as ended:
                self.best.no_plan = ended.value
                return
            yield

    def _scale(self) -> float:
        return min(1.0, (self.best.limits.time_limit or ASSUMED_LIMIT) / ASSUMED_LIMIT)

    def _search_epochs(self, task: TemporalTask) -> Iterator[None]:
        """Let the searches over decision epochs take turns; the first one is alone for some evaluations."""
        space = self._pack(task)
        if space is None:
            return
        searches: list[EpochSearch] = []
        for options in EPOCH_SEARCHES:
            search = TemporalBestFirst(task, space, library.load_or_plain(), take_nothing, options=options)
            each = EpochSearch(self.best, task, search)
            self.open.append(each)
            searches.append(each)
            while each.is_open and each.search.has_evaluated_fewer(FIRST_TURN << len(searches)):
                each.advance()
                yield
        while any(each.is_open for each in searches):
            for each in searches:
                if each.is_open:
                    each.advance()
                    yield

    def _schedule_sequences(self, plain: TemporalTask, task: TemporalTask) -> Iterator[None]:
        """Search for scheduled sequences, in turns, unless steps change what events change."""
        separated = separate_clocks(plain if plain.events < len(plain.lapses) else task)
        if separated is None:
            return
        without, clocks = separated
        space = self._pack(task) if without is task else pack_numeric_task(without.source, self.best.limits.check)
        if space is None:
            return
        shared = SequenceSpace.of(without, space, clocks, int(SEPARATION * task.resolution))

        def take(actions: list[int]) -> int:
            plan = self.best.take_happenings(*read_happenings(without, self.best.snap, actions), "scheduled sequences")
            return self.best.limit_of(task, plan)

        searches = TimedSequenceSearches(
            shared,
            self.best.snap,
            library.load_or_plain(),
            take,
            lambda: self.best.plan,
            lambda: self.best.limit_of(task, self.best.plan),
            self.best.run,
            Random(self.best.options.seed),
        )
        yield from searches.turns()

    def _search_sequences(self) -> Iterator[None]:
        """Search for sequences of steps as if there was no time, for longer and longer, and schedule them."""
        from planner.compilations.sequential_steps import compile_sequential

        def report(progress: Progress) -> None:
            if progress.plan is not None:
                self.best.take_sequence(progress.plan.steps)

        try:
            by_durations, by_costs = (compile_sequential(self.best.problem, by_costs=each) for each in (False, True))
        except UnsupportedError:
            return
        metric = self.best.problem.metric
        is_number = counts_numbers_alone(metric)
        by_costs = replace(by_costs, metric=metric) if is_number else by_costs
        seconds = SLICE * self._scale()
        while True:
            is_cheap = self.best.plan is not None and (is_number or isinstance(metric, Metric))
            sequential = by_costs if is_cheap else by_durations
            mode = "first" if self.best.options.mode == "first" or self.best.plan is None else "anytime"
            found = self._answer(sequential, seconds, mode, report)
            if found.plan is not None:
                self.best.take_sequence(found.plan.steps)
            elif found.stopped_by is not StoppedBy.TIME:
                return
            if found.status is Status.OPTIMAL or (
                mode == "first" and found.plan is not None and self.best.plan is None
            ):
                return
            yield
            seconds *= 2

    def _answer(self, problem: Problem, seconds: float, mode: str, report: Callable[[Progress], None] | None) -> Result:
        """Solve a problem without time for so long, and count what is searched."""
        found = self.answer(
            problem, self.best.options.within(self.best.limits.part(seconds), mode=mode, on_progress=report)
        )
        self.best.recorder.note_failures(found.history.failures)
        self.best.run.expanded += found.statistics.expanded
        self.best.run.evaluated += found.statistics.evaluated
        return found

    def _bound_costs(self) -> Iterator[None]:
        """Bound costs by those of happenings without time, for longer and longer; schedule the cheapest."""
        from planner.compilations.costs_of_happenings import price_happenings, value_happenings
        from planner.scheduling.waiting import wait_in_turn

        rates = self.rates
        happenings = value_happenings(self.best.problem) if rates is None else price_happenings(self.best.problem)
        if happenings is None:
            return
        seconds = SLICE * self._scale()
        while True:
            found = self._answer(happenings, seconds, "optimal", None)
            if found.status is Status.UNSOLVABLE:
                self.best.no_plan = True
            if found.lower_bound is not None:
                bound = found.lower_bound
                self.best.raise_bound(bound if rates is None else rates.price(self.seconds, bound))
            if found.plan is not None:
                steps, sequence = complete_happenings(self.best.problem, self.best.snap, found.plan.steps)
                for each in (sequence, wait_in_turn(self.best.problem, self.best.snap, steps)):
                    if each is not None:
                        self.best.take_happenings(steps, each, "costs")
            is_settled = found.status in (Status.OPTIMAL, Status.UNSOLVABLE, Status.UNSUPPORTED)
            if found.stopped_by is not StoppedBy.TIME and (rates is not None or is_settled or seconds > LONGEST_SLICE):
                return
            yield
            seconds *= 2

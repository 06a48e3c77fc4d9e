"""Searches in time that hand their plans to the incumbent: over decision epochs, and A* for the least makespan.

Each hands its plans over by a method of its own, which makes a reference cycle: `close` gives its memory back at once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from math import ceil

from planner.lightweight import Final, dataclass, field, replace
from planner.model.arithmetic import as_number, exact_value
from planner.model.formulas import Number
from planner.model.problem import Problem
from planner.plan import Plan, Step, StepTime
from planner.portfolio.timed_incumbent import TimedIncumbent
from planner.scheduling.happening_schedule import END, EVENT, START, Moment
from planner.search.search_run import Run
from planner.search.temporal_astar import TemporalAstar, schedule_trace
from planner.search.temporal_happenings import Happening, HappeningRules, work_out_rules
from planner.search.temporal_prices import find_tariff
from planner.search.temporal_search_compiled import TemporalBestFirst
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import SnapProblem
from planner.task.ground_task import INFINITY
from planner.task.temporal_task import TemporalTask
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps

PROOF_ACTIONS: Final = 1_500
"""Ground happenings of the largest task for which a proof is searched for."""
MOST_FAILURES: Final = 10
"""Sequences of happenings without a schedule after which a search is given up."""


def take_nothing(_: list[int]) -> int:
    """Take no plan, and leave no time for better ones."""
    return 0


@dataclass(slots=True)
class EpochSearch:
    """A search over decision epochs whose plans go to `best`; it `is_open` until it has ended."""

    best: TimedIncumbent
    task: TemporalTask
    search: TemporalBestFirst
    is_open: bool = True
    failures: int = 0
    steps: Iterator[None] = field(init=False)

    def __post_init__(self) -> None:
        self.search.take = self._take
        self.steps = self.search.steps(self.best.run)
        self.search.limit = self.best.limit_of(self.task, None)

    def close(self) -> None:
        """End the search; its memory is given back at once."""
        self.steps = iter(())
        self.search.take = take_nothing

    def advance(self) -> None:
        """Search for a moment."""
        self.search.limit = min(self.search.limit, self.best.limit_of(self.task, self.best.plan))
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
class TimedProof:
    """A* for the least price of `best`, which takes its plan, its bound, and that there is no plan.

    Where the price is not known to it, it `is_priced` not: it looks for the least makespan, and bounds nothing.
    """

    best: TimedIncumbent
    task: TemporalTask
    rules: HappeningRules
    is_priced: bool
    search: TemporalAstar = field(init=False)
    is_open: bool = True
    run: Run = field(default_factory=Run)
    steps: Iterator[None] = field(init=False)

    def __post_init__(self) -> None:
        self.search = TemporalAstar(self.rules, int(SEPARATION * self.task.resolution), self._take)
        self.steps = self.search.steps(self.run)
        deadline = self.best.problem.deadline
        if deadline is not None:
            self.search.limit = int(deadline * self.task.resolution) + 1

    @classmethod
    def prepare(cls, best: TimedIncumbent, task: TemporalTask) -> Generator[None, None, TimedProof | None]:
        """Make the search for `task`, in turns; None where it is large, or not told exactly what waits for what."""
        if len(task.source.task.actions) > PROOF_ACTIONS:
            return None
        tariff = find_tariff(best.problem, best.snap)
        priced = None if tariff is None else (yield from work_out_rules(best.problem, best.snap, task, tariff))
        rules = (yield from work_out_rules(best.problem, best.snap, task)) if priced is None else priced
        return None if rules is None else cls(best, task, rules, rules is priced)

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
        if self.is_priced and best.plan is not None:
            search.most = min(search.most, ceil(Fraction(best.plan.cost) * self.rules.scale))
        expanded = self.run.expanded
        if next(self.steps, self) is self:
            self.is_open = False
        best.run.expanded += self.run.expanded - expanded
        if self.is_priced and search.bound < INFINITY:
            bound = as_number(exact_value(Fraction(search.bound, self.rules.scale)))
            if bound is not None and self.is_open | search.is_complete:
                best.raise_bound(bound)
        if search.is_complete and search.found is None:
            best.no_plan = best.plan is None

    def _take(self, trace: list[tuple[Happening, int]], price: int) -> None:
        """Take the plan of `trace`, which has this `price`; give up where it does not replay."""
        best, resolution = self.best, self.task.resolution
        starts = {moments.start: name for name, moments in best.snap.actions.items()}
        steps: list[Step] = []
        times: list[StepTime] = []
        for each in sorted(schedule_trace(self.rules, trace), key=lambda each: each.start):
            step = self.task.source.task.actions[each.action].step
            steps.append(Step(starts[step.action], step.arguments))
            times.append(StepTime(seconds_of(each.start, resolution), seconds_of(each.end - each.start, resolution)))
        plan = price_plan(Plan(tuple(steps), best.problem, times=tuple(times)))
        paid = Fraction(plan.cost) * self.rules.scale if self.is_priced else Fraction(plan.makespan or 0) * resolution
        if not check_steps(best.problem, plan).valid or paid != price:
            self.is_open = self.search.is_complete = False
            return
        best.take(plan, "proof")


def seconds_of(ticks: int, resolution: int) -> Number:
    """Return the seconds of a tick."""
    number = as_number(exact_value(Fraction(ticks, resolution)))
    assert number is not None
    return number


def read_happenings(task: TemporalTask, snap: SnapProblem, actions: Sequence[int]) -> tuple[list[Step], list[Moment]]:
    """Return the steps whose happenings are `actions` of the ground task, and the happenings in their order."""
    return read_snaps(snap, [task.source.task.actions[number].step for number in actions])


def complete_happenings(
    problem: Problem, snap: SnapProblem, happenings: Sequence[Step]
) -> tuple[list[Step], list[Moment]]:
    """Return what `read_snaps` does, and after it the ends and the changes at known times that it leaves out."""
    steps, sequence = read_snaps(snap, happenings)
    there = set(sequence)
    lasting = [place for place, step in enumerate(steps) if snap.actions[step.action].end]
    changes = sorted(range(len(problem.timed)), key=lambda place: problem.timed[place].time)
    rest = [*[Moment(END, place) for place in lasting], *[Moment(EVENT, place) for place in changes]]
    return steps, [*sequence, *[each for each in rest if each not in there]]


def read_snaps(snap: SnapProblem, happenings: Sequence[Step]) -> tuple[list[Step], list[Moment]]:
    """Return the steps of which `happenings`, as steps of the snap problem, are starts and ends, and their order."""
    starts = {moments.start: name for name, moments in snap.actions.items()}
    ends = {moments.end: name for name, moments in snap.actions.items() if moments.end}
    steps: list[Step] = []
    sequence: list[Moment] = []
    running: dict[Step, int] = {}
    for each in happenings:
        step = replace(each, cost=0)
        if step.action in starts:
            declared = replace(step, action=starts[step.action])
            running[declared] = len(steps)
            sequence.append(Moment(START, len(steps)))
            steps.append(declared)
        elif step.action in ends:
            place = running.pop(replace(step, action=ends[step.action]), None)
            if place is not None:
                sequence.append(Moment(END, place))
        elif step.action in snap.events:
            sequence.append(Moment(EVENT, snap.events.index(step.action)))
    return steps, sequence

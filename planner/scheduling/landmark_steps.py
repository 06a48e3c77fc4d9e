"""A lower bound on the makespan: the exact schedule of steps that every plan takes.

A step is a landmark if nothing else makes a fact true that the goal, or another landmark, needs (Hoffmann, Porteous and
Sebastia, 2004). Their first occurrences come after those that they need, and share machines and capacities as all steps
do; so no plan ends before the least schedule of them. A step that needs what ends for good at a known time has a latest
start, as has one that a deadline needs; without any schedule, there is no plan.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm

from planner.grounding.ground_temporal import find_meetings, hard_deadlines
from planner.lightweight import Final, dataclass, replace
from planner.model.problem import Problem
from planner.plan import Step, StepTime
from planner.scheduling.exact_schedule import Allowance, find_least_schedule
from planner.scheduling.list_schedules import space_out
from planner.scheduling.project import Edge, Project, Resource
from planner.scheduling.rescheduling import find_shared
from planner.semantics.durations import as_seconds
from planner.semantics.snap_actions import SnapProblem
from planner.task.ground_task import INFINITY, effects_of
from planner.task.temporal_task import TemporalTask

MOST_STEPS: Final = 1_000
"""Ground steps of the largest task whose machines and capacities are read."""
MOST_LANDMARKS: Final = 60
"""Landmarks that are scheduled at most."""
MOST_NAMES: Final = 8
"""Steps that a reason names at most."""
SECONDS: Final = 0.2
"""Processor time for their schedule; without an answer by then, there is no bound."""


@dataclass(frozen=True, slots=True)
class LandmarkSchedule:
    """A schedule of the `steps` that every plan takes, in the order of their `times`: often a plan itself.

    No plan ends before `ticks`: 0 where landmarks say nothing, `INFINITY` where there is no schedule, and so no plan.
    """

    ticks: int
    steps: tuple[Step, ...] = ()
    times: tuple[StepTime, ...] = ()
    spaced: LandmarkSchedule | None = None
    """The same with starts a little later, so that none is close to other starts and ends."""

    def describe_crowding(self) -> str:
        """Say that there is no schedule of the steps."""
        names = [*map(str, self.steps[:MOST_NAMES])]
        more = f" and {len(self.steps) - len(names)} more" if len(self.steps) > len(names) else ""
        listed = ", ".join(names)
        return f"no schedule of the steps that every plan takes keeps all times and capacities: {listed}{more}"


NO_LANDMARKS: Final = LandmarkSchedule(0)


def schedule_landmarks(
    problem: Problem, snap: SnapProblem, task: TemporalTask, separation: int, begun: Mapping[int, int]
) -> LandmarkSchedule:
    """Return the least schedule of the steps that every plan of `task` takes, by their machines and capacities.

    `begun` has by lapse the least tick at which its step may start.
    """
    if task.source.task.has_axioms or not 0 < task.events <= MOST_STEPS:
        return NO_LANDMARKS
    landmarks = _Landmarks(task, separation, _find_due(problem, task))
    places = {lapse: place for place, lapse in enumerate(landmarks.lapses)}
    if not 0 < len(places) <= MOST_LANDMARKS:
        return NO_LANDMARKS
    step_of = _find_steps(snap, task)
    resources, apart = _find_resources(problem, snap, separation, step_of, places)
    earliest = {lapse: max(begun.get(lapse, 0), landmarks.earliest.get(lapse, 0)) for lapse in places}
    latest = {places[lapse]: tick for lapse, tick in landmarks.latest.items()}
    if not resources and not latest:
        return NO_LANDMARKS
    project = Project(
        tuple([_least_ticks(task, lapse) for lapse in places]),
        tuple([(places[one], places[other], least) for one, other, least in landmarks.edges]),
        either=tuple([((one, other, separation), (other, one, separation)) for one, other in apart]),
        resources=tuple(resources),
        earliest={places[lapse]: tick for lapse, tick in earliest.items()},
        latest=latest,
    )
    return _schedule(project, [step_of[lapse] for lapse in places], task.resolution)


def _schedule(project: Project, steps: Sequence[Step], resolution: int) -> LandmarkSchedule:
    """Return the least schedule of `project`, whose tasks are `steps`, as far as it is found in `SECONDS`."""
    allowance = Allowance(SECONDS, time.thread_time)
    found = find_least_schedule(project, may_go_on=allowance)
    if found is None:
        return NO_LANDMARKS if allowance.is_over else LandmarkSchedule(INFINITY, tuple(sorted(steps, key=str)))
    later = space_out(project, found.starts)
    spaced = None if later is None else _list_times(project, steps, later, resolution)
    return replace(
        _list_times(project, steps, found.starts, resolution),
        ticks=found.makespan if found.is_least else 0,
        spaced=spaced,
    )


def _list_times(project: Project, steps: Sequence[Step], starts: Sequence[int], resolution: int) -> LandmarkSchedule:
    """Return the `steps` of `project` in the order of their `starts`, without a bound."""
    order = sorted(range(len(steps)), key=lambda place: (starts[place], place))
    times = [
        StepTime(as_seconds(Fraction(starts[place], resolution)), as_seconds(Fraction(lasts, resolution)))
        for place, lasts in [(each, project.durations[each]) for each in order]
    ]
    return LandmarkSchedule(0, tuple([steps[each] for each in order]), tuple(times))


def _find_steps(snap: SnapProblem, task: TemporalTask) -> dict[int, Step]:
    """Return the declared step of each lapse that a step starts."""
    declared = {moments.start: name for name, moments in snap.actions.items()}
    found: dict[int, Step] = {}
    for action, begun in enumerate(task.begins):
        step = task.source.task.actions[action].step
        if step.action in declared and begun >= 0:
            found.setdefault(begun, Step(declared[step.action], step.arguments))
    return found


def _find_due(problem: Problem, task: TemporalTask) -> dict[int, int]:
    """Return the facts that deadlines of goals need, each with the tick by which it must have been true."""
    plain, found = task.source.task, dict[int, int]()
    meetings = find_meetings(problem, task)
    for place, due in enumerate(hard_deadlines(problem)):
        needs = [{*plain.actions[number].precondition} for number, each in meetings.items() if each == place]
        for fact in set.intersection(*needs) if needs else ():
            tick = int(due.by * task.resolution)
            found[fact] = min(tick, found.get(fact, tick))
    return found


def _least_ticks(task: TemporalTask, lapse: int) -> int:
    found = task.lapses[lapse]
    return found.ticks if found.variable is None else 0


class _Landmarks:
    """The lapses of landmark steps, and edges between them: the second starts so many ticks after the first.

    `earliest` and `latest` have the first and the last tick at which a step may start for the first time.
    """

    def __init__(self, task: TemporalTask, separation: int, due: Mapping[int, int]) -> None:
        self._task, plain = task, task.source.task
        self._lapse_of = {action: place for place, lapse in enumerate(task.lapses) for action in lapse.ends}
        self._lapse_of |= {action: place for action, place in enumerate(task.begins) if place >= 0}
        self._achievers: dict[int, set[int]] = {}
        for number, action in enumerate(plain.actions):
            for effect in effects_of(action):
                for fact in effect.adds:
                    self._achievers.setdefault(fact, set()).add(number)
        initial = {*plain.initial, *[each.fact for each in task.source.conditions]}
        self.lapses: dict[int, None] = {}
        self.edges: list[Edge] = []
        self.earliest: dict[int, int] = {}
        self.latest: dict[int, int] = {}
        waiting = [(fact, -1) for fact in dict.fromkeys((*plain.goal, *due))]
        seen = set(waiting)
        while waiting:
            fact, consumer = waiting.pop()
            one = None if fact in initial else self._sole_achiever(fact)
            if one is None:
                continue
            lapse, at_end = one
            if lapse < task.events:
                if consumer < 0 and fact in due:
                    self._start_by(lapse, due[fact] - (_least_ticks(task, lapse) if at_end else 0))
                if consumer >= 0 and at_end:
                    # what a step needs throughout may be made true at the moment of its start
                    throughout = any(fact in each for each in task.lapses[consumer].invariants)
                    gap = 0 if throughout else separation
                    self.edges.append((lapse, consumer, _least_ticks(task, lapse) + gap))
                needs = [] if lapse in self.lapses else [(need, lapse) for need in self._needs_of(lapse)]
                self.lapses[lapse] = None
                waiting += [each for each in needs if each not in seen]
                seen.update(needs)
        self._find_times(separation)

    def _start_by(self, lapse: int, tick: int) -> None:
        self.latest[lapse] = min(tick, self.latest.get(lapse, tick))

    def _find_times(self, separation: int) -> None:
        """Find when steps may start that need facts which hold at known times only."""
        spans = _find_spans(self._task, self._achievers)
        for lapse in self.lapses:
            through = [{*each} for each in self._task.lapses[lapse].invariants]
            for fact in self._needs_of(lapse):
                if fact in spans and not any(fact in each for each in through):
                    gaps = [(begin + separation if begin else 0, end - separation) for begin, end in spans[fact]]
                    self._start_within(lapse, gaps)
            ticks = _least_ticks(self._task, lapse)
            if ticks and through:  # a step may start and end at the moments at which what it needs throughout does
                for fact in set.intersection(*through) & spans.keys():
                    self._start_within(lapse, [(begin, end - ticks) for begin, end in spans[fact]])

    def _start_within(self, lapse: int, spans: Sequence[tuple[int, int]]) -> None:
        """Let a step start within one of `spans`."""
        least, most = self.earliest.get(lapse, 0), self.latest.get(lapse, INFINITY)
        able = [(begin, end) for begin, end in spans if begin <= end and begin <= most and least <= end]
        self.earliest[lapse] = max(least, min([begin for begin, _ in able], default=0))
        most = min(most, max([end for _, end in able], default=-1))
        if most < INFINITY // 2:
            self.latest[lapse] = most

    def _sole_achiever(self, fact: int) -> tuple[int, bool] | None:
        """Return the lapse of the only step that makes `fact` true, and whether its end does; None for others."""
        achievers = self._achievers.get(fact, set())
        lapses = {self._lapse_of.get(action, -1) for action in achievers}
        if len(lapses) != 1 or lapses == {-1}:
            return None
        lapse = lapses.pop()
        return lapse, achievers <= {*self._task.lapses[lapse].ends}

    def _needs_of(self, lapse: int) -> list[int]:
        """Return the facts that each start of the step needs."""
        starts = [action for action, begun in enumerate(self._task.begins) if begun == lapse]
        needs = [{*self._task.source.task.actions[action].precondition} for action in starts]
        return sorted(set.intersection(*needs)) if needs else []


def _find_spans(task: TemporalTask, achievers: Mapping[int, set[int]]) -> dict[int, list[tuple[int, int]]]:
    """Return the spans of ticks in which facts hold at most that no step makes true and some known change makes false.

    A span that does not end has `INFINITY` as its end.
    """
    plain, changes = task.source.task, dict[int, list[tuple[int, bool]]]()
    for lapse in task.lapses[task.events :]:
        ended = [{*plain.actions[action].deletes} for action in lapse.ends]
        for fact in set.intersection(*ended) if ended else ():
            changes.setdefault(fact, []).append((lapse.ticks, False))
    lapse_of = {action: place for place, lapse in enumerate(task.lapses) for action in lapse.ends}
    found: dict[int, list[tuple[int, int]]] = {}
    for fact, ends in changes.items():
        makers = [lapse_of.get(action, -1) for action in achievers.get(fact, ())]
        if any(place < task.events for place in makers):
            continue
        moments = sorted({*ends, *[(task.lapses[place].ticks, True) for place in makers]})
        begin, spans = 0 if fact in plain.initial else -1, list[tuple[int, int]]()
        for tick, holds in moments:
            if holds and begin < 0:
                begin = tick
            elif not holds and begin >= 0 and (tick, True) not in moments:
                spans.append((begin, tick))
                begin = -1
        found[fact] = [*spans, (begin, INFINITY)] if begin >= 0 else spans
    return found


def _find_resources(
    problem: Problem, snap: SnapProblem, separation: int, step_of: Mapping[int, Step], places: Mapping[int, int]
) -> tuple[list[Resource], list[tuple[int, int]]]:
    """Return the machines and capacities that two or more landmarks hold, in a task where all steps respect them.

    Return also the pairs of landmarks that do not start at once, as each compares what the other takes.
    """
    lapses = [*step_of]
    found: list[Resource] = []
    apart: list[tuple[int, int]] = []
    for shared in find_shared(problem, snap, [*step_of.values()]).values():
        demands = {
            places[lapses[number]]: demand
            for number, demand in shared.demands.items()
            if demand and lapses[number] in places
        }
        if len(demands) > 1:
            scale = lcm(shared.capacity.denominator, *[demand.denominator for demand in demands.values()])
            whole = {place: int(Fraction(demand) * scale) for place, demand in demands.items()}
            found.append(Resource(int(shared.capacity * scale), whole, separation))
            apart += combinations(whole, 2) if shared.is_compared else ()
    return found, apart

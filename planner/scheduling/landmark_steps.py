"""A lower bound on the makespan: the exact schedule of steps that every plan takes.

A step is a landmark if nothing else makes a fact true that the goal, or another landmark, needs (Hoffmann, Porteous and
Sebastia, 2004). Their first occurrences come after those that they need, and share machines and capacities as all steps
do; so no plan ends before the least schedule of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import lcm

from planner.lightweight import Final
from planner.model.problem import Problem
from planner.plan import Step
from planner.scheduling.exact_schedule import Edge, Project, Resource, find_least_schedule
from planner.scheduling.rescheduling import find_shared
from planner.semantics.snap_actions import SnapProblem
from planner.task.ground_task import effects_of
from planner.task.temporal_task import TemporalTask

MOST_STEPS: Final = 1_000
"""Ground steps of the largest task whose machines and capacities are read."""
MOST_LANDMARKS: Final = 60
"""Landmarks that are scheduled at most."""
SECONDS: Final = 0.2
"""Processor time for their schedule; without an answer by then, there is no bound."""


def bound_by_landmarks(
    problem: Problem, snap: SnapProblem, task: TemporalTask, separation: int, begun: Mapping[int, int]
) -> int:
    """Return a tick before which no plan of `task` ends; 0 where landmarks say nothing.

    `begun` has by lapse the least tick at which its step may start.
    """
    if task.source.task.has_axioms or not 0 < task.events <= MOST_STEPS:
        return 0
    landmarks = _Landmarks(task, separation)
    places = {lapse: place for place, lapse in enumerate(landmarks.lapses)}
    if not 1 < len(places) <= MOST_LANDMARKS:
        return 0
    resources, apart = _find_resources(problem, snap, task, separation, places)
    if not resources:
        return 0
    project = Project(
        tuple([_least_ticks(task, lapse) for lapse in places]),
        tuple([(places[one], places[other], least) for one, other, least in landmarks.edges]),
        either=tuple([((one, other, separation), (other, one, separation)) for one, other in apart]),
        resources=tuple(resources),
        earliest={place: begun[lapse] for lapse, place in places.items() if lapse in begun},
    )
    until = time.thread_time() + SECONDS
    found = find_least_schedule(project, may_go_on=lambda: time.thread_time() < until)
    return found.makespan if found is not None and found.is_least else 0


def _least_ticks(task: TemporalTask, lapse: int) -> int:
    found = task.lapses[lapse]
    return found.ticks if found.variable is None else 0


class _Landmarks:
    """The lapses of landmark steps, and edges between them: the second starts so many ticks after the first."""

    def __init__(self, task: TemporalTask, separation: int) -> None:
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
        waiting = [(fact, -1) for fact in plain.goal]
        seen = set(waiting)
        while waiting:
            fact, consumer = waiting.pop()
            one = None if fact in initial else self._sole_achiever(fact)
            if one is None:
                continue
            lapse, at_end = one
            if lapse < task.events:
                if consumer >= 0 and at_end:
                    self.edges.append((lapse, consumer, _least_ticks(task, lapse) + separation))
                needs = [] if lapse in self.lapses else [(need, lapse) for need in self._needs_of(lapse)]
                self.lapses[lapse] = None
                waiting += [each for each in needs if each not in seen]
                seen.update(needs)

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


def _find_resources(
    problem: Problem, snap: SnapProblem, task: TemporalTask, separation: int, places: Mapping[int, int]
) -> tuple[list[Resource], list[tuple[int, int]]]:
    """Return the machines and capacities that two or more landmarks hold, in a task where all steps respect them.

    Return also the pairs of landmarks that do not start at once, as each compares what the other takes.
    """
    declared = {moments.start: name for name, moments in snap.actions.items()}
    lapses: dict[Step, int] = {}
    for action, begun in enumerate(task.begins):
        step = task.source.task.actions[action].step
        if step.action in declared:
            lapses.setdefault(Step(declared[step.action], step.arguments), begun)
    steps = [*lapses]
    found: list[Resource] = []
    apart: list[tuple[int, int]] = []
    for shared in find_shared(problem, snap, steps).values():
        demands = {
            places[lapses[steps[number]]]: demand
            for number, demand in shared.demands.items()
            if demand and lapses[steps[number]] in places
        }
        if len(demands) > 1:
            scale = lcm(shared.capacity.denominator, *[demand.denominator for demand in demands.values()])
            whole = {place: int(Fraction(demand) * scale) for place, demand in demands.items()}
            found.append(Resource(int(shared.capacity * scale), whole, separation))
            apart += combinations(whole, 2) if shared.is_compared else ()
    return found, apart

"""First schedules of a project: serial list scheduling by priority rules, and forward-backward improvement.

Tasks are put one after another, each as early as those before it allow; what comes next is told by a priority rule
(Kolisch, 1996). Forward-backward improvement then moves the tasks as late as the makespan allows, from the last to the
first, and as early as they can come, in the order of these starts, as long as that helps (Tormos and Lova, 2001; Valls,
Ballestín and Quintanilla, 2005). Random priorities that stay near the latest start times give more schedules.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from planner.lightweight import Final
from planner.scheduling.project import Project, exceeds

DRAWS: Final = 20
"""Random lists before a search by branch and bound; with 24 tasks each one, improved, takes about 0.7 ms."""
SPREAD: Final = 1 / 3
"""How far random priorities lie from the latest start times, as a part of the longest tail."""
NEAR: Final = (0.05, 0.1, 0.2, 0.4)
"""How far random priorities lie from the starts of the best schedule, as parts of its makespan.

By these, and by latest starts in turn, 500 lists gave 1,154 ms for seed 7 of `benchmarks.parallel_calls`, the optimum;
by latest starts alone 1,201 ms.
"""
MOST_PASSES: Final = 10
"""Passes back and forth over one schedule at most; nearly all end to help after three."""


class Profile:
    """How much of a resource is free, from each of `times` on."""

    def __init__(self, capacity: int) -> None:
        self.times, self.free = [-1], [capacity]

    def copy(self) -> Profile:
        """Return a profile of its own that is the same now."""
        other = Profile.__new__(Profile)
        other.times, other.free = self.times.copy(), self.free.copy()
        return other

    def find_room(self, tick: int, lasts: int, demand: int) -> int:
        """Return the first tick from `tick` on from which `demand`, of the capacity at most, is free for so long."""
        times, free = self.times, self.free
        place = bisect_right(times, tick) - 1
        while place < len(times) and times[place] < tick + lasts:
            if free[place] < demand:
                tick = times[place + 1]
            place += 1
        return tick

    def hold(self, begin: int, end: int, demand: int) -> None:
        """Take `demand` from `begin` to `end`."""
        first, last = self._split(begin), self._split(end)
        for place in range(first, last):
            self.free[place] -= demand

    def _split(self, tick: int) -> int:
        place = bisect_right(self.times, tick) - 1
        if self.times[place] != tick:
            place += 1
            self.times.insert(place, tick)
            self.free.insert(place, self.free[place - 1])
        return place


UNPUT: Final = -1
"""The start of a task that has none yet."""


def find_gap(
    tick: int,
    held: Sequence[tuple[int, int, int]],
    apart: Sequence[tuple[int, int, int]],
    starts: Sequence[int],
    profiles: Sequence[Profile],
) -> int:
    """Return the first start from `tick` on of a task that needs room for `held` and a distance from those `apart`.

    `held` has numbers of profiles, demands and times; `apart` has other tasks, the least time from their start to this
    one, and the least time back.
    """
    before = -1
    while tick != before:
        before = tick
        for number, demand, lasts in held:
            tick = profiles[number].find_room(tick, lasts, demand)
        for other, least, back in apart:
            begun = starts[other]
            if begun != UNPUT and begun - back < tick < begun + least:
                tick = begun + least
    return tick


class ListScheduler:
    """Puts the tasks of a project one after another, each as early as it can come.

    A task comes after those that an edge puts before it. A task that must not come long after another one may come too
    late then: there is no schedule by this order. If `spaced`, a start keeps the gap of its resources to the starts and
    ends of others that hold them, or is at the very tick of another start.
    """

    def __init__(self, project: Project, *, spaced: bool = False) -> None:
        self.project, self._spaced = project, spaced
        size = len(project.durations)
        self._before: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        self._after: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        self._needs: list[set[int]] = [set() for _ in range(size)]
        for one, other, least in project.edges:
            self._before[other].append((one, least))
            self._after[one].append((other, least))
            if least > 0 or (least == 0 and one < other):
                self._needs[other].add(one)
        self._apart: list[list[tuple[int, int, int]]] = [[] for _ in range(size)]
        for (one, other, least), (second, first, back) in project.either:
            if (first, second) == (one, other):
                self._apart[other].append((one, least, back))
                self._apart[one].append((other, back, least))
        self._held: list[list[tuple[int, int, int]]] = [[] for _ in range(size)]
        for number, each in enumerate(project.resources):
            for task, demand in each.demands.items():
                if project.durations[task] + each.gap:
                    self._held[task].append((number, demand, project.durations[task] + each.gap))
        self._fits = all(max(each.demands.values(), default=0) <= each.capacity for each in project.resources)

    def schedule(self, priorities: Sequence[float]) -> list[int] | None:
        """Return starts by which the task of the least priority that may come is always put next; None for none."""
        profiles = [Profile(each.capacity) for each in self.project.resources]
        starts = [UNPUT] * len(priorities)
        left = sorted(range(len(priorities)), key=lambda task: (priorities[task], task)) if self._fits else []
        while left:
            task = next((task for task in left if all(starts[need] != UNPUT for need in self._needs[task])), left[0])
            tick = self._find_start(task, starts, profiles)
            if tick is None:
                return None
            left.remove(task)
            starts[task] = tick
            for number, demand, lasts in self._held[task]:
                profiles[number].hold(tick, tick + lasts, demand)
        return None if UNPUT in starts else starts

    def _find_start(self, task: int, starts: Sequence[int], profiles: Sequence[Profile]) -> int | None:
        tick = max(self.project.earliest.get(task, 0), 0)
        for one, least in self._before[task]:
            begun = starts[one]
            if begun != UNPUT and begun + least > tick:
                tick = begun + least
        held, apart = self._held[task], self._apart[task]
        before = -1
        while tick != before:
            before = tick = find_gap(tick, held, apart, starts, profiles)
            if self._spaced:
                tick = self._keep_distance(task, tick, starts)
        latest = self.project.latest.get(task, tick)
        for other, least in self._after[task]:
            begun = starts[other]
            if begun != UNPUT:
                latest = min(latest, begun - least)
        return tick if tick <= latest else None

    def _keep_distance(self, task: int, tick: int, starts: Sequence[int]) -> int:
        """Return the first start of `task` from `tick` on that is not close to starts and ends on its resources."""
        lasts = self.project.durations
        for number, _, _ in self._held[task]:
            resource = self.project.resources[number]
            for other in resource.demands:
                begun = starts[other]
                if begun == UNPUT or other == task:
                    continue
                end, gap = begun + lasts[other], resource.gap
                if tick != begun and abs(tick - begun) < gap:
                    tick = begun + gap
                if abs(tick - end) < gap:
                    tick = end + gap
                if abs(tick + lasts[task] - begun) < gap:
                    tick = begun + gap - lasts[task]
        return tick


def space_out(project: Project, starts: Sequence[int]) -> list[int] | None:
    """Return `starts`, some a little later, so that none is close to another start or end on a resource; None if none.

    Validation takes happenings that are apart by less than the gap to come in any order, and refuses some schedules
    that are right by the resources that each task takes over.
    """
    found = ListScheduler(project, spaced=True).schedule([float(each) for each in starts])
    return None if found is None or exceeds(project, found) else found


def improve(project: Project, starts: list[int]) -> list[int]:
    """Return `starts`, or better ones that moving the tasks back and forth gives."""
    forward = ListScheduler(project)
    for _ in range(MOST_PASSES):
        makespan = find_makespan(project, starts)
        ends = [-(tick + last) for tick, last in zip(starts, project.durations, strict=True)]
        late = ListScheduler(project.reverse(makespan)).schedule(ends)
        if late is None:
            break
        again = forward.schedule([-(tick + last) for tick, last in zip(late, project.durations, strict=True)])
        if again is None or find_makespan(project, again) >= makespan:
            break
        starts = again
    return starts


def find_makespan(project: Project, starts: Sequence[int]) -> int:
    """Return the tick at which the last task ends."""
    return max([tick + last for tick, last in zip(starts, project.durations, strict=True)], default=0)


class ListSearch:
    """Searches lists of tasks for schedules that keep all of a project; `starts` are the best, with its `makespan`.

    No task starts before its head, and its tail is the least time from its start to the end.
    """

    def __init__(self, project: Project, heads: Sequence[int], tails: Sequence[int]) -> None:
        self.project = project
        self.starts: list[int] | None = None
        self.makespan = 0
        self._scheduler = ListScheduler(project)
        self._priorities = self._rank(heads, tails)

    def run(self, bound: int, may_go_on: Callable[[], bool]) -> None:
        """Try all rules and `DRAWS` random lists, until a schedule ends at `bound`."""
        for _ in range(len(RULES) + DRAWS):
            if (self.starts is not None and self.makespan <= bound) or not may_go_on():
                return
            self.try_next()

    def try_next(self) -> None:
        """Try one more list."""
        starts = self._scheduler.schedule(next(self._priorities))
        if starts is None:
            return
        starts = improve(self.project, starts)
        makespan = find_makespan(self.project, starts)
        is_as_good = self.starts is None or makespan <= self.makespan
        if is_as_good and not exceeds(self.project, starts):
            self.starts, self.makespan = starts, makespan

    def _rank(self, heads: Sequence[int], tails: Sequence[int]) -> Iterator[list[float]]:
        """Yield priorities: by each rule, then at random, near the latest starts and near the best schedule in turn."""
        end = max([head + tail for head, tail in zip(heads, tails, strict=True)], default=0)
        latest = [min(self.project.latest.get(task, end), end - tail) for task, tail in enumerate(tails)]
        for rule in RULES:
            yield rule(self.project, heads, latest)
        spread = max(tails, default=0) * SPREAD
        rng = random.Random(0)
        while True:
            yield [each + rng.uniform(0, spread) for each in latest]
            near = rng.choice(NEAR) * self.makespan
            yield [each + rng.uniform(0, near) for each in self.starts or latest]


RULES: Final[tuple[Callable[[Project, Sequence[int], Sequence[int]], list[float]], ...]] = (
    lambda _, __, latest: [float(each) for each in latest],
    lambda project, _, latest: [float(each + last) for each, last in zip(latest, project.durations, strict=True)],
    lambda project, _, __: [-float(count) for count in _count_successors(project)],
    lambda _, heads, __: [float(each) for each in heads],
)
"""Priorities by the latest start, by the latest end, by the number of successors, and by the earliest start."""


def _count_successors(project: Project) -> list[int]:
    after: list[list[int]] = [[] for _ in project.durations]
    for one, other, least in project.edges:
        if least > 0:
            after[one].append(other)
    counts = []
    for task in range(len(after)):
        seen, waiting = {task}, [task]
        while waiting:
            new = [each for each in after[waiting.pop()] if each not in seen]
            seen.update(new)
            waiting += new
        counts.append(len(seen) - 1)
    return counts

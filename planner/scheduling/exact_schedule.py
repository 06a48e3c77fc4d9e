"""Least makespans of projects: by our own branch and bound, or by CP-SAT.

A first schedule comes from lists. Where tasks share a resource, the order in which they start is searched, in the
precedence tree. Else, branch and bound decides alternatives in the disjunctive graph, with immediate selection by heads
and tails (Carlier and Pinson, 1989) and Jackson's preemptive bound for each resource of one. It also takes what the
tree does not: where too many tasks hold a resource at once, one of them is put before another (forbidden sets: Igelmund
and Radermacher, 1983).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from importlib.util import find_spec
from itertools import combinations

from planner.errors import InputError
from planner.scheduling.list_schedules import ListSearch
from planner.scheduling.precedence_tree import PrecedenceTree, can_be_ordered
from planner.scheduling.project import Edge, Project, Resource, Schedule, holders_at


class Allowance:
    """Lets a search go on until `clock` is so many `seconds` on; `is_over` says whether that ended the search."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._until = clock, clock() + seconds
        self.is_over = False

    def __call__(self) -> bool:
        """Return whether the search may go on."""
        self.is_over = self.is_over or self._clock() >= self._until
        return not self.is_over


def find_least_schedule(
    project: Project, *, before: int | None = None, may_go_on: Callable[[], bool] = lambda: True
) -> Schedule | None:
    """Return a schedule of the least makespan that ends before a tick; None where there is none, or none was found.

    The search gives up when `may_go_on` says so; what it has found then is not called the least.
    """
    return _BranchAndBound(project, before, may_go_on).run()


def _find_latest(project: Project, limit: int) -> list[int]:
    """Return the latest starts by which all tasks after each one can keep theirs, and start before `limit`."""
    latest = [project.latest.get(task, limit) for task in range(len(project.durations))]
    changed = bool(project.latest)
    while changed:
        changed = False
        for one, other, least in project.edges:
            if latest[other] - least < latest[one]:
                latest[one], changed = latest[other] - least, True
        changed = changed and min(latest) >= 0  # a circle of edges has no schedule
    return latest


def _drop_empty(resource: Resource, durations: Sequence[int]) -> Resource:
    """Return `resource` without the tasks that hold it for no time at all."""
    if resource.gap or all(durations[task] for task in resource.demands):
        return resource
    return Resource(resource.capacity, {task: much for task, much in resource.demands.items() if durations[task]})


class _BranchAndBound:
    def __init__(self, project: Project, before: int | None, may_go_on: Callable[[], bool]) -> None:
        self.project, self.may_go_on = project, may_go_on
        size = len(project.durations)
        self.limit = project.horizon + 1 if before is None else before
        self.best: tuple[int, ...] | None = None
        self.after: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        self.before: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        held = [_drop_empty(each, project.durations) for each in project.resources]
        self.choices = [*project.either, *self._exclusions(held)]
        self.single = [each for each in held if len(each.demands) > 1 and each.is_single]
        self.shared = [each for each in held if not each.is_single]
        self.latest = _find_latest(project, self.limit)
        self.stopped = False

    def _exclusions(self, resources: Iterable[Resource]) -> Iterator[tuple[Edge, Edge]]:
        """Yield the two orders of each pair of tasks that exclude each other."""
        lasts = self.project.durations
        for each in resources:
            for one, other in combinations(each.demands, 2):
                if each.excludes(one, other):
                    yield (one, other, lasts[one] + each.gap), (other, one, lasts[other] + each.gap)

    def run(self) -> Schedule | None:
        """Return the best schedule."""
        heads = [max(self.project.earliest.get(task, 0), 0) for task in range(len(self.latest))]
        tails = list(self.project.durations)
        fits = all(head <= latest for head, latest in zip(heads, self.latest, strict=True))
        if fits and self._add(self.project.edges, heads, tails):
            lists = ListSearch(self.project, heads, tails)
            bound = self._find_first(lists, heads, tails)
            if self.shared and bound < self.limit and can_be_ordered(self.project):
                self._search_tree(lists, heads, tails)
            elif bound < self.limit:
                self._branch(heads, tails, list(range(len(self.choices))))
        if self.best is None:
            return None
        return Schedule(self.best, self.limit, not self.stopped)

    def _find_first(self, lists: ListSearch, heads: list[int], tails: list[int]) -> int:
        """Take a first schedule, if one ends before the limit; return a bound that no schedule ends before."""
        bound = max([head + tail for head, tail in zip(heads, tails, strict=True)], default=0)
        bound = max([bound, *[self._bound_single(each, heads, tails) for each in self.single]])
        lists.run(bound, self.may_go_on)
        if lists.starts is not None and lists.makespan < self.limit:
            self.best, self.limit = tuple(lists.starts), lists.makespan
        return bound

    def _search_tree(self, lists: ListSearch, heads: list[int], tails: list[int]) -> None:
        tree = PrecedenceTree(self.project, heads, tails, self.limit, lists=lists, may_go_on=self.may_go_on)
        tree.run()
        self.stopped = tree.stopped
        if tree.best is not None:
            self.best, self.limit = tree.best, tree.limit

    def _add(self, edges: Iterable[Edge], heads: list[int], tails: list[int]) -> bool:
        """Add `edges`, and raise `heads` and `tails` by them; return False where the limit leaves no schedule."""
        later: list[int] = []
        sooner: list[int] = []
        for one, other, least in edges:
            self.after[one].append((other, least))
            self.before[other].append((one, least))
            later.append(one)
            sooner.append(other)
        while later:
            task = later.pop()
            for other, least in self.after[task]:
                head = heads[task] + least
                if head > heads[other]:
                    if head > self.latest[other] or head + tails[other] >= self.limit:
                        return False
                    heads[other] = head
                    later.append(other)
        while sooner:
            task = sooner.pop()
            for other, least in self.before[task]:
                tail = tails[task] + least
                if tail > tails[other]:
                    if heads[other] + tail >= self.limit:
                        return False
                    tails[other] = tail
                    sooner.append(other)
        return True

    def _remove(self, edges: Sequence[Edge]) -> None:
        for one, other, _ in reversed(edges):
            self.after[one].pop()
            self.before[other].pop()

    def _branch(self, heads: list[int], tails: list[int], left: list[int]) -> None:
        """Look at all schedules with these `heads` and `tails`, whose choices are made but for those `left`."""
        added: list[Edge] = []
        if self._select(heads, tails, left, added):
            left = self._undecided(heads, left)
            if left:
                self._decide(heads, tails, left)
            else:
                self._release(heads, tails)
        self._remove(added)

    def _select(self, heads: list[int], tails: list[int], left: list[int], added: list[Edge]) -> bool:
        """Make the choices that the limit leaves; return False where none is left."""
        if self.stopped or not self.may_go_on():
            self.stopped = True
            return False
        changed = True
        while changed:
            changed = False
            if any(heads[task] + tails[task] >= self.limit for task in range(len(heads))):
                return False
            for number in list(left):
                first, second = self.choices[number]
                no, nor = self._is_late(first, heads, tails), self._is_late(second, heads, tails)
                if no and nor:
                    return False
                if no or nor:
                    left.remove(number)
                    edge = second if no else first
                    added.append(edge)
                    if not self._add([edge], heads, tails):
                        return False
                    changed = True
        if any(self._bound_single(each, heads, tails) >= self.limit for each in self.single):
            return False
        early = [-tick for tick in self.latest]  # a bound by these tails says by how much some start is late
        if self.project.latest and any(self._bound_single(each, heads, early) > 0 for each in self.single):
            return False
        return not any(self._is_crowded(each, heads, tails) for each in self.shared)

    def _is_crowded(self, resource: Resource, heads: Sequence[int], tails: Sequence[int]) -> bool:
        """Return whether some tasks must hold more of `resource`, by demand and time, than there is of it."""
        lasts, gap = self.project.durations, resource.gap
        latest = {task: min(self.latest[task], self.limit - 1 - tails[task]) for task in resource.demands}
        held, begin = 0, self.limit
        for task in sorted(latest, key=lambda task: latest[task] + lasts[task]):
            held += resource.demands[task] * (lasts[task] + gap)
            begin = min(begin, heads[task])
            if held > resource.capacity * (latest[task] + lasts[task] + gap - begin):
                return True
        return False

    def _is_late(self, edge: Edge, heads: Sequence[int], tails: Sequence[int]) -> bool:
        one, other, least = edge
        return heads[one] + least + tails[other] >= self.limit or heads[one] + least > self.latest[other]

    def _bound_single(self, resource: Resource, heads: Sequence[int], tails: Sequence[int]) -> int:
        """Return Jackson's preemptive bound on the tasks that hold `resource` one after another."""
        lasts = self.project.durations
        waiting = sorted(resource.demands, key=lambda task: heads[task])
        ready: list[list[int]] = []
        now, bound, place = 0, 0, 0
        while place < len(waiting) or ready:
            if not ready:
                now = max(now, heads[waiting[place]])
            while place < len(waiting) and heads[waiting[place]] <= now:
                task = waiting[place]
                heappush(ready, [lasts[task] - tails[task], task, lasts[task] + resource.gap])
                place += 1
            first = ready[0]
            until = heads[waiting[place]] if place < len(waiting) else now + first[2]
            passed = min(first[2], until - now)
            now, first[2] = now + passed, first[2] - passed
            if not first[2]:
                heappop(ready)
                bound = max(bound, now - resource.gap - first[0])
        return bound

    def _undecided(self, heads: Sequence[int], left: Sequence[int]) -> list[int]:
        """Return the choices of which no edge holds at the least times."""
        return [
            number
            for number in left
            if not any(heads[other] - heads[one] >= least for one, other, least in self.choices[number])
        ]

    def _decide(self, heads: list[int], tails: list[int], left: list[int]) -> None:
        """Try both orders of the choice that costs most, the cheaper one first."""

        def cost(edge: Edge) -> int:
            return heads[edge[0]] + edge[2] + tails[edge[1]]

        number = max(left, key=lambda each: sorted(map(cost, self.choices[each])))
        # a choice that happens to hold may have to be made once heads rise: all but this one are looked at again
        rest = self._all_open(number)
        for edge in sorted(self.choices[number], key=cost):
            own_heads, own_tails = list(heads), list(tails)
            if self._add([edge], own_heads, own_tails):
                self._branch(own_heads, own_tails, list(rest))
            self._remove([edge])

    def _all_open(self, but: int) -> list[int]:
        """Return the choices that are not made, but for one."""
        return [
            number
            for number, pair in enumerate(self.choices)
            if number != but and not any(edge[1:] in {(o, w) for o, w in self.after[edge[0]]} for edge in pair)
        ]

    def _release(self, heads: list[int], tails: list[int]) -> None:
        """Put one task after another where too many hold a resource; else take the schedule."""
        for each in self.shared:
            for task in sorted(each.demands, key=lambda task: heads[task]):
                holders = holders_at(self.project, each, heads, heads[task])
                if sum(each.demands[one] for one in holders) > each.capacity:
                    self._resolve(each, holders, heads, tails)
                    return
        self.best = tuple(heads)
        self.limit = max([head + last for head, last in zip(heads, self.project.durations, strict=True)], default=0)

    def _resolve(self, resource: Resource, holders: list[int], heads: list[int], tails: list[int]) -> None:
        """Try each way in which one of a least set of holders that is too much waits for another."""
        holders.sort(key=lambda task: -resource.demands[task])
        chosen: list[int] = []
        while sum(resource.demands[one] for one in chosen) <= resource.capacity:
            chosen.append(holders[len(chosen)])
        lasts = self.project.durations
        edges = [(one, other, lasts[one] + resource.gap) for one in chosen for other in chosen if one != other]
        edges.sort(key=lambda edge: heads[edge[0]] + edge[2] + tails[edge[1]])
        for edge in edges:
            own_heads, own_tails = list(heads), list(tails)
            if self._add([edge], own_heads, own_tails):
                self._branch(own_heads, own_tails, self._all_open(-1))
            self._remove([edge])


def has_cp_sat() -> bool:
    """Return whether OR-tools is installed."""
    return find_spec("ortools") is not None


def find_least_schedule_by_cp_sat(project: Project, seconds: float, before: int | None = None) -> Schedule | None:
    """Return a schedule of the least makespan by CP-SAT of OR-tools, on one processor; None where none is found.

    Raises `InputError` where OR-tools is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise InputError("ortools is not installed", hint="pip install 'forethought[schedule]'") from None
    model = cp_model.CpModel()
    horizon = project.horizon if before is None else before - 1
    starts = [
        model.new_int_var(project.earliest.get(task, 0), min(horizon, project.latest.get(task, horizon)), f"s{task}")
        for task in range(len(project.durations))
    ]
    makespan = model.new_int_var(0, horizon, "makespan")
    for task, last in enumerate(project.durations):
        model.add(makespan >= starts[task] + last)
    for one, other, least in project.edges:
        model.add(starts[other] >= starts[one] + least)
    for number, (first, second) in enumerate(project.either):
        chosen = model.new_bool_var(f"c{number}")
        for (one, other, least), literal in ((first, chosen), (second, ~chosen)):
            model.add(starts[other] >= starts[one] + least).only_enforce_if(literal)
    for each in project.resources:
        intervals = [
            model.new_fixed_size_interval_var(starts[task], project.durations[task] + each.gap, f"i{task}")
            for task in each.demands
        ]
        model.add_cumulative(intervals, list(each.demands.values()), each.capacity)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    found = tuple([solver.value(each) for each in starts])
    return Schedule(found, solver.value(makespan), status == cp_model.OPTIMAL)

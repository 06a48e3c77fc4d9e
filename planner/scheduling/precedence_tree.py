"""Least makespans of projects whose tasks share resources: branch and bound over the order in which tasks start.

Each node of the precedence tree puts one more task as early as it can come, not before the last one that was put
(Patterson, Słowiński, Talbot and Węglarz, 1989). A node is left where

- a task that was put could start sooner than the one before it (left shift: Sprecher, Kolisch and Drexl, 1995);
- a task that may come could run and end before the one that was put starts;
- a node that was looked at put the same tasks no later (cutset dominance: Demeulemeester and Herroelen, 1992);
- no schedule through it ends before the best one: by critical paths, or since each resource, as a machine that works on
  the demands of all tasks one by one and preempts them, needs longer (the fully elastic relaxation: Baptiste, Le Pape
  and Nuijten, 1999).

The sooner a task can start, the sooner it is tried. So what a left shift or a dominating node leads to was looked at
before what it rules out: a schedule that a node is left for has been reached, or has been left for a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop
from itertools import combinations

from planner.lightweight import Final
from planner.scheduling.list_schedules import UNPUT, ListSearch, Profile, find_gap
from planner.scheduling.project import Edge, Project, Resource

MOST_STATES: Final = 300_000
"""Nodes that are kept to rule out others at most; each takes about 400 bytes."""

NODES_PER_LIST: Final = 16
"""Nodes after which one more list is tried, which takes about a quarter of the time."""
MOST_BOUNDS: Final = 24
"""Resources beside those of the project that bound a node at most; with each one a node takes longer."""


def can_be_ordered(project: Project) -> bool:
    """Return whether putting tasks by their starts reaches a least schedule of `project`.

    Nothing in it may say how long after another one a task comes at most, but by the end of the schedule and `latest`.
    """
    edges_last = all(least >= 0 for _, _, least in project.edges)
    pairs_last = all(
        first[:2] == (second[1], second[0]) and min(first[2], second[2]) > 0 for first, second in project.either
    )
    return edges_last and pairs_last and len(_order_by_edges(project)) == len(project.durations)


def _order_by_edges(project: Project) -> list[int]:
    """Return the tasks so that edges lead from earlier to later ones; those on a circle, and after it, are left out."""
    needs = [0] * len(project.durations)
    after: list[list[int]] = [[] for _ in needs]
    for one, other, _ in project.edges:
        needs[other] += 1
        after[one].append(other)
    ready = [task for task, count in enumerate(needs) if not count]
    for task in ready:
        for other in after[task]:
            needs[other] -= 1
            if not needs[other]:
                ready.append(other)
    return ready


def _find_latest(project: Project) -> list[int]:
    """Return by which ticks tasks start so that what comes after them starts by its own latest tick."""
    _, after = _group(project.edges, len(project.durations))
    latest = [project.latest.get(task, project.horizon) for task in range(len(project.durations))]
    for task in reversed(_order_by_edges(project)):
        latest[task] = min([latest[task], *[latest[other] - least for other, least in after[task]]])
    return latest


class PrecedenceTree:
    """Searches the orders in which tasks of `project` start, for a makespan below `limit`.

    `heads` are the first ticks of the tasks, `tails` the least times from their starts to the end. `lists` are tried
    beside, for better schedules.
    """

    def __init__(
        self,
        project: Project,
        heads: Sequence[int],
        tails: Sequence[int],
        limit: int,
        *,
        lists: ListSearch,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.project, self.heads, self.tails, self.limit, self.may_go_on = project, heads, tails, limit, may_go_on
        self._lists, self._visits = lists, 0
        self.best: tuple[int, ...] | None = None
        self.stopped = False
        size = len(project.durations)
        self._before, self._after = _group(project.edges, size)
        self._apart: list[list[Edge]] = [[] for _ in range(size)]
        for (one, other, least), (_, _, back) in project.either:
            self._apart[other].append((one, least, back))
            self._apart[one].append((other, back, least))
        self._held = [
            [
                (number, each.demands[task], project.durations[task] + each.gap)
                for number, each in enumerate(project.resources)
                if each.demands.get(task) and project.durations[task] + each.gap
            ]
            for task in range(size)
        ]
        self._blocks = [
            max([lasts for _, _, lasts in self._held[task]] + [back for _, _, back in self._apart[task]], default=0)
            for task in range(size)
        ]
        self._acts = [
            max([self._blocks[task], project.durations[task], *[least for _, least in self._after[task]]])
            for task in range(size)
        ]
        self._latest = _find_latest(project)
        self._order = _order_by_edges(project)
        self._bounds = find_bounding_resources(project)
        self._seen: dict[int, list[tuple[int, dict[int, int]]]] = {}
        self._states = 0

    def run(self) -> None:
        """Look at all schedules that end before `limit`; keep the best of them, and its makespan as `limit`."""
        profiles = [Profile(each.capacity) for each in self.project.resources]
        if all(max(each.demands.values(), default=0) <= each.capacity for each in self.project.resources):
            self._extend([UNPUT] * len(self.heads), 0, 0, profiles, list(self.heads))

    def _extend(self, starts: list[int], put: int, last: int, profiles: list[Profile], heads: list[int]) -> None:
        """Look at all schedules in which the tasks `put`, a bit each, have their `starts`, and others follow."""
        if self.stopped or not self.may_go_on():
            self.stopped = True
            return
        self._try_lists()
        left = [task for task in self._order if starts[task] < 0]
        if not left:
            self.best = tuple(starts)
            self.limit = max([tick + lasts for tick, lasts in zip(starts, self.project.durations, strict=True)])
            return
        children = self._find_children(left, starts, last, profiles, heads)
        if not self._can_end(left, starts, heads, last):
            return
        for tick, task in children:
            starts[task] = tick
            rest = [each for each in left if each != task]
            own_heads = self._raise_heads(heads, rest, task, tick)
            if own_heads is not None and not self._is_dominated(starts, put | 1 << task, tick):
                own = profiles.copy()
                for number, demand, lasts in self._held[task]:
                    own[number] = own[number].copy()
                    own[number].hold(tick, tick + lasts, demand)
                self._extend(starts, put | 1 << task, tick, own, own_heads)
            starts[task] = UNPUT

    def _try_lists(self) -> None:
        self._visits += 1
        if self._visits % NODES_PER_LIST == 0:
            self._lists.try_next()
            if self._lists.starts is not None and self._lists.makespan < self.limit:
                self.best, self.limit = tuple(self._lists.starts), self._lists.makespan

    def _find_children(
        self, left: Sequence[int], starts: Sequence[int], last: int, profiles: Sequence[Profile], heads: list[int]
    ) -> list[tuple[int, int]]:
        """Return the tasks that may come next with their starts, the soonest first; raise `heads` to what is left."""
        found: list[tuple[int, bool, int, int]] = []
        useful, first = self.limit, -1
        for task in left:
            if any(starts[one] < 0 for one, _ in self._before[task]):
                continue
            tick = self._find_start(task, starts, profiles)
            heads[task] = max(heads[task], tick)
            if tick + self._blocks[task] < useful:
                useful, first = tick + self._blocks[task], task
            if tick >= last:
                found.append((tick, self._blocks[task] > 0, -self.tails[task], task))
        found.sort()
        return [(tick, task) for tick, _, _, task in found if tick < useful or task == first]

    def _can_end(self, left: Sequence[int], starts: Sequence[int], heads: list[int], last: int) -> bool:
        """Raise the `heads` of the tasks that are `left`; return whether all may end before the limit."""
        for task in left:
            for one, least in self._before[task]:
                if starts[one] < 0:
                    heads[task] = max(heads[task], heads[one] + least)
        if not self._keeps_limits(left, heads):
            return False
        crowded = next((each for each in self._bounds if self._is_crowded(each, left, starts, heads, last)), None)
        if crowded is not None:  # what ends this node is likely to end the next one
            self._bounds.remove(crowded)
            self._bounds.insert(0, crowded)
        return crowded is None

    def _find_start(self, task: int, starts: Sequence[int], profiles: Sequence[Profile]) -> int:
        """Return the first tick at which `task` can start beside those that were put."""
        tick = self.heads[task]
        for one, least in self._before[task]:
            tick = max(tick, starts[one] + least)
        return find_gap(tick, self._held[task], self._apart[task], starts, profiles)

    def _raise_heads(self, heads: list[int], left: Sequence[int], task: int, tick: int) -> list[int] | None:
        """Return the heads of the tasks that are `left` as `task` starts at `tick`; None where the limit breaks.

        All others start no sooner than `tick`.
        """
        own = [max(tick, head) for head in heads]
        own[task] = tick
        for other, least in self._after[task]:
            own[other] = max(own[other], tick + least)
        return own if self._keeps_limits(left, own) else None

    def _keeps_limits(self, left: Sequence[int], heads: Sequence[int]) -> bool:
        tails, limit, latest = self.tails, self.limit, self._latest
        return not any(heads[task] + tails[task] >= limit or heads[task] > latest[task] for task in left)

    def _is_dominated(self, starts: Sequence[int], put: int, last: int) -> bool:
        """Return whether a node with the same tasks, none of which ends later, was looked at; else keep this one."""
        acting = {
            task: tick + self._acts[task]
            for task, tick in enumerate(starts)
            if tick >= 0 and tick + self._acts[task] > last
        }
        known = self._seen.setdefault(put, [])
        for tick, others in known:
            if tick <= last and all(until <= last or until <= acting.get(task, 0) for task, until in others.items()):
                return True
        if self._states < MOST_STATES:
            self._states += 1
            known.append((last, acting))
        return False

    def _is_crowded(
        self, resource: Resource, left: Sequence[int], starts: Sequence[int], heads: Sequence[int], last: int
    ) -> bool:
        """Return whether `resource` cannot serve the tasks that are `left`, and those at work, before the limit."""
        lasts, tails, latest, last_end = self.project.durations, self.tails, self._latest, self.limit - 1
        demands, gap, capacity = resource.demands, resource.gap, resource.capacity
        works = [
            (
                heads[task] * capacity,
                (min(last_end - tails[task], latest[task]) + lasts[task] + gap) * capacity,
                demands[task] * (lasts[task] + gap),
            )
            for task in left
            if task in demands
        ]
        if not works:
            return False
        for task, demand in demands.items():
            more = starts[task] + lasts[task] + gap - last
            if starts[task] >= 0 and more > 0:
                works.append((last * capacity, (last_end + gap) * capacity, demand * more))
        return bound_lateness(works) > 0


def find_bounding_resources(project: Project) -> list[Resource]:
    """Return the resources of `project`, and others that each schedule of it respects as well.

    Of each resource, dual feasible functions make others: what leaves less than some amount free counts as all of it,
    and what takes less counts as nothing (Fekete and Schepers, 2001). A set of tasks each two of which exclude each
    other on some resource holds one more.
    """
    found = list(project.resources)
    for each in project.resources:
        for amount in sorted({*each.demands.values()}):
            if 2 * amount <= each.capacity + 1:
                raised = {
                    task: each.capacity if demand > each.capacity - amount else demand
                    for task, demand in each.demands.items()
                    if demand >= amount
                }
                found.append(Resource(each.capacity, raised, each.gap))
        half = {task: 1 for task, demand in each.demands.items() if 2 * demand > each.capacity}
        found.append(Resource(1, half, each.gap))
    found += sorted(_find_cliques(project), key=lambda each: -sum(project.durations[task] for task in each.demands))
    kept: list[Resource] = []
    for each in found:
        if len(each.demands) > 1 and each not in kept:
            kept.append(each)
    return kept[: len(project.resources) + MOST_BOUNDS]


def _find_cliques(project: Project) -> list[Resource]:
    """Return for each task a set, taken greedily, that it is in and each two tasks of which exclude each other."""
    size = len(project.durations)
    excluded: list[set[int]] = [set() for _ in range(size)]
    for each in project.resources:
        for one, other in combinations(each.demands, 2):
            if each.excludes(one, other):
                excluded[one].add(other)
                excluded[other].add(one)
    gap = min([each.gap for each in project.resources], default=0)
    found = []
    for task in range(size):
        clique, able = [task], excluded[task]
        while able:
            clique.append(max(able, key=lambda each: (project.durations[each] * len(able & excluded[each]), each)))
            able = able & excluded[clique[-1]]
        found.append(Resource(1, dict.fromkeys(sorted(clique), 1), gap))
    return found


def bound_lateness(works: list[tuple[int, int, int]]) -> int:
    """Return by how much some of `works` ends late at least on one machine that preempts; 0 where none does.

    Each work has a head, a tick at which it is due, and its time. What is due first is always first (Jackson, 1955).
    """
    works.sort()
    ready: list[list[int]] = []
    now, bound, place, size = 0, 0, 0, len(works)
    while place < size or ready:
        if not ready:
            now = max(now, works[place][0])
        while place < size and works[place][0] <= now:
            ready.append([works[place][1], works[place][2]])
            place += 1
        heapify(ready)
        while ready:
            first = ready[0]
            if place < size and works[place][0] < now + first[1]:
                first[1] -= works[place][0] - now
                now = works[place][0]
                break
            now += first[1]
            bound = max(bound, now - first[0])
            heappop(ready)
    return bound


def _group(edges: Sequence[Edge], size: int) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Return by task what comes before it, and after it, with the least distances."""
    before: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    after: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for one, other, least in edges:
        before[other].append((one, least))
        after[one].append((other, least))
    return before, after

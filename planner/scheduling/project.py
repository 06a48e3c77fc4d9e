"""Projects: tasks of fixed durations, least distances between starts, alternatives, and resources that tasks hold.

The model is that of job shops and resource-constrained project scheduling (Pritsker, Watters and Wolfe, 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from planner.lightweight import dataclass, field

Edge = tuple[int, int, int]
"""`(one, other, least)`: task `other` starts at least so many ticks after task `one` does."""


@dataclass(frozen=True, slots=True)
class Resource:
    """So much `capacity` that `demands` (by task) take while the tasks last, and `gap` ticks longer."""

    capacity: int
    demands: dict[int, int]
    gap: int = 0

    def excludes(self, one: int, other: int) -> bool:
        """Return whether two tasks may not hold it at once."""
        return self.demands[one] + self.demands[other] > self.capacity

    @property
    def is_single(self) -> bool:
        """Whether no two tasks may hold it at once."""
        return all(self.excludes(one, other) for one, other in combinations(self.demands, 2))


@dataclass(frozen=True, slots=True)
class Project:
    """Tasks of these `durations`, in ticks; of each pair in `either`, one edge must hold.

    `earliest` and `latest` bound the starts of some tasks.
    """

    durations: tuple[int, ...]
    edges: tuple[Edge, ...] = ()
    either: tuple[tuple[Edge, Edge], ...] = ()
    resources: tuple[Resource, ...] = ()
    earliest: dict[int, int] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        """A tick by which every least schedule has ended."""
        gaps = max([each.gap for each in self.resources], default=0)
        steps = sum(self.durations) + gaps * len(self.durations)
        ways = [max(least, 0) for _, _, least in (*self.edges, *[edge for pair in self.either for edge in pair])]
        return steps + sum(ways) + max(self.earliest.values(), default=0)

    def reverse(self, makespan: int) -> Project:
        """Return the project in reversed time: a task that ends at `makespan` starts at 0 in it."""
        lasts = self.durations

        def turn(edge: Edge) -> Edge:
            one, other, least = edge
            return other, one, least + lasts[other] - lasts[one]

        return Project(
            lasts,
            tuple([turn(each) for each in self.edges]),
            tuple([(turn(first), turn(second)) for first, second in self.either]),
            self.resources,
            {task: makespan - lasts[task] - tick for task, tick in self.latest.items()},
            {task: makespan - lasts[task] - tick for task, tick in self.earliest.items() if tick > 0},
        )


@dataclass(frozen=True, slots=True)
class Schedule:
    """The starts of the tasks and the makespan, and whether this `is_least`."""

    starts: tuple[int, ...]
    makespan: int
    is_least: bool


def exceeds(project: Project, starts: Sequence[int]) -> str:
    """Return what `starts` violate of `project`; "" where nothing is."""
    for one, other, least in project.edges:
        if starts[other] - starts[one] < least:
            return f"task {other} starts less than {least} after task {one}"
    for pair in project.either:
        if all(starts[other] - starts[one] < least for one, other, least in pair):
            return f"neither of {pair} holds"
    for each in project.resources:
        for task in each.demands:
            held = sum(each.demands[one] for one in holders_at(project, each, starts, starts[task]))
            if held > each.capacity:
                return f"a resource is held too often at {starts[task]}"
    for task, tick in project.earliest.items():
        if starts[task] < tick:
            return f"task {task} starts before {tick}"
    return next(
        (f"task {task} starts after {tick}" for task, tick in project.latest.items() if starts[task] > tick), ""
    )


def holders_at(project: Project, resource: Resource, starts: Sequence[int], tick: int) -> list[int]:
    """Return the tasks that hold `resource` at a tick."""
    lasts = project.durations
    return [task for task in resource.demands if starts[task] <= tick < starts[task] + lasts[task] + resource.gap]

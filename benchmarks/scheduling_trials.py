"""Our branch and bound for schedules beside CP-SAT: job shops and resource-constrained projects, drawn by a seed.

`python -m benchmarks.scheduling_trials` prints a table: for each family how many instances each method proved, the
seconds that it took, and whether the optima agree. CP-SAT needs the extra `schedule`. A difference makes the exit code
1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Final

from planner.scheduling.exact_schedule import find_least_schedule, find_least_schedule_by_cp_sat
from planner.scheduling.project import Project, Resource, Schedule, exceeds

GAP: Final = 1
"""Ticks between tasks that hold one resource one after another, of 1,000 in a second."""


def draw_job_shop(rng: random.Random, jobs: int, machines: int, *, ticks: int = 1000) -> Project:
    """Return a job shop: each job visits each machine once, in an order of its own, for 1 to 9 seconds."""
    durations: list[int] = []
    edges = []
    holders: list[dict[int, int]] = [{} for _ in range(machines)]
    for _ in range(jobs):
        for place, machine in enumerate(rng.sample(range(machines), machines)):
            task = len(durations)
            durations.append(rng.randint(1, 9) * ticks)
            holders[machine][task] = 1
            if place:
                edges.append((task - 1, task, durations[task - 1] + GAP))
    return Project(tuple(durations), tuple(edges), resources=tuple([Resource(1, each, GAP) for each in holders]))


def draw_project(rng: random.Random, tasks: int, resources: int, *, ticks: int = 1000) -> Project:
    """Return a resource-constrained project: random predecessors, and demands of resources of 3 to 5."""
    durations = [rng.randint(1, 9) * ticks for _ in range(tasks)]
    edges = [
        (one, task, durations[one] + GAP)
        for task in range(1, tasks)
        for one in rng.sample(range(task), min(task, rng.choice([0, 1, 1, 2])))
    ]
    capacities = [rng.randint(3, 5) for _ in range(resources)]
    demands = [
        {task: rng.randint(1, capacity - 1) for task in range(tasks) if rng.random() < 0.6} for capacity in capacities
    ]
    held = [Resource(capacity, each, GAP) for capacity, each in zip(capacities, demands, strict=True)]
    return Project(tuple(durations), tuple(edges), resources=tuple(held))


FAMILIES: Final[dict[str, Callable[[random.Random], Project]]] = {
    "job shop, 4 jobs, 4 machines": lambda rng: draw_job_shop(rng, 4, 4),
    "job shop, 6 jobs, 4 machines": lambda rng: draw_job_shop(rng, 6, 4),
    "job shop, 6 jobs, 6 machines": lambda rng: draw_job_shop(rng, 6, 6),
    "project, 10 tasks, 2 resources": lambda rng: draw_project(rng, 10, 2),
    "project, 16 tasks, 3 resources": lambda rng: draw_project(rng, 16, 3),
    "project, 24 tasks, 3 resources": lambda rng: draw_project(rng, 24, 3),
}
"""What is drawn."""


def run_ours(project: Project, seconds: float) -> Schedule | None:
    """Return the best schedule of our branch and bound within a time."""
    end = time.monotonic() + seconds
    return find_least_schedule(project, may_go_on=lambda: time.monotonic() < end)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where optima differ or a schedule is invalid."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling_trials", description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=20, help="instances of each family (default: 20)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each instance (default: 10)")
    given = parser.parse_args(arguments)
    wrong = 0
    sys.stdout.write("| family | instances | ours: proved | seconds | CP-SAT: proved | seconds | same optimum |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for family, draw in FAMILIES.items():
        proved, seconds, same, both = [0, 0], [0.0, 0.0], 0, 0
        for seed in range(given.instances):
            project = draw(random.Random(seed))
            found = []
            for place, solve in enumerate((run_ours, find_least_schedule_by_cp_sat)):
                begin = time.monotonic()
                found.append(solve(project, given.time_limit))
                seconds[place] += time.monotonic() - begin
                schedule = found[-1]
                if schedule is not None:
                    proved[place] += schedule.is_least
                    if exceeds(project, schedule.starts):
                        wrong += 1
                        sys.stderr.write(f"{family}, seed {seed}: {exceeds(project, schedule.starts)}\n")
            ours, theirs = found
            if ours is not None and theirs is not None and ours.is_least and theirs.is_least:
                both += 1
                same += ours.makespan == theirs.makespan
                if ours.makespan != theirs.makespan:
                    wrong += 1
                    sys.stderr.write(f"{family}, seed {seed}: {ours.makespan} and {theirs.makespan}\n")
        cells = [family, given.instances, proved[0], f"{seconds[0]:.1f}", proved[1], f"{seconds[1]:.1f}"]
        sys.stdout.write("| " + " | ".join(map(str, [*cells, f"{same} of {both}"])) + " |\n")
        sys.stdout.flush()
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

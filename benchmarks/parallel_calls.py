"""Parallel tool calls of an agent: how close plans in time, and their runs, come to the least makespan.

`python -m benchmarks.parallel_calls` prints a table, in milliseconds. For each seed it draws calls that fan out, join,
and share connections. A first run learns how long they last. Then the calls are planned for the least makespan, and
carried out in real time by this plan, and by a greedy executor, which starts what is ready in the order of the calls.
The optimum is that of the exact schedule, by CP-SAT where the extra `schedule` is there. The exit code is 1 if a plan
is called optimal that is not, or ends before a lower bound.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final

from executor import Executor, RunOutcome, RunStatus, World, learn
from executor.tools.clock import WALL, Clock
from planner import Domain, Problem, Status, solve
from planner.language.declare import resolve_action
from planner.plan import Result
from planner.scheduling.exact_schedule import find_least_schedule, find_least_schedule_by_cp_sat, has_cp_sat
from planner.scheduling.project import Project, Resource, Schedule

TICKS: Final = 1_000_000
"""Ticks in a second: learned durations are multiples of a millionth."""
APART: Final = 1_000
"""Ticks between the end of a call and the start of one that waits for it, as plans in time have them."""
CAPACITIES: Final = {"connections": 4, "searches": 2}
"""How many calls hold each of these at once."""
SHORTEST, LONGEST = 0.06, 0.5
"""Seconds that a call lasts at least and at most."""
UNKNOWN_DURATION: Final = 0.2
"""Seconds that each call is declared to last before it was measured."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that lasts so many `seconds`, after the calls `needs`, and `holds` one each of these capacities."""

    name: str
    seconds: float
    needs: tuple[str, ...]
    holds: tuple[str, ...]


def draw_calls(rng: random.Random, count: int) -> list[Call]:
    """Return calls, each after its needs: a third begin, a third fan out, and the others join two to four."""
    calls: list[Call] = []
    for number in range(count):
        kind = rng.choice(["begin", "fan out", "join"]) if number > 2 else "begin"
        names = [each.name for each in calls]
        needs = {"begin": 0, "fan out": 1, "join": min(rng.randint(2, 4), len(names))}[kind]
        held = rng.choice([(), ("connections",), ("connections",), ("connections", "searches")])
        seconds = round(rng.triangular(SHORTEST, LONGEST, SHORTEST), 3)
        calls.append(Call(f"call{number}", seconds, tuple(sorted(rng.sample(names[-9:], needs))), held))
    return calls


def make_problem(calls: Sequence[Call]) -> Problem:
    """Return the problem of making all `calls`, for the least makespan."""
    domain = Domain("calls")
    for each in calls:
        domain.action(
            each.name,
            {},
            requires=[f"answered_{need}" for need in each.needs],
            provides=f"answered_{each.name}",
            duration=UNKNOWN_DURATION,
            holds=dict.fromkeys(each.holds, 1),
            tags=["trusted"],
        )
    goal = [f"answered_{each.name}" for each in calls]
    return domain.problem(goal=goal, capacity=CAPACITIES, objective="makespan")


def make_world(problem: Problem, calls: Sequence[Call]) -> World:
    """Return a world whose handlers sleep as long as the calls last."""
    world = World(problem.domain)

    def make_handler(seconds: float) -> Callable[[], Coroutine[Any, Any, bool]]:
        async def handle() -> bool:
            await asyncio.sleep(seconds)
            return True

        return handle

    for each in calls:
        world.handler(each.name)(make_handler(each.seconds))
    return world


async def run_greedily(calls: Sequence[Call]) -> float:
    """Make the calls as soon as their needs and capacities allow, the first ones first; return the seconds."""
    begin, left, done, free = asyncio.get_running_loop().time(), list(calls), set[str](), dict(CAPACITIES)
    at_work: dict[asyncio.Task[None], Call] = {}
    while left or at_work:
        for each in list(left):
            if done.issuperset(each.needs) and all(free[name] for name in each.holds):
                left.remove(each)
                for name in each.holds:
                    free[name] -= 1
                at_work[asyncio.create_task(asyncio.sleep(each.seconds))] = each
        ended, _ = await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            each = at_work.pop(task)
            done.add(each.name)
            for name in each.holds:
                free[name] += 1
    return asyncio.get_running_loop().time() - begin


def learn_durations(calls: Sequence[Call], clock: Clock, run: Callable[..., Any]) -> Problem:
    """Return the problem of the calls with durations that one run has shown."""
    problem = make_problem(calls)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "runs.db"
        first = Executor(make_world(problem, calls), journal=journal, clock=clock)
        outcome: RunOutcome = run(first.run(problem, mode="first", time_limit=10))
        assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
        learned = learn(journal).applied_to(problem)
        assert isinstance(learned, Problem), "the problem keeps its kind"
        return learned


def find_durations(problem: Problem, calls: Sequence[Call]) -> list[int]:
    """Return the durations of the calls in `problem`, in ticks."""
    return [round(float(resolve_action(problem.domain, each.name).duration) * TICKS) for each in calls]  # type: ignore[arg-type]


def find_optimum(calls: Sequence[Call], durations: Sequence[int], seconds: float) -> Schedule | None:
    """Return the exact schedule of the calls, by CP-SAT if there is one, else by our branch and bound."""
    places = {each.name: place for place, each in enumerate(calls)}
    edges = [
        (places[need], place, durations[places[need]] + APART)
        for place, each in enumerate(calls)
        for need in each.needs
    ]
    resources = [
        Resource(most, {place: 1 for place, each in enumerate(calls) if name in each.holds}, APART)
        for name, most in CAPACITIES.items()
    ]
    project = Project(tuple(durations), tuple(edges), resources=tuple(resources))
    if has_cp_sat():
        return find_least_schedule_by_cp_sat(project, seconds)
    end = time.monotonic() + seconds
    return find_least_schedule(project, may_go_on=lambda: time.monotonic() < end)


@dataclass(frozen=True, slots=True)
class Row:
    """What one seed shows, in seconds: by the plan, when it ran, in the greedy run, and at best."""

    seed: int
    sequential: float
    planned: Result
    ran: float
    greedy: float
    optimum: Schedule | None

    @property
    def makespan(self) -> float:
        """The makespan of the plan."""
        return max([float(each.end) for each in self.planned.expect_plan().times])

    @property
    def least(self) -> float | None:
        """The proved optimum; None where nothing was proved."""
        return self.optimum.makespan / TICKS if self.optimum is not None and self.optimum.is_least else None

    def find_error(self) -> str:
        """Return what contradicts the optimum; "" where nothing does."""
        bound, least = float(self.planned.lower_bound or 0), self.least
        if least is not None and (bound > least + 1e-6 or self.makespan < least - 1e-6):
            return f"seed {self.seed}: the plan ends at {self.makespan}, its bound is {bound}, the optimum {least}"
        return ""

    def __str__(self) -> str:
        bound = float(self.planned.lower_bound or 0)
        status = (
            "OPTIMAL"
            if (self.planned.status is Status.OPTIMAL)
            else f"gap {self.makespan / bound - 1:.1%}"
            if bound
            else "no bound"
        )
        seconds = [self.sequential, self.makespan, self.ran, self.greedy]
        numbers = [f"{each * 1000:.0f}" for each in seconds]
        least = "not proved" if self.least is None else f"{self.least * 1000:.0f}"
        return "| " + " | ".join([str(self.seed), *numbers[:2], status, *numbers[2:], least]) + " |"


def try_seed(
    seed: int, count: int, time_limit: float, *, clock: Clock = WALL, run: Callable[..., Any] = asyncio.run
) -> Row:
    """Return what the calls of one `seed` show; `run` runs coroutines by the time of `clock`."""
    calls = draw_calls(random.Random(seed), count)
    problem = learn_durations(calls, clock, run)
    durations = find_durations(problem, calls)
    planned = solve(problem, time_limit=time_limit)
    outcome: RunOutcome = run(Executor(make_world(problem, calls), clock=clock).run(planned))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    begun = [each.started for each in outcome.steps if each.started is not None]
    ended = [each.ended for each in outcome.steps if each.ended is not None]
    greedy = run(run_greedily(calls))
    optimum = find_optimum(calls, durations, 6 * time_limit)
    return Row(seed, sum(durations) / TICKS, planned, max(ended) - min(begun), greedy, optimum)


def describe_means(rows: Sequence[Row]) -> str:
    """Return the line of the mean ratios to the proved optimum."""
    proved = [(each, each.least) for each in rows if each.least]
    if not proved:
        return "no optimum was proved"
    of = {
        "sequential": [row.sequential / least for row, least in proved],
        "plan": [row.makespan / least for row, least in proved],
        "run": [row.ran / least for row, least in proved],
        "greedy": [row.greedy / least for row, least in proved],
    }
    ratios = ", ".join(f"{name} {mean(each):.3f}" for name, each in of.items())
    optimal = sum(row.planned.status is Status.OPTIMAL for row in rows)
    return f"mean ratio to the proved optimum ({len(proved)} of {len(rows)}): {ratios}; {optimal} plans proved OPTIMAL"


def main(arguments: list[str] | None = None, **trial: Any) -> int:
    """Run the command; return 1 where a plan or a bound contradicts the optimum. `trial` are options of `try_seed`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel_calls", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8, help="number of plans (default: 8)")
    parser.add_argument("--calls", type=int, default=30, help="calls of each plan (default: 30)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds for each plan (default: 5)")
    given = parser.parse_args(arguments)
    rows, wrong = [], 0
    sys.stdout.write("| seed | sequential | plan | proof | plan, run | greedy, run | optimum |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for seed in range(given.seeds):
        rows.append(try_seed(seed, given.calls, given.time_limit, **trial))
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
        if rows[-1].find_error():
            wrong = 1
            sys.stderr.write(rows[-1].find_error() + "\n")
    sys.stdout.write(f"\n{describe_means(rows)}\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

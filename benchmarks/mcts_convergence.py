"""`forethought bench simulations`: Monte-Carlo tree search against exact solutions, and against A* without chances.

With chances, it counts the simulations until policies are as good as the best one. Without, it compares the costs of
plans after some time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Final

import typer

from benchmarks.commands.options import DomainFilter, NameFilter, Sample, Seed, check_choices
from benchmarks.report import format_table
from benchmarks.suite import BenchmarkTask, Selection, load_suite
from benchmarks.uncertain.uncertain_campaign import CASES, Case
from planner import Decision, Problem, Progress, Status, decide, load, solve
from planner.errors import ForethoughtError
from planner.jit import library
from planner.limits import Limits, never
from planner.policies.decision import Aim
from planner.policies.markov_decision_process import Graph
from planner.policies.policy_mcts import FIRST_SWEEP, Mcts, make_hopes
from planner.policies.policy_mcts_compiled import CompiledTrials, ProcessBoard
from planner.policies.process_grounding import process_of


def simulations(
    suite: Annotated[
        Path | None, typer.Argument(metavar="[SUITE]", help="Folder of tasks without chances to use instead.")
    ] = None,
    *,
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", help="Kind of problem with chances; may be repeated. By default all."),
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Size of the problems, for all kinds.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds for each problem.")] = 5,
    domain: DomainFilter = None,
    name: NameFilter = None,
    sample: Sample = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit of each exact solution or search, in seconds.")
    ] = 60.0,
) -> None:
    """Count the simulations until policies are near the best one; with SUITE, compare costs of plans over time."""
    if suite is None:
        check_choices("--problem", problem or (), CASES)
        rows = []
        for each in problem or CASES:
            typer.echo(each, err=True)
            rows.append(measure_convergence(each, CASES[each], size or CASES[each].size, seeds, time_limit))
        typer.echo(converged_table([row for row in rows if row is not None]), nl=False)
        return
    found = []
    for task in Selection(domains=domain or (), names=name or (), sample=sample, seed=seed).of(load_suite(suite)):
        typer.echo(task.name, err=True)
        found += [measure_improvement(task, search, time_limit) for search in SEARCHES]
    typer.echo(improved_table([row for row in found if row is not None], time_limit), nl=False)


NEAR: Final = 0.01
"""How far from the best a policy is that counts as near it."""
MOST: Final = 1 << 20
"""Simulations after which we give up."""
RATE_SECONDS: Final = 1.0
"""For so long simulations are counted."""


@dataclass(frozen=True, slots=True)
class Approach:
    """How one seed came near the best policy of a problem: after how many simulations for good, and to the proof.

    Simulations were tried in powers of 2; None where they were too few. `seconds` are those of the first that were
    enough, process start excepted.
    """

    near: int | None
    proved: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Converged:
    """A problem, its best policy, how each seed came near it, and simulations a second by machine code and Python."""

    name: str
    best: Decision
    approaches: list[Approach]
    rates: tuple[float, float]


def measure_convergence(name: str, case: Case, size: int, seeds: int, time_limit: float) -> Converged | None:
    """Return how simulations do on a problem; None where its optimum is not proved within `time_limit`."""
    problem = case.make(size)
    best = decide(problem, time_limit=time_limit, **case.options())
    if not best.is_proved or best.policy is None:
        return None
    approaches = [_measure_approach(problem, case, best, seed) for seed in range(seeds)]
    return Converged(
        name,
        best,
        approaches,
        (measure_rate(problem, case, compiled=True), measure_rate(problem, case, compiled=False)),
    )


def _measure_approach(problem: Problem, case: Case, best: Decision, seed: int) -> Approach:
    near, seconds, simulations = None, 0.0, 1
    while simulations <= MOST:
        began = time.perf_counter()
        found = decide(problem, search="mcts", simulations=simulations, seed=seed, time_limit=None, **case.options())
        if not is_near(found, best):
            near = None
        elif near is None:
            near, seconds = found.statistics.simulations, time.perf_counter() - began
        if found.is_proved:
            return Approach(near, found.statistics.simulations, seconds)
        simulations *= 2
    return Approach(near, None, seconds)


def is_near(found: Decision, best: Decision) -> bool:
    """Return whether a policy was found that is nearly as good as the best one, in every respect."""
    if found.policy is None or best.policy is None or found.expected_cost is None or best.expected_cost is None:
        return False
    return (
        found.policy.success >= best.policy.success * (1 - NEAR)
        and found.policy.utility >= best.policy.utility * (1 - NEAR)
        and found.expected_cost <= best.expected_cost * (1 + NEAR)
    )


def measure_rate(problem: Problem, case: Case, *, compiled: bool) -> float:
    """Return simulations a second, sweeps included; a search that has settled everything begins anew."""
    done, spent, seed = 0, 0.0, 0
    while spent < RATE_SECONDS:
        for more, seconds in _simulate_in_batches(problem, case, seed, compiled=compiled):
            done, spent = done + more, spent + seconds
            if spent >= RATE_SECONDS:
                break
        seed += 1
    return done / spent


def _simulate_in_batches(problem: Problem, case: Case, seed: int, *, compiled: bool) -> Iterator[tuple[int, float]]:
    """Simulate until all is settled; yield how many simulations were made in how many seconds, again and again."""
    process = process_of(problem, Limits())
    penalty = None if case.penalty is None else float(case.penalty * process.task.resolution)
    aim = Aim(process, case.objective, penalty)
    aim.hopes = make_hopes(aim, never)
    entries = library.load("policy_mcts", "value_iteration") if compiled else None
    if entries is not None:
        search = CompiledTrials(ProcessBoard(aim, entries), seed)
        while not search.is_settled:
            began, before = time.perf_counter(), search.simulations
            search.simulate(before + 1000, never)
            yield search.simulations - before, time.perf_counter() - began
        return
    plain, sweep, done = Mcts(Graph(process, aim), seed), FIRST_SWEEP, 0
    while not plain.values.settled[0]:
        began = time.perf_counter()
        plain.simulate()
        done += 1
        if done == sweep:
            plain.sweeps.sweep(never)
            sweep += sweep // 2
        yield 1, time.perf_counter() - began


def converged_table(found: Sequence[Converged]) -> str:
    """Return a table: medians over the seeds, and the worst in brackets."""
    near = f"within {NEAR:.0%} after"
    head = ["problem", "success", "cost", near, "ms", "proved after", "simulations/s", "in Python"]
    return format_table(head, [_convergence_row(each) for each in found])


def _convergence_row(found: Converged) -> list[str]:
    policy = found.best.expect_policy()
    return [
        found.name,
        f"{policy.success:.2%}",
        f"{found.best.expected_cost:.3f}",
        _format_median([each.near for each in found.approaches]),
        f"{1000 * median([each.seconds for each in found.approaches]):.0f}",
        _format_median([each.proved for each in found.approaches]),
        *[f"{rate:,.0f}" for rate in found.rates],
    ]


def _format_median(numbers: Sequence[int | None]) -> str:
    if None in numbers:
        return f"— ({sum(number is not None for number in numbers)} of {len(numbers)} did)"
    known = [number for number in numbers if number is not None]
    return f"{median(known):,.0f} ({max(known):,})"


SEARCHES: Final = ("mcts", "astar", "weighted")
PARTS: Final = (0.01, 0.03, 0.1, 0.3, 1.0)
"""When we look, in parts of the time limit."""


@dataclass(frozen=True, slots=True)
class Improved:
    """The cost of the best plan of a search at each time that we look, None without one; and whether it was proved."""

    task: str
    search: str
    costs: list[float | None]
    proved: bool
    simulations: int


def measure_improvement(task: BenchmarkTask, search: str, time_limit: float) -> Improved | None:
    """Return how `search` does on a task; None where the task is not taken."""
    try:
        problem = load(task.domain_path, task.problem_path)
    except ForethoughtError:
        return None
    began, found = time.perf_counter(), list[tuple[float, float]]()

    def note(progress: Progress) -> None:
        if progress.plan is not None:
            found.append((time.perf_counter() - began, float(progress.plan.cost)))

    result = solve(problem, search=search, time_limit=time_limit, on_progress=note)
    if result.plan is not None:
        found.append((time.perf_counter() - began, float(result.plan.cost)))
    costs = [
        min([cost for seconds, cost in found if seconds <= part * time_limit or part == PARTS[-1]], default=None)
        for part in PARTS
    ]
    return Improved(task.name, search, costs, result.status is Status.OPTIMAL, result.statistics.simulations)


def improved_table(found: Sequence[Improved], time_limit: float) -> str:
    """Return a table with a row for each task and search; a proved cost has a star."""
    head = ["task", "search", *[f"{part * time_limit:g} s" for part in PARTS], "simulations"]
    return format_table(head, [_improvement_row(each) for each in found])


def _improvement_row(found: Improved) -> list[str]:
    cells = ["—" if cost is None else f"{cost:g}" for cost in found.costs]
    return [
        found.task,
        found.search,
        *cells[:-1],
        cells[-1] + ("*" if found.proved and found.costs[-1] is not None else ""),
        f"{found.simulations:,}" if found.simulations else "—",
    ]

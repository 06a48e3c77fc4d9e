"""`forethought bench relevant`: how long it takes to rank the tools that a goal needs, and how good the ranking is.

A library is declared once, as an agent does when it learns of its tools. Then goals are stated, one after the other:
the library's own first, then outputs of random tools. The first ranking builds the index of the domain; each further
one is what an agent pays in a turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Annotated

import typer

from benchmarks.commands.options import parse_integers
from benchmarks.report import format_table
from benchmarks.tools.tool_library import declare_tools, describe_tools, problem_of
from benchmarks.tools.tool_profiles import PROFILES, generate
from planner import Problem, relevant_actions, solve
from planner.model.actions import positive_atoms

HEAD = ("profile", "tools", "relevant", "first, ms", "median, ms", "worst, ms", "of a plan's tools", "relevant share")


@dataclass(frozen=True, slots=True)
class RankedLibrary:
    """What ranking took for one library, in milliseconds of CPU: the first time, and for each further goal.

    `relevant` are the tools that may help with the library's own goal. Of the `steps` tools of a plan for it, `found`
    are among the first `limit`.
    """

    profile: str
    size: int
    relevant: int
    first: float
    later: tuple[float, ...]
    steps: int
    found: int


def relevant(
    *,
    profile: Annotated[
        list[str] | None, typer.Option("--profile", help="Profile of libraries; may be repeated. By default all.")
    ] = None,
    sizes: Annotated[str, typer.Option("--sizes", help="Numbers of tools, separated by commas.")] = "100,1000,10000",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of libraries of each profile and size.")] = 3,
    goals: Annotated[int, typer.Option("--goals", min=1, help="Number of further goals for each library.")] = 30,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Number of tools that are asked for.")] = 50,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds of the search for a plan.")] = 10.0,
) -> None:
    """Rank the tools that a goal needs: milliseconds of CPU for each goal, and how many tools of a plan come first."""
    rank_library("groups", 100, 0, goals=3, limit=limit, time_limit=time_limit)
    ranked = []
    for name in profile or list(PROFILES):
        for size in parse_integers("--sizes", sizes, "10,100,1000"):
            ranked += [
                rank_library(name, size, seed, goals=goals, limit=limit, time_limit=time_limit) for seed in range(seeds)
            ]
    typer.echo(relevance_table(ranked))


def rank_library(profile: str, size: int, seed: int, *, goals: int, limit: int, time_limit: float) -> RankedLibrary:
    """Declare a library, and rank its tools for its goal and for so many random ones."""
    library = generate(profile, size, seed)
    domain = declare_tools(library, describe_tools(library))
    problem = problem_of(library, domain)
    first, ranking = _measure_ranking(problem, None, limit)
    later = [_measure_ranking(problem, goal, limit)[0] for goal in _draw_goals(problem, goals, seed)]
    result = solve(problem, mode="first", time_limit=time_limit)
    used = {step.action for step in result.plan.steps} if result.plan is not None else set()
    found = len(used.intersection(ranking))
    everything = len(relevant_actions(problem))
    return RankedLibrary(profile, size, everything, first, tuple(later), len(used), found)


def _measure_ranking(problem: Problem, goal: str | None, limit: int) -> tuple[float, list[str]]:
    """Return the milliseconds of CPU that a ranking takes, and the names of the tools."""
    began = time.thread_time()
    found = relevant_actions(problem, goal, limit=limit)
    return 1000 * (time.thread_time() - began), [each.name for each in found]


def _draw_goals(problem: Problem, goals: int, seed: int) -> Iterator[str]:
    """Yield outputs of random tools."""
    dice, actions = Random(seed), list(problem.domain.actions.values())
    while goals:
        provided = positive_atoms(dice.choice(actions).provides)
        if provided:
            goals -= 1
            yield str(dice.choice(provided))


def relevance_table(ranked: Iterable[RankedLibrary]) -> str:
    """Return a line for each profile and size: medians over libraries and goals, and the worst time of all."""
    cells: dict[tuple[str, int], list[RankedLibrary]] = {}
    for one in ranked:
        cells.setdefault((one.profile, one.size), []).append(one)
    return format_table(HEAD, [_row(*key, members) for key, members in cells.items()])


def _row(profile: str, size: int, members: Sequence[RankedLibrary]) -> tuple[str, ...]:
    times = [each for one in members for each in one.later]
    known, found = sum(one.steps for one in members), sum(one.found for one in members)
    numbers = [median(one.relevant for one in members), median(one.first for one in members), median(times), max(times)]
    return (
        profile,
        f"{size:,}",
        f"{numbers[0]:,.0f}",
        *[f"{number:.2f}" for number in numbers[1:]],
        f"{found}/{known}",
        f"{sum(one.relevant for one in members) / (size * len(members)):.0%}",
    )

"""Memory of one process that solves thousands of small problems: it must stay flat.

    python -m benchmarks.many_searches [--searches 10000] [--rows 10]

A problem is drawn anew for each search, of each kind in turn: classical ones for the reference tier, for one compiled
search and for the compiled portfolio, numeric, temporal and hierarchical ones. Each row counts what the process holds
then: resident memory, the blocks of Python's allocator, the objects that the collector knows, threads and open files.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks import hierarchical_trials, temporal_trials
from benchmarks.random_numeric import random_numeric_task
from benchmarks.random_problems import random_problem
from benchmarks.report import format_table
from planner import Domain
from planner.cli.output import give, tell
from planner.errors import ForethoughtError
from planner.language.pddl import parse_domain, parse_problem
from planner.problem_kinds import AnyProblem
from planner.solve import solve

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
BOXES: Final = 8
"""Boxes of a problem whose portfolio goes on in compiled searches."""
TIME_LIMIT: Final = 5.0
"""Time limit of each search, in seconds."""
HEAD: Final = ("searches", "MB resident", "blocks of memory", "objects", "threads", "open files", "s of CPU")
Draw = Callable[[int], AnyProblem]


def draw_boxes(seed: int) -> AnyProblem:
    """Return a problem of boxes that change from one pile to another order."""
    domain = Domain("boxes", types=["box"])
    pair, lifted, stacked = {"x": "box", "y": "box"}, ["floor(x)", "clear(y)"], ["on(x, y)"]
    domain.action("unstack", pair, requires=["clear(x)", *stacked], provides=[*lifted, "not on(x, y)"])
    given = [*stacked, "not floor(x)", "not clear(y)"]
    domain.action("stack", pair, requires=["clear(x)", *lifted], provides=given)
    rng, names = random.Random(seed), [f"b{number}" for number in range(BOXES)]
    piles = [rng.sample(names, BOXES) for _ in range(2)]
    before, after = [[f"on({one}, {other})" for one, other in pairwise(pile)] for pile in piles]
    initial = [*before, f"clear({piles[0][0]})", f"floor({piles[0][-1]})"]
    return domain.problem(objects=dict.fromkeys(names, "box"), initial=initial, goal=after)


def draw_numeric(seed: int) -> AnyProblem:
    """Return a numeric problem."""
    task = random_numeric_task(seed)
    return parse_problem(task.problem, parse_domain(task.domain))


def draw_temporal(seed: int) -> AnyProblem:
    """Return a temporal problem."""
    domain, text = temporal_trials.draw(seed).write()
    return parse_problem(text, parse_domain(domain))


KINDS: Final[dict[str, tuple[Draw, dict[str, Any]]]] = {
    "classical": (random_problem, {}),
    "classical, plain": (random_problem, {"plain": True}),
    "classical, compiled": (draw_boxes, {}),
    "numeric": (draw_numeric, {}),
    "numeric, first plan": (draw_numeric, {"mode": "first"}),
    "temporal": (draw_temporal, {}),
    "hierarchical": (hierarchical_trials.draw, {}),
}
"""How problems of each kind are drawn, and the options of their searches."""


def search(number: int, kinds: list[str]) -> str:
    """Draw problem `number`, of one of these `kinds`, and solve it; return kind, status and tier."""
    kind = kinds[number % len(kinds)]
    draw, options = KINDS[kind]
    try:
        result = solve(draw(number), time_limit=TIME_LIMIT, **options)
    except ForethoughtError as error:
        return f"{kind}: {type(error).__name__}"
    return f"{kind}: {result.status.name.lower()}, tier {result.statistics.tier or 'none'}"


def count_held() -> tuple[float, int, int, int, int]:
    """Return what this process holds: MB, blocks of memory, objects, threads and open files."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    files = len(list(Path("/proc/self/fd").iterdir()))
    return resident / 1e6, sys.getallocatedblocks(), len(gc.get_objects()), threading.active_count(), files


def measure(searches: int, rows: int, kinds: list[str], outcomes: Counter[str]) -> Iterator[list[str]]:
    """Yield what the process holds after each of `rows` equal parts of the `searches`; count the `outcomes`."""
    for number in range(searches):
        outcomes[search(number, kinds)] += 1
        if (number + 1) % (searches // rows) == 0:
            held = count_held()
            yield [
                f"{number + 1:,}",
                f"{held[0]:.0f}",
                *[f"{each:,}" for each in held[1:]],
                f"{time.process_time():.0f}",
            ]


def main(
    searches: Annotated[int, typer.Option(min=1, help="Number of searches.")] = 10_000,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 10,
    kinds: Annotated[list[str], typer.Option("--kind", help="A kind of problems; may be repeated.")] = [*KINDS],  # noqa: B006 - typer reads it
) -> None:
    """Print what the process holds as a Markdown table."""
    outcomes = Counter[str]()
    made = []
    for row in measure(searches, rows, kinds, outcomes):
        tell("\t".join(row))
        made.append(row)
    give(format_table(HEAD, made))
    for name, many in sorted(outcomes.items()):
        tell(f"{many:6,} {name}")


if __name__ == "__main__":
    typer.run(main)

"""What a number saves its author: fuel as objects, one for each level, beside fuel as a function.

`python -m benchmarks.level_objects` writes one haulage domain both ways, with more and more levels, and prints what its
author writes (lines of the domain; lines, objects and facts of the problem) and the CPU time to read it and to find the
first plan. All plans are validated and have the same actions, or it ends with exit code 10. The level objects are left
out where they would be more than `--most`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from planner import read_documents, solve, validate
from planner.model import Problem
from planner.plan import Plan

TRIP: Final = 12
"""Roads from the depot to the last shop, each of which takes one level of fuel."""

COMMON: Final = """\
  at: [truck, place]
  lies: [crate, place]
  in: [crate, truck]
  road: [place, place]
"""
LOADING: Final = """\
  load:
    parameters: {c: crate, t: truck, p: place}
    requires: ["lies(c, p)", "at(t, p)"]
    provides: ["in(c, t)"]
    modifies: ["lies(c, _)"]
  unload:
    parameters: {c: crate, t: truck, p: place}
    requires: ["in(c, t)", "at(t, p)"]
    provides: ["lies(c, p)"]
    modifies: ["in(c, _)"]
"""
LEVELS: Final = f"""\
domain: haul
types: {{truck: object, crate: object, place: object, depot: place, level: object}}
predicates:
{COMMON}\
  fuel: [truck, level]
  next: [level, level]
actions:
  drive:
    parameters: {{t: truck, a: place, b: place, l: level, m: level}}
    requires: ["at(t, a)", "road(a, b)", "fuel(t, l)", "next(m, l)"]
    provides: ["at(t, b)", "fuel(t, m)"]
    modifies: ["at(t, _)", "fuel(t, _)"]
  refuel:
    parameters: {{t: truck, d: depot, l: level, m: level}}
    requires: ["at(t, d)", "fuel(t, l)", "next(l, m)"]
    provides: ["fuel(t, m)"]
    modifies: ["fuel(t, _)"]
{LOADING}"""
NUMBERS: Final = f"""\
domain: haul
types: {{truck: object, crate: object, place: object, depot: place}}
predicates:
{COMMON}\
functions:
  fuel: {{parameters: [truck], low: 0, high: TANK}}
actions:
  drive:
    parameters: {{t: truck, a: place, b: place}}
    requires: ["at(t, a)", "road(a, b)"]
    provides: ["at(t, b)"]
    modifies: ["at(t, _)", "fuel(t) -= 1"]
  refuel:
    parameters: {{t: truck, d: depot}}
    requires: ["at(t, d)"]
    modifies: ["fuel(t) += 1"]
{LOADING}"""


def write_domain(levels: int, *, numbers: bool) -> str:
    """Return the haulage domain with fuel in so many levels."""
    return NUMBERS.replace("TANK", str(levels - 1)) if numbers else LEVELS


def write_problem(levels: int, *, numbers: bool) -> str:
    """Return the problem to bring a crate from the depot to the last shop, with two levels of fuel at the start."""
    shops = [f"shop{n}" for n in range(1, TRIP + 1)]
    ways = zip(["base", *shops[:-1]], shops, strict=True)
    objects = ["  t1: truck", "  c1: crate", "  base: depot", *[f"  {shop}: place" for shop in shops]]
    facts = ["at(t1, base)", "lies(c1, base)"]
    facts += [road for a, b in ways for road in (f"road({a}, {b})", f"road({b}, {a})")]
    lines = ["problem: monday", "objects:", *objects]
    if numbers:
        lines += ["values:", "  fuel(t1): 2"]
    else:
        lines += [f"  l{n}: level" for n in range(levels)]
        facts += ["fuel(t1, l2)", *[f"next(l{n}, l{n + 1})" for n in range(levels - 1)]]
    lines += ["initial:", *[f'  - "{fact}"' for fact in facts], f'goal: ["lies(c1, {shops[-1]})"]']
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to write the domain: its size, CPU seconds to read it and to find the first plan, and the steps."""

    lines: tuple[int, int]
    problem: Problem
    seconds: tuple[float, float]
    plan: Plan


def measure(levels: int, *, numbers: bool) -> Measured:
    """Return what the domain with so many levels takes; raises `AssertionError` where no valid plan is found."""
    domain, problem = write_domain(levels, numbers=numbers), write_problem(levels, numbers=numbers)
    started = time.process_time()
    (found,) = read_documents(f"{domain}---\n{problem}").problems
    read = time.process_time()
    plan = solve(found, mode="first", time_limit=None).expect_plan()
    solved = time.process_time()
    assert isinstance(found, Problem)
    assert validate(found, plan).valid
    return Measured((domain.count("\n"), problem.count("\n")), found, (read - started, solved - read), plan)


def compare(levels: list[int], most: int) -> Iterator[Measured]:
    """Print a line for each number of levels and way to write them; yield what was measured."""
    typer.echo(" levels fuel as        lines  objects  facts    read    plan steps")
    for count in levels:
        for numbers in (False, True):
            if numbers or count <= most:
                found = measure(count, numbers=numbers)
                typer.echo(f"{count:>7} {'number' if numbers else 'objects':<8} {describe(found)}")
                yield found


def describe(found: Measured) -> str:
    """Return the columns for one way to write the domain."""
    (domain, problem), (read, solved), stated = found.lines, found.seconds, found.problem
    sizes = f"{domain:>4} + {problem:>4} {len(stated.objects):>8} {len(stated.initial):>6}"
    return f"{sizes} {read:>6.2f}s {solved:>6.2f}s {len(found.plan):>5}"


def main(
    levels: Annotated[list[int] | None, typer.Option(help="Numbers of levels, smallest first.")] = None,
    most: Annotated[int, typer.Option(help="Most level objects.")] = 10_000,
) -> None:
    """Compare fuel as level objects with fuel as a number."""
    for numbers in (False, True):
        measure(TRIP + 2, numbers=numbers)  # what the first call imports and loads is not counted
    plans = [each.plan for each in compare(levels or [20, 100, 1_000, 10_000], most)]
    if len({tuple(sorted(step.action for step in plan.steps if step.action != "refuel")) for plan in plans}) > 1:
        typer.echo("the plans differ", err=True)
        raise typer.Exit(10)


if __name__ == "__main__":
    typer.run(main)

"""`forethought bench patch`: patch plans that somebody else's actions broke, and compare with planning from scratch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from random import Random
from statistics import mean, median
from typing import Annotated, Final

import typer

from benchmarks.commands.options import check_choices, parse_integers
from benchmarks.random_problems import Features, random_problem
from benchmarks.report import format_table
from planner import Atom, Plan, Problem, Status, Step, patch, solve
from planner.model import Number
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate


def measure_patches(
    *,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", help="Domain to use; may be repeated. By default all.")
    ] = None,
    cases: Annotated[int, typer.Option("--cases", min=1, help="Number of broken plans of each domain.")] = 20,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Size of the problems, for all domains.")] = None,
    weights: Annotated[str, typer.Option("--weights", help="Costs of a dropped step, separated by commas.")] = "0,1,5",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the first problem.")] = 0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit of each patch and each plan, in seconds.")
    ] = 10.0,
) -> None:
    """Break plans, patch them, and plan from scratch: cost, steps kept and time of each."""
    check_choices("--domain", domain or (), SIZES)
    costs = parse_integers("--weights", weights, "0,1,5")
    measured = []
    for name in domain or SIZES:
        for case in generate_broken_plans(name, size or SIZES[name], cases, seed, time_limit):
            measured += measure(case, costs, time_limit)
            typer.echo(f"{name}  {len(case.remaining)} steps left  {measured[-1].milliseconds:.0f} ms", err=True)
    typer.echo(patching_table(measured), nl=False)


SIZES: Final = {"assistant": 8, "courier": 5, "elevator": 7, "runbook": 7, "secretary": 6, "stacking": 10, "random": 8}
"""The domains, and the size of problems from which a plan has a few dozen steps."""
MEDDLING: Final = 3
"""So many actions somebody else takes at most."""
TRIES: Final = 20
"""So often another break is tried for a plan that goes on working."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A plan that broke: `problem` as it stands, and the `remaining` steps, which do not work any more."""

    domain: str
    problem: Problem
    remaining: tuple[Step, ...]


def generate_broken_plans(domain: str, size: int, wanted: int, seed: int, time_limit: float) -> Iterator[Broken]:
    """Yield so many broken plans of random problems; those for which no plan is found in `time_limit` are left out."""
    make = find_generator(domain)
    for number in range(seed, seed + 20 * wanted):
        if wanted == 0:
            return
        rng = Random(number)
        problem = make(number, size)
        plan = solve(problem, mode="first", time_limit=time_limit).plan
        found = None if plan is None or not plan.steps else break_plan(domain, plan, rng)
        if found is not None:
            wanted -= 1
            yield found


def find_generator(domain: str) -> Callable[[int, int], Problem]:
    """Return the generator of a shipped domain, or of random domains: from seed and size to a problem."""
    if domain == "random":
        return lambda seed, size: random_problem(seed, Features(actions=size, objects=size))
    made: Callable[[int, int], Problem] = import_module(f"domains.{domain}").generate
    return made


def break_plan(domain: str, plan: Plan, rng: Random) -> Broken | None:
    """Return `plan` broken somewhere, by actions that somebody else took; None where it always goes on working."""
    for _ in range(TRIES):
        place = rng.randrange(len(plan.steps))
        state = Simulation(plan.problem)
        for step in plan.steps[:place]:
            state.apply(step)
        for _ in range(rng.randint(1, MEDDLING)):
            choices = list(state.applicable())
            if choices:
                state.apply(rng.choice(choices))
        ran = tuple([Atom(step.action, step.arguments) for step in plan.steps[:place]])
        problem = replace(plan.problem, initial=tuple(sorted(state.facts, key=str)), ran=ran)
        if not validate(problem, plan.steps[place:]).valid:
            return Broken(domain, problem, plan.steps[place:])
    return None


HEAD = ("domain", "way", "found", "proved", "cost", "kept", "old steps", "CPU ms, median", "CPU ms, most")
SCRATCH = "from scratch"


@dataclass(frozen=True, slots=True)
class Measured:
    """One way of going on with a broken plan: what its steps cost, and how many of the remaining ones they keep.

    `kept` is the part of the remaining steps that follow unchanged at the end, `old` the part that occur in their order
    somewhere. Times are milliseconds of CPU; cost is None where no steps were found.
    """

    domain: str
    way: str
    proved: bool
    cost: Number | None
    kept: float
    old: float
    milliseconds: float


def measure(case: Broken, weights: Iterable[Number], time_limit: float) -> list[Measured]:
    """Plan from scratch, patch with each weight, and return a measurement of each."""
    began = time.process_time()
    result = solve(case.problem, time_limit=time_limit)
    steps = None if result.plan is None else result.plan.steps
    found = [_measure_steps(case, SCRATCH, result.status, steps, began)]
    for weight in weights:
        began = time.process_time()
        patched = patch(case.problem, case.remaining, weight=weight, time_limit=time_limit)
        found.append(_measure_steps(case, f"patch, w = {weight}", patched.status, patched.steps, began))
    return found


def _measure_steps(case: Broken, way: str, status: Status, steps: tuple[Step, ...] | None, began: float) -> Measured:
    took = 1000 * (time.process_time() - began)
    proved = status in {Status.OPTIMAL, Status.UNSOLVABLE}
    if steps is None:
        return Measured(case.domain, way, proved, None, 0.0, 0.0, took)
    old, new = [[(step.action, step.arguments) for step in each] for each in (case.remaining, steps)]
    kept = next((n for n, (one, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if one != other), None)
    kept = min(len(old), len(new)) if kept is None else kept
    cost = sum((step.cost for step in steps), start=0)
    return Measured(
        case.domain, way, proved, cost, kept / len(old), common_subsequence_length(old, new) / len(old), took
    )


def common_subsequence_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of a longest common subsequence."""
    lengths = [0] * (len(other) + 1)
    for each in one:
        before = lengths[:]
        for place, item in enumerate(other):
            lengths[place + 1] = before[place] + 1 if each == item else max(before[place + 1], lengths[place])
    return lengths[-1]


def patching_table(measured: Sequence[Measured]) -> str:
    """Return means and medians for each domain and way: costs as sums over what all ways of the domain have solved."""
    cells: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        cells.setdefault((one.domain, one.way), []).append(one)
    return format_table(HEAD, [_row(*key, members, cells) for key, members in cells.items()])


def _row(
    domain: str, way: str, members: Sequence[Measured], cells: dict[tuple[str, str], list[Measured]]
) -> tuple[str, ...]:
    rows = [each for (other, _), each in cells.items() if other == domain]
    everywhere = [n for n in range(len(members)) if all(each[n].cost is not None for each in rows)]
    solved = [one for one in members if one.cost is not None]
    cost = sum((members[n].cost or 0 for n in everywhere), start=0)
    times = [one.milliseconds for one in members]
    return (
        domain,
        way,
        f"{len(solved)}/{len(members)}",
        str(sum(one.proved for one in members)),
        str(cost),
        _format_percent([one.kept for one in solved]),
        _format_percent([one.old for one in solved]),
        f"{median(times):.0f}",
        f"{max(times):.0f}",
    )


def _format_percent(parts: Sequence[float]) -> str:
    return f"{100 * mean(parts):.0f} %" if parts else ""

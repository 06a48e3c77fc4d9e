"""`forethought bench foreign`: repair plans with mistakes, compare with planning from scratch, replay the answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Annotated, Final

import typer

from benchmarks.commands.options import DomainFilter, NameFilter, check_choices, select_tasks
from benchmarks.foreign_plans.foreign_plan_cases import (
    SIZES,
    Drawn,
    Spoilt,
    draw_shipped,
    read_competition,
    spoil_plans,
)
from benchmarks.patch_comparison import common_subsequence_length
from benchmarks.report import format_table
from executor.agent.foreign_plans.repair_plan import Repaired, RepairStatus, repair_plan
from planner import Step, solve, validate
from planner.cli.output import give, tell
from planner.model import Number
from planner.semantics.simulation import Simulation

WRONG = 10


def foreign(
    suite: Annotated[
        Path | None, typer.Argument(metavar="[SUITE]", help="Folder of tasks whose plans get mistakes too.")
    ] = None,
    *,
    plans: Annotated[int, typer.Option("--plans", min=1, help="Number of plans.")] = 300,
    seed: Annotated[int, typer.Option("--seed", help="Seed of problems and mistakes.")] = 0,
    source: Annotated[
        list[str] | None, typer.Option("--source", help="Shipped domain, or random; may be repeated. By default all.")
    ] = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit of each repair and each plan, in seconds.")
    ] = 10.0,
) -> None:
    """Put mistakes into optimal plans, repair the plans, and replay the repaired ones.

    The exit code is 10 where an answer makes a false claim.
    """
    check_choices("--source", source or (), SIZES)
    sources = [draw_shipped(each, seed) for each in source or SIZES]
    if suite is not None:
        sources.append(_draw_tasks(suite, domain, name, seed))
    found = []
    for case in spoil_plans(sources, plans, seed, time_limit):
        found.append(measure(case, time_limit))
        if found[-1].wrong:
            tell(f"{case.source} {case.problem.name}, {case.mistake}: {found[-1].wrong}\n{case.written}")
        tell(f"{len(found)} {case.source}, {case.mistake}: {found[-1].status.name}, {found[-1].milliseconds:.0f} ms")
    give(foreign_table(found).rstrip())
    if any(each.wrong for each in found):
        raise typer.Exit(WRONG)


def _draw_tasks(suite: Path, domains: list[str] | None, names: list[str] | None, seed: int) -> Iterator[Drawn]:
    """Return the tasks of a suite: the first of all domains, the second, and so on."""
    numbers: dict[str, int] = {}
    turns = []
    for task in select_tasks(suite, track=None, domains=domains, names=names):
        numbers[task.domain] = numbers.get(task.domain, 0) + 1
        turns.append((numbers[task.domain], task))
    rng = Random(f"tasks {seed}")
    turns.sort(key=lambda each: (each[0], rng.random()))
    return read_competition([(task.domain_path, task.problem_path) for _, task in turns])


HEAD: Final = (
    *("mistakes", "plans", "valid", "repaired", "refused", "least change"),
    *("steps", "kept", "kept from scratch", "cost, optimum = 1", "CPU ms, median", "most"),
    *("from scratch, CPU ms, median", "most"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of one plan.

    `kept` are the given steps in the answer, of so many `given`; `kept_anew` are those that a plan from scratch has.
    Times are milliseconds of CPU. `wrong` says what an answer claims and is not so.
    """

    source: str
    mistake: str
    status: RepairStatus
    least: bool
    given: int
    kept: int
    kept_anew: int
    cost: Number | None
    optimum: Number
    milliseconds: float
    anew: float
    wrong: str = ""


def measure(case: Spoilt, time_limit: float) -> Measured:
    """Repair a plan and plan from scratch, each within `time_limit`, and compare them."""
    began = time.process_time()
    found = repair_plan(case.problem, case.written, time_limit=time_limit)
    took = time.process_time() - began
    began = time.process_time()
    scratch = solve(case.problem, time_limit=time_limit).plan
    took_anew = time.process_time() - began
    given = [_name_of(said.step) for said in found.given]
    new = [] if scratch is None else [_name_of(step) for step in scratch.steps]
    return Measured(
        case.source,
        case.mistake,
        found.status,
        found.least,
        len(given),
        len(found.kept),
        common_subsequence_length(given, new),
        None if found.plan is None else found.plan.cost,
        case.right.cost,
        1000 * took,
        1000 * took_anew,
        find_untruth(case, found),
    )


def find_untruth(case: Spoilt, found: Repaired) -> str:
    """Return what is not so about what repair has claimed, nothing where all is well."""
    if found.plan is None:
        given = [said.step for said in found.given]
        return "a plan that works was refused" if validate(case.problem, given).valid else ""
    verdict = validate(case.problem, found.plan.steps)
    if not verdict.valid:
        return f"it does not work: {verdict.reason}"
    simulation = Simulation(case.problem)
    costs = []
    for step in found.plan.steps:
        costs.append(simulation.cost(step))
        simulation.apply(step)
    if [step.cost for step in found.plan.steps] != costs:
        return "its costs are others"
    pairs = [
        (found.given[place], step)
        for place, step in zip(found.origins, found.plan.steps, strict=True)
        if place is not None
    ]
    changed = [str(step) for said, step in pairs if said.wrong or _name_of(said.step) != _name_of(step)]
    backwards = list(found.kept) != sorted(set(found.kept))
    return f"kept and not the same: {', '.join(changed)}" if changed else "kept in another order" * backwards


def _name_of(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments


def foreign_table(measured: Sequence[Measured]) -> str:
    """Return a line for each kind of mistake, for each source, and for all."""
    rows = [
        (name, [each for each in measured if key(each) == name])
        for key in (_mistake, _source)
        for name in dict.fromkeys(map(key, measured))
    ]
    return format_table(HEAD, [_row(*each) for each in [*rows, ("all", measured)]])


def _mistake(each: Measured) -> str:
    return each.mistake


def _source(each: Measured) -> str:
    return each.source


def _row(name: str, members: Sequence[Measured]) -> tuple[str, ...]:
    statuses = [each.status for each in members]
    dear = [float(each.cost) / float(each.optimum) for each in members if each.cost is not None and each.optimum]
    given = sum(each.given for each in members)
    return (
        name,
        str(len(members)),
        *(str(statuses.count(status)) for status in RepairStatus),
        str(sum(each.least for each in members)),
        str(given),
        f"{100 * sum(each.kept for each in members) / max(given, 1):.0f} %",
        f"{100 * sum(each.kept_anew for each in members) / max(given, 1):.0f} %",
        f"{mean(dear):.2f}" if dear else "",
        *_times([each.milliseconds for each in members]),
        *_times([each.anew for each in members]),
    )


def _times(milliseconds: Sequence[float]) -> tuple[str, str]:
    return f"{median(milliseconds):.0f}", f"{max(milliseconds):.0f}"

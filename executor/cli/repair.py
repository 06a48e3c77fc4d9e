"""`forethought repair`: repair a plan from elsewhere with the fewest changes, or refuse it."""

from __future__ import annotations

import sys
import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from executor.cli.run import Memory, seconds_of
from planner.cli.interrupt import interruptible, limit_memory, remaining_seconds
from planner.cli.options import plan_text, read_plan_text
from planner.cli.output import Exit, give, tell, write_atomically
from planner.errors import InputError, PlanError
from planner.language.loading.load import load
from planner.lightweight import replace
from planner.limits import STOPS, stop_reason
from planner.plan import Status, name_as_written
from planner.problem_kinds import AnyProblem, classical_of, with_sealed_classical

if TYPE_CHECKING:
    from executor.agent.foreign_plans.repair_plan import Repaired

app = typer.Typer()


@app.command()
def repair(
    context: typer.Context,
    domain: Annotated[str, typer.Argument(help="A .py, .yaml, .json, .pddl or .hddl file, or a shipped domain.")],
    problem: Annotated[str, typer.Argument(help="A file, or the name of a problem.")],
    plan: Annotated[str, typer.Argument(help="A file with the plan, as JSON or text; - for stdin.")],
    *,
    goal: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION", help="What is to hold in place of the problem's goal.")
    ] = None,
    plan_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the repaired plan there.")] = None,
    time_limit: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="For all of it; 'none' for no limit.")
    ] = 10.0,
    memory_limit: Memory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages; the plan only.")] = False,
) -> None:
    """Make somebody else's plan work with the least change, or say where it fails."""
    started = context.obj if isinstance(context.obj, float) else time.monotonic()
    memory = limit_memory(memory_limit)
    try:
        with interruptible(remaining_seconds(time_limit, started)) as watchman:
            from executor.agent.foreign_plans.repair_plan import repair_plan

            asked = _load_problem(domain, problem, goal)
            steps = _read_text(plan)
            with watchman.searching() as cancel:
                found = repair_plan(
                    asked, steps, time_limit=remaining_seconds(time_limit, started), memory_limit=memory, cancel=cancel
                )
    except STOPS as stop:
        if as_json:
            give(dumps(_refuse(f"stopped by {stop_reason(stop).value}").to_dict()))
        raise
    _show(found, as_json=as_json, quiet=quiet)
    if plan_file is not None and found.plan is not None:
        write_atomically(plan_file, _write_plan(found))
    raise typer.Exit(_exit_of(found))


def _refuse(reason: str) -> Repaired:
    """Return the result where work ended before the plan was read."""
    from executor.agent.foreign_plans.repair_plan import Repaired, RepairStatus

    return Repaired(RepairStatus.REFUSED, (), reason=reason, search=Status.UNKNOWN)


def _load_problem(domain: str, problem: str, goal: list[str] | None) -> AnyProblem:
    from planner.language.declare import Domain

    found = load(domain, problem)
    if goal is None:
        return found
    classical = classical_of(found)
    try:
        stated = Domain.of(classical.domain).problem(classical.name, objects=classical.objects, goal=goal)
    except InputError as error:
        raise InputError(f"--goal: {error.message}", hint=error.hint) from None
    asked: AnyProblem = with_sealed_classical(found, replace(classical, goal=stated.goal))
    return asked


def _read_text(plan: str) -> str:
    if plan != "-":
        return read_plan_text(Path(plan))
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise PlanError(f"the plan on stdin is no text: {error}") from None


def _show(found: Repaired, *, as_json: bool, quiet: bool) -> None:
    """Print the plan on stdout, and on stderr the changes with their reasons."""
    if as_json:
        give(dumps(found.to_dict()))
    elif found.plan is not None:
        give(_write_plan(found))
    if quiet:
        return
    tell(f"{found.status.name}: {found.status.value}{f' ({found.reason})' if found.reason else ''}")
    if found.counterexample is not None:
        tell(f"as it was given: {found.counterexample.reason}")
    wrong = dict(found.misunderstood)
    for place in found.left_out if found.plan is not None else wrong:
        tell(f"  left out  {place + 1}. {found.given[place].text}{f': {wrong[place]}' if place in wrong else ''}")
    if found.plan is not None:
        steps = name_as_written(found.plan.steps, found.plan.problem)
        for place in found.inserted:
            tell(f"  new       {place + 1}. {steps[place]}")


def _write_plan(found: Repaired) -> str:
    if found.plan is None:
        raise InputError("there is no plan to write")
    return plan_text(found.plan)


def _exit_of(found: Repaired) -> Exit:
    if found.plan is not None:
        return Exit.OK
    codes = {Status.UNSOLVABLE: Exit.NEGATIVE, Status.UNSUPPORTED: Exit.UNSUPPORTED}
    return codes.get(found.search or Status.UNKNOWN, Exit.NO_VERDICT)

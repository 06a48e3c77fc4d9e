"""`forethought validate`: does this plan work, and if not, where does it break and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli import arguments
from planner.cli.exits import Exit
from planner.cli.output import give

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in the competition's format, or in JSON.")]


def validate(domain: arguments.Domain, problem: arguments.Problem, plan: PlanFile) -> None:
    """Check a plan, step by step, against the problem as it was written."""
    from planner.cli.plans import plan_from  # noqa: PLC0415 - each command loads only what it runs
    from planner.load import load  # noqa: PLC0415 - as above
    from planner.validate import validate as judge  # noqa: PLC0415 - as above

    loaded = load(domain, problem)
    found, claimed_cost = plan_from(plan, loaded)
    verdict = judge(loaded, found.steps, claimed_cost=claimed_cost)
    give(str(verdict))
    raise typer.Exit(Exit.OK if verdict.valid else Exit.NEGATIVE)

"""`forethought check`: lint."""

from __future__ import annotations

from collections import Counter

import typer

from planner.budget import Budget
from planner.cli import arguments
from planner.cli.exits import Exit
from planner.cli.interrupt import interruptible
from planner.cli.limits import left, limit_memory
from planner.cli.output import give, tell


def check(
    context: typer.Context,
    domain: arguments.Domain,
    problem: arguments.OptionalProblem = None,
    *,
    time_limit: arguments.TimeLimit = 60.0,
    memory_limit: arguments.MemoryLimit = None,
    quiet: arguments.Quiet = False,
) -> None:
    """Say what is odd about a domain, and with a problem also what can never happen in it."""
    from planner.check import Level, check_domain, check_problem  # noqa: PLC0415 - each command loads what it runs
    from planner.cli.input import domain_or_problem, named  # noqa: PLC0415 - as above
    from planner.model import Problem  # noqa: PLC0415 - as above

    memory = limit_memory(memory_limit)
    with interruptible(left(time_limit, context.obj)):
        loaded = domain_or_problem(domain, problem)
        budget = Budget(left(time_limit, context.obj), memory)
        with named(domain, problem):
            findings = check_problem(loaded, budget) if isinstance(loaded, Problem) else check_domain(loaded)
    if findings:
        give("\n".join(map(str, findings)))
    if not quiet:
        tell(f"{loaded.name}: {_counted(Counter(finding.level.name.lower() for finding in findings))}")
    clean = all(finding.level is Level.NOTE for finding in findings)
    raise typer.Exit(Exit.OK if clean else Exit.NEGATIVE)


def _counted(levels: Counter[str]) -> str:
    """Return "1 error, 2 warnings", or "nothing to report"."""
    words = [
        f"{levels[name]} {name}{'s' if levels[name] > 1 else ''}"
        for name in ("error", "warning", "note")
        if levels[name]
    ]
    return ", ".join(words) or "nothing to report"

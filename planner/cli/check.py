"""`forethought check`: lint."""

from __future__ import annotations

from collections import Counter

from planner.annotations import TYPE_CHECKING, Final
from planner.budget import Budget
from planner.cli.arguments import add_domain, add_limits, add_problem, add_quiet
from planner.cli.exits import Exit
from planner.cli.interrupt import interruptible
from planner.cli.limits import left, limit_memory
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from planner.cli.parser import Parser

ABOUT: Final = "Say what is odd about a domain, and with a problem also what can never happen in it."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    add_limits(parser, default=60.0)
    add_quiet(parser)


def run(
    started: float, *, domain: str, problem: str | None, time_limit: float, memory_limit: float | None, quiet: bool
) -> Exit:
    """Print findings."""
    from planner.check import Level, check_domain, check_problem, worst_first  # noqa: PLC0415 - each command loads what it runs
    from planner.cli.checks import findings_of_others  # noqa: PLC0415 - as above
    from planner.cli.input import given_by, named  # noqa: PLC0415 - as above
    from planner.kinds import is_other_domain, is_other_problem, not_classical  # noqa: PLC0415 - as above
    from planner.load import open_source  # noqa: PLC0415 - as above
    from planner.model import DomainModel, Problem  # noqa: PLC0415 - as above

    memory = limit_memory(memory_limit)
    with interruptible(left(time_limit, started)):
        source = open_source(domain)
        loaded = given_by(source, problem)
        budget = Budget(left(time_limit, started), memory)
        with named(domain, problem):
            if isinstance(loaded, Problem):
                findings = check_problem(loaded, budget)
            elif isinstance(loaded, DomainModel):
                findings = check_domain(loaded)
            elif is_other_problem(loaded):
                findings = loaded.check(budget)
            elif is_other_domain(loaded):
                findings = loaded.check()
            else:
                raise not_classical(loaded, "checking")
            findings = worst_first([*findings, *findings_of_others(source, loaded)])
    if findings:
        give("\n".join(map(str, findings)))
    if not quiet:
        tell(f"{loaded.name}: {_counted(Counter(finding.level.name.lower() for finding in findings))}")
    clean = all(finding.level is Level.NOTE for finding in findings)
    return Exit.OK if clean else Exit.NEGATIVE


def _counted(levels: Counter[str]) -> str:
    """Return "1 error, 2 warnings", or "nothing to report"."""
    words = [
        f"{levels[name]} {name}{'s' if levels[name] > 1 else ''}"
        for name in ("error", "warning", "note")
        if levels[name]
    ]
    return ", ".join(words) or "nothing to report"

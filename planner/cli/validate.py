"""`forethought validate`: does this plan work, and if not, where does it break and why."""

from __future__ import annotations

from pathlib import Path

from planner.cli.exit_codes import Exit
from planner.cli.interrupt import finite, interruptible, left, limit_memory
from planner.cli.options import add_domain, add_limits, add_problem
from planner.cli.output import give
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits

if TYPE_CHECKING:
    from planner.cli.parser import Parser

ABOUT: Final = "Check a plan, step by step, against the problem as it was written."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    parser.add_argument("plan", type=Path, metavar="PLAN", help="A plan in the competition's format, or in JSON.")
    add_limits(parser, default=60.0)


def run(
    started: float, *, domain: str, problem: str | None, plan: Path, time_limit: float, memory_limit: float | None
) -> Exit:
    """Print the verdict."""
    from planner.cli.exit_codes import exit_of_verdict
    from planner.cli.plans import plan_from, text_of
    from planner.language.loading.load import load
    from planner.model import Problem
    from planner.problem_kinds import service_of
    from planner.validation.validate import validate

    limits = Limits(finite(time_limit), limit_memory(memory_limit), started=started)
    with interruptible(left(time_limit, started)) as watchman:
        loaded = load(domain, problem)
        if isinstance(loaded, Problem):
            found, claimed_cost = plan_from(plan, loaded)
            verdict = validate(loaded, found.steps, claimed_cost=claimed_cost)
        else:
            service = service_of(loaded)
            given = service.read_plan(loaded, text_of(plan), str(plan))
            with watchman.checking(given) as limits.cancel:
                verdict = service.validate(loaded, given, limits)
    give(str(verdict))
    return exit_of_verdict(verdict)

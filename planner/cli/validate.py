"""`forethought validate`: does this plan work, and if not, where does it break and why."""

from __future__ import annotations

from pathlib import Path

from planner.annotations import TYPE_CHECKING, Final
from planner.budget import Budget
from planner.cli.arguments import add_domain, add_limits, add_problem
from planner.cli.exits import Exit
from planner.cli.interrupt import interruptible
from planner.cli.limits import finite, left, limit_memory
from planner.cli.output import give

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
    from planner.cli.outcome import exit_of_verdict  # noqa: PLC0415 - each command loads only what it runs
    from planner.cli.plans import plan_from, text_of  # noqa: PLC0415 - as above
    from planner.load import load  # noqa: PLC0415 - as above
    from planner.model import Problem  # noqa: PLC0415 - as above
    from planner.validate import validate  # noqa: PLC0415 - as above

    budget = Budget(finite(time_limit), limit_memory(memory_limit), started=started)
    with interruptible(left(time_limit, started)) as watchman:
        loaded = load(domain, problem)
        if isinstance(loaded, Problem):
            found, claimed_cost = plan_from(plan, loaded)
            verdict = validate(loaded, found.steps, claimed_cost=claimed_cost)
        else:
            given = loaded.read_plan(text_of(plan), str(plan))
            with watchman.checking(given) as budget.cancel:
                verdict = loaded.validate(given, budget)
    give(str(verdict))
    return exit_of_verdict(verdict)

"""`forethought validate`: check whether a plan works, and where and why it fails."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from planner.cli.interrupt import finite_limit, interruptible, limit_memory
from planner.cli.options import add_domain, add_limits, add_problem, read_plan_file
from planner.cli.output import Exit, exit_of_verdict, give
from planner.cli.parser import Parser
from planner.language.loading.load import load
from planner.lightweight import Final
from planner.limits import Limits
from planner.model import Problem
from planner.problem_kinds import service_of

ABOUT: Final = "Check a plan, step by step, against the problem as it is declared."


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    add_domain(parser)
    add_problem(parser)
    parser.add_argument("plan", type=Path, metavar="PLAN", help="A plan in the competition's format, or in JSON.")
    add_limits(parser, default=60.0)


def run(started: float, given: Namespace) -> Exit:
    """Print the verdict on the plan."""
    from planner.validation.validate import validate

    limits = Limits(finite_limit(given.time_limit), limit_memory(given.memory_limit), started=started)
    with interruptible(limits.remaining) as watchman:
        problem = load(given.domain, given.problem)
        plan, claimed_cost = read_plan_file(given.plan, problem)
        if isinstance(problem, Problem):
            verdict = validate(problem, plan if plan.times else plan.steps, claimed_cost=claimed_cost)
        else:
            with watchman.checking(plan) as limits.cancel:
                verdict = service_of(problem).validate(problem, plan, limits)
    give(str(verdict))
    return exit_of_verdict(verdict)

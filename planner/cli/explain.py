"""`forethought explain`: why each step of a plan is there, or why there is no plan and what would give one."""

from __future__ import annotations

from pathlib import Path

from planner.cli.exit_codes import Exit, exit_of, exit_of_verdict
from planner.cli.interrupt import Watchman, finite, interruptible, limit_memory
from planner.cli.options import add_domain, add_limits, add_problem, add_quiet
from planner.cli.output import give, tell
from planner.cli.solve import summary
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan, Result, Status
from planner.problem_kinds import AnyProblem, service_of

if TYPE_CHECKING:
    from planner.cli.parser import Parser
    from planner.language.loading.sources import Source

ABOUT: Final = "Say why each step of a plan is there; or why there is no plan, and what would give one."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    solved_first = "The plan to explain; without one, the problem is solved first."
    parser.add_argument("plan", type=Path, metavar="PLAN", nargs="?", help=solved_first)
    add_limits(parser, default=10.0)
    add_quiet(parser)


def run(
    started: float,
    *,
    domain: str,
    problem: str | None,
    plan: Path | None,
    time_limit: float,
    memory_limit: float | None,
    quiet: bool,
) -> Exit:
    """Print reasons."""
    from planner.cli.options import named
    from planner.language.loading.load import load_from, open_source

    limits = Limits(finite(time_limit), limit_memory(memory_limit), started=started)
    with interruptible(limits.remaining) as watchman:
        source = open_source(domain)
        if plan is None and problem is not None and is_plan(problem, source):
            plan, problem = Path(problem), None
        loaded = load_from(source, problem)
        if plan is not None:
            return explain_given(loaded, plan, limits, watchman)
        with named(domain, problem), watchman.searching() as limits.cancel:
            result = solved(loaded, limits)
    if not quiet or result.status is Status.UNSUPPORTED:
        tell(summary(result))
    if result.plan is not None:
        give(explained(result.plan, limits))
    elif result.status is Status.UNSOLVABLE:
        give(reasons(loaded, limits))
    return exit_of(result)


def is_plan(text: str, source: Source) -> bool:
    """Return whether what follows the domain is a plan for its own problem: a file that no problem is read from."""
    from planner.language.loading.load import is_readable

    own = source.problems()
    return bool(own) and text not in own and not is_readable(text) and Path(text).is_file()


def explain_given(problem: AnyProblem, path: Path, limits: Limits, watchman: Watchman) -> Exit:
    """Explain the plan in the file at `path`, or say why it does not work."""
    from planner.cli.plans import plan_from, text_of
    from planner.validation.validate import validate

    if isinstance(problem, Problem):
        plan, _ = plan_from(path, problem)
        verdict = validate(problem, plan.steps)
        text = explained(plan, limits) if verdict.valid else str(verdict)
    else:
        service = service_of(problem)
        plan = service.read_plan(problem, text_of(path), str(path))
        with watchman.checking(plan) as limits.cancel:
            verdict = service.validate(problem, plan, limits)
            text = explained(plan, limits) if verdict.valid else str(verdict)
    give(text)
    return exit_of_verdict(verdict)


def solved(problem: AnyProblem, limits: Limits) -> Result:
    """Solve `problem` within what is left of `limits`."""
    from planner.solve import solve

    return solve(problem, time_limit=limits.remaining, memory_limit=limits.memory_limit, cancel=limits.cancel)


def explained(plan: Plan, limits: Limits) -> str:
    """Return why each step of a valid plan is there; raises `LimitReached`."""
    from planner.explain.plan_explanation import explain_plan

    if not isinstance(plan.problem, Problem):
        return str(service_of(plan.problem).explain_plan(plan.problem, plan, limits))
    return str(explain_plan(plan.problem, plan))


def reasons(problem: AnyProblem, limits: Limits) -> str:
    """Return why there is no plan, which is proved, and what would give one, in as much time again as `limits` had."""
    from planner.explain.unsolvability import explain_unsolvable

    again = Limits(limits.time_limit, limits.memory_limit)
    if not isinstance(problem, Problem):
        return str(service_of(problem).explain_unsolvable(problem, again))
    return str(explain_unsolvable(problem, again).knowing_unsolvable())

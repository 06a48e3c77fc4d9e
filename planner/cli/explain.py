"""`forethought explain`: why each step of a plan is there, or why there is no plan and which change would give one."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from planner.cli import options
from planner.cli.interrupt import Watchman, finite_limit, interruptible, limit_memory
from planner.cli.output import Exit, exit_of, exit_of_verdict, give, tell
from planner.cli.parser import Parser
from planner.cli.solve import summarise
from planner.language.loading.load import Source, is_file, is_readable, load_from, open_source
from planner.lightweight import Final
from planner.limits import Limits
from planner.model import Problem, is_temporal
from planner.plan import Plan, Status
from planner.problem_kinds import AnyProblem, service_of

ABOUT: Final = "Explain why each step of a plan is there, or why there is no plan and what would give one."


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    options.add_domain(parser)
    options.add_problem(parser)
    about = "The plan to explain; without one, the problem is solved first."
    parser.add_argument("plan", type=Path, metavar="PLAN", nargs="?", help=about)
    options.add_limits(parser, default=10.0)
    options.add_quiet(parser)


def run(started: float, given: Namespace) -> Exit:
    """Explain the given or found plan, or explain why there is none."""
    from planner.solve import solve

    domain, problem, plan = given.domain, given.problem, given.plan
    limits = Limits(finite_limit(given.time_limit), limit_memory(given.memory_limit), started=started)
    with interruptible(limits.remaining) as watchman:
        source = open_source(domain)
        if plan is None and problem is not None and _is_plan(problem, source):
            plan, problem = Path(problem), None
        loaded = load_from(source, problem)
        if plan is not None:
            return _explain_given(loaded, plan, limits, watchman)
        with options.name_source(domain, problem), watchman.searching() as limits.cancel:
            memory = limits.memory_limit
            result = solve(loaded, time_limit=limits.remaining, memory_limit=memory, cancel=limits.cancel)
    if not given.quiet or result.status is Status.UNSUPPORTED:
        tell(summarise(result))
    if result.plan is not None:
        give(_explain_steps(result.plan, limits))
    elif result.status is Status.UNSOLVABLE:
        give(_explain_unsolvable(loaded, limits))
    return exit_of(result)


def _is_plan(text: str, source: Source) -> bool:
    """Return whether the word after the domain is a plan for the domain's own problem: a file without a problem."""
    own = source.problems()
    return bool(own) and text not in own and not is_readable(text) and is_file(text)


def _explain_given(problem: AnyProblem, path: Path, limits: Limits, watchman: Watchman) -> Exit:
    """Explain the plan in the file at `path`, or say why it does not work."""
    from planner.validation.timed_replay import in_turn
    from planner.validation.validate import validate

    plan, _ = options.read_plan_file(path, problem)
    if isinstance(problem, Problem):
        if is_temporal(problem) and not plan.times:
            plan = in_turn(problem, plan.steps)
        verdict = validate(problem, plan if plan.times else plan.steps)
        text = _explain_steps(plan, limits) if verdict.valid else str(verdict)
    else:
        with watchman.checking(plan) as limits.cancel:
            verdict = service_of(problem).validate(problem, plan, limits)
            text = _explain_steps(plan, limits) if verdict.valid else str(verdict)
    give(text)
    return exit_of_verdict(verdict)


def _explain_steps(plan: Plan, limits: Limits) -> str:
    """Explain why each step of a valid plan is there; raises `LimitReached`."""
    from planner.explain.plan_explanation import explain_plan

    if not isinstance(plan.problem, Problem):
        return str(service_of(plan.problem).explain_plan(plan.problem, plan, limits))
    if is_temporal(plan.problem):
        from planner.explain.timed_explanation import explain_times

        return str(explain_times(plan.problem, plan))
    return str(explain_plan(plan.problem, plan))


def _explain_unsolvable(problem: AnyProblem, limits: Limits) -> str:
    """Explain why `problem`, which is proved unsolvable, has no plan; the limits begin anew."""
    from planner.explain.unsolvability import explain_unsolvable

    again = Limits(limits.time_limit, limits.memory_limit)
    if not isinstance(problem, Problem):
        return str(service_of(problem).explain_unsolvable(problem, again))
    return str(explain_unsolvable(problem, again).as_unsolvable())

"""`forethought explain`: why each step of a plan is there, or why there is no plan and which change would give one."""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from json import dumps
from pathlib import Path

from planner.cli import options
from planner.cli.interrupt import Watchman, finite_limit, interruptible, limit_memory
from planner.cli.output import Exit, exit_of, exit_of_verdict, give, tell
from planner.cli.parser import Parser, option
from planner.cli.solve import summarise
from planner.language.loading.load import Source, is_file, is_readable, load_from, open_source
from planner.lightweight import Final
from planner.limits import Limits
from planner.model import Problem, is_temporal
from planner.plan import Status, StoppedBy
from planner.problem_kinds import AnyProblem, Reasons, service_of

ABOUT: Final = "Explain why each step of a plan is there, or why there is no plan and what would give one."


QUESTIONS: Final = (
    option(
        "plan", "The plan to explain; without one, the problem is solved first.", type=Path, metavar="PLAN", nargs="?"
    ),
    option(
        "--why-not",
        "Answer why the plan does not do something: 'by truck1', 'without step 3', 'load before drive', 'cheaper'.",
        action="append",
        default=[],
        metavar="QUESTION",
    ),
    option(
        "--what-if",
        "Say what changes if something were different: 'not door(a, b)', 'fuel(r2) = 5', 'cost <= 9'.",
        action="append",
        default=[],
        metavar="CHANGE",
    ),
)
FORMAT: Final = (option("--json", "Print the explanation as JSON.", action="store_true"),)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    options.add_domain(parser)
    options.add_problem(parser)
    parser.add_all(QUESTIONS)
    options.add_limits(parser, default=10.0)
    parser.add_all(FORMAT)
    options.add_quiet(parser)


def run(started: float, given: Namespace) -> Exit:
    """Explain the given or found plan, or explain why there is none."""
    from planner.explain.any_problem import explain_any_plan, explain_no_plan
    from planner.solve import solve

    domain, problem, plan = given.domain, given.problem, given.plan
    limits = Limits(finite_limit(given.time_limit), limit_memory(given.memory_limit), started=started)
    with interruptible(limits.remaining) as watchman:
        source = open_source(domain)
        if plan is None and problem is not None and _is_plan(problem, source):
            plan, problem = Path(problem), None
        loaded = load_from(source, problem)
        questions = [*given.why_not, *[f"if {each}" for each in given.what_if]]
        if questions:
            with watchman.searching() as limits.cancel:
                return _answer(loaded, questions, plan, limits, as_json=given.json)
        if plan is not None:
            return _explain_given(loaded, given, plan, limits, watchman)
        with options.name_source(domain, problem), watchman.searching() as limits.cancel:
            if isinstance(loaded, Problem) and is_temporal(loaded):
                return _explain_in_time(loaded, limits, given)
            memory = limits.memory_limit
            result = solve(loaded, time_limit=limits.remaining, memory_limit=memory, cancel=limits.cancel)
    if not given.quiet or result.status is Status.UNSUPPORTED:
        tell(summarise(result))
    if result.plan is not None:
        _give(explain_any_plan(result.plan, limits), given)
    elif result.status is Status.UNSOLVABLE:
        again = Limits(limits.time_limit, limits.memory_limit)
        _give(explain_no_plan(loaded, again, model_changes=True), given)
    return exit_of(result)


def _explain_in_time(problem: Problem, limits: Limits, given: Namespace) -> Exit:
    """Solve a problem in time in half of the time, and explain in the rest its plan, or why there is none."""
    from planner.explain.any_problem import explain_any_plan
    from planner.explain.timed_unsolvability import explain_no_plan_in_time
    from planner.solve import solve

    half = limits.share(1 / 2)
    result = solve(problem, time_limit=half.remaining, memory_limit=half.memory_limit, cancel=half.cancel)
    if not given.quiet or result.status is Status.UNSUPPORTED:
        tell(summarise(result))
    if result.plan is not None:
        _give(explain_any_plan(result.plan, limits), given)
    elif result.status is not Status.UNSUPPORTED and result.stopped_by is not StoppedBy.CANCELLED:
        found = explain_no_plan_in_time(problem, limits)
        _give(found, given)
        if found.stopped_by is StoppedBy.CANCELLED:
            return Exit.INTERRUPTED
        if found.solvable is not None:
            return Exit.OK if found.solvable else Exit.NEGATIVE
    return exit_of(result)


def _give(found: Reasons, given: Namespace) -> None:
    """Write an explanation to stdout."""
    give(dumps(found.to_dict(), indent=2, ensure_ascii=False) if given.json else str(found))


def _answer(problem: AnyProblem, questions: list[str], path: Path | None, limits: Limits, *, as_json: bool) -> Exit:
    """Answer contrastive questions about the plan at `path`, or about the best one that is found.

    The exit code is that of the last question: 10 where what it asks for is proved impossible, 11 where that is open.
    """
    from planner.explain.contrastive_answer import Outcome
    from planner.explain.why_not import ask

    plan = None if path is None else options.read_plan_file(path, problem)[0]
    answers = [
        ask(problem, each, limits.share(1 / (len(questions) - number)), plan) for number, each in enumerate(questions)
    ]
    if as_json:
        data = [each.to_dict() for each in answers]
        give(dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False))
    else:
        give("\n\n".join(map(str, answers)))
    last = answers[-1]
    if last.stopped_by is StoppedBy.CANCELLED:
        return Exit.INTERRUPTED
    codes = {Outcome.IMPOSSIBLE: Exit.NEGATIVE, Outcome.OPEN: Exit.NO_VERDICT}
    return codes.get(last.outcome, Exit.OK)


def _is_plan(text: str, source: Source) -> bool:
    """Return whether the word after the domain is a plan for the domain's own problem: a file without a problem."""
    own = source.problems()
    return bool(own) and text not in own and not is_readable(text) and is_file(text)


def _explain_given(problem: AnyProblem, given: Namespace, path: Path, limits: Limits, watchman: Watchman) -> Exit:
    """Explain the plan in the file at `path`, or say why it does not work."""
    from planner.explain.any_problem import explain_any_plan
    from planner.validation.validate import validate_in_turn

    plan, _ = options.read_plan_file(path, problem)
    if isinstance(problem, Problem):
        plan, verdict = validate_in_turn(problem, plan)
        with watchman.searching() if plan.times else nullcontext() as limits.cancel:
            found: Reasons = explain_any_plan(plan, limits) if verdict.valid else verdict
    else:
        with watchman.checking(plan) as limits.cancel:
            verdict = service_of(problem).validate(problem, plan, limits)
            found = explain_any_plan(plan, limits) if verdict.valid else verdict
    _give(found, given)
    return exit_of_verdict(verdict)

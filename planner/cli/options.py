"""Arguments and options that several commands share: problems, plan files, limits, and changes of the problem.

The changes are `--budget`, `--deadline` and `--soft`. A command is about a problem. Where none is named, it is about
the first problem of the domain's own, or else about the domain.
"""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.cli.parser import Parser, choice_of, read_amount, read_gibibytes, read_positive_number, read_seconds
from planner.compilations.budgets import with_budgets
from planner.errors import InputError, Location, PlanError, did_you_mean
from planner.language.loading.load import is_file, is_text, load
from planner.lightweight import TYPE_CHECKING, Any, replace
from planner.model import Problem, SoftGoal
from planner.options import PRUNING_KINDS
from planner.plan import Plan, exact
from planner.problem_kinds import AnyProblem, classical_of, service_of, with_classical

if TYPE_CHECKING:
    from planner.model import Number

    SoftGoalText = tuple[str, Number]


def add_domain(parser: Parser) -> None:
    """Add DOMAIN."""
    about = "A .py, .yaml, .json, .pddl or .hddl file, a folder, or the name of a shipped domain."
    parser.add_argument("domain", metavar="DOMAIN", help=about)


def add_problem(parser: Parser) -> None:
    """Add PROBLEM, which is optional."""
    about = "A problem file or the name of a problem; needed if DOMAIN has no problem, or several."
    parser.add_argument("problem", metavar="PROBLEM", nargs="?", help=about)


def add_limits(parser: Parser, *, default: float) -> None:
    """Add the time limit, of `default` seconds unless stated, and the memory limit."""
    about = "Time limit in seconds, reading included; 'none' for no limit (default: %(default)g)."
    parser.add_argument("--time-limit", type=read_seconds, default=default, metavar="SECONDS", help=about)
    about = "Memory limit of the process; 'none' for no limit (default: 80%% of the available memory)."
    parser.add_argument("--memory-limit", type=read_gibibytes, metavar="GiB", help=about)


def add_plain(parser: Parser) -> None:
    """Add `--plain`, and the options that need it."""
    about = "Run one search in one tier without unasked pruning: the same counts in every run, on every machine."
    parser.add_argument("--plain", action="store_true", help=about)
    about = f"Pruning of a plain search: {', '.join(PRUNING_KINDS[:-1])} or {PRUNING_KINDS[-1]}; may be repeated."
    parser.add_argument("--pruning", action="append", type=choice_of(*PRUNING_KINDS), metavar="NAME", help=about)
    about = "Number of expanded states after which a plain search ends."
    parser.add_argument("--expansion-limit", type=read_positive_number, metavar="N", help=about)


def plain_options(given: Namespace) -> dict[str, Any]:
    """Return the options of `solve` for plain search; raises `InputError` for those that need `--plain`."""
    for name in ("pruning", "expansion_limit"):
        if getattr(given, name) is not None and not given.plain:
            raise InputError(f"--{name.replace('_', '-')} is for plain search", hint="add '--plain'")
    return {
        "plain": given.plain,
        "pruning": tuple(dict.fromkeys(given.pruning or ())),
        "expansion_limit": given.expansion_limit,
    }


def add_quiet(parser: Parser) -> None:
    """Add `--quiet`."""
    parser.add_argument("-q", "--quiet", action="store_true", help="Print no messages and no progress, only errors.")


def add_problem_changes(parser: Parser) -> None:
    """Add `--budget`, `--deadline` and `--soft`, which change the problem."""
    about = "Budget on the cost ('cost=9') or on a resource ('money=5'); may be repeated."
    parser.add_argument("--budget", action="append", type=_read_budget, metavar="NAME=AMOUNT", help=about)
    about = "Longest duration of a plan; independent steps run at the same time."
    parser.add_argument("--deadline", type=_read_deadline, metavar="SECONDS", help=about)
    about = "Soft goal and its utility ('at(r2, lab)=5'); may be repeated."
    parser.add_argument("--soft", action="append", type=_read_soft_goal, metavar="CONDITION=UTILITY", help=about)


def _read_budget(text: str) -> tuple[str, Number]:
    """Read `NAME=AMOUNT`."""
    name, _, number = text.partition("=")
    if not name or not number:
        raise ArgumentTypeError(f"{text!r} is no budget, such as 'money=5'")
    return name, read_amount(number)


def _read_deadline(text: str) -> Number:
    """Read a time above 0."""
    found = read_amount(text)
    if not found:
        raise ArgumentTypeError("the deadline is 0; it must be above 0, in seconds")
    return found


def _read_soft_goal(text: str) -> SoftGoalText:
    """Read `CONDITION=UTILITY`; conditions may have equals signs themselves."""
    condition, _, utility = text.rpartition("=")
    if not condition.strip() or not utility.strip():
        raise ArgumentTypeError(f"{text!r} is no wish, such as 'at(r2, lab)=5'")
    return condition.strip(), exact(read_amount(utility.strip()))


def load_changed(given: Namespace) -> AnyProblem:
    """Load the problem that the command names, with its `--budget`, `--deadline` and `--soft`."""
    loaded = load(given.domain, given.problem)
    classical = classical_of(loaded)
    changed = _add_soft_goals(_add_limits(classical, given.budget, given.deadline), given.soft)
    found: AnyProblem = loaded if changed is classical else with_classical(loaded, changed)
    return found


def _add_limits(problem: Problem, budget: list[tuple[str, Number]] | None, deadline: Number | None) -> Problem:
    """Replace budgets and the deadline of `problem`; raises `InputError` for resources that no action uses."""
    if budget:
        known = dict.fromkeys(["cost", *(name for each in problem.domain.actions.values() for name in each.uses)])
        for place, (name, _) in enumerate(budget):
            if name in dict(budget[:place]):
                raise InputError(f"there are two budgets of '{name}'", hint="leave one out")
            if name not in known:
                hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
                raise InputError(f"no action uses '{name}'", hint=hint)
        problem = with_budgets(problem, dict(budget))
    return problem if deadline is None else replace(problem, deadline=deadline)


def _add_soft_goals(problem: Problem, soft: list[SoftGoalText] | None) -> Problem:
    """Add soft goals to `problem`; raises `InputError` for invalid conditions."""
    if not soft:
        return problem
    from planner.language.declare.fields import CodePlace
    from planner.language.declare.problem_builder import ProblemBuilder

    place: Any = CodePlace("--soft")
    builder = ProblemBuilder(problem.domain, {each.name: each for each in problem.objects}, place)
    for condition, utility in soft:
        if utility <= 0:
            raise InputError(f"--soft: {condition} is worth {utility}; it must be above 0")
    wishes = [SoftGoal(builder.condition(condition, place), utility) for condition, utility in soft]
    return replace(problem, goal=replace(problem.goal, soft=(*problem.goal.soft, *wishes)))


def refuse_options(given: Namespace, taken: str, other: str, reason: str) -> None:
    """Raise `InputError` for an option of `given` that is not in `taken` and differs from its default."""
    for name, value in vars(given).items():
        if name not in taken.split() and value not in (None, False, 0, "anytime"):
            raise InputError(f"--{other} goes without --{name.replace('_', '-')}", hint=reason)


@contextmanager
def name_source(domain: str, problem: str | None) -> Iterator[None]:
    """Add the file to an error without a place, which shows only when the problem is processed."""
    try:
        yield
    except InputError as error:
        if error.location is not None:
            raise
        source = problem if problem is not None and is_file(problem) else "<domain text>" if is_text(domain) else domain
        raise type(error)(error.message, Location(source), error.hint) from error


def read_plan_file(path: Path, problem: AnyProblem) -> tuple[Plan, Number | None]:
    """Read a plan for `problem` in the competition's format or in JSON; return it with the cost that the file claims.

    The cost is None where the file claims none. Raises `PlanError` with the place of a mistake.
    """
    from planner.plan_json import read_written_plan

    return read_written_plan(read_plan_text(path), problem, str(path))


def read_plan_text(path: Path) -> str:
    """Return the text of the file at `path`, encoded as problem files are; raises `PlanError`."""
    from planner.language.pddl.syntax import read_text

    return read_text(path, PlanError)


def plan_text(plan: Plan) -> str:
    """Return `plan` in the competition's format; a hierarchical plan is written with its tasks."""
    if plan.tree is not None:
        return service_of(plan.problem).write_plan(plan)
    from planner.language.pddl.plan_files import write_plan

    return write_plan(plan)

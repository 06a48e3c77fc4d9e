"""Arguments and options that several commands share: domain and problem, limits, `--budget`, `--deadline`, `--soft`.

What an option adds is beside what the problem says. A command is about a problem, or about a domain where no problem is
given and the domain has none of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.cli.interrupt import gibibytes, seconds
from planner.cli.policies import amount
from planner.errors import InputError, Location, did_you_mean
from planner.language.loading.load import load_from, open_source
from planner.language.loading.sources import Source
from planner.lightweight import TYPE_CHECKING, Any, replace
from planner.plan import exact
from planner.problem_kinds import AnyDomain, AnyProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.cli.parser import Parser
    from planner.model import Number, Problem
    from planner.problem_kinds import AnyProblem


def add_domain(parser: Parser) -> None:
    """Add DOMAIN."""
    kinds = "A .py, .yaml, .json, .pddl or .hddl file, a folder, or the name of a shipped domain."
    parser.add_argument("domain", metavar="DOMAIN", help=kinds)


def add_problem(parser: Parser, *, optional: bool = False) -> None:
    """Add PROBLEM, which may be `optional`."""
    if optional:
        several = "A file, or a problem's name, where DOMAIN has none or several."
        parser.add_argument("problem", metavar="PROBLEM", nargs="?", help=several)
    else:
        parser.add_argument("problem", metavar="PROBLEM", help="A problem file, or the name of a problem.")


def add_limits(parser: Parser, *, default: float) -> None:
    """Add the limits of time, `default` seconds unless stated, and of memory."""
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=default,
        metavar="SECONDS",
        help="Wall-clock seconds, reading included; 'none' for no limit (default: %(default)g).",
    )
    parser.add_argument(
        "--memory-limit",
        type=gibibytes,
        metavar="GiB",
        help="Memory of the process; 'none' for no limit (default: 80 %% of what is available).",
    )


def add_quiet(parser: Parser) -> None:
    """Add `--quiet`."""
    parser.add_argument("-q", "--quiet", action="store_true", help="No messages and no progress; errors only.")


def add_limiting(parser: Parser) -> None:
    """Add `--budget` and `--deadline`."""
    most = "What a plan may cost ('cost=9') or use of a resource ('money=5'); once for each."
    parser.add_argument("--budget", action="append", type=_budget, metavar="NAME=AMOUNT", help=most)
    soon = "How long a plan may take, where steps that need not wait for each other run at once."
    parser.add_argument("--deadline", type=_seconds, metavar="SECONDS", help=soon)


def _budget(text: str) -> tuple[str, Number]:
    """Read `NAME=AMOUNT`."""
    name, _, number = text.partition("=")
    if not name or not number:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is no budget, such as 'money=5'")
    return name, amount(number)


def _seconds(text: str) -> Number:
    """Read a time, above 0."""
    found = amount(text)
    if not found:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError("the deadline is 0; it must be above 0, in seconds")
    return found


def limited(loaded: AnyProblem, budget: list[tuple[str, Number]] | None, deadline: Number | None) -> AnyProblem:
    """Return the problem with these limits in place of its own; raises `InputError` for resources that nothing uses."""
    from planner.model import Problem

    if not isinstance(loaded, Problem):
        changed = _limited(loaded.classical, budget, deadline)
        other: Any = loaded
        return loaded if changed is loaded.classical else replace(other, classical=changed)
    return _limited(loaded, budget, deadline)


def _limited(problem: Problem, budget: list[tuple[str, Number]] | None, deadline: Number | None) -> Problem:
    if budget:
        known = dict.fromkeys(["cost", *(name for each in problem.domain.actions.values() for name in each.uses)])
        for place, (name, _) in enumerate(budget):
            if name in dict(budget[:place]):
                raise InputError(f"there are two budgets of '{name}'", hint="leave one out")
            if name not in known:
                hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
                raise InputError(f"no action uses '{name}'", hint=hint)
        problem = replace(problem, budgets={**problem.budgets, **dict(budget)})
    return problem if deadline is None else replace(problem, deadline=deadline)


Wish = tuple[str, "Number"]


def add_wishing(parser: Parser) -> None:
    """Add `--soft`."""
    wanted = "What had better hold at the end, and what that is worth ('at(r2, lab)=5'); once for each."
    parser.add_argument("--soft", action="append", type=_wish, metavar="CONDITION=UTILITY", help=wanted)


def _wish(text: str) -> Wish:
    """Read `CONDITION=UTILITY`; conditions may have equals signs themselves."""
    condition, _, utility = text.rpartition("=")
    if not condition.strip() or not utility.strip():
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is no wish, such as 'at(r2, lab)=5'")
    return condition.strip(), exact(amount(utility.strip()))


def wishing(loaded: AnyProblem, soft: Sequence[Wish] | None) -> AnyProblem:
    """Return the problem with these soft goals, too. Raises `InputError` for conditions that it has no words for."""
    if not soft:
        return loaded
    from planner.language.declare.fields import CodePlace
    from planner.language.declare.problem import ProblemBuilder
    from planner.model import Problem, SoftGoal

    classical = loaded if isinstance(loaded, Problem) else loaded.classical
    place: Any = CodePlace("--soft")
    builder = ProblemBuilder(classical.domain, {each.name: each for each in classical.objects}, place)
    for condition, utility in soft:
        if utility <= 0:
            raise InputError(f"--soft: {condition} is worth {utility}; it must be above 0")
    wishes = [SoftGoal(builder.condition(condition, place), utility) for condition, utility in soft]
    changed = replace(classical, goal=replace(classical.goal, soft=(*classical.goal.soft, *wishes)))
    other: Any = loaded
    return changed if classical is loaded else replace(other, classical=changed)


def domain_or_problem(domain: str, problem: str | None) -> AnyProblem | AnyDomain:
    """Return the problem that the arguments name, the first of the domain's own, or else the domain alone."""
    return given_by(open_source(domain), problem)


def given_by(source: Source, problem: str | None) -> AnyProblem | AnyDomain:
    """Return the problem that `source` gives under the name `problem`, or what `domain_or_problem` does without."""
    if problem is not None:
        return load_from(source, problem)
    return next(iter(source.problems().values()), None) or source.domain()


@contextmanager
def named(domain: str, problem: str | None) -> Iterator[None]:
    """Say in which file a mistake is that shows only when the problem is worked on, and has no place of its own."""
    try:
        yield
    except InputError as error:
        if error.location is not None:
            raise
        source = problem if problem is not None and Path(problem).is_file() else domain
        raise type(error)(error.message, Location(source), error.hint) from error

"""`--budget` and `--deadline`: what plans may use and how long they may take, beside what the problem says."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING, Any
from planner.cli.policies import amount
from planner.errors import InputError, did_you_mean
from planner.records import replace

if TYPE_CHECKING:
    from planner.cli.parser import Parser
    from planner.kinds import AnyProblem
    from planner.model import Number, Problem


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
        from argparse import ArgumentTypeError  # noqa: PLC0415 - only mistakes need it

        raise ArgumentTypeError(f"{text!r} is no budget, such as 'money=5'")
    return name, amount(number)


def _seconds(text: str) -> Number:
    """Read a time, above 0."""
    found = amount(text)
    if not found:
        from argparse import ArgumentTypeError  # noqa: PLC0415 - only mistakes need it

        raise ArgumentTypeError("the deadline is 0; it must be above 0, in seconds")
    return found


def limited(loaded: AnyProblem, budget: list[tuple[str, Number]] | None, deadline: Number | None) -> AnyProblem:
    """Return the problem with these limits in place of its own; raises `InputError` for resources that nothing uses."""
    from planner.model import Problem  # noqa: PLC0415 - loaded only where there is a problem

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

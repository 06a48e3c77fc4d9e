"""Looks up the names of a problem once, before anything works on it, whatever way the problem was made.

Readers and `domain.problem(…)` give problems whose names are known. `Problem(…)` and `replace(…)` do not look at what
they are given: here it is read and looked up by the code that reads declared problems.
"""

from __future__ import annotations

from planner.annotations import TypeVar, cast
from planner.classical import check_classical
from planner.errors import InputError, kind_of
from planner.kinds import is_other_problem
from planner.model import Problem

AnyProblem = TypeVar("AnyProblem")


def resolve_problem(problem: AnyProblem) -> AnyProblem:
    """Return `problem` with its goal, constraints and facts read from texts, and every name in it looked up.

    A problem of another kind, such as a hierarchical one, looks its names up itself. Raises `InputError` for what is no
    problem, for names that the domain or the problem does not declare, and for arguments of wrong number or type.
    """
    if is_other_problem(problem):
        return cast("AnyProblem", problem.resolved())
    if not isinstance(problem, Problem):
        raise InputError(f"{kind_of(problem)} is no problem", hint="load(…) and domain.problem(…) give one")
    if not problem.unsealed:
        return problem
    from planner.declare.resolve import resolved  # noqa: PLC0415 - readers give problems that are sealed

    return cast("AnyProblem", resolved(problem))


def resolve_classical(problem: Problem, asked: str, hint: str) -> Problem:
    """Return `problem` as `resolve_problem` does; raises as `check_classical` does for one of another kind."""
    check_classical(problem, asked, hint)
    return resolve_problem(problem)

"""Refuses what is no classical problem, for functions that take no others."""

from __future__ import annotations

from planner.errors import InputError, kind_of
from planner.model import Problem


def check_classical(problem: object, asked: str, hint: str) -> None:
    """Raise `InputError` unless `problem` is classical; `asked` is the function, `hint` says what to do instead."""
    if isinstance(problem, Problem):
        return
    classical = getattr(problem, "classical", None)
    if isinstance(classical, Problem):
        raise InputError(f"{classical.name!r} is {kind_of(problem)}; {asked} takes classical problems", hint=hint)
    raise InputError(f"{kind_of(problem)} is no problem", hint="load(…) and domain.problem(…) give one")

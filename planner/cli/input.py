"""What a command is about: a problem, or a domain where no problem is given and the domain has none of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.errors import InputError, Location
from planner.kinds import AnyDomain, AnyProblem
from planner.load import load_from, open_source
from planner.loading.source import Source


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

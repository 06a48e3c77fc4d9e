"""What a command is about: a problem, or a domain where no problem is given and the domain has none of its own."""

from __future__ import annotations

from planner.load import load, open_source
from planner.model import DomainModel, Problem


def domain_or_problem(domain: str, problem: str | None) -> Problem | DomainModel:
    """Return the problem that the arguments name, the first of the domain's own, or else the domain alone."""
    if problem is not None:
        return load(domain, problem)
    source = open_source(domain)
    return next(iter(source.problems().values()), None) or source.domain()

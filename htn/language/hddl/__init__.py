"""HDDL (Höller et al. 2020), PDDL with tasks and methods: domains and problems are read here.

What is PDDL is read by `planner.language.pddl`; here is what HDDL adds. Writing is in a module of its own,
`htn.language.hddl.hddl_writer`, so that reading does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from htn.language.hddl.hddl_reader import parse_domain, parse_problem, read, read_domain, read_problem

if TYPE_CHECKING:
    from planner.problem_kinds import AnyDomain, AnyProblem

__all__ = ["parse_domain", "parse_problem", "read", "read_domain", "read_problem", "write"]


def write(source: AnyDomain | AnyProblem) -> dict[str, str]:
    """Return a domain, or a problem with its domain, as HDDL: texts by the names of files (see `hddl_writer`)."""
    from htn.language.hddl import hddl_writer

    return hddl_writer.write(source)

"""HDDL (Höller et al., 2020), PDDL with tasks and methods: reads domains and problems.

`planner.language.pddl` reads the PDDL part. `htn.language.hddl.hddl_writer` is loaded only for writing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from htn.language.hddl.hddl_reader import parse_domain, parse_problem, read, read_domain, read_problem

if TYPE_CHECKING:
    from planner.problem_kinds import AnyDomain, AnyProblem

__all__ = ["parse_domain", "parse_problem", "read", "read_domain", "read_problem", "write"]


def write(source: AnyDomain | AnyProblem) -> dict[str, str]:
    """Return a domain, or a problem with its domain, as HDDL: texts by file name (see `hddl_writer`)."""
    from htn.language.hddl import hddl_writer

    return hddl_writer.write(source)

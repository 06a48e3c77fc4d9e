"""Whatever can be written in HDDL, as the texts of files."""

from __future__ import annotations

from htn.derive import as_htn, derived_methods
from htn.hddl.writer import write_domain, write_problem
from htn.model import HtnDomain, HtnProblem
from planner.errors import UnsupportedError
from planner.kinds import AnyDomain, AnyProblem
from planner.model import DomainModel, Problem


def write(source: AnyDomain | AnyProblem) -> dict[str, str]:
    """Return a domain, or a problem with its domain, as HDDL: texts by the names of files.

    What is classical gets the tasks and methods that follow from its actions. Raises as `write_domain` and
    `write_problem` do.
    """
    match source:
        case DomainModel():
            source = derived_methods(source)
        case Problem():
            source = as_htn(source)
    match source:
        case HtnDomain():
            return {"domain.hddl": write_domain(source)}
        case HtnProblem():
            return {"domain.hddl": write_domain(source.domain), "problem.hddl": write_problem(source)}
    raise UnsupportedError(f"writing HDDL for '{source.name}'", "classical and hierarchical problems are written")

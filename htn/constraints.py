"""Constraints on what a decomposition does become conditions and effects of actions, as in classical plans."""

from __future__ import annotations

from htn.model import HtnProblem
from planner.normalise import without_constraints as without_classical
from planner.records import replace


def without_constraints(problem: HtnProblem) -> HtnProblem:
    """Return `problem` without constraints: its plans are those that keep the hard ones."""
    if not problem.classical.constraints:
        return problem
    classical = without_classical(problem.classical)
    return replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))

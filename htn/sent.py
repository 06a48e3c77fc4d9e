"""Hierarchical problems as they are sent to other processes: without Python values, which cannot be."""

from __future__ import annotations

from htn.model import HtnDomain, HtnProblem, sealed
from planner.budget import Budget
from planner.engines.jobs import bare
from planner.normalise import to_adl, without_constraints
from planner.pddl.costs import with_tables
from planner.records import replace


def sent(problem: HtnProblem, budget: Budget) -> HtnProblem:
    """Return `problem` in plain ADL, with tables for costs that Python computes.

    Raises `LimitReached` where `budget` does not suffice for these.
    """
    classical = bare(with_tables(without_constraints(to_adl(problem.classical)), budget))
    domain = HtnDomain(classical.domain, dict(problem.domain.tasks), dict(problem.domain.methods))
    return sealed(replace(problem, domain=domain, classical=classical))

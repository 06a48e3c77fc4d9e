"""PDDL, read and written: domains, problems, single conditions and plans."""

from planner.pddl.conditions import parse_condition
from planner.pddl.domains import parse_domain, read_domain
from planner.pddl.export import Export, Level, export
from planner.pddl.plans import read_plan, write_plan
from planner.pddl.problems import parse_problem, read, read_problem
from planner.pddl.writer import write_domain, write_problem

__all__ = [
    "Export",
    "Level",
    "export",
    "parse_condition",
    "parse_domain",
    "parse_problem",
    "read",
    "read_domain",
    "read_plan",
    "read_problem",
    "write_domain",
    "write_plan",
    "write_problem",
]

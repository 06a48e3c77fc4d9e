"""PDDL, read and written: domains, problems, single conditions and plans."""

from planner.pddl.conditions import parse_condition
from planner.pddl.domains import parse_domain, read_domain
from planner.pddl.problems import parse_problem, read, read_problem
from planner.pddl.writer import write_domain, write_problem

__all__ = [
    "parse_condition",
    "parse_domain",
    "parse_problem",
    "read",
    "read_domain",
    "read_problem",
    "write_domain",
    "write_problem",
]

"""PDDL: read domains, problems and single conditions.

Modules beside this one write, so that reading does not import them: `export` writes any problem for other planners,
`pddl_writer` writes plain ADL, and `plan_files` reads and writes plans.
"""

from planner.language.pddl.pddl_conditions import parse_condition
from planner.language.pddl.pddl_domains import parse_domain, read_domain
from planner.language.pddl.pddl_problems import parse_problem, read, read_problem

__all__ = ["parse_condition", "parse_domain", "parse_problem", "read", "read_domain", "read_problem"]

"""PDDL: domains, problems and single conditions are read here.

Writing is kept in modules of its own, so that reading does not wait for it: `planner.language.pddl.export` (any
problem, for other planners), `planner.language.pddl.writer` (what is plain PDDL already), `planner.language.pddl.plans`
(plan files, both ways).
"""

from planner.language.pddl.conditions import parse_condition
from planner.language.pddl.domains import parse_domain, read_domain
from planner.language.pddl.problems import parse_problem, read, read_problem

__all__ = ["parse_condition", "parse_domain", "parse_problem", "read", "read_domain", "read_problem"]

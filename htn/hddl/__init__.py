"""HDDL (Höller et al. 2020), PDDL with tasks and methods: domains and problems are read here.

What is PDDL is read by `planner.pddl`; here is what HDDL adds. Writing is in a module of its own, `htn.hddl.writer`, so
that reading does not wait for it.
"""

from htn.hddl.domains import parse_domain, read_domain
from htn.hddl.problems import parse_problem, read, read_problem

__all__ = ["parse_domain", "parse_problem", "read", "read_domain", "read_problem"]

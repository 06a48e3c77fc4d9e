"""HDDL (Höller et al. 2020), PDDL with tasks and methods: domains and problems are read and written here.

What is PDDL is read by `planner.pddl`; here is what HDDL adds.
"""

from htn.hddl.domains import parse_domain, read_domain
from htn.hddl.problems import parse_problem, read, read_problem
from htn.hddl.writer import write_domain, write_problem

__all__ = ["parse_domain", "parse_problem", "read", "read_domain", "read_problem", "write_domain", "write_problem"]

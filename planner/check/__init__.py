"""Lint: what can be seen to be odd about a domain, or a problem, without planning."""

from planner.check.findings import Finding, Level
from planner.check.run import check_domain, check_problem, worst_first

__all__ = ["Finding", "Level", "check_domain", "check_problem", "worst_first"]

"""Choosing among plans: criteria, rules, an order, and why it is this one."""

from planner.selection.criteria import Criterion
from planner.selection.rank import rank
from planner.selection.ranking import Excluded, Ranked, Ranking
from planner.selection.rules import Rule, RuleKind

__all__ = ["Criterion", "Excluded", "Ranked", "Ranking", "Rule", "RuleKind", "rank"]

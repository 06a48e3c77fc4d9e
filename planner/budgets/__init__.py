"""Plans within budgets: the cheapest of those that use no more of any resource than they may.

What a budget limits is additive and never negative, so that it is a second cost, and the problem a resource-constrained
shortest path (Handler and Zang, 1980; Mandow and Pérez de la Cruz, 2010). Searches for other costs give plans and
bounds (`surrogates`); a search whose labels carry what was used has the last word (`labels`).
"""

from planner.budgets.strategy import LABELLED, counting, unlabelled, within_budgets

__all__ = ["LABELLED", "counting", "unlabelled", "within_budgets"]

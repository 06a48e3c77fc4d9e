"""Pairs of facts that no plan goes through, and the actions that no plan needs because of them.

values      the task as assignments: variables that always have exactly one value
pairs       h² over them, forwards and backwards: the reference tier
pruning     both by turns, and what comes of it
smaller     the task with what is left
"""

from planner.mutexes.pruning import Mutexes, Pruned, Pruning, pruned

__all__ = ["Mutexes", "Pruned", "Pruning", "pruned"]

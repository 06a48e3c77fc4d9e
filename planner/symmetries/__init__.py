"""Permutations of a task's facts that make the same task of it, initial state aside: states have images, plans too.

structure          whether a permutation is one, exactly
interchangeable    objects that can take each other's place

What is proposed is only a guess, and what is checked is all that proofs rest on.
"""

from planner.symmetries.interchangeable import interchanges
from planner.symmetries.structure import Moved, Structure

__all__ = ["Moved", "Structure", "interchanges"]

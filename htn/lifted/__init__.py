"""Depth-first search for decompositions without grounding."""

from htn.lifted.search import DepthFirst

__all__ = ["DepthFirst"]

"""Depth-first search without grounding."""

"""Grounding of hierarchical problems: reachable actions, tasks and methods."""

"""Hierarchical planning: tasks, methods and decomposition."""

"""Errands that come again: what references, caches and remembered readings save of calls, tokens and search."""

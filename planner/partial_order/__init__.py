"""Partial order."""

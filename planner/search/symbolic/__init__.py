"""Symbolic."""

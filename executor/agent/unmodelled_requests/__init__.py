"""Unmodelled requests."""

"""Contingent."""

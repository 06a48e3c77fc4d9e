"""Reuse."""

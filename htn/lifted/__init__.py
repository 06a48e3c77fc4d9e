"""Lifted."""

"""Abstractions."""

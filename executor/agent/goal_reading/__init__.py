"""Sentences read as goals, and readings that a person has confirmed."""

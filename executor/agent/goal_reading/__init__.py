"""Sentences read as goals, and kept once somebody has confirmed them."""

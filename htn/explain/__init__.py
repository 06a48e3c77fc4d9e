"""Explanations of plans and of unsolvability."""

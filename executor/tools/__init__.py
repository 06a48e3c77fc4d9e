"""Handlers, observers and execution policies of authors, and the values that they receive and return."""

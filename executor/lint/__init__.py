"""Lint of worlds, without a run."""

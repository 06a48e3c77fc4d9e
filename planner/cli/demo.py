"""`forethought demo`: the main job on a shipped domain."""

from __future__ import annotations


def demo() -> None:
    """Declare, solve, prove, explain and validate, in one minute, on a shipped domain."""

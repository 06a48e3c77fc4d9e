"""Symbolic search: bidirectional uniform-cost search over sets of states, kept as decision diagrams (Bryant, 1986).

The library for diagrams is OxiDD, an optional one; it is imported only after a search has lasted.
"""

from __future__ import annotations

from importlib.util import find_spec

from planner.errors import InputError
from planner.lightweight import Final
from planner.search.search_run import Estimate, Run, Steps
from planner.task.state_space import Space

ROOM: Final = 1 << 26
"""Bytes that diagrams may take in this process; `planner.portfolio.symbolic_beside` uses one of its own, and more."""


def symbolic_search(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search for the cheapest plan; gives up where memory ends. Raises `InputError` where OxiDD is not installed."""
    check_there()
    from planner.search.symbolic.bidirectional import symbolic_search

    return (yield from symbolic_search(space.task, run, ROOM))


def is_there() -> bool:
    """Return whether OxiDD is installed."""
    return find_spec("oxidd") is not None


def check_there() -> None:
    """Raise `InputError` if OxiDD is not installed."""
    if not is_there():
        raise InputError("search 'symbolic' needs OxiDD", hint="pip install oxidd")

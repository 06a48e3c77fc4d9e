"""Symbolic search: bidirectional uniform-cost search over sets of states as decision diagrams (Bryant, 1986).

The diagrams are those of OxiDD, an optional library, which is imported only for searches that take long.
"""

from __future__ import annotations

from importlib.util import find_spec

from planner.errors import InputError
from planner.lightweight import Final
from planner.search.search_run import Estimate, Run, Steps
from planner.task.successor_generator import Space

ROOM: Final = 1 << 26
"""Bytes for diagrams in this process; `planner.portfolio.symbolic_process` uses more, in a process of its own."""


def symbolic_search(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search for the cheapest plan; give up if memory runs out.

    Raises `InputError` if OxiDD is not installed.
    """
    require_oxidd()
    from planner.search.symbolic.bidirectional import symbolic_search

    return (yield from symbolic_search(space.task, run, ROOM))


def is_installed() -> bool:
    """Return whether OxiDD is installed."""
    return find_spec("oxidd") is not None


def require_oxidd() -> None:
    """Raise `InputError` if OxiDD is not installed."""
    if not is_installed():
        raise InputError("search 'symbolic' needs OxiDD", hint="pip install oxidd")

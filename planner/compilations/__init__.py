"""Compilations: each turns a problem into one without some construct, and maps the plans back (Nebel, 2000)."""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Any, dataclass
from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled `problem`; `map_back` turns each of its plans into a plan of the declared problem.

    The problem is unsolvable only if the declared one is, and a plan maps back to one that is charged no more.
    """

    problem: Any
    map_back: Callable[[Plan], Plan]


def reserve_name(name: str, taken: set[str], mark: str = "_") -> str:
    """Return `name`, followed by as many `mark`s as make it new, and add it to `taken`."""
    while name in taken:
        name += mark
    taken.add(name)
    return name

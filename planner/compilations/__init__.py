"""Compilations: each turns a problem into one without some construct, and lifts the plans back (Nebel, 2000)."""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Any, Final, dataclass
from planner.model.formulas import Number
from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Claim:
    """What the answer for a compiled problem says of its source.

    `plans`: each plan lifts to a plan of the source, which is charged no more. `bounds`: no plan of the source is
    charged less than a lower bound. `unsolvable`: the source has no plan if the compiled problem has none. `doubt` says
    why not all of this is so.
    """

    plans: bool = True
    bounds: bool = True
    unsolvable: bool = True
    doubt: str = ""


ALL: Final = Claim()
"""The claims of a compilation that keeps all plans."""


def keep_bound(bound: Number) -> Number | None:
    """Return `bound`, which holds for the source as well."""
    return bound


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled `problem`; `lift` turns its plans into those of its source, and `words` what is said of it.

    `claim` tells what its answers say of the source, and `bound` what a lower bound bounds there; None: nothing.
    """

    problem: Any
    lift: Callable[[Plan], Plan]
    claim: Claim = ALL
    words: Callable[[str], str] = str
    bound: Callable[[Number], Number | None] = keep_bound


def reserve_name(name: str, taken: set[str], mark: str = "_") -> str:
    """Return `name`, followed by as many `mark`s as make it new, and add it to `taken`."""
    while name in taken:
        name += mark
    taken.add(name)
    return name

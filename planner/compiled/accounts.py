"""What a compiled search tells the others of its work, and how much of it is done at a time."""

from __future__ import annotations

from array import array
from typing import Any, Final

from planner.compiled.arrays import size
from planner.kernels import numbers as n
from planner.records import dataclass
from planner.search.run import Run

WORK: Final = 4_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
MOST_COST: Final = 1 << 56
"""States are cut off from this cost on: where any were, nothing is proved."""
SPARE: Final = 1 << 52
"""More than any action costs, and than all together."""


def were_cut_off(run: Run, costs: array[int]) -> bool:
    """Return whether states may have been cut off for their cost alone, where all others were reached at `costs`."""
    return run.limit > MOST_COST and max(costs) >= MOST_COST - 2 * SPARE


@dataclass(slots=True)
class Accounts:
    """Adds to the counts of `run` what `number` has more than when it was last looked at."""

    run: Run
    number: array[int]
    evaluated: int = 0
    expanded: int = 0
    generated: int = 0
    stored: int = 0
    stored_bytes: int = 0

    def settle(self, *records: Any) -> None:
        """Bring `run` up to date; `records` are those that grow with the states."""
        number = self.number
        counts = {
            "evaluated": number[n.EVALUATIONS],
            "expanded": number[n.EXPANSIONS],
            "generated": number[n.GENERATED],
            "stored": number[n.STATES],
            "stored_bytes": size(*records),
        }
        for name, count in counts.items():
            setattr(self.run, name, getattr(self.run, name) + count - getattr(self, name))
            setattr(self, name, count)

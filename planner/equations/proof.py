"""That there is no plan, because no numbers of actions could be one."""

from __future__ import annotations

from collections.abc import Generator

from planner.annotations import Final
from planner.compiled.library import ENTRIES
from planner.compiled.lists import Entries
from planner.equations.columns import equation
from planner.equations.linear import WORK, weights
from planner.equations.parity import is_odd
from planner.mutexes.pruning import Knowledge
from planner.mutexes.values import Assignments

SECONDS: Final = 0.3
"""Seconds of processor time for weights: where there are some, they are mostly found in a few milliseconds."""
PLAIN_WORK: Final = 50_000
"""Steps between two pauses where kernels run in plain Python."""


def disproof(
    task: Assignments, pairs: Knowledge, entries: Entries | None, seconds: float = SECONDS
) -> Generator[None, None, str]:
    """Return what shows that no numbers of actions solve the state equation, "parity" or "weights"; else "".

    `pairs` are those that are known of the task by now. Kernels look for weights: `entries`, or as they stand.
    """
    rows = pairs.copy()
    found = yield from equation(task, pairs.needed, lambda value: rows(value) >> value & 1 == 1)
    if found is None:
        return ""
    if is_odd(found):
        return "parity"
    work = PLAIN_WORK if entries is None else WORK
    return "weights" if (yield from weights(found, entries or ENTRIES, seconds, work=work)) else ""

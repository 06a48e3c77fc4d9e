"""Linked lists of numbers, many of them in three arrays: the first and last of each list, and what follows a number."""

from __future__ import annotations

from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, kernel


@kernel
def append(first: Index, last: Index, following: Index, which: int, item: int) -> None:
    """Put `item` at the end of list `which`; `last` counts only where there is a first one."""
    following[item] = NOTHING
    if first[which] == NOTHING:
        first[which] = item
    else:
        following[last[which]] = item
    last[which] = item

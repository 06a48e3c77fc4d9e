"""A queue of facts by value: levels, each with a circular list of facts, so that a fact can change its level at once.

Item f of the lists is fact f, item `facts + l` stands for level l. A level is as many values as `level[SHIFT]` bits can
tell apart, and the last has all greater ones; where it is more than one value, it is looked through for the least.
"""

from __future__ import annotations

from typing import Final

from planner.kernels.data import NOTHING, Exploration
from planner.kernels.kernel import kernel

LEVELS: Final = 1024
LOWEST: Final = 0
"""Where in `Exploration.level` it stands below which level no fact waits."""
SHIFT: Final = 1
"""Where it stands how far values are shifted to be levels."""


@kernel
def push(room: Exploration, fact: int) -> None:
    """Let `fact` wait where its (lowered) value belongs, whether or not it waits already."""
    if room.following[fact] != NOTHING:
        _unlink(room, fact)
    level = min(room.value[fact] >> room.level[SHIFT], LEVELS - 1)
    room.level[LOWEST] = min(level, room.level[LOWEST])
    head = len(room.value) + level
    after = room.following[head] + 0
    room.following[head], room.previous[fact] = fact, head
    room.following[fact], room.previous[after] = after, fact


@kernel
def _unlink(room: Exploration, fact: int) -> None:
    before, after = room.previous[fact] + 0, room.following[fact] + 0
    room.following[before], room.previous[after] = after, before
    room.following[fact] = NOTHING


@kernel
def pop(room: Exploration, limit: int) -> int:
    """Take out and return the fact with the least value, `NOTHING` if none waits with a value below `limit`."""
    facts, level = len(room.value), room.level[LOWEST] + 0
    last = min(limit >> room.level[SHIFT], LEVELS - 1)
    while level <= last and room.following[facts + level] == facts + level:
        level += 1
    room.level[LOWEST] = level
    if level > last:
        return NOTHING
    least = room.following[facts + level] + 0
    if room.level[SHIFT] or level == LEVELS - 1:
        other = room.following[least] + 0
        while other < facts:
            if room.value[other] < room.value[least]:
                least = other
            other = room.following[other] + 0
    if room.value[least] >= limit:
        return NOTHING
    _unlink(room, least)
    return least


@kernel
def forget(room: Exploration) -> None:
    """Empty the queue."""
    facts = len(room.value)
    for head in range(facts + room.level[LOWEST], facts + LEVELS):
        while room.following[head] != head:
            _unlink(room, room.following[head])
    room.level[LOWEST] = LEVELS

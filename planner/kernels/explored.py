"""Explorations of the relaxation that can be left and gone on with.

What an operator waits for, and what it costs as far as that is known, is one number: so few bits of the memory are
looked at for each fact that is reached.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.kernels.data import NOTHING, Exploration, Relaxed
from planner.kernels.kernel import Words, kernel
from planner.kernels.relaxed_plan import REACHED, Achievers, Reachable, achieve

BITS: Final = 20
"""So many bits say how many preconditions an operator waits for; those above are its cost and that of the others."""
MISSING: Final = (1 << BITS) - 1
DEAREST: Final = 1 << 24
"""The greatest value of what can be reached: sums of it fit into a word. It only tells achievers apart."""

MADE: Final = 0
"""Places in `Progress.number`: how many entries were made, how many are left, below which value there are none."""
LEFT: Final = 1
LOWEST: Final = 2


class Progress(NamedTuple):
    """How far an exploration is: what each operator waits for, and `number`, three numbers about what waits."""

    waiting: Words
    number: Words


@kernel
def begin_again(
    relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, progress: Progress
) -> None:
    """Let nothing wait but what the operators that are ready at first achieve."""
    number = progress.number
    if number[LEFT]:
        for bucket in range(number[LOWEST], len(reachable.first)):
            reachable.first[bucket] = NOTHING
    many = 0
    for operator in range(len(relaxed.cost)):
        missing, cost = room.at_first[operator] + 0, min(relaxed.cost[operator], DEAREST)
        progress.waiting[operator] = missing + (cost << BITS)
        if not missing:
            many = achieve(relaxed, room, achievers, reachable, operator, cost, many)
    number[MADE], number[LEFT], number[LOWEST] = many, many, 0


@kernel
def go_on(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    progress: Progress,
    missing: int,
    plan: int,
) -> int:
    """Find the h_add values of the `missing` facts that are wanted, and of what is cheaper; return how many have none.

    They are those that were marked with the number of the `plan`.
    """
    number, waiting = progress.number, progress.waiting
    many, left, bucket = number[MADE] + 0, number[LEFT] + 0, number[LOWEST] + 0
    while left and missing:
        entry = reachable.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        reachable.first[bucket] = reachable.next[entry]
        left -= 1
        fact = reachable.fact[entry] + 0
        if room.looked[fact]:
            continue
        room.looked[fact] = REACHED
        if achievers.wanted[fact] == plan:
            missing -= 1
        step = (room.value[fact] << BITS) - 1
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            now = waiting[operator] + step
            waiting[operator] = now
            if not now & MISSING:
                before = many
                total = min(now >> BITS, DEAREST)
                many = achieve(relaxed, room, achievers, reachable, operator, total, many)
                left += many - before
    number[MADE], number[LEFT], number[LOWEST] = many, left, bucket
    return missing

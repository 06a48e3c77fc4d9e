"""The delete relaxation: what an exploration starts from, and h_max (Bonet and Geffner, 2001)."""

from __future__ import annotations

from planner.kernels.data import INFINITE, NOTHING, Coding, Exploration, Relaxed
from planner.kernels.kernel import Words, kernel
from planner.kernels.levels import forget, pop, push


@kernel
def begin(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> None:
    """Prepare `room` for the state at `state[base]`: its facts have the value 0, all others `INFINITE`."""
    move(relaxed, room, coding, state, base)
    for operator in range(len(relaxed.cost)):
        room.missing[operator] = room.at_first[operator]
        room.price[operator] = relaxed.cost[operator]


@kernel
def move(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> None:
    """Take the facts of the state at `state[base]` instead of those of the last one.

    States that are estimated one after the other are mostly alike: only where they differ are preconditions counted.
    """
    for variable in range(len(coding.word)):
        word, shift, mask = coding.word[variable], coding.shift[variable], coding.mask[variable]
        before, now = room.state[word] >> shift & mask, state[base + word] >> shift & mask
        if before != now:
            _count(relaxed, room, coding.fact[coding.first[variable] + before], 1)
            _count(relaxed, room, coding.fact[coding.first[variable] + now], -1)
    for word in range(len(room.state)):
        room.state[word] = state[base + word]
    for fact in range(len(room.value)):
        room.value[fact] = INFINITE
        room.looked[fact] = 0
    for variable in range(len(coding.word)):
        value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        fact = coding.fact[coding.first[variable] + value]
        if fact != NOTHING:
            room.value[fact] = 0
            room.looked[fact] = 1
    start = len(room.value) - 2
    room.value[start] = 0
    room.looked[start] = 1


@kernel
def _count(relaxed: Relaxed, room: Exploration, fact: int, difference: int) -> None:
    if fact != NOTHING:
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            room.at_first[relaxed.needed[index]] += difference


@kernel
def fire(relaxed: Relaxed, room: Exploration, operator: int, value: int) -> None:
    """Let the effects of `operator` be reached at `value`, where that is less, and queue them."""
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        effect = relaxed.effect[index]
        if value < room.value[effect]:
            room.value[effect] = value
            push(room, effect)


@kernel
def fire_ready(relaxed: Relaxed, room: Exploration) -> None:
    """Fire the operators all of whose preconditions hold at first."""
    for operator in range(len(relaxed.cost)):
        if not room.missing[operator]:
            room.supporter[operator] = relaxed.precondition[relaxed.precondition_start[operator]]
            fire(relaxed, room, operator, room.price[operator])


@kernel
def reach(relaxed: Relaxed, room: Exploration) -> None:
    """Find the h_max value of the goal, and of all facts below it; others are left in the queue."""
    value, goal = room.value, len(room.value) - 1
    fact = pop(room, value[goal])
    while fact != NOTHING:
        room.looked[fact] = 1
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            room.missing[operator] -= 1
            if not room.missing[operator]:
                room.supporter[operator] = fact
                fire(relaxed, room, operator, value[fact] + room.price[operator])
        fact = pop(room, value[goal])


@kernel
def h_max(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> int:
    """Return the h_max value of the state at `state[base]`, `INFINITE` for a dead end."""
    begin(relaxed, room, coding, state, base)
    fire_ready(relaxed, room)
    reach(relaxed, room)
    forget(room)
    return room.value[len(room.value) - 1]

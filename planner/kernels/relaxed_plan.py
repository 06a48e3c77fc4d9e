"""h_FF: the cost of a relaxed plan (Hoffmann and Nebel, 2001), from h_add's achievers (Keyder and Geffner, 2008)."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.kernels.data import INFINITE, NOTHING, Coding, Exploration, Relaxed
from planner.kernels.kernel import Index, Words, kernel
from planner.kernels.registry import LOW_BITS, MULTIPLIER
from planner.kernels.relaxed import begin

DEAR: Final = 1 << 58
"""The greatest value of what can be reached: sums of sums may go beyond what a word can hold."""
GIVEN: Final = 1
"""What `looked` says of facts that hold from the start."""
REACHED: Final = 2


class Achievers(NamedTuple):
    """By fact: the operator that achieves it at least cost, and the number of the last plan that it was wanted for.

    By action: the number of the last plan that it was in. `queue` is room for facts.
    """

    operator: Index
    wanted: Words
    planned: Words
    queue: Index


class Reachable(NamedTuple):
    """Facts that wait to be looked into, by value: entries are linked lists of facts, the latest first.

    `first[v]` is the first entry of value v; the last bucket also has all greater values. There is room for an entry
    for each effect of each operator.
    """

    first: Index
    fact: Index
    next: Index


@kernel
def relaxed_plan(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    coding: Coding,
    state: Words,
    base: int,
    plan: int,
    seed: int,
) -> int:
    """Return the cost of a relaxed plan for the state at `state[base]`, `INFINITE` for a dead end.

    Its actions are marked as those of plan number `plan`, which must be greater than all before. Among equally good
    achievers, the number `seed` decides; for odd ones, the last operator of those that can be applied at once.
    """
    begin(relaxed, room, coding, state, base)
    _explore(relaxed, room, achievers, reachable, seed)
    if room.value[len(room.value) - 1] == INFINITE:
        return INFINITE
    return _extracted(relaxed, room, achievers, plan)


@kernel
def _explore(relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, seed: int) -> None:
    """Find the h_add value of the goal and of what is cheaper."""
    value, goal, many = room.value, len(room.value) - 1, 0
    operators = len(relaxed.cost)
    shift = (seed * MULTIPLIER & LOW_BITS) % operators
    for index in range(operators):
        operator = operators - 1 - index if seed & 1 else index + shift
        if operator >= operators:
            operator -= operators
        if not room.missing[operator]:
            many = _achieve(relaxed, room, achievers, reachable, operator, relaxed.cost[operator], many)
    bucket, most = 0, len(reachable.first) - 1
    left = many
    while left and bucket <= most:
        entry = reachable.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        reachable.first[bucket] = reachable.next[entry]
        left -= 1
        fact = reachable.fact[entry] + 0
        if room.looked[fact] or value[goal] <= bucket:
            continue
        room.looked[fact] = REACHED
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            room.missing[operator] -= 1
            if not room.missing[operator]:
                total = relaxed.cost[operator]
                for other in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
                    total = min(total + value[relaxed.precondition[other]], DEAR)
                before = many
                many = _achieve(relaxed, room, achievers, reachable, operator, total, many)
                left += many - before


@kernel
def _achieve(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    operator: int,
    total: int,
    many: int,
) -> int:
    """Let the effects of `operator` be achieved at cost `total`, where that is less; return the number of entries."""
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        effect = relaxed.effect[index]
        if total < room.value[effect]:
            room.value[effect] = total
            achievers.operator[effect] = operator
            bucket = min(total, len(reachable.first) - 1)
            reachable.fact[many] = effect
            reachable.next[many] = reachable.first[bucket]
            reachable.first[bucket] = many
            many += 1
    return many


@kernel
def _extracted(relaxed: Relaxed, room: Exploration, achievers: Achievers, plan: int) -> int:
    """Mark what the goal wants, from achiever to achiever; return the cost of the actions, each paid once."""
    wanted, planned, goal = achievers.wanted, achievers.planned, len(achievers.wanted) - 1
    achievers.queue[0] = goal
    wanted[goal] = plan
    done, count, total = 0, 1, 0
    while done < count:
        operator = achievers.operator[achievers.queue[done]] + 0
        done += 1
        action = relaxed.action[operator]
        if action != NOTHING and planned[action] != plan:
            planned[action] = plan
            total += relaxed.cost[operator]
        for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
            fact = relaxed.precondition[index]
            if wanted[fact] != plan and room.looked[fact] != GIVEN:
                wanted[fact] = plan
                achievers.queue[count] = fact
                count += 1
    return total

"""An open list for A*: buckets by f, and for the smallest f by h; the latest entry of a bucket comes first.

Entries are not removed when their state is reached more cheaply or estimated higher: they are *stale* then, which the
numbers of the state tell, and are dropped where they turn up.
"""

from __future__ import annotations

from planner.kernels.data import NOTHING, Nodes, Open
from planner.kernels.kernel import Words, kernel
from planner.kernels.numbers import BASE_F, CURRENT_F, ENTRIES, FREE, HIGHEST_F, LOWEST_H, OPEN


@kernel
def put(waiting: Open, number: Words, f: int, h: int, state: int) -> None:
    """Let `state` wait; there must be a bucket for f and one for h, and room for an entry."""
    entry = number[FREE]
    if entry == NOTHING:
        entry = number[ENTRIES]
        number[ENTRIES] = entry + 1
    else:
        number[FREE] = waiting.next[entry]
    waiting.state[entry] = state
    number[OPEN] += 1
    number[HIGHEST_F] = max(number[HIGHEST_F], f)
    _link(waiting, number, f, h, entry)


@kernel
def _link(waiting: Open, number: Words, f: int, h: int, entry: int) -> None:
    if f == number[CURRENT_F]:
        waiting.next[entry] = waiting.by_h[h]
        waiting.by_h[h] = entry
        number[LOWEST_H] = min(number[LOWEST_H], h)
    else:
        slot = f - number[BASE_F]
        waiting.next[entry] = waiting.by_f[slot]
        waiting.by_f[slot] = entry


@kernel
def take(waiting: Open, number: Words, nodes: Nodes) -> int:
    """Take out and return the state with the smallest f, and among these the smallest h; -1 if none waits."""
    while number[OPEN]:
        h = number[LOWEST_H]
        while h < len(waiting.by_h) and waiting.by_h[h] == NOTHING:
            h += 1
        number[LOWEST_H] = h
        if h == len(waiting.by_h):
            _next_f(waiting, number, nodes)
            continue
        entry = waiting.by_h[h] + 0
        state = waiting.state[entry] + 0
        waiting.by_h[h] = waiting.next[entry]
        _release(waiting, number, entry)
        if nodes.bound[state] == h and nodes.cost[state] + h == number[CURRENT_F]:
            return state
    return -1


@kernel
def _next_f(waiting: Open, number: Words, nodes: Nodes) -> None:
    """Go on to the next f that has entries, and spread these by h."""
    slot = number[CURRENT_F] - number[BASE_F] + 1
    while waiting.by_f[slot] == NOTHING:
        slot += 1
    f = slot + number[BASE_F]
    number[CURRENT_F] = f
    entry = waiting.by_f[slot] + 0
    waiting.by_f[slot] = NOTHING
    while entry != NOTHING:
        after = waiting.next[entry] + 0
        state = waiting.state[entry] + 0
        if nodes.cost[state] + nodes.bound[state] == f:
            _link(waiting, number, f, nodes.bound[state], entry)
        else:
            _release(waiting, number, entry)
        entry = after


@kernel
def _release(waiting: Open, number: Words, entry: int) -> None:
    waiting.next[entry] = number[FREE]
    number[FREE] = entry
    number[OPEN] -= 1

"""What is left to do, where tasks are partially ordered.

A network is a tuple of `(task, before)`: `before` are the places in the tuple, as bits, of all tasks that come before
it, also those between which others stand. Subtasks take the place of their task, so that networks that say the same are
mostly equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from htn.orders import closure
from planner.task import facts_of

Entry = tuple[int, int]
Network = tuple[Entry, ...]


def network_of(tasks: Sequence[int], ordering: Sequence[tuple[int, int]]) -> Network:
    """Return the network of `tasks` in this order, with pairs of places whose order matters."""
    before = [0] * len(tasks)
    for place, after in enumerate(closure(len(tasks), ordering)):
        for later in facts_of(after):
            before[later] |= 1 << place
    return tuple(zip(tasks, before, strict=True))


def replaced(network: Network, place: int, by: Network) -> Network:
    """Return `network` with the networks `by` instead of the task at `place`, which nothing comes before."""
    below, more = (1 << place) - 1, len(by)
    whole = (1 << more) - 1 << place

    def moved(before: int) -> int:
        rest = before & below | before >> place + 1 << place + more
        return rest | whole if before >> place & 1 else rest

    return (
        *[(task, moved(before)) for task, before in network[:place]],
        *[(task, before << place) for task, before in by],
        *[(task, moved(before)) for task, before in network[place + 1 :]],
    )

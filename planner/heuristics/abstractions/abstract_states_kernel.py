"""Abstract state spaces as arrays, and what goes on in them: distances to the goal, and what these need of the costs.

The readable twin, with the ideas, is `planner.heuristics.abstractions.projections`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import INFINITE, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push

MOST_DISTANCE: Final = (1 << 31) - 1
"""Distances are cut off here: so they take 32 bits, and neither admissibility nor consistency suffers."""
NO_NEED: Final = -INFINITE
"""What is needed of the cost of an action that was not looked at yet."""

INDEPENDENT: Final = 0
"""Each abstraction has all costs to itself; what they need together is added up."""
IN_ORDER: Final = 1
"""Each abstraction takes what it needs, and leaves the rest to those after it."""
STOLEN: Final = 2
"""As they have their distances, what each takes of what others need is added up."""


class Abstractions(NamedTuple):
    """Abstract state spaces; their states are numbered together, and so are their groups of labels.

    Abstraction i has the states `state_start[i]` up to `state_start[i + 1]`, and likewise groups. State s is reached by
    the transitions of its list: from `source`, by any action of `group`. Group g has the actions of its list, and
    `loops[g]` says whether one of them may leave a state as it is. `goal[s]` says whether s is a goal state.
    """

    state_start: Index
    group_start: Index
    edge_start: Index
    source: Index
    group: Index
    label_start: Index
    label: Index
    loops: Index
    goal: Index


class Shares(NamedTuple):
    """Costs and what comes of them, and room for it.

    By action: `cost` is what is left of it, `total` what all abstractions need of it, `need` what the present one does
    (`NO_NEED` at first). By group of the present
    abstraction: `price`, and what it `takes`. `key` and `heap` are a queue of its states, and `value` their distances.
    """

    cost: Words
    total: Words
    need: Words
    price: Words
    takes: Words
    key: Words
    heap: Index
    value: Words


@entry
@kernel
def share_costs(
    mode: int,
    work: int,
    at: int,
    spaces: Abstractions,
    shares: Shares,
    order: Index,
    base: Words,
    table: Index,
    stolen: Words,
) -> int:
    """Go on at place `at` of `order` for about `work` steps; return the place where to go on.

    Distances of the abstraction at place p are written to `table[base[p]:]`, except if the `mode` is `STOLEN`: then
    they are read there. `INDEPENDENT`: what is needed is added to `shares.total`. `IN_ORDER`: it is taken from
    `shares.cost`. `STOLEN`: what the abstraction at place p takes of what others need is written to `stolen[p]`.
    """
    done = 0
    while at < len(order) and done < work:
        number = order[at] + 0
        first, last = spaces.state_start[number] + 0, spaces.state_start[number + 1] + 0
        if mode == STOLEN:
            for state in range(last - first):
                shares.value[state] = table[base[at] + state]
        else:
            if not _price_groups(spaces, shares, number):
                for state in range(last - first):
                    table[base[at] + state] = 0
                done += 2 * (last - first)
                at += 1
                continue
            _compute_distances(spaces, shares, number)
            for state in range(last - first):
                table[base[at] + state] = shares.value[state]
        _compute_needs(spaces, shares, number)
        if mode == STOLEN:
            stolen[at] = 0
        done += _settle_costs(mode, spaces, shares, number, at, stolen)
        done += 8 * (spaces.edge_start[last] + 0 - spaces.edge_start[first]) + 20 * (last - first)
        at += 1
    return at


@kernel
def _price_groups(spaces: Abstractions, shares: Shares, number: int) -> int:
    """Let each group cost what the cheapest of its actions does; return the highest of these prices."""
    highest = 0
    first = spaces.group_start[number] + 0
    for group in range(first, spaces.group_start[number + 1]):
        price = INFINITE
        for index in range(spaces.label_start[group], spaces.label_start[group + 1]):
            price = min(price, shares.cost[spaces.label[index]])
        shares.price[group - first] = price
        highest = max(highest, price)
    return highest


@kernel
def _compute_distances(spaces: Abstractions, shares: Shares, number: int) -> None:
    """Find what the way from each state to the nearest goal costs (Dijkstra, 1959)."""
    first, last = spaces.state_start[number] + 0, spaces.state_start[number + 1] + 0
    groups = spaces.group_start[number] + 0
    value, waiting = shares.value, 0
    for state in range(last - first):
        value[state] = MOST_DISTANCE
        if spaces.goal[first + state]:
            value[state] = 0
            waiting = push(shares.key, shares.heap, waiting, 0, state)
    while waiting:
        state, near = shares.heap[0] + 0, shares.key[0] + 0
        waiting = pop(shares.key, shares.heap, waiting)
        if value[state] == near:
            for edge in range(spaces.edge_start[first + state], spaces.edge_start[first + state + 1]):
                source = spaces.source[edge] - first
                far = near + shares.price[spaces.group[edge] - groups]
                if far < value[source]:
                    value[source] = far
                    waiting = push(shares.key, shares.heap, waiting, far, source)


@kernel
def _compute_needs(spaces: Abstractions, shares: Shares, number: int) -> None:
    """Find what the distances need of the cost of each group: as much as a transition brings the goal nearer."""
    first, last = spaces.state_start[number] + 0, spaces.state_start[number + 1] + 0
    groups = spaces.group_start[number] + 0
    takes = shares.takes
    for group in range(groups, spaces.group_start[number + 1]):
        takes[group - groups] = 0 if spaces.loops[group] else NO_NEED
    for state in range(last - first):
        for edge in range(spaces.edge_start[first + state], spaces.edge_start[first + state + 1]):
            group = spaces.group[edge] - groups
            takes[group] = max(takes[group], shares.value[spaces.source[edge] - first] - shares.value[state])


@kernel
def _settle_costs(mode: int, spaces: Abstractions, shares: Shares, number: int, at: int, stolen: Words) -> int:
    """Take what the distances need from the costs, or add it up; return how many steps that took."""
    groups, end = spaces.group_start[number] + 0, spaces.group_start[number + 1] + 0
    first, last = spaces.label_start[groups] + 0, spaces.label_start[end] + 0
    need = shares.need
    for group in range(groups, end):
        takes = shares.takes[group - groups]
        for index in range(spaces.label_start[group], spaces.label_start[group + 1]):
            need[spaces.label[index]] = max(need[spaces.label[index]], takes)
    for index in range(first, last):
        label = spaces.label[index]
        takes = need[label] + 0
        need[label] = NO_NEED
        if mode == IN_ORDER and takes != NO_NEED:
            shares.cost[label] -= takes
        elif mode == INDEPENDENT and takes > 0:
            shares.total[label] += takes
        elif mode == STOLEN:
            stolen[at] += max(0, min(takes, shares.total[label] - shares.cost[label]))
    return 4 * (last - first)

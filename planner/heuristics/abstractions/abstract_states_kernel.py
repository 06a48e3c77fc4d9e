"""Abstract state spaces as arrays: goal distances and saturated cost functions.

The readable twin, which explains the ideas, is `planner.heuristics.abstractions.projections`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import DONE, FULL, INFINITE, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push

MOST_DISTANCE: Final = (1 << 31) - 1
"""Cap of distances, so that they take 32 bits. A capped distance stays admissible and consistent."""
NO_NEED: Final = -INFINITE
"""Initial value of the cost that an action needs."""

INDEPENDENT: Final = 0
"""Each abstraction uses the full costs; `total` sums the costs that they need."""
IN_ORDER: Final = 1
"""Each abstraction takes the costs that it needs, and leaves the remaining costs to later ones."""
STOLEN: Final = 2
"""Given their distances, sum what each abstraction takes of the costs that others need."""

ABSTRACTIONS: Final = 0
"""Indices into `counts`: the numbers of abstractions, states, transitions, groups, labels and ranks."""
STATES: Final = 1
EDGES: Final = 2
GROUPS: Final = 3
LABELS: Final = 4
RANKS: Final = 5
WORK: Final = 6
"""Number of steps of inner loops since the call began."""
COUNTS: Final = 7


class Abstractions(NamedTuple):
    """Abstract state spaces, with one numbering of all their states, and one of all their groups of labels.

    Abstraction i has the states `state_start[i]` to `state_start[i + 1] - 1`, and its groups likewise. The list of
    state s holds the transitions into s, each with its `source` and its `group`: any action of the group. Group g has
    the actions of its list, and `loops[g]` tells whether one of them has a self-loop. `goal[s]` tells whether s is a
    goal state.
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
    """Cost functions during cost partitioning, with working memory.

    By action: `cost` is its remaining cost, `total` the sum of what all abstractions need of it, and `need` what the
    present abstraction needs (`NO_NEED` at first). By group of the present abstraction: `price`, and the cost that it
    `takes`. `key` and `heap` are a priority queue of its states; `value` holds their distances.
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
    """Continue at place `at` of `order` for about `work` steps; return the place to continue at.

    The distances of the abstraction at place p go to `table[base[p]:]`. The `mode` `STOLEN` reads them from there
    instead, and writes what the abstraction at place p takes of the needs of others to `stolen[p]`. `INDEPENDENT` adds
    the needs to `shares.total`. `IN_ORDER` subtracts them from `shares.cost`.
    """
    done = 0
    while at < len(order) and done < work:
        number = order[at] + 0
        first, last = spaces.state_start[number] + 0, spaces.state_start[number + 1] + 0
        # distances: those found before, all 0 where every action is free, else by Dijkstra's algorithm
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
    """Set the price of each group to the cost of its cheapest action; return the highest price."""
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
    """Compute the goal distance of each state (Dijkstra, 1959)."""
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
    """Compute the saturated cost of each group: the greatest decrease of the distance by one of its transitions."""
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
    """Subtract the needed costs from the remaining costs, or sum them; return the number of steps of this work."""
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


@entry
@kernel
def copy_abstraction(number: int, old: Abstractions, spaces: Abstractions, counts: Words) -> int:
    """Append abstraction `number` of `old` to `spaces`; return `FULL` if the arrays are too short."""
    first, last = old.state_start[number] + 0, old.state_start[number + 1] + 0
    group, groups = old.group_start[number] + 0, old.group_start[number + 1] + 0
    edge, edges = old.edge_start[first] + 0, old.edge_start[last] + 0
    label, labels = old.label_start[group] + 0, old.label_start[groups] + 0
    if not has_room(spaces, counts, last - first, edges - edge, groups - group, labels - label):
        return FULL
    by_state, by_group = counts[STATES] - first, counts[GROUPS] - group
    by_edge, by_label = counts[EDGES] - edge, counts[LABELS] - label
    for state in range(first, last):
        spaces.goal[state + by_state] = old.goal[state]
        spaces.edge_start[state + by_state] = old.edge_start[state] + by_edge
    for each in range(edge, edges):
        spaces.source[each + by_edge] = old.source[each] + by_state
        spaces.group[each + by_edge] = old.group[each] + by_group
    for each in range(group, groups):
        spaces.loops[each + by_group] = old.loops[each]
        spaces.label_start[each + by_group] = old.label_start[each] + by_label
    for each in range(label, labels):
        spaces.label[each + by_label] = old.label[each]
    close_abstraction(spaces, counts, last + by_state, edges + by_edge, groups + by_group, labels + by_label)
    return DONE


@kernel
def has_room(spaces: Abstractions, counts: Words, states: int, edges: int, groups: int, labels: int) -> bool:
    """Return whether `spaces` has room for another abstraction with these numbers of states, transitions and groups."""
    return (
        counts[ABSTRACTIONS] + 2 <= len(spaces.state_start)
        and counts[STATES] + states + 1 <= len(spaces.edge_start)
        and counts[EDGES] + edges <= len(spaces.source)
        and counts[GROUPS] + groups + 1 <= len(spaces.label_start)
        and counts[LABELS] + labels <= len(spaces.label)
    )


@kernel
def close_abstraction(spaces: Abstractions, counts: Words, states: int, edges: int, groups: int, labels: int) -> None:
    """Close the last abstraction, at these numbers of states, transitions, groups and labels in `spaces`."""
    counts[STATES], counts[EDGES], counts[GROUPS], counts[LABELS] = states, edges, groups, labels
    counts[ABSTRACTIONS] += 1
    spaces.edge_start[states] = edges
    spaces.label_start[groups] = labels
    spaces.state_start[counts[ABSTRACTIONS]] = states
    spaces.group_start[counts[ABSTRACTIONS]] = groups

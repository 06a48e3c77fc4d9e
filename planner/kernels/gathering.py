"""Abstractions that are added to others, by whatever means they were made."""

from __future__ import annotations

from planner.kernels.abstractions import Abstractions
from planner.kernels.boxes import Form, stays, width_of
from planner.kernels.data import INFINITE, NOTHING
from planner.kernels.kernel import Index, Words, entry, kernel
from planner.kernels.numbers import DONE, FULL
from planner.kernels.projections import ABSTRACTIONS, EDGES, GROUPS, LABELS, STATES, Moves
from planner.kernels.refinement import FIRST, Refinement
from planner.kernels.refinement import STATES as BOXES


@entry
@kernel
def settle(moves: Moves, form: Form, made: Refinement, spaces: Abstractions, group: Index, counts: Words) -> int:
    """Add what a refinement came to to `spaces`, or return `FULL` where these are too short.

    States that are not reached, or from which no goal is, are left out. Each action is a group by itself; the number of
    each is written to `group`. Leaves get the numbers of their states (`NOTHING` if these are left out).
    """
    alive = _look(made)
    groups, edges = _count(made, group)
    if not _is_room(spaces, counts, alive, edges, groups, groups):
        return FULL
    first, last = counts[GROUPS], counts[LABELS]
    for action in range(len(group)):
        if group[action] != NOTHING:
            group[action] = first + group[action]
            label = last + group[action] - first
            spaces.label_start[group[action]] = label
            spaces.label[label] = action
            spaces.loops[group[action]] = 1 if _loops(moves, form, made, action) else 0
    number = counts[STATES]
    for state in range(made.counts[BOXES]):
        made.low[made.leaf[state]] = NOTHING
        if made.stale[state]:
            made.low[made.leaf[state]] = number - counts[STATES]
            number += 1
    _write(made, spaces, group, counts)
    _count_in(spaces, counts, number, counts[EDGES] + edges, first + groups, last + groups)
    return DONE


@kernel
def _look(made: Refinement) -> int:
    """Mark as `stale` the states that are reached, and from which the goal is; return how many there are."""
    for state in range(made.counts[BOXES]):
        made.stale[state] = 0
    first, done, waiting = made.counts[FIRST], 0, 0
    if made.distance[first] < INFINITE:
        made.stale[first], made.list[0], waiting = 1, first, 1
    while done < waiting:
        edge = made.first_out[made.list[done]] + 0
        done += 1
        while edge != NOTHING:
            target = made.target[edge] + 0
            if not made.stale[target] and made.distance[target] < INFINITE:
                made.stale[target] = 1
                made.list[waiting] = target
                waiting += 1
            edge = made.next_out[edge] + 0
    return waiting


@kernel
def _count(made: Refinement, group: Index) -> tuple[int, int]:
    """Return how many actions and transitions stay, and number these actions."""
    for action in range(len(group)):
        group[action] = NOTHING
    groups, edges = 0, 0
    for state in range(made.counts[BOXES]):
        edge = made.first_out[state] + 0 if made.stale[state] else NOTHING
        while edge != NOTHING:
            if made.stale[made.target[edge]]:
                edges += 1
                if group[made.action[edge]] == NOTHING:
                    group[made.action[edge]] = groups
                    groups += 1
            edge = made.next_out[edge] + 0
    return groups, edges


@kernel
def _loops(moves: Moves, form: Form, made: Refinement, action: int) -> bool:
    """Return whether `action` may leave a state as it is."""
    width = width_of(form)
    for state in range(made.counts[BOXES]):
        if made.stale[state] and stays(moves, form, made.box, action, NOTHING, state * width):
            return True
    return False


@kernel
def _write(made: Refinement, spaces: Abstractions, group: Index, counts: Words) -> None:
    number, last = counts[STATES], counts[EDGES]
    for state in range(made.counts[BOXES]):
        if made.stale[state]:
            spaces.goal[number] = made.goal[state]
            spaces.edge_start[number] = last
            number += 1
            edge = made.first_in[state] + 0
            while edge != NOTHING:
                source = made.source[edge] + 0
                if made.stale[source]:
                    spaces.source[last] = counts[STATES] + made.low[made.leaf[source]]
                    spaces.group[last] = group[made.action[edge]]
                    last += 1
                edge = made.next_in[edge] + 0


@entry
@kernel
def adopt(number: int, old: Abstractions, spaces: Abstractions, counts: Words) -> int:
    """Add abstraction `number` of `old` to `spaces`, or return `FULL` where these are too short."""
    first, last = old.state_start[number] + 0, old.state_start[number + 1] + 0
    group, groups = old.group_start[number] + 0, old.group_start[number + 1] + 0
    edge, edges = old.edge_start[first] + 0, old.edge_start[last] + 0
    label, labels = old.label_start[group] + 0, old.label_start[groups] + 0
    if not _is_room(spaces, counts, last - first, edges - edge, groups - group, labels - label):
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
    _count_in(spaces, counts, last + by_state, edges + by_edge, groups + by_group, labels + by_label)
    return DONE


@kernel
def _is_room(spaces: Abstractions, counts: Words, states: int, edges: int, groups: int, labels: int) -> bool:
    return (
        counts[ABSTRACTIONS] + 2 <= len(spaces.state_start)
        and counts[STATES] + states + 1 <= len(spaces.edge_start)
        and counts[EDGES] + edges <= len(spaces.source)
        and counts[GROUPS] + groups + 1 <= len(spaces.label_start)
        and counts[LABELS] + labels <= len(spaces.label)
    )


@kernel
def _count_in(spaces: Abstractions, counts: Words, states: int, edges: int, groups: int, labels: int) -> None:
    """Count one more, after which there are so many of everything."""
    counts[STATES], counts[EDGES], counts[GROUPS], counts[LABELS] = states, edges, groups, labels
    counts[ABSTRACTIONS] += 1
    spaces.edge_start[states] = edges
    spaces.label_start[groups] = labels
    spaces.state_start[counts[ABSTRACTIONS]] = states
    spaces.group_start[counts[ABSTRACTIONS]] = groups

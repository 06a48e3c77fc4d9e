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
from planner.kernels.scp import Trees


@entry
@kernel
def settle(
    anywhere: int, moves: Moves, form: Form, made: Refinement, spaces: Abstractions, group: Index, counts: Words
) -> int:
    """Add what a refinement came to to `spaces`, or return `FULL` where these are too short.

    States from which no goal is reached are left out, and those that are not reached, unless a search may be
    `anywhere`. Each action is a group by itself; the number of
    each is written to `group`. Leaves get the numbers of their states (`NOTHING` if these are left out).
    """
    alive = _look(anywhere, made)
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
def _look(anywhere: int, made: Refinement) -> int:
    """Mark as `stale` the states that are reached, and from which the goal is; return how many there are."""
    first, done, waiting = made.counts[FIRST], 0, 0
    for state in range(made.counts[BOXES]):
        made.stale[state] = 1 if anywhere and made.distance[state] < INFINITE else 0
        waiting += made.stale[state]
    if anywhere:
        return waiting
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
    """Return whether `action` may leave a state as it is.

    The leaves of such states are found from the root on: not beyond nodes that tell apart what it leads from, and to.
    """
    width, waiting, found = width_of(form), 1, False
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        made.touch[moves.variable[touch]] = touch
    made.list[0] = 0
    while waiting and not found:
        waiting -= 1
        node = made.list[waiting] + 0
        if made.variable[node] == NOTHING:
            state = made.low[node] + 0
            found = made.stale[state] != 0 and stays(moves, form, made.box, action, NOTHING, state * width)
        else:
            waiting = _sides(moves, made, node, waiting)
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        made.touch[moves.variable[touch]] = NOTHING
    return found


@kernel
def _sides(moves: Moves, made: Refinement, node: int, waiting: int) -> int:
    """Let those of both sides of a node wait between which the touch of its variable need not change."""
    touch, bit = made.touch[made.variable[node]] + 0, made.bit[node] + 0
    low, high = touch == NOTHING, touch == NOTHING
    if touch != NOTHING:
        for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
            origin, target = moves.origin[option] + 0, moves.target[option] + 0
            before, after = bit + origin, bit + target
            was_high = origin == NOTHING or made.piece[before >> 5] >> (before & 31) & 1 == 1
            was_low = origin == NOTHING or not was_high
            gets_high = target == NOTHING or made.piece[after >> 5] >> (after & 31) & 1 == 1
            gets_low = target == NOTHING or not gets_high
            high, low = high or (was_high and gets_high), low or (was_low and gets_low)
    if low:
        made.list[waiting] = made.low[node]
        waiting += 1
    if high:
        made.list[waiting] = made.high[node]
        waiting += 1
    return waiting


@entry
@kernel
def plant(trees: Trees, root: int, pieces: int) -> int:
    """Let nodes from `root` on, which were numbered from 0 on, and so the words of their sets, be in `trees`."""
    for node in range(root, len(trees.variable)):
        if trees.variable[node] != NOTHING:
            trees.low[node] = trees.low[node] + root
            trees.high[node] = trees.high[node] + root
            trees.bit[node] = trees.bit[node] + 32 * pieces
    return 0


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

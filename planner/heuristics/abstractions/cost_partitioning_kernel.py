"""Saturated cost partitioning: the estimate of a state is the best over several orders (Seipp et al., 2020).

Other kernels sample states by random walks, and append refined Cartesian abstractions. The readable twin is
`cost_partitioning`.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.heuristics.abstractions.abstract_states_kernel import (
    EDGES,
    GROUPS,
    LABELS,
    STATES,
    Abstractions,
    close_abstraction,
    has_room,
)
from planner.heuristics.abstractions.cartesian_boxes_kernel import FIRST, Form, Refinement, may_loop, width_of
from planner.heuristics.abstractions.cartesian_boxes_kernel import STATES as BOXES
from planner.heuristics.abstractions.projections_kernel import Moves
from planner.jit.common_kernel import DONE, FULL, INFINITE, NOTHING, Index, Words, entry, kernel
from planner.search.open_lists_kernel import random_below
from planner.task.packed_states_kernel import Space, apply, find_applicable


class Trees(NamedTuple):
    """Decision trees: a node tests a `variable`; node `high` follows if its value is in a set, else node `low`.

    Value k is in the set if bit `bit + k` of `piece` is set. A leaf has the variable `NOTHING`; its `low` is the number
    of the abstract state, or `NOTHING` for a dead one. Variable v is `state[word[v]] >> shift[v] & mask[v]`.
    """

    word: Index
    shift: Words
    mask: Words
    variable: Index
    low: Index
    high: Index
    bit: Index
    piece: Index


class Lookup(NamedTuple):
    """Lookup of abstract states: the list of places of abstraction i gives the index of the state.

    A place adds `state[word] >> shift & mask` times `factor` to the index. `rank[first[i] + index]` is the number of
    the abstract state, or `NOTHING` for a dead one. An abstraction without places has the decision tree with root
    `first[i]`.
    """

    start: Index
    word: Index
    shift: Words
    mask: Words
    factor: Words
    first: Words
    rank: Index
    trees: Trees


class Tables(NamedTuple):
    """Distances by order: the estimate sums `value[base + number of its state]` over the abstractions of the order.

    `part` lists the abstractions of each order. `at` has room for the number of a state of each abstraction.
    """

    lookup: Lookup
    start: Index
    part: Index
    base: Words
    value: Index
    at: Index


@kernel
def estimate_scp(tables: Tables, state: Words, base: int) -> int:
    """Return the estimate for the state at `state[base]`: `INFINITE` for a dead end."""
    if not locate(tables.lookup, state, base, tables.at, 0):
        return INFINITE
    best = 0
    for order in range(len(tables.start) - 1):
        best = max(best, sum_distances(tables, order, tables.at, 0))
    return best


@kernel
def locate(lookup: Lookup, state: Words, base: int, at: Index, first: int) -> bool:
    """Write the numbers of the abstract states to `at[first:]`; return whether all of them are alive."""
    for number in range(len(lookup.start) - 1):
        begin, end, index = lookup.start[number] + 0, lookup.start[number + 1] + 0, lookup.first[number]
        if begin == end:
            rank = _find_leaf(lookup.trees, state, base, index)
        else:
            for place in range(begin, end):
                value = state[base + lookup.word[place]] >> lookup.shift[place] & lookup.mask[place]
                index += value * lookup.factor[place]
            rank = lookup.rank[index] + 0
        if rank == NOTHING:
            return False
        at[first + number] = rank
    return True


@kernel
def _find_leaf(trees: Trees, state: Words, base: int, node: int) -> int:
    """Return the abstract state that the tree of this node gives for the state."""
    variable = trees.variable[node] + 0
    while variable != NOTHING:
        place = trees.bit[node] + (state[base + trees.word[variable]] >> trees.shift[variable] & trees.mask[variable])
        is_in = trees.piece[place >> 5] >> (place & 31) & 1
        node = trees.high[node] + 0 if is_in else trees.low[node] + 0
        variable = trees.variable[node] + 0
    return trees.low[node] + 0


@kernel
def sum_distances(tables: Tables, order: int, at: Index, first: int) -> int:
    """Return the sum of the distances of abstract states `at[first:]` in an order."""
    value = 0
    for index in range(tables.start[order], tables.start[order + 1]):
        value += tables.value[tables.base[index] + at[first + tables.part[index]]]
    return value


class Samples(NamedTuple):
    """Sample states that orders are judged by; number 0 is the initial state.

    `state` holds their packed words one after another, with room for two more states than samples. `at` holds the
    numbers of their abstract states, and `best` their best estimates so far. `counts[0]` is the number of samples,
    `counts[1]` the number of steps left in the present walk, and `counts[2]` the number of walks begun.
    """

    counts: Words
    state: Words
    at: Index
    best: Words


@entry
@kernel
def walk_randomly(
    work: int, length: int, number: Words, space: Space, lookup: Lookup, samples: Samples, found: Index, stack: Index
) -> int:
    """Continue random walks of about `length` steps from the initial state; add their ends unless they are dead.

    The walks take about `work` steps of inner loops. Returns 1 once `samples` are complete, or twice as many walks were
    begun.
    """
    count, most, parts, done = samples.counts[0], len(samples.best), len(lookup.start) - 1, 0
    words = len(samples.state) // (most + 2)
    present, after = most * words, (most + 1) * words
    while done < work:
        if not samples.counts[1]:  # begin another walk
            if count == most or samples.counts[2] == 2 * most:
                return 1
            samples.counts[2] += 1
            samples.counts[1] = 1 + random_below(number, length) + random_below(number, length)
            for word in range(words):
                samples.state[present + word] = samples.state[word]
        many = find_applicable(space.tree, samples.state, present, found, stack)
        done += 20 * many + 50
        if not many:
            samples.counts[1] = 0
            continue
        apply(space, found[random_below(number, many)], samples.state, present, after, words)
        for word in range(words):
            samples.state[present + word] = samples.state[after + word]
        samples.counts[1] -= 1
        if not samples.counts[1]:  # keep the end of the walk unless an abstraction calls it dead
            done += 10 * parts
            if locate(lookup, samples.state, present, samples.at, count * parts):
                for word in range(words):
                    samples.state[count * words + word] = samples.state[present + word]
                count += 1
                samples.counts[0] = count
    return 0


@entry
@kernel
def locate_state(tables: Tables, state: Words) -> int:
    """Write the numbers of the abstract states of `state[0]` to `tables.at`; return 0 for a dead state."""
    return 1 if locate(tables.lookup, state, 0, tables.at, 0) else 0


@entry
@kernel
def judge_order(tables: Tables, samples: Samples) -> int:
    """Update the best estimates of the samples by order 0 of `tables`; return the number of improved samples."""
    better, parts = 0, len(tables.lookup.start) - 1
    for sample in range(samples.counts[0]):
        value = sum_distances(tables, 0, samples.at, sample * parts)
        if value > samples.best[sample]:
            samples.best[sample] = value
            better += 1
    return better


@entry
@kernel
def add_refinement(
    anywhere: int, moves: Moves, form: Form, made: Refinement, spaces: Abstractions, group: Index, counts: Words
) -> int:
    """Append a refined abstraction to `spaces`; return `FULL` if the arrays are too short.

    States from which no goal is reachable are left out; so are unreachable states, unless a search may start
    `anywhere`. Each action is a group by itself, whose number is written to `group`. Leaves get the new numbers of
    their states (`NOTHING` for a state left out).
    """
    alive = _mark_alive(anywhere, made)
    groups, edges = _count_used(made, group)
    if not has_room(spaces, counts, alive, edges, groups, groups):
        return FULL
    first, last = counts[GROUPS], counts[LABELS]
    for action in range(len(group)):
        if group[action] != NOTHING:
            group[action] = first + group[action]
            label = last + group[action] - first
            spaces.label_start[group[action]] = label
            spaces.label[label] = action
            spaces.loops[group[action]] = 1 if _has_loop(moves, form, made, action) else 0
    number = counts[STATES]
    for state in range(made.counts[BOXES]):
        made.low[made.leaf[state]] = NOTHING
        if made.stale[state]:
            made.low[made.leaf[state]] = number - counts[STATES]
            number += 1
    _write_edges(made, spaces, group, counts)
    close_abstraction(spaces, counts, number, counts[EDGES] + edges, first + groups, last + groups)
    return DONE


@kernel
def _mark_alive(anywhere: int, made: Refinement) -> int:
    """Mark as `stale` the states that are reachable and from which a goal is reachable; return their number.

    With `anywhere`, all states count as reachable.
    """
    first, alive = made.counts[FIRST] + 0, 0
    for state in range(made.counts[BOXES]):
        made.stale[state] = 1 if made.distance[state] < INFINITE and (anywhere or state == first) else 0
        if made.stale[state]:
            made.list[alive] = state
            alive += 1
    return alive if anywhere else _mark_reachable(made, alive)


@kernel
def _mark_reachable(made: Refinement, marked: int) -> int:
    """Add what is alive and reachable from the first `marked` states of the list to it; return its length."""
    done = 0
    while done < marked:
        edge = made.first_out[made.list[done]] + 0
        done += 1
        while edge != NOTHING:
            target = made.target[edge] + 0
            if not made.stale[target] and made.distance[target] < INFINITE:
                made.stale[target] = 1
                made.list[marked] = target
                marked += 1
            edge = made.next_out[edge] + 0
    return marked


@kernel
def _count_used(made: Refinement, group: Index) -> tuple[int, int]:
    """Count the remaining actions and transitions, and number these actions."""
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
def _has_loop(moves: Moves, form: Form, made: Refinement, action: int) -> bool:
    """Return whether `action` has a self-loop.

    The search for a state with a self-loop starts at the root of the tree, and skips nodes that the action must cross.
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
            found = made.stale[state] != 0 and may_loop(moves, form, made.box, action, NOTHING, state * width)
        else:
            waiting = _push_sides(moves, made, node, waiting)
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        made.touch[moves.variable[touch]] = NOTHING
    return found


@kernel
def _push_sides(moves: Moves, made: Refinement, node: int, waiting: int) -> int:
    """Push the children of a node in which the action may keep its variable."""
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
def append_tree(trees: Trees, root: int, pieces: int) -> int:
    """Renumber the nodes from `root` on, and the words of their sets, for their place in `trees`; return 0."""
    for node in range(root, len(trees.variable)):
        if trees.variable[node] != NOTHING:
            trees.low[node] = trees.low[node] + root
            trees.high[node] = trees.high[node] + root
            trees.bit[node] = trees.bit[node] + 32 * pieces
    return 0


@kernel
def _write_edges(made: Refinement, spaces: Abstractions, group: Index, counts: Words) -> None:
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

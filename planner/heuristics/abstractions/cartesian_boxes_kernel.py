"""Refinement of Cartesian abstractions: boxes, the transitions between them, and the cheapest ways to the goal.

A box is a set of values for each variable. After a split, only distances that may have grown are computed anew (Seipp,
von Allmen and Helmert, 2020). The readable twin is `cartesian`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.abstractions.projections_kernel import Moves
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import pop, push


class Form(NamedTuple):
    """How boxes are written, and what is the same for all abstractions of a task.

    The values of variable v are bits of the words `word[v]` up to `end[v]` of a box, which has `word[-1]` words of 32
    bits; `mask[v]` says which bits of each, and they begin at `shift[v]` of the first. Variables have their `initial`
    values at first; actions have a `price`, above 0.
    """

    word: Index
    end: Index
    shift: Index
    mask: Index
    initial: Index
    price: Words


@kernel
def width_of(form: Form) -> int:
    """Return of how many words a box is."""
    return form.word[len(form.mask)] + 0


@kernel
def has_value(form: Form, box: Index, base: int, variable: int, value: int) -> bool:
    """Return whether the box at `base` has this value of the variable."""
    place = form.shift[variable] + value
    return box[base + form.word[variable] + (place >> 5)] >> (place & 31) & 1 == 1


@kernel
def include_value(form: Form, box: Index, variable: int, value: int) -> None:
    """Let the first box have this value, too."""
    place = form.shift[variable] + value
    word = form.word[variable] + (place >> 5)
    box[word] = box[word] | 1 << (place & 31)


@kernel
def may_lead(moves: Moves, form: Form, box: Index, action: int, variable: int, one: int, other: int) -> bool:
    """Return whether `action` may lead from a value of the variable in box `one` to one in box `other`."""
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] == variable:
            return _touch_may_lead(moves, form, box, touch, one, other)
    return _intersect(form, box, one, other, variable)


@kernel
def may_loop(moves: Moves, form: Form, box: Index, action: int, but: int, base: int) -> bool:
    """Return whether `action` may lead from the box at `base` to itself, whatever becomes of variable `but`."""
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        if moves.variable[touch] != but and not _touch_may_lead(moves, form, box, touch, base, base):
            return False
    return True


@kernel
def _touch_may_lead(moves: Moves, form: Form, box: Index, touch: int, one: int, other: int) -> bool:
    variable = moves.variable[touch] + 0
    for option in range(moves.option_start[touch], moves.option_start[touch + 1]):
        origin, target = moves.origin[option] + 0, moves.target[option] + 0
        if origin == NOTHING and target == NOTHING:
            if _intersect(form, box, one, other, variable):
                return True
        elif (origin == NOTHING or has_value(form, box, one, variable, origin)) and has_value(
            form, box, other, variable, origin if target == NOTHING else target
        ):
            return True
    return False


@kernel
def _intersect(form: Form, box: Index, one: int, other: int, variable: int) -> bool:
    for word in range(form.word[variable], form.end[variable]):
        if box[one + word] & box[other + word] & form.mask[variable]:
            return True
    return False


@kernel
def size_of(form: Form, box: Index, base: int, variable: int) -> int:
    """Return how many values of the variable the box at `base` has."""
    many = 0
    for word in range(form.word[variable], form.end[variable]):
        bits = box[base + word] & (form.mask[variable] + 0)
        bits = bits - (bits >> 1 & 0x55555555)
        bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F
        many += (bits * 0x01010101 & NOTHING) >> 24
    return many


STATES: Final = 0
"""Places in the counts of what there is: these, and then transitions, nodes, words of their values."""
EDGES: Final = 1
NODES: Final = 2
PIECES: Final = 3
FIRST: Final = 4
"""The abstract state of the initial state."""
INSIDE: Final = 5
"""The abstract state that was cut out so far, and of how many variables that was."""
CUT: Final = 6
AT: Final = 7
"""The state that is to be split."""
STEPS: Final = 8
"""Steps of inner loops."""
COUNTS: Final = 9


class Refinement(NamedTuple):
    """An abstraction, and room for refining it.

    By state: its `box` (words), its `distance` to the goal and the transition on the cheapest `way` there, whether it
    is a `goal`, its `leaf`, the first transition out of it and into it, and whether it is `stale`. By transition:
    `source`, `target`, `action`, and its neighbours in the lists of those out of its source, and into its target.

    Nodes say which state it is: with a value among `piece[bit >> 5]...` of the `variable`, node `high` says more, else
    `low`; a leaf has no variable (`NOTHING`), and the state in `low`.

    `key` and `heap` are a queue of states, `list` some of them. By variable: its `value` on the way, and its `touch`.
    `part` is room for a box.
    """

    counts: Words
    box: Index
    distance: Words
    way: Index
    goal: Index
    leaf: Index
    first_out: Index
    first_in: Index
    stale: Index
    source: Index
    target: Index
    action: Index
    next_out: Index
    last_out: Index
    next_in: Index
    last_in: Index
    variable: Index
    low: Index
    high: Index
    bit: Index
    piece: Index
    key: Words
    heap: Index
    list: Index
    value: Index
    touch: Index
    part: Index


@kernel
def add_edge(made: Refinement, source: int, target: int, action: int) -> int:
    """Return the number of a new transition."""
    edge = made.counts[EDGES]
    made.counts[EDGES] = edge + 1
    made.source[edge] = source
    made.target[edge] = target
    made.action[edge] = action
    _link(made.first_out, made.next_out, made.last_out, source, edge)
    _link(made.first_in, made.next_in, made.last_in, target, edge)
    return edge


@kernel
def move_source(made: Refinement, edge: int, source: int) -> None:
    """Let a transition begin at another state."""
    _unlink(made.first_out, made.next_out, made.last_out, made.source[edge] + 0, edge)
    made.source[edge] = source
    _link(made.first_out, made.next_out, made.last_out, source, edge)


@kernel
def move_target(made: Refinement, edge: int, target: int) -> None:
    """Let a transition end at another state."""
    _unlink(made.first_in, made.next_in, made.last_in, made.target[edge] + 0, edge)
    made.target[edge] = target
    _link(made.first_in, made.next_in, made.last_in, target, edge)


@kernel
def _link(first: Index, following: Index, last: Index, state: int, edge: int) -> None:
    after = first[state] + 0
    following[edge] = after
    last[edge] = NOTHING
    if after != NOTHING:
        last[after] = edge
    first[state] = edge


@kernel
def _unlink(first: Index, following: Index, last: Index, state: int, edge: int) -> None:
    before, after = last[edge] + 0, following[edge] + 0
    if before == NOTHING:
        first[state] = after
    else:
        following[before] = after
    if after != NOTHING:
        last[after] = before


@kernel
def mark_all_stale(made: Refinement) -> int:
    """Make all states stale that are no goals, and list them; return how many there are."""
    many = 0
    for state in range(made.counts[STATES]):
        made.distance[state] = 0
        made.way[state] = NOTHING
        if not made.goal[state]:
            made.list[many] = state
            made.stale[state] = 1
            many += 1
    return many


@kernel
def mark_stale(form: Form, made: Refinement, state: int, new: int) -> int:
    """Make stale what may be farther from the goal now that `state` lost a part to `new`, and list it.

    Those that were nearer come first, and prices are above 0: so what is not stale then holds what leads to it.
    """
    if made.goal[state] or made.distance[state] >= INFINITE:
        return 0
    many = 0
    waiting = push(made.key, made.heap, 0, made.distance[state], state)
    waiting = push(made.key, made.heap, waiting, made.distance[new], new)
    while waiting:
        at = made.heap[0] + 0
        waiting = pop(made.key, made.heap, waiting)
        made.counts[STEPS] += 10
        if not made.stale[at] and not _has_other_way(form, made, at):
            made.stale[at] = 1
            made.list[many] = at
            many += 1
            edge = made.first_in[at] + 0
            while edge != NOTHING:
                source = made.source[edge] + 0
                made.counts[STEPS] += 2
                if made.way[source] == edge and not made.goal[source]:
                    waiting = push(made.key, made.heap, waiting, made.distance[source], source)
                edge = made.next_in[edge] + 0
    return many


@kernel
def _has_other_way(form: Form, made: Refinement, state: int) -> bool:
    """Return whether there is a way from `state` that is as good as before, by a state that is not stale."""
    edge = made.way[state] + 0
    if edge != NOTHING and _is_as_good(form, made, state, edge):
        return True
    edge = made.first_out[state] + 0
    while edge != NOTHING:
        made.counts[STEPS] += 4
        if _is_as_good(form, made, state, edge):
            made.way[state] = edge
            return True
        edge = made.next_out[edge] + 0
    return False


@kernel
def _is_as_good(form: Form, made: Refinement, state: int, edge: int) -> bool:
    target = made.target[edge] + 0
    return not made.stale[target] and made.distance[target] + form.price[made.action[edge]] == made.distance[state]


@kernel
def update_distances(form: Form, made: Refinement, many: int) -> None:
    """Find the distances of the first `many` states of `list`, which are the stale ones (Dijkstra, 1959)."""
    waiting = 0
    for index in range(many):
        state = made.list[index] + 0
        made.distance[state] = INFINITE
        made.way[state] = NOTHING
        edge = made.first_out[state] + 0
        while edge != NOTHING:
            target = made.target[edge] + 0
            made.counts[STEPS] += 4
            if not made.stale[target] and made.distance[target] + form.price[made.action[edge]] < made.distance[state]:
                made.distance[state] = made.distance[target] + form.price[made.action[edge]]
                made.way[state] = edge
            edge = made.next_out[edge] + 0
    for index in range(many):
        state = made.list[index] + 0
        if made.distance[state] < INFINITE:
            waiting = push(made.key, made.heap, waiting, made.distance[state], state)
    while waiting:
        state = made.heap[0] + 0
        waiting = pop(made.key, made.heap, waiting)
        if made.stale[state]:
            made.stale[state] = 0
            waiting = _update_predecessors(form, made, state, waiting)
    for index in range(many):
        made.stale[made.list[index]] = 0


@kernel
def _update_predecessors(form: Form, made: Refinement, state: int, waiting: int) -> int:
    """Let stale states before `state`, the distance of which is known, wait for theirs; return how many wait."""
    edge = made.first_in[state] + 0
    while edge != NOTHING:
        source, far = made.source[edge] + 0, made.distance[state] + form.price[made.action[edge]]
        made.counts[STEPS] += 4
        if made.stale[source] and far < made.distance[source]:
            made.distance[source] = far
            made.way[source] = edge
            waiting = push(made.key, made.heap, waiting, far, source)
        edge = made.next_in[edge] + 0
    return waiting

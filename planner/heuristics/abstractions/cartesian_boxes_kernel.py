"""Boxes of Cartesian abstractions, the transitions between them, and their distances to the goal.

A box is a set of values for each variable. After a split, `update_distances` recomputes only distances that may have
grown (Seipp, von Allmen and Helmert, 2020). The readable twin is `cartesian`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.abstractions.projections_kernel import Moves
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import pop, push


class Form(NamedTuple):
    """The encoding of boxes as words, and what all abstractions of a task share.

    The values of variable v are bits of the words `word[v]` to `end[v] - 1` of a box. A box has `word[-1]` words of 32
    bits. `mask[v]` marks the bits of v in each of its words; value k of v is bit `shift[v] + k`, counted from the first
    word. `initial[v]` is the initial value of v. `price[a]` is the cost of action a, above 0.
    """

    word: Index
    end: Index
    shift: Index
    mask: Index
    initial: Index
    price: Words


@kernel
def width_of(form: Form) -> int:
    """Return the number of words of a box."""
    return form.word[len(form.mask)] + 0


@kernel
def has_value(form: Form, box: Index, base: int, variable: int, value: int) -> bool:
    """Return whether the box at `base` contains this value of the variable."""
    place = form.shift[variable] + value
    return box[base + form.word[variable] + (place >> 5)] >> (place & 31) & 1 == 1


@kernel
def include_value(form: Form, box: Index, variable: int, value: int) -> None:
    """Add this value of the variable to the first box."""
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
    """Return the number of values of the variable in the box at `base`."""
    many = 0
    for word in range(form.word[variable], form.end[variable]):
        bits = box[base + word] & (form.mask[variable] + 0)
        bits = bits - (bits >> 1 & 0x55555555)
        bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F
        many += (bits * 0x01010101 & NOTHING) >> 24
    return many


STATES: Final = 0
"""Indices into `counts`: the numbers of abstract states, transitions, nodes of the tree, and words of `piece`."""
EDGES: Final = 1
NODES: Final = 2
PIECES: Final = 3
FIRST: Final = 4
"""The abstract state that contains the initial state."""
INSIDE: Final = 5
"""The abstract state cut out so far; the next index counts the variables that were cut."""
CUT: Final = 6
AT: Final = 7
"""The abstract state to split."""
STEPS: Final = 8
"""The number of steps of inner loops so far."""
COUNTS: Final = 9


class Refinement(NamedTuple):
    """An abstraction under refinement, with its working memory.

    By state: `box` (words), `distance` to the goal, `way` (the first transition of a cheapest path to the goal), `goal`
    (whether it is a goal state), `leaf`, the first outgoing and the first incoming transition, and `stale`. By
    transition: `source`, `target`, `action`, and its neighbours in the list of transitions out of its source and in the
    list of transitions into its target.

    A decision tree finds the abstract state of a concrete state. A node tests its `variable`: `high` is the child for
    the values in the set `piece[bit >> 5]...`, and `low` the child for the others. A leaf has the variable `NOTHING`,
    and its state in `low`.

    `key` and `heap` are a priority queue of states; `list` holds some states. By variable: `value` is its value along
    the abstract plan, and `touch` the touch of the present action. `part` is room for a box.
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
    """Add a transition and return its number."""
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
    """Move the source of a transition to another state."""
    _unlink(made.first_out, made.next_out, made.last_out, made.source[edge] + 0, edge)
    made.source[edge] = source
    _link(made.first_out, made.next_out, made.last_out, source, edge)


@kernel
def move_target(made: Refinement, edge: int, target: int) -> None:
    """Move the target of a transition to another state."""
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
    """Mark all states but goal states as stale, and list them; return their number."""
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
    """Mark and list the states whose distance may have grown since `state` lost a part to `new`; return their number.

    The queue yields states by their old distance, and prices are above 0. So a state that stays unmarked keeps a
    cheapest path through unmarked states.
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
    """Return whether a path of the old cost leaves `state` by a state that is not stale; note it in `way`."""
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
    """Recompute the distances of the first `many` states of `list`, which are the stale ones (Dijkstra, 1959)."""
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
    """Queue the stale predecessors of `state` whose distance falls; return the size of the queue."""
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

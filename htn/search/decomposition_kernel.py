"""Progression search for totally ordered tasks, over places (see `htn.search.task_stack_kernel`).

The search follows a single applicable move at once: only places with a choice are estimated and enter the open list.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from htn.search.relaxed_composition_kernel import Guide, estimate_stack
from htn.search.task_stack_kernel import EMPTY, Hierarchy, Stacks, push_subtasks
from planner.heuristics.relaxation_kernel import Achievers
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, NOTHING, PAUSED, Index, Words, entry, kernel
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import APPLIED, OUT_OF_RANGE
from planner.task.packed_states_kernel import Space, apply, row_of
from planner.task.state_registry_kernel import Registry, number_of

EAGER: Final = 0
DEFERRED: Final = 1
BLIND: Final = 2

CHAIN: Final = 64
"""Maximum number of moves without a choice that the search follows at once."""
UNKNOWN: Final = -1
"""The estimate of a place without an estimate."""


class Places(NamedTuple):
    """The search tree, by place: its `parent`, and the `move` from there (a method, or `NOTHING` for an action).

    `key` has two words for each place, its state and its cell. `cost` is the cost of the actions so far, and `estimate`
    the estimated cost of the open tasks; `closed` marks expanded places.
    """

    key: Registry
    parent: Index
    move: Index
    cost: Words
    estimate: Words
    closed: Index


class Waiting(NamedTuple):
    """The open list: linked lists by key, the latest entry first; the last bucket holds all greater keys.

    `first` is by bucket, `next` and `place` are by entry.
    """

    first: Index
    next: Index
    place: Index


@entry
@kernel
def decompose(
    kind: int,
    past: int,
    future: int,
    work: int,
    number: Words,
    space: Space,
    hierarchy: Hierarchy,
    guide: Guide,
    registry: Registry,
    stacks: Stacks,
    places: Places,
    waiting: Waiting,
) -> int:
    """Search in the order of `past` · cost + `future` · estimate for about `work` steps.

    `EAGER` evaluates places when they are generated. `DEFERRED` evaluates them at expansion: until then they have the
    estimate of their parent, and methods of its relaxed plan are preferred. `BLIND` evaluates none. Returns `PAUSED`,
    `EXHAUSTED`, `FOUND` or `FULL`. After `FOUND`, place `number[GOAL_STATE]` is the end of a plan. `number[LEFT_OUT]`
    counts states that were left out since their values are too great.
    """
    number[slot.WORK] = 0
    words, actions = row_of(space, len(guide.room.state)), len(space.actions.cost)
    while number[slot.WORK] < work:
        if not _has_room(number, registry, stacks, places, waiting, words):
            return FULL
        if number[slot.PENDING] < 0 and not _dequeue(number, stacks, places, waiting):
            return EXHAUSTED
        parent = number[slot.PENDING] + 0
        if kind == DEFERRED and not _evaluate(number, space, hierarchy, guide, registry, stacks, places, parent):
            number[slot.PENDING] = -1
            continue
        child = _generate_child(number, space, hierarchy, registry, stacks, places, words)
        place = _follow_only_moves(number, space, hierarchy, registry, stacks, places, words, child)
        if place < 0:
            continue
        if places.key.state[2 * place + 1] == EMPTY:
            if holds(space.goal, 0, registry.state, places.key.state[2 * place] * words):
                number[slot.GOAL_STATE] = place
                return FOUND
        elif kind != EAGER:
            helps = kind == BLIND or _is_helpful(number, places, guide.achievers, child, actions)
            _enqueue(past, future, number, places, waiting, place, places.estimate[parent] + 0, 0 if helps else 1)
        elif _evaluate(number, space, hierarchy, guide, registry, stacks, places, place):
            _enqueue(past, future, number, places, waiting, place, places.estimate[place] + 0, 0)
    return PAUSED


@kernel
def _is_helpful(number: Words, places: Places, achievers: Achievers, child: int, actions: int) -> bool:
    """Return whether an action or a method of the last relaxed plan leads to `child`."""
    move = places.move[child]
    return move == NOTHING or achievers.planned[actions + move] == number[slot.EVALUATIONS]


@kernel
def _evaluate(
    number: Words,
    space: Space,
    hierarchy: Hierarchy,
    guide: Guide,
    registry: Registry,
    stacks: Stacks,
    places: Places,
    place: int,
) -> bool:
    """Estimate `place`, unless it has an estimate; return False for a dead end."""
    if places.estimate[place] == UNKNOWN:
        number[slot.EVALUATIONS] += 1
        number[slot.WORK] += 2 * len(guide.relaxed.cost) + 20
        plan, words = number[slot.EVALUATIONS] + 0, row_of(space, len(guide.room.state))
        base = places.key.state[2 * place] * words
        cell = places.key.state[2 * place + 1] + 0
        places.estimate[place] = estimate_stack(guide, space, hierarchy, stacks, registry.state, base, cell, plan)
    return places.estimate[place] != INFINITE


@kernel
def _has_room(number: Words, registry: Registry, stacks: Stacks, places: Places, waiting: Waiting, words: int) -> bool:
    """Return whether there is room for another child and the places that follow it."""
    states, reached = number[slot.STATES] + CHAIN + 1, number[slot.PLACES] + CHAIN + 2
    cells = number[slot.CELLS] + (CHAIN + 2) * (number[slot.WIDEST] + 1)
    return (
        _registry_fits(registry, states, words)
        and _registry_fits(places.key, reached, 2)
        and _registry_fits(stacks.cells, cells, 2)
        and reached < len(places.parent)
        and cells < len(stacks.least)
        and number[slot.COUNTERS] < len(waiting.next)
    )


@kernel
def _registry_fits(registry: Registry, count: int, words: int) -> bool:
    """Return whether `registry` has room for `count` entries of `words` words, and for one candidate."""
    return (count + 1) * words <= len(registry.state) and 2 * count <= len(registry.table)


@kernel
def _enqueue(
    past: int, future: int, number: Words, places: Places, waiting: Waiting, place: int, estimate: int, worse: int
) -> None:
    """Insert `place` into the open list, before `worse` places of the same key; there must be room for an entry."""
    key = (past * places.cost[place] + future * estimate) // number[slot.GRAIN]
    bucket = min(2 * key + worse, len(waiting.first) - 1)
    entry = number[slot.COUNTERS] + 0
    number[slot.COUNTERS] = entry + 1
    waiting.place[entry] = place
    waiting.next[entry] = waiting.first[bucket]
    waiting.first[bucket] = entry
    number[slot.LOWEST] = min(number[slot.LOWEST], bucket)


@kernel
def _dequeue(number: Words, stacks: Stacks, places: Places, waiting: Waiting) -> bool:
    """Remove the next place from the open list for expansion; return whether there is one."""
    bucket = number[slot.LOWEST] + 0
    while bucket < len(waiting.first):
        entry = waiting.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        waiting.first[bucket] = waiting.next[entry]
        place = waiting.place[entry] + 0
        cell = places.key.state[2 * place + 1]
        if not places.closed[place] and places.cost[place] + stacks.least[cell] < number[slot.LIMIT]:
            places.closed[place] = 1
            number[slot.EXPANSIONS] += 1
            number[slot.PENDING] = place
            number[slot.TRIED] = 0
            number[slot.LOWEST] = bucket
            return True
    number[slot.LOWEST] = bucket
    return False


@kernel
def _generate_child(
    number: Words, space: Space, hierarchy: Hierarchy, registry: Registry, stacks: Stacks, places: Places, words: int
) -> int:
    """Try the next moves of the pending place; return the first new (or cheaper) place, -1 if none is left."""
    place = number[slot.PENDING] + 0
    state, cell = places.key.state[2 * place] + 0, places.key.state[2 * place + 1] + 0
    task, rest = stacks.cells.state[2 * cell] + 0, stacks.cells.state[2 * cell + 1] + 0
    number[slot.WORK] += 20
    actions = len(space.actions.cost)
    if task < actions:
        number[slot.PENDING] = -1
        return _apply_action(number, space, hierarchy, registry, places, words, place, task, rest)
    first, last = hierarchy.method_start[task - actions] + 0, hierarchy.method_start[task - actions + 1] - 1
    while first + number[slot.TRIED] <= last:
        method = hierarchy.method[last - number[slot.TRIED]] + 0  # the open list is LIFO among equal keys
        number[slot.TRIED] += 1
        if holds(hierarchy.possible, method, registry.state, state * words):
            after = push_subtasks(number, stacks, hierarchy, method, rest)
            if number[slot.NESTED] or not _is_recursive(stacks, places, place, after):
                return _register_place(number, places, place, method, state, after, places.cost[place] + 0)
    number[slot.PENDING] = -1
    return -1


@kernel
def _follow_only_moves(
    number: Words,
    space: Space,
    hierarchy: Hierarchy,
    registry: Registry,
    stacks: Stacks,
    places: Places,
    words: int,
    place: int,
) -> int:
    """Follow single moves from `place` (-1: none); return the last place, -1 for a dead end or a known place."""
    actions = len(space.actions.cost)
    for _ in range(CHAIN):
        if place < 0:
            return -1
        state, cell = places.key.state[2 * place] + 0, places.key.state[2 * place + 1] + 0
        if places.cost[place] + stacks.least[cell] >= number[slot.LIMIT]:
            return -1
        if cell == EMPTY:
            return place
        task, rest = stacks.cells.state[2 * cell] + 0, stacks.cells.state[2 * cell + 1] + 0
        number[slot.WORK] += 10
        if task < actions:
            after = _apply_action(number, space, hierarchy, registry, places, words, place, task, rest)
        else:
            method = _find_only_method(number, hierarchy, registry, state * words, task - actions)
            if method == NOTHING:
                return place
            if method < 0:
                return -1
            unfolding = push_subtasks(number, stacks, hierarchy, method, rest)
            after = _register_place(number, places, place, method, state, unfolding, places.cost[place] + 0)
        places.closed[place] = 1
        place = after
    return place


@kernel
def _is_recursive(stacks: Stacks, places: Places, place: int, cell: int) -> bool:
    """Return whether the first task of `cell` is already being decomposed in the same state.

    If so, the task is on the stack of `place`, or of an ancestor with no action in between. While the stacks in between
    are as deep, the task above is not finished.
    """
    task, state = stacks.cells.state[2 * cell] + 0, places.key.state[2 * place] + 0
    low = stacks.depth[cell] + 0
    for _ in range(CHAIN):
        above = places.key.state[2 * place + 1] + 0
        if places.key.state[2 * place] != state or low < stacks.depth[above]:
            return False
        if stacks.cells.state[2 * above] == task:
            return True
        low = min(low, stacks.depth[above])
        if places.parent[place] == NOTHING:
            return False
        place = places.parent[place] + 0
    return False


@kernel
def _find_only_method(number: Words, hierarchy: Hierarchy, registry: Registry, base: int, compound: int) -> int:
    """Return the only applicable method in the state at `base`; -1 for none, `NOTHING` for several."""
    found = -1
    for index in range(hierarchy.method_start[compound], hierarchy.method_start[compound + 1]):
        method = hierarchy.method[index] + 0
        number[slot.WORK] += 2
        if holds(hierarchy.possible, method, registry.state, base):
            if found >= 0:
                return NOTHING
            found = method
    return found


@kernel
def _apply_action(
    number: Words,
    space: Space,
    hierarchy: Hierarchy,
    registry: Registry,
    places: Places,
    words: int,
    place: int,
    action: int,
    rest: int,
) -> int:
    """Return the place after `action` with the cell `rest`; -1 if the action is inapplicable or the place known."""
    state = places.key.state[2 * place] + 0
    if not holds(hierarchy.required, action, registry.state, state * words):
        return -1
    facts, target = words - space.numbers.fields.words[0], number[slot.STATES] * words
    outcome = apply(space, action, registry.state, state * words, target, facts)
    if outcome != APPLIED:
        if outcome == OUT_OF_RANGE:
            number[slot.LEFT_OUT] += 1
        return -1
    after = number_of(registry, number[slot.STATES], words)
    if after == number[slot.STATES]:
        number[slot.STATES] += 1
    cost = places.cost[place] + space.actions.cost[action]
    return _register_place(number, places, place, NOTHING, after, rest, cost)


@kernel
def _register_place(number: Words, places: Places, parent: int, move: int, state: int, cell: int, cost: int) -> int:
    """Return the place of `state` and `cell`, reached from `parent` at `cost`; -1 if known at no greater cost."""
    count = number[slot.PLACES] + 0
    places.key.state[2 * count] = state
    places.key.state[2 * count + 1] = cell
    place = number_of(places.key, count, 2)
    if place == count:
        number[slot.PLACES] = count + 1
        number[slot.GENERATED] += 1
        places.estimate[place] = UNKNOWN
    elif cost >= places.cost[place] or not number[slot.REOPEN]:
        return -1
    places.parent[place] = parent
    places.move[place] = move
    places.cost[place] = cost
    places.closed[place] = 0
    return place

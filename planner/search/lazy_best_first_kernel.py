"""Lazy best-first search over packed states; the twin is `planner.search.lazy_best_first`.

As in LAMA (Richter and Westphal, 2010), search evaluates a state when it expands it, by the cost of a relaxed plan and
the number of open landmarks. Each estimate has two queues: all edges, and preferred edges, by actions of the relaxed
plan. Preferred queues get many more turns when an estimate reaches a new minimum. Another open list draws states by
type. The key of an edge is `weight` · estimate, plus g with `reopen`. With `reopen`, search reopens states on cheaper
paths, and prunes states that reach the limit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.landmarks_kernel import Milestones, accept_milestones, count_open
from planner.heuristics.relaxation_kernel import Achievers, Exploration, Reachable, Relaxed, relaxed_plan
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PAUSED, Index, Words, entry, kernel
from planner.search.open_lists_kernel import (
    QUEUES,
    Batches,
    Types,
    next_batch,
    next_queue,
    next_typed,
    put_batch,
    put_typed,
    shuffle,
)
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import Registry, number_of

BOOST: Final = 1000
"""Turns that the preferred edges gain when the best estimate improves."""


class Reached(NamedTuple):
    """The paths to the S states of a registry."""

    parent: Index
    """[S] `NOTHING` for the initial state."""
    action: Index
    """[S]"""
    depth: Index
    """[S] Number of steps."""
    cost: Words
    """[S]"""
    accepted: Words
    """[S * W] W words with a bit for each accepted landmark."""


@entry
@kernel
def lazy(
    weight: int,
    reopen: int,
    work: int,
    number: Words,
    space: Space,
    registry: Registry,
    reached: Reached,
    batches: Batches,
    types: Types,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    milestones: Milestones,
    found: Index,
    stack: Index,
) -> int:
    """Search for about `work` steps; return `PAUSED`, `EXHAUSTED`, `FOUND` or `FULL`.

    After `FOUND`, `number[GOAL_STATE]` is reached by a plan. `found` has room for all actions, `stack` for all nodes of
    the tree.
    """
    words = len(room.state)
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if not _has_room(number, registry, reached, batches, types, len(found)):
            return FULL
        state = number[slot.PENDING] + 0
        number[slot.PENDING] = -1
        # Without a pending state, generate the successor of the best edge. A new successor becomes pending.
        if state < 0:
            batch = _next_batch(batches, types, number)
            if batch < 0:
                return EXHAUSTED
            parent, action = batches.state[batch] + 0, batches.edge[batches.at[batch] - 1] + 0
            limit = number[slot.LIMIT] + 0
            number[slot.PENDING] = generate(reopen, limit, number, space, registry, reached, milestones, parent, action)
            number[slot.WORK] += 40
        elif reached.cost[state] >= number[slot.LIMIT]:
            continue
        elif holds(space.goal, 0, registry.state, state * words):
            number[slot.GOAL_STATE] = state
            return FOUND
        # Deferred evaluation: evaluate the pending state now, and queue its edges with its estimates.
        else:
            steps = _evaluate(number, space, registry, reached, relaxed, room, achievers, reachable, milestones, state)
            number[slot.WORK] += 2 * len(relaxed.cost) + 20
            if steps != INFINITE:
                many = find_applicable(space.tree, registry.state, state * words, found, stack)
                _insert_edges(weight, reopen, number, reached, batches, types, achievers, state, steps, found, many)
    return PAUSED


@kernel
def _has_room(number: Words, registry: Registry, reached: Reached, batches: Batches, types: Types, most: int) -> bool:
    return (
        number[slot.STATES] + 1 < len(reached.parent)
        and 2 * (number[slot.STATES] + 1) <= len(registry.table)
        and number[slot.BATCHES] + QUEUES < len(batches.state)
        and number[slot.TYPES] < len(types.key)
        and number[slot.EDGES] + most <= len(batches.edge)
    )


@kernel
def _next_batch(batches: Batches, types: Types, number: Words) -> int:
    """Return the batch of the next edge, from the open list whose turn it is; -1 if all are empty."""
    queue = next_queue(batches, number)
    if number[slot.ACTIVE] and (queue < 0 or number[slot.TURNS + QUEUES] < number[slot.TURNS + queue]):
        number[slot.TURNS + QUEUES] += 1
        return next_typed(types, batches, number)
    if queue < 0:
        return -1
    number[slot.TURNS + queue] += 1
    return next_batch(batches, number, queue)


@kernel
def generate(
    reopen: int,
    limit: int,
    number: Words,
    space: Space,
    registry: Registry,
    reached: Reached,
    milestones: Milestones,
    parent: int,
    action: int,
) -> int:
    """Generate the successor of `parent` by `action`; return its number if it is new, else -1.

    States that cost `limit` or more are left out; with `reopen`, a known state that now costs less counts as new.
    """
    words = len(registry.state) // len(reached.parent)
    cost = reached.cost[parent] + space.actions.cost[action]
    if cost >= limit:
        return -1
    apply(space, action, registry.state, parent * words, number[slot.STATES] * words, words)
    child = number_of(registry, number[slot.STATES], words)
    known = child < number[slot.STATES]
    if known and (not reopen or cost >= reached.cost[child]):
        return -1
    if not known:
        number[slot.STATES] += 1
        number[slot.GENERATED] += 1
    reached.parent[child] = parent
    reached.action[child] = action
    reached.depth[child] = reached.depth[parent] + 1
    reached.cost[child] = cost
    many = len(reached.accepted) // len(reached.parent)
    accept_milestones(
        milestones, reached.accepted, parent * many, child * many, registry.state, child * words, int(known)
    )
    return child


@kernel
def _evaluate(
    number: Words,
    space: Space,
    registry: Registry,
    reached: Reached,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    milestones: Milestones,
    state: int,
) -> int:
    """Return the cost of a relaxed plan, or `INFINITE`; set `LEFT` to the number of open landmarks."""
    number[slot.EVALUATIONS] += 1
    base = state * len(room.state)
    value = relaxed_plan(
        relaxed,
        room,
        achievers,
        reachable,
        space.coding,
        registry.state,
        base,
        number[slot.EVALUATIONS],
        number[slot.SEED],
    )
    number[slot.LEFT] = INFINITE
    if len(milestones.goal):
        many = len(reached.accepted) // len(reached.parent)
        number[slot.LEFT] = count_open(milestones, reached.accepted, state * many, registry.state, base)
    return value


@kernel
def _insert_edges(
    weight: int,
    reopen: int,
    number: Words,
    reached: Reached,
    batches: Batches,
    types: Types,
    achievers: Achievers,
    state: int,
    steps: int,
    found: Index,
    many: int,
) -> None:
    """Insert the first `many` actions of `found` as edges from `state`, preferred ones first."""
    number[slot.EXPANSIONS] += 1
    if number[slot.SEED]:
        shuffle(number, found, 0, many)
    start, plan = number[slot.EDGES], number[slot.EVALUATIONS]
    preferred, end = start, start + many
    other = end
    for index in range(many):
        if achievers.planned[found[index]] == plan:
            batches.edge[preferred] = found[index]
            preferred += 1
        else:
            other -= 1
            batches.edge[other] = found[index]
    number[slot.EDGES] = end
    # All queues share one array of edges: the preferred queues see only the first part of the batch.
    before, left = reached.cost[state] * reopen, number[slot.LEFT]
    _boost_preferred(number, steps, left)
    if not number[slot.GRAIN]:
        number[slot.GRAIN] = 1 + 4 * (before + weight * steps) * QUEUES // len(batches.first)
    key = (before + weight * steps) // number[slot.GRAIN]
    put_batch(batches, number, 0, key, state, start, end)
    put_batch(batches, number, 1, key, state, start, preferred)
    if left != INFINITE:
        key = (before + weight * left) // number[slot.GRAIN]
        put_batch(batches, number, 2, key, state, start, end)
        put_batch(batches, number, 3, key, state, start, preferred)
    if not reopen:
        put_typed(types, batches, number, steps << 32 | reached.depth[state], state, start, end)


@kernel
def _boost_preferred(number: Words, steps: int, left: int) -> None:
    """Give the preferred edges more turns if an estimate is the best so far."""
    if steps < number[slot.BEST] or left < number[slot.BEST + 1]:
        number[slot.TURNS + 1] -= BOOST
        number[slot.TURNS + 3] -= BOOST
    number[slot.BEST] = min(number[slot.BEST], steps)
    number[slot.BEST + 1] = min(number[slot.BEST + 1], left)

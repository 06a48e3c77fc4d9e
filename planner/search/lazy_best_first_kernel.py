"""Best-first search with deferred evaluation, for plans soon (Richter and Westphal, 2010).

A state is estimated when it is expanded; until then it waits as an edge under its parent's estimates. There are two of
these, each with a queue of all edges and one of those by actions of the relaxed plan, which get many turns more when an
estimate sinks below all before; a last open list draws types of states. The key of an edge is `weight` · estimate, plus
the cost so far if `reopen`: then states that are reached more cheaply are opened again, and what is not cheaper than
the limit is cut off.
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
    drawn,
    next_batch,
    next_queue,
    next_typed,
    put_batch,
    put_typed,
)
from planner.task.packed_states_kernel import Space, apply, find_applicable, holds
from planner.task.state_registry_kernel import Registry, number_of

BOOST: Final = 1000
"""Turns that preferred actions get when the best estimate improves."""


class Reached(NamedTuple):
    """How each state was reached: by how many steps, at which cost, and which milestones were accepted (as bits)."""

    parent: Index
    action: Index
    depth: Index
    cost: Words
    accepted: Words


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
        if state < 0:
            batch = _next(batches, types, number)
            if batch < 0:
                return EXHAUSTED
            _follow(reopen, number, space, registry, reached, batches, milestones, batch)
            number[slot.WORK] += 40
        elif reached.cost[state] >= number[slot.LIMIT]:
            continue
        elif holds(space.goal, 0, registry.state, state * words):
            number[slot.GOAL_STATE] = state
            return FOUND
        else:
            steps = _estimates(number, space, registry, reached, relaxed, room, achievers, reachable, milestones, state)
            number[slot.WORK] += 2 * len(relaxed.cost) + 20
            if steps != INFINITE:
                many = find_applicable(space.tree, registry.state, state * words, found, stack)
                _open(weight, reopen, number, reached, batches, types, achievers, state, steps, found, many)
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
def _next(batches: Batches, types: Types, number: Words) -> int:
    """Return the batch whose turn it is, the next edge of which is used up; -1 where nothing waits."""
    queue = next_queue(batches, number)
    if number[slot.ACTIVE] and (queue < 0 or number[slot.TURNS + QUEUES] < number[slot.TURNS + queue]):
        number[slot.TURNS + QUEUES] += 1
        return next_typed(types, batches, number)
    if queue < 0:
        return -1
    number[slot.TURNS + queue] += 1
    return next_batch(batches, number, queue)


@kernel
def _follow(
    reopen: int,
    number: Words,
    space: Space,
    registry: Registry,
    reached: Reached,
    batches: Batches,
    milestones: Milestones,
    batch: int,
) -> None:
    """Go along the edge of `batch` that was used up last; a state that is worth it becomes the pending one."""
    words = len(registry.state) // len(reached.parent)
    parent, action = batches.state[batch] + 0, batches.edge[batches.at[batch] - 1] + 0
    cost = reached.cost[parent] + space.actions.cost[action]
    if cost >= number[slot.LIMIT]:
        return
    apply(space, action, registry.state, parent * words, number[slot.STATES] * words, words)
    child = number_of(registry, number[slot.STATES], words)
    known = child < number[slot.STATES]
    if known and (not reopen or cost >= reached.cost[child]):
        return
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
    number[slot.PENDING] = child


@kernel
def _estimates(
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
    """Return the cost of a relaxed plan, `INFINITE` for a dead end; `LEFT` says how many milestones are left."""
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
def _open(
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
    """Let the first `many` actions of `found` wait as edges that leave `state`, preferred ones first."""
    number[slot.EXPANSIONS] += 1
    if number[slot.SEED]:
        _shuffle(number, found, many)
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
    before, left = reached.cost[state] * reopen, number[slot.LEFT]
    _boost(number, steps, left)
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
def _shuffle(number: Words, found: Index, many: int) -> None:
    for last in range(many - 1, 0, -1):
        place = drawn(number, last + 1)
        action = found[last] + 0
        found[last] = found[place]
        found[place] = action


@kernel
def _boost(number: Words, steps: int, left: int) -> None:
    """Give the preferred edges turns if an estimate is the best so far."""
    if steps < number[slot.BEST] or left < number[slot.BEST + 1]:
        number[slot.TURNS + 1] -= BOOST
        number[slot.TURNS + 3] -= BOOST
    number[slot.BEST] = min(number[slot.BEST], steps)
    number[slot.BEST + 1] = min(number[slot.BEST + 1], left)

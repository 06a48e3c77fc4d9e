"""Best-first search with deferred evaluation, for plans soon (Richter and Westphal, 2010).

A state is estimated when it is expanded; until then it waits as an edge under its parent's estimates. There are two of
these, each with a queue of all edges and one of those by actions of the relaxed plan, which get many turns more when an
estimate sinks below all before; a last open list draws types of states. The key of an edge is `weight` · estimate, plus
the cost so far if `reopen`: then states that are reached more cheaply are opened again, and what is not cheaper than
the limit is cut off.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.landmarks_kernel import Milestones, accept, count
from planner.heuristics.relaxation_kernel import Achievers, Reachable, relaxed_plan
from planner.jit.common_kernel import (
    ACTIVE,
    BATCHES,
    BEST,
    EDGES,
    EVALUATIONS,
    EXHAUSTED,
    EXPANSIONS,
    FOUND,
    FULL,
    GENERATED,
    GOAL_STATE,
    GRAIN,
    INFINITE,
    LEFT,
    LIMIT,
    PAUSED,
    PENDING,
    SEED,
    STATES,
    TURNS,
    TYPES,
    WORK,
    Exploration,
    Index,
    Registry,
    Relaxed,
    Space,
    Words,
    entry,
    kernel,
)
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
from planner.task.packed_states_kernel import applicable, apply, holds, number_of

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
    number[WORK] = 0
    while number[WORK] < work:
        if not _has_room(number, registry, reached, batches, types, len(found)):
            return FULL
        state = number[PENDING] + 0
        number[PENDING] = -1
        if state < 0:
            batch = _next(batches, types, number)
            if batch < 0:
                return EXHAUSTED
            _follow(reopen, number, space, registry, reached, batches, milestones, batch)
            number[WORK] += 40
        elif reached.cost[state] >= number[LIMIT]:
            continue
        elif holds(space.goal, 0, registry.state, state * words):
            number[GOAL_STATE] = state
            return FOUND
        else:
            steps = _estimates(number, space, registry, reached, relaxed, room, achievers, reachable, milestones, state)
            number[WORK] += 2 * len(relaxed.cost) + 20
            if steps != INFINITE:
                many = applicable(space.tree, registry.state, state * words, found, stack)
                _open(weight, reopen, number, reached, batches, types, achievers, state, steps, found, many)
    return PAUSED


@kernel
def _has_room(number: Words, registry: Registry, reached: Reached, batches: Batches, types: Types, most: int) -> bool:
    return (
        number[STATES] + 1 < len(reached.parent)
        and 2 * (number[STATES] + 1) <= len(registry.table)
        and number[BATCHES] + QUEUES < len(batches.state)
        and number[TYPES] < len(types.key)
        and number[EDGES] + most <= len(batches.edge)
    )


@kernel
def _next(batches: Batches, types: Types, number: Words) -> int:
    """Return the batch whose turn it is, the next edge of which is used up; -1 where nothing waits."""
    queue = next_queue(batches, number)
    if number[ACTIVE] and (queue < 0 or number[TURNS + QUEUES] < number[TURNS + queue]):
        number[TURNS + QUEUES] += 1
        return next_typed(types, batches, number)
    if queue < 0:
        return -1
    number[TURNS + queue] += 1
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
    if cost >= number[LIMIT]:
        return
    apply(space, action, registry.state, parent * words, number[STATES] * words, words)
    child = number_of(registry, number[STATES], words)
    known = child < number[STATES]
    if known and (not reopen or cost >= reached.cost[child]):
        return
    if not known:
        number[STATES] += 1
        number[GENERATED] += 1
    reached.parent[child] = parent
    reached.action[child] = action
    reached.depth[child] = reached.depth[parent] + 1
    reached.cost[child] = cost
    many = len(reached.accepted) // len(reached.parent)
    accept(milestones, reached.accepted, parent * many, child * many, registry.state, child * words, int(known))
    number[PENDING] = child


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
    number[EVALUATIONS] += 1
    base = state * len(room.state)
    value = relaxed_plan(
        relaxed, room, achievers, reachable, space.coding, registry.state, base, number[EVALUATIONS], number[SEED]
    )
    number[LEFT] = INFINITE
    if len(milestones.goal):
        many = len(reached.accepted) // len(reached.parent)
        number[LEFT] = count(milestones, reached.accepted, state * many, registry.state, base)
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
    number[EXPANSIONS] += 1
    if number[SEED]:
        _shuffle(number, found, many)
    start, plan = number[EDGES], number[EVALUATIONS]
    preferred, end = start, start + many
    other = end
    for index in range(many):
        if achievers.planned[found[index]] == plan:
            batches.edge[preferred] = found[index]
            preferred += 1
        else:
            other -= 1
            batches.edge[other] = found[index]
    number[EDGES] = end
    before, left = reached.cost[state] * reopen, number[LEFT]
    _boost(number, steps, left)
    if not number[GRAIN]:
        number[GRAIN] = 1 + 4 * (before + weight * steps) * QUEUES // len(batches.first)
    key = (before + weight * steps) // number[GRAIN]
    put_batch(batches, number, 0, key, state, start, end)
    put_batch(batches, number, 1, key, state, start, preferred)
    if left != INFINITE:
        key = (before + weight * left) // number[GRAIN]
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
    if steps < number[BEST] or left < number[BEST + 1]:
        number[TURNS + 1] -= BOOST
        number[TURNS + 3] -= BOOST
    number[BEST] = min(number[BEST], steps)
    number[BEST + 1] = min(number[BEST + 1], left)

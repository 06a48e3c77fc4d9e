"""Lazy best-first search over packed states; the twin is `planner.search.lazy_best_first`.

As in LAMA (Richter and Westphal, 2010), search evaluates a state when it expands it, by the cost of a relaxed plan and
the number of open landmarks. Each estimate has two queues: all edges, and preferred edges, by actions of the relaxed
plan. Preferred queues get many more turns when an estimate reaches a new minimum. Another open list draws states by
type. The key of an edge is `number[WEIGHT]` · estimate. With `number[REOPEN]`, search adds g, reopens states on cheaper
paths, and prunes states that reach the limit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.landmarks_kernel import Milestones, accept_milestones, count_open
from planner.heuristics.relaxation_kernel import Achievers, Exploration, Reachable, Relaxed, relaxed_plan
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, Index, Words, entry, kernel
from planner.search.best_first_loop_kernel import Parts, make_opening, make_search
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
from planner.task.packed_states_kernel import Space, apply
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


class RelaxedPlans(NamedTuple):
    """What relaxed plans are computed from."""

    relaxed: Relaxed
    room: Exploration
    achievers: Achievers
    reachable: Reachable


class Workspace(NamedTuple):
    """What a search works on: `found` has room for all actions, `stack` for all nodes of the decision tree."""

    number: Words
    space: Space
    registry: Registry
    reached: Reached
    batches: Batches
    types: Types
    plans: RelaxedPlans
    milestones: Milestones
    found: Index
    stack: Index


@kernel
def _has_room(at: Workspace) -> bool:
    number = at.number
    return (
        number[slot.STATES] + 1 < len(at.reached.parent)
        and 2 * (number[slot.STATES] + 1) <= len(at.registry.table)
        and number[slot.BATCHES] + QUEUES < len(at.batches.state)
        and number[slot.TYPES] < len(at.types.key)
        and number[slot.EDGES] + len(at.found) <= len(at.batches.edge)
    )


@kernel
def _follow(at: Workspace) -> bool:
    """Follow the best edge; return False if none waits."""
    number, batches = at.number, at.batches
    batch = _next_batch(batches, at.types, number)
    if batch < 0:
        return False
    parent, action = batches.state[batch] + 0, batches.edge[batches.at[batch] - 1] + 0
    number[slot.PENDING] = generate(number, at.space, at.registry, at.reached, at.milestones, parent, action)
    number[slot.WORK] += 40
    return True


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
    number: Words,
    space: Space,
    registry: Registry,
    reached: Reached,
    milestones: Milestones,
    parent: int,
    action: int,
) -> int:
    """Generate the successor of `parent` by `action`; return its number if it is new, else -1.

    States that cost `number[LIMIT]` or more are left out; with `number[REOPEN]`, a known state that now costs less
    counts as new.
    """
    words = len(registry.state) // len(reached.parent)
    cost = reached.cost[parent] + space.actions.cost[action]
    if cost >= number[slot.LIMIT]:
        return -1
    apply(space, action, registry.state, parent * words, number[slot.STATES] * words, words)
    child = number_of(registry, number[slot.STATES], words)
    known = child < number[slot.STATES]
    if known and (not number[slot.REOPEN] or cost >= reached.cost[child]):
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
def find_relaxed_plan(
    number: Words, plans: RelaxedPlans, space: Space, registry: Registry, base: int, seed: int
) -> int:
    """Compute a relaxed plan for the state at `base`, whose number is that of the evaluation; return its cost.

    Return `INFINITE` for a dead end.
    """
    number[slot.EVALUATIONS] += 1
    number[slot.WORK] += 2 * len(plans.relaxed.cost)
    relaxed, room, achievers, reachable = plans
    plan = number[slot.EVALUATIONS] + 0
    return relaxed_plan(relaxed, room, achievers, reachable, space.coding, registry.state, base, plan, seed)


@kernel
def _row(at: Workspace) -> int:
    return len(at.plans.room.state)


@kernel
def _is_goal(at: Workspace, state: int, base: int) -> bool:
    return at.reached.cost[state] < at.number[slot.LIMIT] and holds(at.space.goal, 0, at.registry.state, base)


@kernel
def _evaluate(at: Workspace, state: int, base: int) -> int:
    """Return the cost of a relaxed plan for `state`, or `INFINITE`; set `LEFT` to the number of open landmarks."""
    number, reached, marks = at.number, at.reached, at.milestones
    if reached.cost[state] >= number[slot.LIMIT]:
        return INFINITE
    number[slot.WORK] += 20
    number[slot.LEFT] = INFINITE
    if len(marks.goal):
        many = len(reached.accepted) // len(reached.parent)
        number[slot.LEFT] = count_open(marks, reached.accepted, state * many, at.registry.state, base)
    return find_relaxed_plan(number, at.plans, at.space, at.registry, base, number[slot.SEED] + 0)


@kernel
def _queue_edges(at: Workspace, state: int, _base: int, steps: int, many: int) -> None:
    """Queue the first `many` actions of `found` as edges of `state`, preferred ones first."""
    if at.number[slot.SEED]:
        shuffle(at.number, at.found, 0, many)
    start = at.number[slot.EDGES] + 0
    _insert_edges(at, state, steps, start, _append_edges(at, many), start + many)


@kernel
def _append_edges(at: Workspace, many: int) -> int:
    """Append the first `many` actions of `found` to the edges, preferred ones first; return where the others begin."""
    number, edge, planned = at.number, at.batches.edge, at.plans.achievers.planned
    preferred, other = number[slot.EDGES] + 0, number[slot.EDGES] + many
    number[slot.EDGES] = other
    for index in range(many):
        if planned[at.found[index]] == number[slot.EVALUATIONS]:
            edge[preferred] = at.found[index]
            preferred += 1
        else:
            other -= 1
            edge[other] = at.found[index]
    return preferred


@kernel
def _insert_edges(at: Workspace, state: int, steps: int, start: int, others: int, end: int) -> None:
    """Queue the edges from `start` up to `end`, which `state` has; those before `others` are preferred."""
    number, batches, weight = at.number, at.batches, at.number[slot.WEIGHT] + 0
    # All queues share one array of edges: the preferred queues see only the first part of the batch.
    before, left = at.reached.cost[state] * number[slot.REOPEN], number[slot.LEFT] + 0
    _boost_preferred(number, steps, left)
    if not number[slot.GRAIN]:
        number[slot.GRAIN] = 1 + 4 * (before + weight * steps) * QUEUES // len(batches.first)
    key = (before + weight * steps) // number[slot.GRAIN]
    put_batch(batches, number, 0, key, state, start, end)
    put_batch(batches, number, 1, key, state, start, others)
    if left != INFINITE:
        key = (before + weight * left) // number[slot.GRAIN]
        put_batch(batches, number, 2, key, state, start, end)
        put_batch(batches, number, 3, key, state, start, others)
    if not number[slot.REOPEN]:
        put_typed(at.types, batches, number, steps << 32 | at.reached.depth[state], state, start, end)


@kernel
def _boost_preferred(number: Words, steps: int, left: int) -> None:
    """Give the preferred edges more turns if an estimate is the best so far."""
    if steps < number[slot.BEST] or left < number[slot.BEST + 1]:
        number[slot.TURNS + 1] -= BOOST
        number[slot.TURNS + 3] -= BOOST
    number[slot.BEST] = min(number[slot.BEST], steps)
    number[slot.BEST + 1] = min(number[slot.BEST + 1], left)


_search = make_search(Parts(_row, _has_room, _follow, _is_goal, make_opening(_evaluate, _queue_edges)))


@entry
@kernel
def lazy(work: int, at: Workspace) -> int:
    """Search as `make_search` says; the keys of edges are g, with `number[REOPEN]`, + `number[WEIGHT]` · estimate."""
    return _search(work, at)

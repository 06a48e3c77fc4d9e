"""A* over packed states with lazy evaluation; the twin is `planner.search.astar`."""

from __future__ import annotations

from typing import Final

from planner.heuristics.abstractions.cost_partitioning_kernel import Tables, estimate_scp
from planner.heuristics.lmcut_kernel import Landmarks, lm_cut
from planner.heuristics.relaxation_kernel import Exploration, Relaxed, h_max
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PASSED, PAUSED, Index, Words, entry, kernel
from planner.pruning.stubborn_sets_kernel import Stubborn, prune_applicable
from planner.pruning.symmetries_kernel import Symmetries, canonicalize
from planner.search.open_lists_kernel import Open, put, take
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import Space, apply, find_applicable, is_useless
from planner.task.state_registry_kernel import CLOSED, EVALUATED, LOOKED_UP, MOVED, WAITING, Nodes, Registry, number_of

BLIND: Final = 0
H_MAX: Final = 1
SCP: Final = 2
LM_CUT: Final = 3
BOTH: Final = 4
"""Abstractions first, then LM-cut for states whose bound by abstractions does not defer them."""
SPARE: Final = 64
"""Number of landmarks for which there must be room before the evaluation of a state."""


@entry
@kernel
def astar(
    kind: int,
    work: int,
    number: Words,
    space: Space,
    symmetries: Symmetries,
    registry: Registry,
    nodes: Nodes,
    waiting: Open,
    relaxed: Relaxed,
    room: Exploration,
    landmarks: Landmarks,
    tables: Tables,
    stubborn: Stubborn,
    found: Index,
    stack: Index,
) -> int:
    """Search with the estimate `kind` for about `work` steps; return how the search ended.

    The search may continue after each ending: `PAUSED`, `EXHAUSTED`, `FOUND`, `FULL` or `PASSED` (f is above
    `number[UNTIL]`). After `FOUND`, the cheapest plan leads to `number[GOAL_STATE]`. `found` has room for all actions,
    `stack` for all nodes of the tree.
    """
    words = len(room.state)
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if not _has_room(kind, number, registry, nodes, waiting, landmarks, len(found)):
            return FULL
        # The last round has evaluated a state. There is room for its f now: insert the state again.
        if number[slot.PENDING] >= 0:
            state = number[slot.PENDING] + 0
            number[slot.PENDING] = -1
            put(waiting, number, nodes.cost[state] + nodes.bound[state], nodes.bound[state], state)
        state = take(waiting, number, nodes)
        if state < 0 or number[slot.CURRENT_F] >= number[slot.LIMIT]:
            return EXHAUSTED
        if number[slot.CURRENT_F] > number[slot.UNTIL]:
            number[slot.PENDING] = state
            return PASSED
        if nodes.stage[state] == CLOSED:
            continue
        # A queued state has an inherited bound, then perhaps a bound by abstractions, and then its evaluation. The
        # search expands a state that is the best one after its evaluation.
        if nodes.stage[state] in (WAITING, LOOKED_UP) and kind != BLIND:
            _evaluate(kind, number, space, registry, nodes, relaxed, room, landmarks, tables, state)
        elif holds(space.goal, 0, registry.state, state * words):
            number[slot.GOAL_STATE] = state
            return FOUND
        else:
            count = find_applicable(space.tree, registry.state, state * words, found, stack)
            count = prune_applicable(stubborn, number, registry.state, state * words, found, count)
            _expand(kind, number, space, symmetries, registry, nodes, waiting, landmarks, state, found, count)
    return PAUSED


@entry
@kernel
def reconsider(nodes: Nodes, count: int, also_evaluated: int) -> int:
    """Evaluate the first `count` states again before they are expanded; return 0."""
    for state in range(count):
        if nodes.stage[state] == LOOKED_UP or (also_evaluated and nodes.stage[state] == EVALUATED):
            nodes.stage[state] = WAITING
    return 0


@kernel
def _evaluate(
    kind: int,
    number: Words,
    space: Space,
    registry: Registry,
    nodes: Nodes,
    relaxed: Relaxed,
    room: Exploration,
    landmarks: Landmarks,
    tables: Tables,
    state: int,
) -> None:
    """Evaluate `state`, and make it pending unless its f reaches the limit."""
    number[slot.EVALUATIONS] += 1
    looked_up = kind == BOTH and nodes.stage[state] == WAITING
    nodes.stage[state] = LOOKED_UP if looked_up else EVALUATED
    if kind == SCP or looked_up:
        number[slot.WORK] += 4 * len(tables.lookup.start) + 2 * len(tables.part) + 20
        value = estimate_scp(tables, registry.state, state * len(room.state))
    elif kind == H_MAX:
        number[slot.WORK] += len(relaxed.cost) + 20
        value = h_max(relaxed, room, space.coding, registry.state, state * len(room.state))
    else:
        number[slot.WORK] += len(relaxed.cost) + 20
        value = lm_cut(relaxed, room, space.coding, landmarks, registry, nodes, number, state)
    nodes.bound[state] = max(nodes.bound[state], value)
    if nodes.cost[state] + nodes.bound[state] < number[slot.LIMIT]:
        number[slot.PENDING] = state


@kernel
def _expand(
    kind: int,
    number: Words,
    space: Space,
    symmetries: Symmetries,
    registry: Registry,
    nodes: Nodes,
    waiting: Open,
    landmarks: Landmarks,
    state: int,
    found: Index,
    count: int,
) -> None:
    """Generate the successors of `state` by the first `count` actions of `found`."""
    number[slot.WORK] += (20 + len(symmetries.start)) * count + 20
    number[slot.EXPANSIONS] += 1
    number[slot.EXPANDED] = state
    nodes.stage[state] = CLOSED
    words = len(registry.state) // len(nodes.parent)
    if kind >= LM_CUT:
        _add_lost_landmarks(landmarks, state, 1)
    for index in range(count):
        action = found[index]
        apply(space, action, registry.state, state * words, number[slot.STATES] * words, words)
        moved = canonicalize(symmetries, registry.state, number[slot.STATES] * words)
        child = number_of(registry, number[slot.STATES], words)
        # The child inherits a bound: pathmax, and with LM-cut the parent's landmarks without the action.
        bound = nodes.bound[state] - space.actions.cost[action]
        if kind >= LM_CUT:
            bound = max(bound, landmarks.kept[state] - landmarks.lost[action])
        if child == number[slot.STATES] and is_useless(space, registry.state, child * words):
            bound = INFINITE
        cost = nodes.cost[state] + space.actions.cost[action]
        _reach(number, nodes, waiting, state, action + MOVED * moved, child, cost, bound)
    if kind >= LM_CUT:
        _add_lost_landmarks(landmarks, state, -1)


@kernel
def _has_room(
    kind: int,
    number: Words,
    registry: Registry,
    nodes: Nodes,
    waiting: Open,
    landmarks: Landmarks,
    most: int,
) -> bool:
    """Return whether all arrays have room for the evaluation and expansion of a state with `most` successors."""
    pending, reach = number[slot.PENDING], number[slot.MAX_COST] + 1
    h, f = 0, number[slot.HIGHEST_F]
    if pending >= 0:
        h = nodes.bound[pending] + 0
        f = max(f, nodes.cost[pending] + h)
    return (
        number[slot.STATES] + most <= len(nodes.parent)
        and 2 * (number[slot.STATES] + most) <= len(registry.table)
        and number[slot.COUNTERS] + most <= len(waiting.state)
        and f - number[slot.BASE_F] + reach < len(waiting.by_f)
        and h < len(waiting.by_h)
        and (
            kind < LM_CUT
            or (
                number[slot.LANDMARKS] + SPARE < len(landmarks.start)
                and number[slot.MEMBERS] + 2 * most <= len(landmarks.member)
                and number[slot.REFERENCES] + number[slot.LONGEST] + SPARE <= len(landmarks.reference)
            )
        )
    )


@kernel
def _reach(
    number: Words, nodes: Nodes, waiting: Open, parent: int, action: int, child: int, cost: int, bound: int
) -> None:
    """Update the path to `child` if `cost` is lower than before, and insert the child into the open list."""
    if child == number[slot.STATES]:
        number[slot.STATES] += 1
        number[slot.GENERATED] += 1
        nodes.stage[child] = WAITING
        nodes.bound[child] = max(0, bound)
    elif cost < nodes.cost[child]:
        if nodes.stage[child] == CLOSED:
            nodes.stage[child] = EVALUATED
        nodes.bound[child] = max(nodes.bound[child], bound)
    else:
        return
    nodes.parent[child] = parent
    nodes.action[child] = action
    nodes.cost[child] = cost
    if cost + nodes.bound[child] < number[slot.LIMIT]:
        put(waiting, number, cost + nodes.bound[child], nodes.bound[child], child)


@kernel
def _add_lost_landmarks(landmarks: Landmarks, state: int, sign: int) -> None:
    """Add `sign` times the costs of the landmarks of `state` to `lost[a]` for each of their actions a."""
    first = landmarks.of[state]
    for index in range(first, first + landmarks.many[state]):
        landmark = landmarks.reference[index]
        for member in range(landmarks.start[landmark], landmarks.start[landmark + 1]):
            landmarks.lost[landmarks.member[member]] += sign * landmarks.worth[landmark]

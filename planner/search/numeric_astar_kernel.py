"""A* for numeric tasks over packed states, with lazy evaluation and reopening; also weighted, for better plans."""

from __future__ import annotations

from typing import Final

from planner.heuristics.numeric_lmcut_kernel import BoundRoom, NumericBounds, numeric_h_max, numeric_lm_cut
from planner.heuristics.numeric_state_equation_kernel import Equation, Tableau, bound_by_equation
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PAUSED, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push
from planner.pruning.numeric_dominance_kernel import Fronts, is_dominated
from planner.pruning.symmetries_kernel import Symmetries, canonicalize
from planner.search.open_lists_kernel import Queue
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import (
    APPLIED,
    OUT_OF_RANGE,
    Prices,
    price_end,
    price_step,
)
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import CLOSED, EVALUATED, WAITING, Nodes, Registry, number_of

BLIND: Final = 0
H_MAX: Final = 1
LM_CUT: Final = 2
EQUATION: Final = 3
BOTH: Final = 4
"""The greater one of LM-cut and the bound by the state equation."""
MOST_COST: Final = 1 << 36
"""States that cost more are pruned, which leaves a search without a proof."""
TIES: Final = 20
"""Binary digits of keys by which states of the same f are ordered."""


@entry
@kernel
def numeric_astar(
    kind: int,
    weight: int,
    work: int,
    words: int,
    number: Words,
    space: Space,
    prices: Prices,
    registry: Registry,
    nodes: Nodes,
    queue: Queue,
    bounds: NumericBounds,
    room: BoundRoom,
    equation: Equation,
    tableau: Tableau,
    fronts: Fronts,
    symmetries: Symmetries,
    found: Index,
    stack: Index,
) -> int:
    """Search with the estimate `kind` times `weight` for about `work` steps; return how the search ended.

    The search may continue after each ending: `PAUSED`, `EXHAUSTED` (no plan costs less than `number[LIMIT]`), `FOUND`
    (a plan leads to `number[GOAL_STATE]`, which waits to be expanded if plans pay for how they end) or `FULL`. With
    weight 1, `number[CURRENT_F]` is a lower bound of all plans that cost less than the limit. States have so many
    `words` for facts. `number[PRUNED]` counts states that were left out without a proof.
    """
    row = words + len(space.numbers.low)
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if (
            number[slot.STATES] + len(found) >= len(nodes.parent)
            or 2 * (number[slot.STATES] + len(found)) > len(registry.table)
            or number[slot.OPEN] + len(found) >= len(queue.heap)
        ):
            return FULL
        if not number[slot.OPEN]:
            return EXHAUSTED
        state, key = queue.heap[0] + 0, queue.key[0] + 0
        f = nodes.cost[state] + nodes.bound[state]
        if key != _key(nodes, state, weight) or nodes.stage[state] == CLOSED or f >= number[slot.LIMIT]:
            if weight == 1 and key >> TIES >= number[slot.LIMIT]:
                return EXHAUSTED
            number[slot.OPEN] = pop(queue.key, queue.heap, number[slot.OPEN])
            number[slot.WORK] += 5
            continue
        number[slot.OPEN] = pop(queue.key, queue.heap, number[slot.OPEN])
        if weight == 1:
            number[slot.CURRENT_F] = max(number[slot.CURRENT_F], f)
        base = state * row
        if nodes.stage[state] == WAITING and len(fronts.first) > 1 and is_dominated(fronts, registry, nodes, state):
            nodes.stage[state] = CLOSED
        elif nodes.stage[state] == WAITING and kind != BLIND:
            nodes.stage[state] = EVALUATED
            number[slot.EVALUATIONS] += 1
            limit = number[slot.LIMIT] - nodes.cost[state]
            value = 0
            if kind >= EQUATION:
                before = tableau.pivots[0] + 0
                value = bound_by_equation(equation, tableau, space.coding, words, registry.state, base, limit)
                number[slot.WORK] += len(equation.row) + max(0, tableau.pivots[0] - before) * len(tableau.inverse)
            if kind != EQUATION and value < limit:
                value = max(value, _relax(kind, number, space, registry, bounds, room, words, base, limit))
            nodes.bound[state] = max(nodes.bound[state], value)
            _put(queue, number, nodes, state, weight)
        elif _is_best_end(number, space, prices, registry, nodes.cost[state] + 0, words, base):
            number[slot.GOAL_STATE] = state
            if len(prices.end):
                nodes.stage[state] = EVALUATED
                _put(queue, number, nodes, state, weight)
            return FOUND
        else:
            count = find_applicable(space.tree, registry.state, base, found, stack)
            number[slot.WORK] += 20 + (20 + row + len(symmetries.start)) * count
            _expand(
                number,
                space,
                prices,
                symmetries,
                registry,
                nodes,
                queue,
                state,
                words,
                found,
                count,
                weight,
            )
    return PAUSED


@kernel
def _expand(
    number: Words,
    space: Space,
    prices: Prices,
    symmetries: Symmetries,
    registry: Registry,
    nodes: Nodes,
    queue: Queue,
    state: int,
    words: int,
    found: Index,
    count: int,
    weight: int,
) -> None:
    """Generate the successors of `state` by the first `count` actions of `found`, and queue them."""
    row = words + len(space.numbers.low)
    base = state * row
    nodes.stage[state] = CLOSED
    number[slot.EXPANSIONS] += 1
    for index in range(count):
        action, target = found[index] + 0, number[slot.STATES] * row
        outcome = apply(space, action, registry.state, base, target, words)
        if outcome == APPLIED:
            step = space.actions.cost[action] + price_step(prices, registry.state, base + words, target + words)
            canonicalize(symmetries, registry.state, target)
            child = number_of(registry, number[slot.STATES], row)
            _reach(number, step, nodes, queue, state, action, child, weight)
        elif outcome == OUT_OF_RANGE:
            number[slot.PRUNED] += 1


@kernel
def _is_best_end(
    number: Words, space: Space, prices: Prices, registry: Registry, cost: int, words: int, base: int
) -> bool:
    """Return whether a plan that costs less than the limit ends in the state at `base`, which is reached by `cost`."""
    if not holds(space.goal, 0, registry.state, base):
        return False
    total = cost + price_end(prices, registry.state, base + words)
    if total >= MOST_COST:
        number[slot.PRUNED] += 1
    return total < number[slot.LIMIT]


@kernel
def _relax(
    kind: int,
    number: Words,
    space: Space,
    registry: Registry,
    bounds: NumericBounds,
    room: BoundRoom,
    words: int,
    base: int,
    limit: int,
) -> int:
    """Return a lower bound by relaxation for the state at `base`; LM-cut stops once it reaches `limit`."""
    number[slot.WORK] += 2 * len(bounds.action) + 20
    if kind == H_MAX:
        return numeric_h_max(bounds, room, space, words, registry.state, base)
    number[slot.WORK] += 8 * len(bounds.action)
    return numeric_lm_cut(bounds, room, space, words, registry.state, base, limit)


@kernel
def _key(nodes: Nodes, state: int, weight: int) -> int:
    h = min(nodes.bound[state], MOST_COST)
    return ((nodes.cost[state] + weight * h) << TIES) + min(h, (1 << TIES) - 1)


@kernel
def _put(queue: Queue, number: Words, nodes: Nodes, state: int, weight: int) -> None:
    """Queue `state` unless no plan through it is cheaper than the limit."""
    if nodes.bound[state] < INFINITE and nodes.cost[state] + nodes.bound[state] < number[slot.LIMIT]:
        number[slot.OPEN] = push(queue.key, queue.heap, number[slot.OPEN], _key(nodes, state, weight), state)


@kernel
def _reach(
    number: Words, step: int, nodes: Nodes, queue: Queue, parent: int, action: int, child: int, weight: int
) -> None:
    """Update the path to `child` if it is cheaper by `parent` and a `step` of `action`, and queue the child."""
    cost = nodes.cost[parent] + step
    bound = nodes.bound[parent] - step
    if cost > MOST_COST:
        number[slot.PRUNED] += 1
        cost = MOST_COST
        bound = INFINITE
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
    _put(queue, number, nodes, child, weight)

"""A* over packed states, with lazy evaluation and reopening; also weighted, for better plans.

Machine code comes in two variants of one source: for facts alone, whose costs wait in buckets, and for facts and
numbers, whose costs wait in a heap. The twin for tasks without numbers is `planner.search.astar`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.abstractions.cost_partitioning_kernel import Tables, estimate_scp
from planner.heuristics.lmcut_kernel import Landmarks, lm_cut
from planner.heuristics.numeric_lmcut_kernel import BoundRoom, NumericBounds, numeric_h_max, numeric_lm_cut
from planner.heuristics.numeric_state_equation_kernel import Equation, Tableau, bound_by_equation
from planner.heuristics.relaxation_kernel import Exploration, Relaxed, h_max
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PASSED, PAUSED, Index, Words, entry, kernel
from planner.pruning.numeric_dominance_kernel import Fronts, is_dominated
from planner.pruning.stubborn_sets_kernel import Stubborn, prune_applicable
from planner.pruning.symmetries_kernel import Symmetries, canonicalize
from planner.search.open_lists_kernel import MOST_COST, Open, put, take
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import APPLIED, OUT_OF_RANGE, Prices, price_end, price_step
from planner.task.packed_states_kernel import FACTS, NUMBERS, Space, apply, find_applicable, is_useless, row_of
from planner.task.state_registry_kernel import CLOSED, EVALUATED, LOOKED_UP, MOVED, WAITING, Nodes, Registry, number_of

BLIND: Final = 0
H_MAX: Final = 1
SCP: Final = 2
LM_CUT: Final = 3
BOTH: Final = 4
"""Abstractions first, then LM-cut for states whose bound by abstractions does not defer them."""
NUMERIC_H_MAX: Final = 5
NUMERIC_LM_CUT: Final = 6
EQUATION: Final = 7
EQUATION_AND_LM_CUT: Final = 8
"""The greater one of the bound by the state equation and numeric LM-cut."""
SPARE: Final = 64
"""Number of landmarks for which there must be room before the evaluation of a state."""


class Estimates(NamedTuple):
    """What the estimates read, and their working memory; records that the kind of estimate does not need are hollow."""

    relaxed: Relaxed
    room: Exploration
    landmarks: Landmarks
    tables: Tables
    bounds: NumericBounds
    bound_room: BoundRoom
    equation: Equation
    tableau: Tableau


class Pruning(NamedTuple):
    """What prunes states and actions; each record may be hollow."""

    stubborn: Stubborn
    symmetries: Symmetries
    fronts: Fronts


class Workspace(NamedTuple):
    """What a search works on: `found` has room for all actions, `stack` for all nodes of the decision tree."""

    number: Words
    space: Space
    prices: Prices
    registry: Registry
    nodes: Nodes
    waiting: Open
    estimates: Estimates
    pruning: Pruning
    found: Index
    stack: Index


@entry
@kernel
def astar(kind: int, work: int, at: Workspace) -> int:
    """Search a task without numbers: see `_search`."""
    return _search(FACTS, kind, work, at)


@entry
@kernel
def astar_with_numbers(kind: int, work: int, at: Workspace) -> int:
    """Search a task with numbers: see `_search`."""
    return _search(NUMBERS, kind, work, at)


@kernel
def _search(layers: int, kind: int, work: int, at: Workspace) -> int:
    """Search with the estimate `kind` for about `work` steps; return how the search ended.

    With constant `layers`, the compiler leaves out what tasks without numbers do not need. `number[WEIGHT]` times the
    estimate orders states. The search may continue after each ending: `PAUSED`, `EXHAUSTED` (no plan costs less than
    `number[LIMIT]`), `FOUND`, `FULL` or `PASSED` (f is above `number[UNTIL]`). After `FOUND`, a plan leads to
    `number[GOAL_STATE]`, which waits to be expanded if plans pay for how they end; else with weight 1 it is a cheapest
    one. With weight 1, `number[CURRENT_F]` is a lower bound of all plans that cost less than the limit.
    `number[LEFT_OUT]` counts states that were left out without a proof.
    """
    number, nodes, state_words = at.number, at.nodes, at.registry.state
    row = len(state_words) // len(nodes.parent)
    words = row - at.space.numbers.fields.words[0]
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if not _has_room(layers, kind, at):
            return FULL
        # The last round has evaluated a state. There is room for its f now: insert the state again.
        if number[slot.PENDING] >= 0:
            state = number[slot.PENDING] + 0
            number[slot.PENDING] = -1
            put(layers, at.waiting, number, nodes, state)
        state = take(layers, at.waiting, number, nodes)
        if state < 0:
            return EXHAUSTED
        if nodes.cost[state] + nodes.bound[state] >= number[slot.LIMIT]:
            if layers == FACTS or number[slot.WEIGHT] == 1:
                return EXHAUSTED
            continue
        if number[slot.CURRENT_F] > number[slot.UNTIL]:
            number[slot.PENDING] = state
            return PASSED
        if nodes.stage[state] == CLOSED:
            continue
        # A queued state has an inherited bound, then perhaps a bound by abstractions, and then its evaluation. The
        # search expands a state that is the best one after its evaluation.
        fresh = nodes.stage[state] == WAITING
        if layers != FACTS and fresh and _is_dominated(at, state):
            nodes.stage[state] = CLOSED
        elif (fresh or nodes.stage[state] == LOOKED_UP) and kind != BLIND:
            _evaluate(layers, kind, at, words, state)
        elif _is_best_end(layers, at, words, state):
            number[slot.GOAL_STATE] = state
            if layers != FACTS and len(at.prices.end):
                nodes.stage[state] = EVALUATED
                number[slot.PENDING] = state
            return FOUND
        else:
            count = find_applicable(at.space.tree, state_words, state * row, at.found, at.stack)
            count = prune_applicable(at.pruning.stubborn, number, state_words, state * row, at.found, count)
            _expand(layers, kind, at, words, state, count)
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
def _is_dominated(at: Workspace, state: int) -> bool:
    return len(at.pruning.fronts.first) > 1 and is_dominated(at.pruning.fronts, at.registry, at.nodes, state)


@kernel
def _evaluate(layers: int, kind: int, at: Workspace, words: int, state: int) -> None:
    """Evaluate `state`, and make it pending unless its f reaches the limit."""
    number, nodes = at.number, at.nodes
    number[slot.EVALUATIONS] += 1
    looked_up = kind == BOTH and nodes.stage[state] == WAITING
    nodes.stage[state] = LOOKED_UP if looked_up else EVALUATED
    if layers == FACTS:
        value = _bound_facts(kind, at, words, state, looked_up)
    else:
        value = _bound_numbers(kind, at, words, state)
    nodes.bound[state] = max(nodes.bound[state], value)
    if nodes.cost[state] + nodes.bound[state] < number[slot.LIMIT]:
        number[slot.PENDING] = state


@kernel
def _bound_facts(kind: int, at: Workspace, words: int, state: int, looked_up: bool) -> int:
    """Return the estimate of a state; where it is to be `looked_up`, that by abstractions."""
    number, registry, estimates = at.number, at.registry, at.estimates
    if kind == SCP or looked_up:
        tables = estimates.tables
        number[slot.WORK] += 4 * len(tables.lookup.start) + 2 * len(tables.part) + 20
        return estimate_scp(tables, registry.state, state * words)
    relaxed, room, coding = estimates.relaxed, estimates.room, at.space.coding
    number[slot.WORK] += len(relaxed.cost) + 20
    if kind == H_MAX:
        return h_max(relaxed, room, coding, registry.state, state * words)
    return lm_cut(relaxed, room, coding, estimates.landmarks, registry, at.nodes, number, state)


@kernel
def _bound_numbers(kind: int, at: Workspace, words: int, state: int) -> int:
    """Return a lower bound for a state with numbers; evaluation stops once its f reaches the limit."""
    number, space, state_words = at.number, at.space, at.registry.state
    base, value = state * row_of(space, words), 0
    limit = number[slot.LIMIT] - at.nodes.cost[state]
    bounds, room = at.estimates.bounds, at.estimates.bound_room
    if kind >= EQUATION:
        equation, tableau = at.estimates.equation, at.estimates.tableau
        before = tableau.pivots[0] + 0
        value = bound_by_equation(equation, tableau, space, words, state_words, base, limit)
        number[slot.WORK] += len(equation.row) + max(0, tableau.pivots[0] - before) * len(tableau.inverse)
    if kind == EQUATION or value >= limit:
        return value
    number[slot.WORK] += 2 * len(bounds.action) + 20
    if kind == NUMERIC_H_MAX:
        return numeric_h_max(bounds, room, space, words, state_words, base)
    number[slot.WORK] += 8 * len(bounds.action)
    return max(value, numeric_lm_cut(bounds, room, space, words, state_words, base, limit))


@kernel
def _is_best_end(layers: int, at: Workspace, words: int, state: int) -> bool:
    """Return whether a plan that costs less than the limit ends in `state`."""
    number, base, fields = at.number, state * row_of(at.space, words), at.space.numbers.fields
    if not holds(at.space.goal, 0, at.registry.state, base):
        return False
    if layers == FACTS or not len(at.prices.end):
        return True
    total = at.nodes.cost[state] + price_end(at.prices, fields, at.registry.state, base + words)
    if total >= MOST_COST:
        number[slot.LEFT_OUT] += 1
    return total < number[slot.LIMIT]


@kernel
def _expand(layers: int, kind: int, at: Workspace, words: int, state: int, count: int) -> None:
    """Generate the successors of `state` by the first `count` actions of `found`."""
    number, space, registry, nodes, landmarks = at.number, at.space, at.registry, at.nodes, at.estimates.landmarks
    row, fields = row_of(space, words), space.numbers.fields
    number[slot.WORK] += (20 + len(at.pruning.symmetries.start)) * count + 20
    number[slot.EXPANSIONS] += 1
    number[slot.EXPANDED] = state
    nodes.stage[state] = CLOSED
    inherits = kind in (LM_CUT, BOTH)
    if inherits:
        _add_lost_landmarks(landmarks, state, 1)
    for index in range(count):
        action, target = at.found[index] + 0, number[slot.STATES] * row
        step = space.actions.cost[action] + 0
        outcome = apply(space, action, registry.state, state * row, target, words)
        if layers != FACTS:
            if outcome != APPLIED:
                number[slot.LEFT_OUT] += int(outcome == OUT_OF_RANGE)
                continue
            step += price_step(at.prices, fields, registry.state, state * row + words, target + words)
        moved = canonicalize(at.pruning.symmetries, registry.state, target)
        child = number_of(registry, number[slot.STATES], row)
        # The child inherits a bound: pathmax, and with LM-cut the parent's landmarks without the action.
        bound = nodes.bound[state] - step
        if inherits:
            bound = max(bound, landmarks.kept[state] - landmarks.lost[action])
        if child == number[slot.STATES] and is_useless(space, registry.state, child * row):
            bound = INFINITE
        _reach(layers, at, state, action + MOVED * moved, child, nodes.cost[state] + step, bound)
    if inherits:
        _add_lost_landmarks(landmarks, state, -1)


@kernel
def _has_room(layers: int, kind: int, at: Workspace) -> bool:
    """Return whether all arrays have room for the evaluation and expansion of a state."""
    number, nodes, waiting, landmarks, most = at.number, at.nodes, at.waiting, at.estimates.landmarks, len(at.found)
    states = number[slot.STATES] + most
    if states > len(nodes.parent) or 2 * states > len(at.registry.table):
        return False
    if layers != FACTS:
        return number[slot.OPEN] + most < len(waiting.heap)
    pending, reach = number[slot.PENDING], number[slot.MAX_COST] + 1
    h, f = 0, number[slot.HIGHEST_F]
    if pending >= 0:
        h = nodes.bound[pending] + 0
        f = max(f, nodes.cost[pending] + h)
    return (
        number[slot.COUNTERS] + most <= len(waiting.state)
        and f - number[slot.BASE_F] + reach < len(waiting.by_f)
        and h < len(waiting.by_h)
        and (
            kind not in (LM_CUT, BOTH)
            or (
                number[slot.LANDMARKS] + SPARE < len(landmarks.start)
                and number[slot.MEMBERS] + 2 * most <= len(landmarks.member)
                and number[slot.REFERENCES] + number[slot.LONGEST] + SPARE <= len(landmarks.reference)
            )
        )
    )


@kernel
def _reach(layers: int, at: Workspace, parent: int, action: int, child: int, cost: int, bound: int) -> None:
    """Update the path to `child` if `cost` is lower than before, and insert the child into the open list."""
    number, nodes = at.number, at.nodes
    if layers != FACTS and cost > MOST_COST:
        number[slot.LEFT_OUT] += 1
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
    if cost + nodes.bound[child] < number[slot.LIMIT]:
        put(layers, at.waiting, number, nodes, child)


@kernel
def _add_lost_landmarks(landmarks: Landmarks, state: int, sign: int) -> None:
    """Add `sign` times the costs of the landmarks of `state` to `lost[a]` for each of their actions a."""
    first = landmarks.of[state]
    for index in range(first, first + landmarks.many[state]):
        landmark = landmarks.reference[index]
        for member in range(landmarks.start[landmark], landmarks.start[landmark + 1]):
            landmarks.lost[landmarks.member[member]] += sign * landmarks.worth[landmark]

"""Monte-Carlo tree search over packed states, with the bandits' logarithms and random numbers; the twin is `mcts`."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

from planner.heuristics.relaxation_kernel import Achievers, Exploration, Reachable, Relaxed, relaxed_plan
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import (
    DONE,
    EXHAUSTED,
    FOUND,
    FULL,
    INFINITE,
    NOTHING,
    PAUSED,
    Index,
    Reals,
    Words,
    entry,
    kernel,
)
from planner.search.open_lists_kernel import drawn
from planner.task.packed_states_kernel import Space, apply, find_applicable, holds
from planner.task.state_registry_kernel import Registry, number_of


class Bandit(NamedTuple):
    """What choices go by: the `logarithm` of small numbers from 0 on, and `measure`: that of 2, and the exploration."""

    logarithm: Reals
    measure: Reals


@kernel
def logarithm(bandit: Bandit, number: int) -> float:
    """Return about the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(bandit.logarithm):
        number >>= 1
        halvings += 1
    return bandit.logarithm[number] + float(halvings) * bandit.measure[0]


@kernel
def curiosity(bandit: Bandit, wide: float, pulls: int) -> float:
    """Return how much is to be taken from the value of an arm, where `wide` is the logarithm of all pulls."""
    return bandit.measure[1] * sqrt(wide / float(pulls))


ROOT: Final = 0
NO_NODE: Final = -1
"""What functions return for none; in an `Index` it is `NOTHING`."""
UNTRIED: Final = -2
"""The arm that stands for all actions that were not tried."""
MOST: Final = 1 << 62
"""More than any value."""


class Known(NamedTuple):
    """What is known of the S states whatever tree they are in: the transposition table, beside the registry."""

    estimate: Words
    """[S] What it costs to reach the goal, as estimated; `INFINITE` where that is impossible."""
    first: Index
    """[S + 1] Where the actions that can be applied begin, in the order in which they are tried."""
    action: Index


class Grown(NamedTuple):
    """A tree over the S states; those that are not in it yet cost `INFINITE`."""

    parent: Index
    """[S] `NOTHING` for the root."""
    action: Index
    """[S] What leads here from the parent."""
    cost: Words
    """[S] Of the way from the root."""
    value: Words
    """[S] What the way on to the goal costs, as estimated by now."""
    visits: Words
    """[S] Simulations that came by, and one for the node itself."""
    tried: Index
    """[S] How many of the actions were tried."""
    settled: Index
    """[S] 1 where no plan through here can be better than the best one."""
    child: Index
    """[S] The latest child, or `NOTHING`."""
    sibling: Index
    """[S] The child of the same parent that came before, or `NOTHING`."""


@entry
@kernel
def mcts(
    weight: int,
    work: int,
    number: Words,
    space: Space,
    registry: Registry,
    known: Known,
    tree: Grown,
    bandit: Bandit,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    found: Index,
    stack: Index,
) -> int:
    """Simulate for about `work` steps; return `PAUSED`, `EXHAUSTED`, `FOUND`, `FULL` or `DONE`.

    After `FOUND`, the tree leads to `number[GOAL_STATE]`; after `DONE`, all simulations were made. `number[PENDING]` is
    where in the tree it is, or `NO_NODE` between two simulations. State 0 must be in the registry, and no goal.
    """
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if not _has_room(number, registry, known, tree, len(found)):
            return FULL
        if not number[slot.STATES]:
            _meet(number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
            continue
        if number[slot.PENDING] == NO_NODE:
            outcome = _begin(number, known, tree)
            if outcome != PAUSED:
                return outcome
        node = _descended(weight, number, space, known, tree, bandit)
        number[slot.PENDING] = node
        if not _untried(known, tree, node):
            _back_up(weight, number, space, known, tree, node)
            continue
        child = _tried(weight, number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
        if child == NO_NODE:
            continue
        if holds(space.goal, 0, registry.state, child * len(room.state)):
            number[slot.GOAL_STATE] = child
            number[slot.PENDING] = NO_NODE
            return FOUND
        if known.estimate[child] < known.estimate[node]:
            number[slot.PENDING] = child
        else:
            _back_up(weight, number, space, known, tree, child)
    return PAUSED


@kernel
def _has_room(number: Words, registry: Registry, known: Known, tree: Grown, most: int) -> bool:
    return (
        number[slot.STATES] + 2 < len(tree.parent)
        and 2 * (number[slot.STATES] + 1) <= len(registry.table)
        and number[slot.EDGES] + most <= len(known.action)
    )


@kernel
def _begin(number: Words, known: Known, tree: Grown) -> int:
    """Begin a simulation, unless nothing is left (`EXHAUSTED`) or all were made (`DONE`)."""
    if known.estimate[ROOT] == INFINITE or number[slot.LIMIT] <= 0:
        tree.settled[ROOT] = 1
    if tree.settled[ROOT]:
        return EXHAUSTED
    if number[slot.SIMULATIONS] >= number[slot.MOST_SIMULATIONS]:
        return DONE
    number[slot.SIMULATIONS] += 1
    number[slot.PENDING] = ROOT
    return PAUSED


@kernel
def _untried(known: Known, tree: Grown, node: int) -> int:
    """Return how many actions of `node` were not tried."""
    return known.first[node + 1] - known.first[node] - tree.tried[node]


@kernel
def _descended(weight: int, number: Words, space: Space, known: Known, tree: Grown, bandit: Bandit) -> int:
    """Return the node below the pending one where an action is to be tried, or where no arm is left."""
    node = number[slot.PENDING]
    while True:
        arm = _select(weight, number, space, known, tree, bandit, node)
        if arm < 0:
            return node
        node = arm


@kernel
def _select(weight: int, number: Words, space: Space, known: Known, tree: Grown, bandit: Bandit, node: int) -> int:
    """Return the child to go on with, or `UNTRIED`; `NO_NODE` where no arm is left."""
    least, most, child = MOST, -1, tree.child[node] + 0
    inherited, many = weight * known.estimate[node], _untried(known, tree, node)
    if many:
        least = most = inherited
    while child != NOTHING:
        if _is_open(number, tree, child):
            value = space.actions.cost[tree.action[child]] + tree.value[child]
            least, most = min(least, value), max(most, value)
        child = tree.sibling[child] + 0
        number[slot.WORK] += 4
    spread = float(max(most - least, 0))
    if spread == 0.0:
        spread = 1.0
    wide, best, chosen = logarithm(bandit, tree.visits[node]), 0.0, NO_NODE
    if many:
        best = float(inherited - least) / spread - curiosity(bandit, wide, 1 + tree.tried[node])
        chosen = UNTRIED
    child = tree.child[node] + 0
    while child != NOTHING:
        if not tree.settled[child]:
            value = space.actions.cost[tree.action[child]] + tree.value[child]
            score = float(value - least) / spread - curiosity(bandit, wide, tree.visits[child])
            if chosen == NO_NODE or score < best:
                best, chosen = score, child
        child = tree.sibling[child] + 0
    return chosen


@kernel
def _is_open(number: Words, tree: Grown, child: int) -> bool:
    """Return whether `child` is not settled; what costs too much by now is."""
    if tree.cost[child] >= number[slot.LIMIT]:
        tree.settled[child] = 1
    return not tree.settled[child]


@kernel
def _tried(
    weight: int,
    number: Words,
    space: Space,
    registry: Registry,
    known: Known,
    tree: Grown,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    found: Index,
    stack: Index,
) -> int:
    """Try the next action of the pending node; return what it leads to if that was not reached as cheaply."""
    node, words = number[slot.PENDING] + 0, len(room.state)
    action = known.action[known.first[node] + tree.tried[node]] + 0
    tree.tried[node] += 1
    number[slot.WORK] += 40
    cost = tree.cost[node] + space.actions.cost[action]
    if cost >= number[slot.LIMIT]:
        return NO_NODE
    apply(space, action, registry.state, node * words, number[slot.STATES] * words, words)
    child = number_of(registry, number[slot.STATES], words)
    if child == number[slot.STATES]:
        _meet(number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
    if cost >= tree.cost[child] or known.estimate[child] == INFINITE:
        return NO_NODE
    if tree.cost[child] == INFINITE:
        tree.value[child] = weight * known.estimate[child]
    _link(tree, child, node)
    tree.action[child], tree.cost[child] = action, cost
    tree.tried[child], tree.settled[child] = 0, 0
    tree.visits[child] += 1
    return child


@kernel
def _meet(
    number: Words,
    space: Space,
    registry: Registry,
    known: Known,
    tree: Grown,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    found: Index,
    stack: Index,
) -> None:
    """Estimate the new state behind the known ones, and note its actions: preferred ones first, each kind shuffled."""
    state, plan = number[slot.STATES] + 0, number[slot.EVALUATIONS] + 1
    base, start, many = state * len(room.state), number[slot.EDGES] + 0, 0
    number[slot.EVALUATIONS] = plan
    number[slot.WORK] += 2 * len(relaxed.cost) + 20
    value = relaxed_plan(relaxed, room, achievers, reachable, space.coding, registry.state, base, plan, 0)
    known.estimate[state] = value
    if value != INFINITE:
        many = find_applicable(space.tree, registry.state, base, found, stack)
        number[slot.EXPANSIONS] += 1
        number[slot.GENERATED] += many
    end = start
    for preferred in range(1, -1, -1):
        begin = end
        for index in range(many):
            if (achievers.planned[found[index]] == plan) == (preferred == 1):
                known.action[end] = found[index]
                end += 1
        _shuffle(number, known.action, begin, end)
    number[slot.EDGES] = end
    known.first[state + 1] = end
    number[slot.STATES] = state + 1
    if state != ROOT:
        tree.cost[state], tree.visits[state], tree.tried[state], tree.settled[state] = INFINITE, 0, 0, 0


@kernel
def _shuffle(number: Words, items: Index, begin: int, end: int) -> None:
    for last in range(end - begin - 1, 0, -1):
        place = begin + drawn(number, last + 1)
        item = items[begin + last] + 0
        items[begin + last] = items[place]
        items[place] = item


@kernel
def _link(tree: Grown, child: int, parent: int) -> None:
    """Make `child` the latest one of `parent`, and of nobody else."""
    before = tree.parent[child] + 0
    if before != NOTHING:
        if tree.child[before] == child:
            tree.child[before] = tree.sibling[child]
        else:
            other = tree.child[before] + 0
            while tree.sibling[other] != child:
                other = tree.sibling[other] + 0
            tree.sibling[other] = tree.sibling[child]
    tree.parent[child] = parent
    tree.sibling[child] = tree.child[parent]
    tree.child[parent] = child


@kernel
def _back_up(weight: int, number: Words, space: Space, known: Known, tree: Grown, node: int) -> None:
    """Bring values up to date, from `node` to the root, and end the simulation."""
    number[slot.PENDING] = NO_NODE
    while node != NOTHING:
        tree.visits[node] += 1
        best, child = MOST, tree.child[node] + 0
        while child != NOTHING:
            if _is_open(number, tree, child):
                best = min(best, space.actions.cost[tree.action[child]] + tree.value[child])
            child = tree.sibling[child] + 0
            number[slot.WORK] += 4
        if best < MOST:
            tree.value[node] = best
        elif _untried(known, tree, node):
            tree.value[node] = weight * known.estimate[node]
        else:
            tree.settled[node] = 1
        node = tree.parent[node] + 0

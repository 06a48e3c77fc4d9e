"""Monte Carlo tree search over packed states; the twin is `planner.search.mcts`."""

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
from planner.search.open_lists_kernel import shuffle
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import Registry, number_of


class Bandit(NamedTuple):
    """The constants of UCB1."""

    logarithm: Reals
    """[L] Logarithms of the numbers below L."""
    measure: Reals
    """[2] The logarithm of 2, and the weight of exploration."""


@kernel
def logarithm(bandit: Bandit, number: int) -> float:
    """Return an approximation of the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(bandit.logarithm):
        number >>= 1
        halvings += 1
    return bandit.logarithm[number] + float(halvings) * bandit.measure[0]


@kernel
def curiosity(bandit: Bandit, wide: float, pulls: int) -> float:
    """Return the exploration term of UCB1 for an arm; `wide` is the logarithm of all pulls."""
    return bandit.measure[1] * sqrt(wide / float(pulls))


ROOT: Final = 0
NO_NODE: Final = -1
"""The result of functions for no node; in an `Index`, no node is `NOTHING`."""
UNTRIED: Final = -2
"""The arm of all untried actions."""
MOST: Final = 1 << 62
"""More than any value."""


class Evaluated(NamedTuple):
    """The transposition table: the S states of the registry that were reached in any tree."""

    estimate: Words
    """[S] Estimated cost of reaching the goal, or `INFINITE`."""
    first: Index
    """[S + 1] First applicable action of each state in `action`."""
    action: Index
    """Applicable actions, in the order in which they are tried, state by state."""


class SearchTree(NamedTuple):
    """A tree over the S states; the cost of a state outside the tree is `INFINITE`."""

    parent: Index
    """[S] `NOTHING` for the root."""
    action: Index
    """[S] Action that leads from the parent to this node."""
    cost: Words
    """[S] Cost of the path from the root."""
    value: Words
    """[S] Backed-up estimate of the cost of reaching the goal."""
    visits: Words
    """[S] Simulations that passed through the node, plus one."""
    tried: Index
    """[S] Number of actions that were tried."""
    settled: Index
    """[S] 1 if no plan through this node can be better than the incumbent."""
    child: Index
    """[S] Latest child, or `NOTHING`."""
    sibling: Index
    """[S] Next older child of the same parent, or `NOTHING`."""


@entry
@kernel
def mcts(
    weight: int,
    work: int,
    number: Words,
    space: Space,
    registry: Registry,
    known: Evaluated,
    tree: SearchTree,
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
    the node that the present simulation has reached, or `NO_NODE` between two simulations. State 0 must be in the
    registry and must not be a goal.
    """
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if not _has_room(number, registry, known, tree, len(found)):
            return FULL
        if not number[slot.STATES]:
            _add_state(number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
            continue
        if number[slot.PENDING] == NO_NODE:
            outcome = _begin(number, known, tree)
            if outcome != PAUSED:
                return outcome
        # Descend to a node with untried actions. If all its arms are settled, the simulation ends there.
        node = _descend(weight, number, space, known, tree, bandit)
        number[slot.PENDING] = node
        if not _count_untried(known, tree, node):
            _back_up(weight, number, space, known, tree, node)
            continue
        child = _try(weight, number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
        if child == NO_NODE:
            continue
        if holds(space.goal, 0, registry.state, child * len(room.state)):
            number[slot.GOAL_STATE] = child
            number[slot.PENDING] = NO_NODE
            return FOUND
        # The rollout goes on from the child while estimates fall.
        if known.estimate[child] < known.estimate[node]:
            number[slot.PENDING] = child
        else:
            _back_up(weight, number, space, known, tree, child)
    return PAUSED


@kernel
def _has_room(number: Words, registry: Registry, known: Evaluated, tree: SearchTree, most: int) -> bool:
    return (
        number[slot.STATES] + 2 < len(tree.parent)
        and 2 * (number[slot.STATES] + 1) <= len(registry.table)
        and number[slot.EDGES] + most <= len(known.action)
    )


@kernel
def _begin(number: Words, known: Evaluated, tree: SearchTree) -> int:
    """Begin a simulation, unless the root is settled (`EXHAUSTED`) or all were made (`DONE`)."""
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
def _count_untried(known: Evaluated, tree: SearchTree, node: int) -> int:
    """Count the untried actions of `node`."""
    return known.first[node + 1] - known.first[node] - tree.tried[node]


@kernel
def _descend(weight: int, number: Words, space: Space, known: Evaluated, tree: SearchTree, bandit: Bandit) -> int:
    """Descend from the pending node to a node whose selected arm is untried, or that has no arm left."""
    node = number[slot.PENDING]
    while True:
        arm = _select(weight, number, space, known, tree, bandit, node)
        if arm < 0:
            return node
        node = arm


@kernel
def _select(
    weight: int, number: Words, space: Space, known: Evaluated, tree: SearchTree, bandit: Bandit, node: int
) -> int:
    """Return the child to descend to, or `UNTRIED`; `NO_NODE` if no arm is left."""
    least, most, child = MOST, -1, tree.child[node] + 0
    inherited, many = weight * known.estimate[node], _count_untried(known, tree, node)
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
def _is_open(number: Words, tree: SearchTree, child: int) -> bool:
    """Return whether `child` is not settled; settle it if its cost has reached the limit."""
    if tree.cost[child] >= number[slot.LIMIT]:
        tree.settled[child] = 1
    return not tree.settled[child]


@kernel
def _try(
    weight: int,
    number: Words,
    space: Space,
    registry: Registry,
    known: Evaluated,
    tree: SearchTree,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    found: Index,
    stack: Index,
) -> int:
    """Apply the next untried action of the pending node; return the child, `NO_NODE` if that is no gain."""
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
        _add_state(number, space, registry, known, tree, relaxed, room, achievers, reachable, found, stack)
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
def _add_state(
    number: Words,
    space: Space,
    registry: Registry,
    known: Evaluated,
    tree: SearchTree,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    found: Index,
    stack: Index,
) -> None:
    """Add a state to the table: evaluate it, and shuffle its actions, preferred ones first."""
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
        shuffle(number, known.action, begin, end)
    number[slot.EDGES] = end
    known.first[state + 1] = end
    number[slot.STATES] = state + 1
    if state != ROOT:
        tree.cost[state], tree.visits[state], tree.tried[state], tree.settled[state] = INFINITE, 0, 0, 0


@kernel
def _link(tree: SearchTree, child: int, parent: int) -> None:
    """Make `child` the latest child of `parent`, and remove it from its old parent."""
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
def _back_up(weight: int, number: Words, space: Space, known: Evaluated, tree: SearchTree, node: int) -> None:
    """Update values and visits from `node` to the root, and end the simulation."""
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
        elif _count_untried(known, tree, node):
            tree.value[node] = weight * known.estimate[node]
        else:
            tree.settled[node] = 1
        node = tree.parent[node] + 0

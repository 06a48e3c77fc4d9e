"""Monte Carlo tree search for policies; the twin is `planner.policies.policy_mcts`, which explains it."""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

from planner.heuristics.lmcut_kernel import Guess
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import DONE, EXHAUSTED, FULL, PAUSED, Index, Reals, Words, entry, kernel
from planner.policies.mdp_kernel import (
    Aims,
    Choices,
    Met,
    Options,
    Outlook,
    Prices,
    enter_node,
    evaluate_state,
    expand,
    has_room,
    widen_node,
)
from planner.policies.value_iteration_kernel import back_up, is_done, is_tied, worth
from planner.search.mcts_kernel import Bandit, curiosity, logarithm
from planner.search.open_lists_kernel import random_below
from planner.task.packed_states_kernel import Space
from planner.task.state_registry_kernel import Registry

ROOT: Final = 0
NO_NODE: Final = -1
ARRIVED: Final = 0
"""Stages of a node in a simulation: next it is expanded, unless it is already."""
WIDENING: Final = 1
"""Next it gets more options."""
LOOKED: Final = 2
"""Next an option is selected."""
GRAIN: Final = 1 << 30
"""Random outcomes are drawn from so many integers."""


class Arms(NamedTuple):
    """Buffers for the A options of a node of which one is selected, and for the path of the simulation."""

    option: Index
    """[A]"""
    worth: Reals
    """[A * parts] Values of the options."""
    loss: Reals
    """[A] Scaled losses against the best option."""
    tied: Index
    """[A] Options that are equal in the rewards compared so far."""
    path: Index
    """Nodes of the path."""


@entry
@kernel
def trials(
    work: int,
    number: Words,
    space: Space,
    choices: Choices,
    aims: Aims,
    registry: Registry,
    met: Met,
    rows: Registry,
    outlook: Outlook,
    options: Options,
    arms: Arms,
    bandit: Bandit,
    relaxed: Relaxed,
    prices: Prices,
    room: Exploration,
    guess: Guess,
    found: Index,
    stack: Index,
) -> int:
    """Simulate for about `work` steps; return `PAUSED`, `EXHAUSTED` (the root is settled), `DONE` or `FULL`.

    `number[PENDING]` is the node that the simulation has reached, or `NO_NODE` between two simulations. `found` has
    room for all choices, `stack` for all nodes of the tree. Whenever the kernel returns, all nodes are initialised, so
    that a policy can be extracted.
    """
    words = len(room.state)
    number[slot.WORK] = 0
    while number[slot.WORK] < work or number[slot.ENTERED] < number[slot.NODES]:
        node = number[slot.PENDING] + 0
        # First evaluate new states and initialise new nodes, one a round; then take the next step of the simulation.
        if number[slot.ESTIMATED] < number[slot.STATES]:
            state = number[slot.ESTIMATED] + 0
            evaluate_state(number, space, registry.state, aims, met, relaxed, prices, room, guess, state)
            number[slot.ESTIMATED] += 1
        elif number[slot.ENTERED] < number[slot.NODES]:
            enter_node(number, aims, met, rows.state, outlook, number[slot.ENTERED] + 0)
            number[slot.ENTERED] += 1
        elif not has_room(number, registry, met, rows, outlook, options, len(found)):
            return FULL
        elif node == NO_NODE:
            if outlook.settled[ROOT]:
                return EXHAUSTED
            if number[slot.SIMULATIONS] >= number[slot.MOST_SIMULATIONS]:
                return DONE
            number[slot.SIMULATIONS] += 1
            number[slot.PENDING], number[slot.STAGE], number[slot.DEPTH] = ROOT, ARRIVED, 0
        elif number[slot.STAGE] == ARRIVED:
            if _visit(number, outlook, arms.path, node):
                expand(
                    number, space.tree, registry.state, rows.state, outlook, options.choice, words, found, stack, node
                )
            number[slot.STAGE] = WIDENING if _is_narrow(number, outlook, node) else LOOKED
        elif number[slot.STAGE] == WIDENING:
            widen_node(number, space, choices, registry, rows, outlook, options, words, node)
            number[slot.STAGE] = LOOKED
        elif not _select(number, outlook, options, arms, bandit, node):
            for depth in range(number[slot.DEPTH] - 1, -1, -1):
                back_up(number, outlook, options, arms.worth, arms.path[depth] + 0)
            number[slot.PENDING] = NO_NODE
    return PAUSED


@kernel
def _visit(number: Words, outlook: Outlook, path: Index, node: int) -> bool:
    """Append `node` to the path of the simulation; return whether it is unexpanded."""
    path[number[slot.DEPTH]] = node
    number[slot.DEPTH] += 1
    outlook.seen[node] = number[slot.SIMULATIONS]
    outlook.visits[node] += 1
    number[slot.FRESH] = 1 - outlook.inside[node]
    return number[slot.FRESH] != 0


@kernel
def _is_narrow(number: Words, outlook: Outlook, node: int) -> bool:
    """Return whether `node` gets more options (progressive widening)."""
    most = number[slot.WIDE] * int(sqrt(float(outlook.visits[node])))
    return outlook.made[node] < outlook.total[node] and (number[slot.FRESH] != 0 or outlook.many[node] < most)


@kernel
def _select(number: Words, outlook: Outlook, options: Options, arms: Arms, bandit: Bandit, node: int) -> bool:
    """Select an option and sample its outcome; return whether the simulation goes on."""
    parts, many = number[slot.REWARDS] + 1, 0
    for option in range(outlook.first[node], outlook.first[node] + outlook.many[node]):
        if not is_done(outlook.settled, options, node, option):
            for part in range(parts):
                arms.worth[many * parts + part] = worth(parts, outlook.value, options, part, node, option)
            arms.option[many] = option
            many += 1
    number[slot.WORK] += 8 * parts * (1 + outlook.many[node])
    if not many:
        number[slot.STAGE] = WIDENING
        return outlook.made[node] < outlook.total[node]
    _scale_losses(parts, arms, many)
    wide, chosen, least = logarithm(bandit, outlook.visits[node]), 0, 0.0
    for arm in range(many):
        score = arms.loss[arm] - curiosity(bandit, wide, 1 + options.pulls[arms.option[arm]])
        if not arm or score < least:
            chosen, least = arm, score
    options.pulls[arms.option[chosen]] += 1
    return _sample_outcome(number, outlook, options, node, arms.option[chosen] + 0)


@kernel
def _scale_losses(parts: int, arms: Arms, many: int) -> None:
    """Scale the losses of the first `many` arms against the best one to numbers from 0 to 2."""
    tied = many
    for arm in range(many):
        arms.tied[arm], arms.loss[arm] = arm, 0.0
    for part in range(parts - 1):
        best = least = arms.worth[arms.tied[0] * parts + part]
        for place in range(1, tied):
            value = arms.worth[arms.tied[place] * parts + part]
            best, least = max(best, value), min(least, value)
        left = 0
        for place in range(tied):
            arm = arms.tied[place] + 0
            value = arms.worth[arm * parts + part]
            if is_tied(value, best):
                arms.tied[left] = arm
                left += 1
            else:
                arms.loss[arm] = 1.0 + (best - value) / (best - least)
        tied = left
    least = most = arms.worth[arms.tied[0] * parts + parts - 1]
    for place in range(1, tied):
        value = arms.worth[arms.tied[place] * parts + parts - 1]
        most, least = max(most, value), min(least, value)
    if not is_tied(most, least):
        for place in range(tied):
            arm = arms.tied[place] + 0
            arms.loss[arm] = (arms.worth[arm * parts + parts - 1] - least) / (most - least)


@kernel
def _sample_outcome(number: Words, outlook: Outlook, options: Options, node: int, option: int) -> bool:
    """Sample an unsettled outcome of `option`, make it pending, and return whether the simulation goes on there."""
    total = 0.0
    for branch in range(options.start[option], options.end[option]):
        if options.node[branch] != node and not outlook.settled[options.node[branch]]:
            total += options.share[branch]
    chance, after = float(random_below(number, GRAIN)) / float(GRAIN) * total, node
    for branch in range(options.start[option], options.end[option]):
        if options.node[branch] != node and not outlook.settled[options.node[branch]]:
            after = options.node[branch] + 0
            chance -= options.share[branch]
            if chance < 0.0:
                break
    if outlook.seen[after] == number[slot.SIMULATIONS]:
        return False
    parts = number[slot.REWARDS] + 1
    if number[slot.FRESH] and outlook.hope[after * parts + parts - 1] >= outlook.hope[node * parts + parts - 1]:
        return False
    number[slot.PENDING], number[slot.STAGE] = after, ARRIVED
    return True

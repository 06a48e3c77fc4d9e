"""Markov decision processes as arrays: nodes, their options, and the outcomes of these.

A node is a state with the rest of each budget. Each state is evaluated once, whatever is left of the budgets.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.lmcut_kernel import Guess, estimate_state
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Reals, Words, kernel
from planner.search.open_lists_kernel import shuffle
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_states_kernel import Space, Tree, apply, find_applicable
from planner.task.state_registry_kernel import Registry, number_of

PENALTY: Final = 0
"""Places in `Aims.number`: the cost of giving up, below 0 where success comes first."""
GAIN: Final = 1
"""The sum of the utilities of all wishes."""
FINE: Final = 2
"""Factor of estimated costs, which are integers."""
UNIT: Final = 3
"""Factor of utilities, which are integers."""


class Choices(NamedTuple):
    """The C choices, with J branches and B budgets."""

    cost: Reals
    """[C]"""
    start: Index
    """[C + 1] First branch of each choice."""
    action: Index
    """[J] Action of a branch, or `NOTHING` where nothing changes."""
    share: Reals
    """[J] Probability of a branch."""
    amount: Words
    """[C * B] Use of each budget."""


class Aims(NamedTuple):
    """The objective, with W wishes: a state has the utility of a wish if one of its cases holds."""

    start: Index
    """[W + 1] First case of each wish."""
    case: Conditions
    utility: Words
    """[W]"""
    number: Reals
    """[4] See `PENALTY`, `GAIN`, `FINE` and `UNIT`."""


class Prices(NamedTuple):
    """The costs of the O operators of the relaxation."""

    average: Words
    """[O] Expected cost of repeating the operator until something changes."""
    lucky: Words
    """[O] Cost of a single attempt."""


class Met(NamedTuple):
    """The S states of the registry."""

    expected: Words
    """[S] Lower bound of the expected cost of the goal, or `INFINITE`."""
    luckiest: Words
    """[S] Lower bound of the cost with the luckiest outcomes."""
    reached: Index
    """[S] 1 if the goal holds."""
    gain: Reals
    """[S] Utility of the fulfilled wishes if the goal holds."""


class Outlook(NamedTuple):
    """The values of the N nodes; their registry has rows of a state number and the rest of each budget."""

    value: Reals
    """[N * parts] Expected rewards and expected cost; optimistic values at first."""
    hope: Reals
    """[N * parts] Optimistic values, before the node is expanded."""
    stop: Reals
    """[N * parts] Values of stopping in the node."""
    visits: Words
    """[N] Simulations that passed through the node."""
    seen: Words
    """[N] Last simulation that passed through the node."""
    inside: Index
    """[N] 1 if the node is expanded or need not be."""
    settled: Index
    """[N] 1 if the values are exact."""
    first: Index
    """[N] First option of the node."""
    total: Index
    """[N] Number of applicable choices."""
    made: Index
    """[N] Number of choices that were tried as options."""
    many: Index
    """[N] Number of options."""
    best: Index
    """[N] Place of the best option: 0 is to stop, then come the options, and then the optimistic end."""


class Options(NamedTuple):
    """The O options and their B branches."""

    choice: Index
    """[O] Choice of the option; behind the options of a node, its waiting choices."""
    cost: Reals
    """[O]"""
    pulls: Words
    """[O] Number of times that the option was taken."""
    start: Index
    """[O] First branch."""
    end: Index
    """[O] End of the branches."""
    share: Reals
    """[B] Probability of the branch."""
    node: Index
    """[B] Successor node."""


@kernel
def has_room(
    number: Words, registry: Registry, met: Met, rows: Registry, outlook: Outlook, options: Options, choices: int
) -> bool:
    """Return whether all arrays have room for the expansion of a node."""
    new = number[slot.WIDE] * number[slot.MOST_BRANCHES] + 2
    return (
        number[slot.STATES] + new < len(met.expected)
        and 2 * (number[slot.STATES] + new) <= len(registry.table)
        and number[slot.NODES] + new < len(outlook.seen)
        and 2 * (number[slot.NODES] + new) <= len(rows.table)
        and number[slot.OPTIONS] + choices <= len(options.choice)
        and number[slot.BRANCHES] + new <= len(options.share)
    )


@kernel
def evaluate_state(
    number: Words,
    space: Space,
    state: Words,
    aims: Aims,
    met: Met,
    relaxed: Relaxed,
    prices: Prices,
    room: Exploration,
    guess: Guess,
    which: int,
) -> None:
    """Evaluate state number `which`: its bounds, and whether and how well it reaches the goal."""
    base = which * len(room.state)
    met.reached[which] = 1 if holds(space.goal, 0, state, base) else 0
    met.gain[which] = 0.0
    met.expected[which], met.luckiest[which] = 0, 0
    if met.reached[which]:
        if number[slot.REWARDS] > 1:
            met.gain[which] = _utility(aims, state, base)
        return
    for lucky in range(1 + number[slot.LUCKY]):
        if number[slot.LUCKY]:
            for operator in range(len(relaxed.cost)):
                relaxed.cost[operator] = prices.lucky[operator] if lucky else prices.average[operator]
        value = estimate_state(number[slot.KIND], number, relaxed, room, guess, space.coding, state, base)
        if lucky:
            met.luckiest[which] = value
        else:
            met.expected[which] = value


@kernel
def _utility(aims: Aims, state: Words, base: int) -> float:
    total = 0
    for wish in range(len(aims.utility)):
        for case in range(aims.start[wish], aims.start[wish + 1]):
            if holds(aims.case, case, state, base):
                total += aims.utility[wish]
                break
    return float(total) / aims.number[UNIT]


@kernel
def enter_node(number: Words, aims: Aims, met: Met, rows: Words, outlook: Outlook, node: int) -> None:
    """Initialise a new node: the values of stopping, and its optimistic values."""
    parts, row = number[slot.REWARDS] + 1, node * (1 + number[slot.BUDGETS])
    state, base, last = rows[row] + 0, node * parts, node * parts + parts - 1
    over = met.reached[state] == 1 and (parts < 3 or met.gain[state] >= aims.number[GAIN])
    if not met.reached[state]:
        over = met.expected[state] == INFINITE or (number[slot.LUCKY] != 0 and met.luckiest[state] > rows[row + 1])
    if parts > 1:
        outlook.stop[base], outlook.hope[base] = float(met.reached[state]), 1.0
    if parts > 2:
        outlook.stop[base + 1], outlook.hope[base + 1] = met.gain[state], aims.number[GAIN]
    outlook.stop[last], outlook.hope[last] = 0.0, float(met.expected[state]) / aims.number[FINE]
    if aims.number[PENALTY] >= 0.0:
        outlook.hope[last] = min(outlook.hope[last], aims.number[PENALTY])
        if not met.reached[state]:
            outlook.stop[last] = aims.number[PENALTY]
    for place in range(base, base + parts):
        if over:
            outlook.hope[place] = outlook.stop[place]
        outlook.value[place] = outlook.hope[place]
    outlook.visits[node], outlook.seen[node] = 0, 0
    outlook.inside[node] = outlook.settled[node] = 1 if over else 0
    outlook.first[node] = outlook.total[node] = outlook.made[node] = outlook.many[node] = outlook.best[node] = 0


@kernel
def expand(
    number: Words,
    tree: Tree,
    state: Words,
    rows: Words,
    outlook: Outlook,
    choice: Index,
    words: int,
    found: Index,
    stack: Index,
    node: int,
) -> None:
    """Write the applicable choices of `node` to `choice`: in ascending order, or in a random one if there are many."""
    many = find_applicable(tree, state, rows[node * (1 + number[slot.BUDGETS])] * words, found, stack)
    first = number[slot.OPTIONS] + 0
    number[slot.OPTIONS] = first + many
    number[slot.EXPANSIONS] += 1
    outlook.first[node], outlook.total[node], outlook.inside[node] = first, many, 1
    _sort(found, many)
    if many > number[slot.WIDE]:
        shuffle(number, found, 0, many)
    for place in range(many):
        choice[first + place] = found[place]


@kernel
def _sort(items: Index, many: int) -> None:
    """Sort the first `many` items, in place (Shell, 1959)."""
    gap = many // 2
    while gap:
        for place in range(gap, many):
            item, at = items[place] + 0, place
            while at >= gap and items[at - gap] > item:
                items[at] = items[at - gap]
                at -= gap
            items[at] = item
        gap //= 2


@kernel
def widen_node(
    number: Words,
    space: Space,
    choices: Choices,
    registry: Registry,
    rows: Registry,
    outlook: Outlook,
    options: Options,
    words: int,
    node: int,
) -> None:
    """Add options for some of the waiting choices of `node`."""
    end = min(outlook.made[node] + number[slot.WIDE], outlook.total[node])
    for place in range(outlook.made[node], end):
        choice = options.choice[outlook.first[node] + place] + 0
        if _can_pay(number, choices.amount, rows.state, node, choice):
            option = outlook.first[node] + outlook.many[node]
            if _make_option(number, space, choices, registry, rows, options, words, node, choice, option):
                outlook.many[node] += 1
    outlook.made[node] = end
    if end < outlook.total[node]:
        number[slot.WIDENED] = 1


@kernel
def _can_pay(number: Words, amount: Words, rows: Words, node: int, choice: int) -> bool:
    budgets = number[slot.BUDGETS] + 0
    for budget in range(budgets):
        if rows[node * (1 + budgets) + 1 + budget] < amount[choice * budgets + budget]:
            return False
    return True


@kernel
def _make_option(
    number: Words,
    space: Space,
    choices: Choices,
    registry: Registry,
    rows: Registry,
    options: Options,
    words: int,
    node: int,
    choice: int,
    option: int,
) -> bool:
    """Make an `option` of `node` for `choice`; return False if it never changes anything."""
    start = number[slot.BRANCHES] + 0
    end = start
    for index in range(choices.start[choice], choices.start[choice + 1]):
        action = choices.action[index] + 0
        after = _find_successor(number, space, choices.amount, registry, rows, words, node, choice, action)
        place = start
        while place < end and options.node[place] != after:
            place += 1
        if place == end:
            options.node[end], options.share[end] = after, 0.0
            end += 1
        options.share[place] += choices.share[index]
        number[slot.WORK] += 40
    if end == start + 1 and options.node[start] == node:
        return False
    number[slot.BRANCHES] = end
    options.choice[option], options.cost[option], options.pulls[option] = choice, choices.cost[choice], 0
    options.start[option], options.end[option] = start, end
    return True


@kernel
def _find_successor(
    number: Words,
    space: Space,
    amount: Words,
    registry: Registry,
    rows: Registry,
    words: int,
    node: int,
    choice: int,
    action: int,
) -> int:
    """Return the successor of `node` by outcome `action` of `choice`; a new one gets the next number."""
    budgets = number[slot.BUDGETS] + 0
    before, row = node * (1 + budgets), number[slot.NODES] * (1 + budgets)
    state = rows.state[before] + 0
    if action != NOTHING:
        apply(space, action, registry.state, state * words, number[slot.STATES] * words, words)
        state = number_of(registry, number[slot.STATES], words)
        number[slot.STATES] = max(number[slot.STATES], state + 1)
    rows.state[row] = state
    for budget in range(budgets):
        rows.state[row + 1 + budget] = rows.state[before + 1 + budget] - amount[choice * budgets + budget]
    after = number_of(rows, number[slot.NODES], 1 + budgets)
    number[slot.NODES] = max(number[slot.NODES], after + 1)
    return after

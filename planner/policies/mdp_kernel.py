"""Markov decision processes as arrays: nodes, their options, and what may come of these.

A node is a state with what is left of the budgets. States are estimated once, whatever is left.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.lmcut_kernel import Guess, estimate_state
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Reals, Words, kernel
from planner.search.open_lists_kernel import drawn
from planner.task.packed_states_kernel import Conditions, Space, Tree, apply, find_applicable, holds
from planner.task.state_registry_kernel import Registry, number_of

PENALTY: Final = 0
"""Places in `Aims.number`: what giving up costs, below 0 where success comes first."""
GAIN: Final = 1
"""The utility of all wishes together."""
FINE: Final = 2
"""Estimated expected costs are in this part of a unit."""
UNIT: Final = 3
"""Utilities are in this part of one."""


class Choices(NamedTuple):
    """What may be chosen: choice c costs `cost[c]`, and takes `amount[c * budgets + b]` from budget b.

    Its branches are a list: action `action[j]` with probability `share[j]`, or nothing (`NOTHING`) changes.
    """

    cost: Reals
    start: Index
    action: Index
    share: Reals
    amount: Words


class Aims(NamedTuple):
    """What is aimed at: wish w is worth `utility[w]` where a case of its list holds; `number` has some numbers."""

    start: Index
    case: Conditions
    utility: Words
    number: Reals


class Prices(NamedTuple):
    """What the operators of the relaxation cost on average, until something changes, and with luck."""

    average: Words
    lucky: Words


class Met(NamedTuple):
    """The S states that were met, beside their registry."""

    expected: Words
    """[S] What the goal costs on average, at least; `INFINITE` where nothing leads to it."""
    luckiest: Words
    """[S] What it costs with luck, at least."""
    reached: Index
    """[S] 1 where the goal holds."""
    gain: Reals
    """[S] The utility of the wishes that are fulfilled where the goal holds."""


class Outlook(NamedTuple):
    """What is known of the N nodes, beside their registry: rows of the number of a state, and of what is left."""

    value: Reals
    """[N * parts] What is expected of each reward, and of the cost, at last; at first what may be hoped for."""
    hope: Reals
    """[N * parts] What may be hoped for before a node is looked into."""
    stop: Reals
    """[N * parts] What it is worth to end here."""
    visits: Words
    """[N] Simulations that came by."""
    seen: Words
    """[N] The last simulation that came by."""
    inside: Index
    """[N] 1 if it was looked into, or need not be."""
    settled: Index
    """[N] 1 if its values are exact."""
    first: Index
    """[N] Its first option."""
    total: Index
    """[N] Choices that there are."""
    made: Index
    """[N] Choices of which options were made, if they are any."""
    many: Index
    """[N] Options that there are."""
    best: Index
    """[N] The place of the best option: 0 is to stop, then come the options, and then hope."""


class Options(NamedTuple):
    """Options by number, and their branches."""

    choice: Index
    """[O] What is chosen; behind the options of a node, the choices that wait."""
    cost: Reals
    """[O]"""
    pulls: Words
    """[O] How often it was taken."""
    start: Index
    """[O] The first branch."""
    end: Index
    """[O] The end of the branches."""
    share: Reals
    """[B] How likely it comes out like this."""
    node: Index
    """[B] What it comes to."""


@kernel
def has_room(
    number: Words, registry: Registry, met: Met, rows: Registry, outlook: Outlook, options: Options, choices: int
) -> bool:
    """Return whether a node can be looked into, whatever comes of it."""
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
def estimate(
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
    """Find out what is to be known of a state, whose words are in `state`, among others."""
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
def enter(number: Words, aims: Aims, met: Met, rows: Words, outlook: Outlook, node: int) -> None:
    """Find out what is to be known of a new node: what it is worth to end in it, and what may be hoped for."""
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
def look(
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
    """Write the choices of `node` to `choice`: in ascending order, or in a random one where there are many."""
    many = find_applicable(tree, state, rows[node * (1 + number[slot.BUDGETS])] * words, found, stack)
    first = number[slot.OPTIONS] + 0
    number[slot.OPTIONS] = first + many
    number[slot.EXPANSIONS] += 1
    outlook.first[node], outlook.total[node], outlook.inside[node] = first, many, 1
    _sort(found, many)
    if many > number[slot.WIDE]:
        for last in range(many - 1, 0, -1):
            place = drawn(number, last + 1)
            other = found[last] + 0
            found[last] = found[place]
            found[place] = other
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
def widen(
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
    """Give `node` options for some of the choices that wait."""
    end = min(outlook.made[node] + number[slot.WIDE], outlook.total[node])
    for place in range(outlook.made[node], end):
        choice = options.choice[outlook.first[node] + place] + 0
        if _can_pay(number, choices.amount, rows.state, node, choice):
            option = outlook.first[node] + outlook.many[node]
            if _branch(number, space, choices, registry, rows, options, words, node, choice, option):
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
def _branch(
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
    """Make `choice` an `option` of `node`; return False where it always comes to nothing."""
    start = number[slot.BRANCHES] + 0
    end = start
    for index in range(choices.start[choice], choices.start[choice + 1]):
        action = choices.action[index] + 0
        after = _follow(number, space, choices.amount, registry, rows, words, node, choice, action)
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
def _follow(
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
    """Return the node that `choice` leads to from `node` if it comes out as `action`."""
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

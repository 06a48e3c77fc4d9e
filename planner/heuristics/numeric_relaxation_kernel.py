"""h_add and relaxed plans for numeric tasks, with repetitions (Scala, Haslum, Thiébaux and Ramirez, 2020: h_mrp).

An operator achieves a linear condition by repetition: what is missing, divided by what it adds each time, is how often
it must be applied. A relaxed plan has each operator as often as the condition that needs most of it. Where what an
operator adds depends on the state, it is taken in the evaluated state; where it adds nothing there, the least change of
the variables that it reads is an operator before it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_numbers_kernel import amount_of, lack_of
from planner.task.packed_states_kernel import Space

DEAR: Final = 1 << 58
"""Cap of h_add values, so that sums of sums fit into a word."""
MOST_TIMES: Final = 1 << 20
"""Most repetitions of an action that add to the cost of a plan."""


class NumericRelaxed(NamedTuple):
    """The relaxation: operators that need facts, add facts, and help linear conditions.

    Operator o belongs to `action[o]` (`NOTHING` for axioms and the goal, the last operator), costs `cost[o]`, needs the
    facts of its list in `precondition` and adds those in `effect`. It helps the conditions `helped[h]` of its list of
    helps. Where `steady[h]` is not 0, each application adds so much to the condition; else the effects of list h in
    `by` do, each times its `factor`, in a way that depends on the state. `needed` lists by fact the operators that need
    it; `fact[c]` is the fact of condition c. The list of variable v in `changer` are the operators that add a constant
    to it, `change`.
    """

    precondition_start: Index
    precondition: Index
    effect_start: Index
    effect: Index
    needed_start: Index
    needed: Index
    help_start: Index
    helped: Index
    steady: Words
    by_start: Index
    by: Index
    factor: Words
    cost: Words
    action: Index
    fact: Index
    changer_start: Index
    changer: Index
    change: Words


class NumericRoom(NamedTuple):
    """Working memory.

    The last state: `state` is packed, `at_first` counts the unmet preconditions of each operator. By fact: `value`
    (h_add), `supporter`, `times` (how often the supporter is applied), `before` (an operator that comes before it) and
    `wanted` (the last plan that needed it). By operator: `missing` preconditions, `total` (h_add of the preconditions)
    and `used` (the last plan that had it). By action: `planned` (the last plan that had it) and `repeated` (how often).
    `short[c]` is what condition c lacks. `key` and `heap` are a queue of facts, `stack` has room for facts. The first
    `many[0]` of `member` are the operators of the last plan, and the goal.
    """

    state: Words
    at_first: Index
    value: Words
    supporter: Index
    times: Words
    before: Index
    wanted: Words
    missing: Index
    total: Words
    used: Words
    planned: Words
    repeated: Words
    short: Words
    key: Words
    heap: Index
    stack: Index
    member: Index
    many: Index


@kernel
def estimate_numeric(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    plan: int,
) -> int:
    """Return the cost of a relaxed plan for the state at `state[base]`, `INFINITE` where there is none.

    The plan marks its actions by its number `plan`, which must exceed the numbers of all plans before.
    """
    load_state(relaxed, room, space, words, state, base)
    goal = len(relaxed.cost) - 1
    waiting = 0
    for operator in range(goal + 1):
        room.missing[operator] = room.at_first[operator]
        if not room.missing[operator]:
            waiting = _fire(relaxed, room, space, words, state, base, operator, 0, waiting)
    while waiting and room.missing[goal]:
        fact, value = room.heap[0] + 0, room.key[0] + 0
        waiting = pop(room.key, room.heap, waiting)
        if value > room.value[fact]:  # it has been reached at less cost since
            continue
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            room.missing[operator] -= 1
            if not room.missing[operator]:
                total = 0
                for other in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
                    total = min(total + room.value[relaxed.precondition[other]], DEAR)
                waiting = _fire(relaxed, room, space, words, state, base, operator, total, waiting)
    if room.missing[goal]:
        return INFINITE
    return extract_plan(relaxed, room, plan)


@kernel
def load_state(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
) -> None:
    """Give the facts of the state at `state[base]` value 0 and all others `INFINITE`; measure all conditions."""
    for fact in range(len(room.value)):
        room.value[fact] = INFINITE
    for variable in range(len(space.coding.word)):
        word, shift, mask = space.coding.word[variable], space.coding.shift[variable], space.coding.mask[variable]
        before, now = room.state[word] >> shift & mask, state[base + word] >> shift & mask
        fact = space.coding.fact[space.coding.first[variable] + now] + 0
        if before != now:
            _count_preconditions(relaxed, room, space.coding.fact[space.coding.first[variable] + before] + 0, 1)
            _count_preconditions(relaxed, room, fact, -1)
        if fact != NOTHING:
            room.value[fact] = 0
            room.supporter[fact] = NOTHING
    for word in range(words):
        room.state[word] = state[base + word]
    for number in range(len(space.comparisons.constant)):
        room.short[number] = lack_of(space.comparisons, number, state, base + words)


@kernel
def _count_preconditions(relaxed: NumericRelaxed, room: NumericRoom, fact: int, difference: int) -> None:
    if fact != NOTHING:
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            room.at_first[relaxed.needed[index]] += difference


@kernel
def _fire(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    operator: int,
    total: int,
    waiting: int,
) -> int:
    """Lower the values of what `operator` achieves, whose preconditions cost `total`; return the queue's new length."""
    room.total[operator] = total
    cost = relaxed.cost[operator]
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        waiting = _lower(room, relaxed.effect[index] + 0, total + cost, operator, 1, NOTHING, waiting)
    for index in range(relaxed.help_start[operator], relaxed.help_start[operator + 1]):
        condition = relaxed.helped[index] + 0
        short = room.short[condition]
        if short > 0 and total + cost < room.value[relaxed.fact[condition]]:
            gain, first, extra = relaxed.steady[index] + 0, NOTHING, 0
            if not gain:
                gain = gain_of(relaxed, space, index, state, base + words)
                if gain <= 0:
                    first = _find_first(relaxed, room, space, index)
                    gain = short
                    if first != NOTHING:
                        gain = min(_gain_after(relaxed, space, index, first), short)
                        extra = relaxed.cost[first] + room.total[first]
                    else:
                        extra = 16 * cost
            times = (short + gain - 1) // gain
            value = min(total + extra + cost * min(times, MOST_TIMES), DEAR)
            waiting = _lower(room, relaxed.fact[condition] + 0, value, operator, times, first, waiting)
    return waiting


@kernel
def _lower(room: NumericRoom, fact: int, value: int, operator: int, times: int, first: int, waiting: int) -> int:
    if value >= room.value[fact]:
        return waiting
    room.value[fact] = value
    room.supporter[fact] = operator
    room.times[fact] = times
    room.before[fact] = first
    return push(room.key, room.heap, waiting, value, fact)


@kernel
def gain_of(relaxed: NumericRelaxed, space: Space, index: int, state: Words, base: int) -> int:
    """Return what help `index` adds to its condition in the state whose variables begin at `state[base]`."""
    gain = 0
    for place in range(relaxed.by_start[index], relaxed.by_start[index + 1]):
        effect = relaxed.by[place]
        amount = amount_of(space.numbers, effect, state, base)
        if not space.numbers.additive[effect]:
            amount -= state[base + space.numbers.variable[effect]]
        gain += relaxed.factor[place] * amount
    return gain


@kernel
def _find_first(relaxed: NumericRelaxed, room: NumericRoom, space: Space, index: int) -> int:
    """Return the cheapest operator that changes a variable which the effects of help `index` read, as it should be."""
    best, least = NOTHING, INFINITE
    for place in range(relaxed.by_start[index], relaxed.by_start[index + 1]):
        effect = relaxed.by[place]
        for term in range(space.numbers.term_start[effect], space.numbers.term_start[effect + 1]):
            variable, weight = space.numbers.term[term], relaxed.factor[place] * space.numbers.weight[term]
            for other in range(relaxed.changer_start[variable], relaxed.changer_start[variable + 1]):
                operator = relaxed.changer[other] + 0
                if weight * relaxed.change[other] > 0 and room.total[operator] + relaxed.cost[operator] < least:
                    best, least = operator, room.total[operator] + relaxed.cost[operator]
    return best


@kernel
def _gain_after(relaxed: NumericRelaxed, space: Space, index: int, first: int) -> int:
    """Return the least that help `index` gains by what the operator `first` changes; at least 1."""
    gain = 0
    for place in range(relaxed.by_start[index], relaxed.by_start[index + 1]):
        effect = relaxed.by[place]
        for term in range(space.numbers.term_start[effect], space.numbers.term_start[effect + 1]):
            variable, weight = space.numbers.term[term], relaxed.factor[place] * space.numbers.weight[term]
            for other in range(relaxed.changer_start[variable], relaxed.changer_start[variable + 1]):
                if relaxed.changer[other] == first and weight * relaxed.change[other] > 0:
                    gain += weight * relaxed.change[other]
    return max(gain, 1)


@kernel
def extract_plan(relaxed: NumericRelaxed, room: NumericRoom, plan: int) -> int:
    """Mark the actions of a relaxed plan and how often it has them; return its cost."""
    room.many[0] = 0
    total = achieve_wanted(relaxed, room, want_preconditions(relaxed, room, len(relaxed.cost) - 1, 0, plan), plan)
    return min(total, DEAR)


@kernel
def achieve_wanted(relaxed: NumericRelaxed, room: NumericRoom, count: int, plan: int) -> int:
    """Let the plan achieve the `count` facts on the stack; return what that adds to its cost."""
    total = 0
    while count:
        count -= 1
        fact = room.stack[count] + 0
        first, operator = room.before[fact] + 0, room.supporter[fact] + 0
        if first != NOTHING and room.missing[first] == 0:
            total += use_operator(relaxed, room, first, 1, plan)
            count = want_preconditions(relaxed, room, first, count, plan)
        total += use_operator(relaxed, room, operator, room.times[fact], plan)
        count = want_preconditions(relaxed, room, operator, count, plan)
    return total


@kernel
def use_operator(relaxed: NumericRelaxed, room: NumericRoom, operator: int, times: int, plan: int) -> int:
    """Let the plan have the action of `operator` so many times at least; return what that adds to its cost."""
    action = relaxed.action[operator] + 0
    if action == NOTHING:
        return 0
    if room.planned[action] != plan:
        room.planned[action] = plan
        room.repeated[action] = 0
    more = times - room.repeated[action]
    if more <= 0:
        return 0
    room.repeated[action] = times
    return min(more, MOST_TIMES) * relaxed.cost[operator]


@kernel
def want_preconditions(relaxed: NumericRelaxed, room: NumericRoom, operator: int, count: int, plan: int) -> int:
    """Put the preconditions of `operator` that the plan does not have yet on the stack; return its new length."""
    if room.used[operator] == plan:
        return count
    room.used[operator] = plan
    room.member[room.many[0]] = operator
    room.many[0] += 1
    for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
        fact = relaxed.precondition[index] + 0
        if room.supporter[fact] != NOTHING and room.wanted[fact] != plan and room.value[fact] != INFINITE:
            room.wanted[fact] = plan
            room.stack[count] = fact
            count += 1
    return count

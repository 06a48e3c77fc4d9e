"""Completes relaxed plans with repetitions, so that what their steps use up is there (after Coles, Fox and Long, 2013).

A relaxed plan never pays: an operator that needs a unit and uses it up can be repeated for ever. Here each operator of
the plan demands, for each linear condition that it needs and that it lowers, what all its repetitions use up. What the
state and the plan do not give is produced by more operators; where nothing produces it, the operator is repeated less
often, and what it was for is produced by others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.numeric_relaxation_kernel import (
    DEAR,
    MOST_TIMES,
    NumericRelaxed,
    NumericRoom,
    achieve_wanted,
    gain_of,
    use_operator,
    want_preconditions,
)
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.task.packed_numbers_kernel import amount_of, sum_terms
from planner.task.packed_states_kernel import Space

REPAIRS: Final = 100
"""Most demands of a plan that are met; what remains then counts as lacking."""
LACKING: Final = 100
"""Cost of a demand that nothing meets."""


class NumericDemands(NamedTuple):
    """What operators need and use up.

    Each application of operator o lowers the conditions `drained[d]` of its list, which it needs, by `drain[d]`; the
    conditions of the goal are in the list of the last operator with 0. Its numeric effects are its list in `own`. The
    list of condition c in `helper` are the numbers of the helps with it, by the operators `by_operator`.
    """

    drain_start: Index
    drained: Index
    drain: Words
    own_start: Index
    own: Index
    helper_start: Index
    helper: Index
    by_operator: Index


class DemandRoom(NamedTuple):
    """Working memory: `change[v]` is what the plan adds to variable v.

    `capped[o]` is the last plan in which operator o could not be repeated more often, and `lacking[c]` the last one in
    which nothing could produce what was lacking of condition c.
    """

    change: Words
    capped: Words
    lacking: Words


@kernel
def meet_demands(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    demands: NumericDemands,
    memory: DemandRoom,
    space: Space,
    plan: int,
) -> int:
    """Complete the relaxed plan `plan` for the state that it was made for; return what that adds to its cost."""
    more = 0
    for _ in range(REPAIRS):
        _sum_changes(relaxed, room, demands, memory, space)
        operator, index, lack = _find_lack(room, demands, memory, space, plan)
        if not lack:
            break
        condition = demands.drained[index] + 0
        best, times = _find_producer(relaxed, room, demands, memory, space, condition, lack, plan)
        if best != NOTHING:
            more += _repeat_more(relaxed, room, best, times, plan)
        else:
            more += _repeat_less(relaxed, room, demands, memory, operator, index, lack, plan)
    return min(more, DEAR)


@kernel
def _sum_changes(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    demands: NumericDemands,
    memory: DemandRoom,
    space: Space,
) -> None:
    """Sum up what the operators of the plan add to each variable, as the evaluated state says."""
    for variable in range(len(memory.change)):
        memory.change[variable] = 0
    for place in range(room.many[0]):
        operator = room.member[place]
        for index in range(demands.own_start[operator], demands.own_start[operator + 1]):
            effect = demands.own[index]
            variable = space.numbers.variable[effect]
            amount = amount_of(space.numbers, effect, space.numbers.now)
            if not space.numbers.additive[effect]:
                amount -= space.numbers.now[variable]
            total = memory.change[variable] + amount * room.repeated[relaxed.action[operator]]
            memory.change[variable] = max(min(total, DEAR), -DEAR)


@kernel
def _find_lack(
    room: NumericRoom, demands: NumericDemands, memory: DemandRoom, space: Space, plan: int
) -> tuple[int, int, int]:
    """Return an operator of the plan, the number of its drain, and what the condition of that lacks; else three 0s."""
    comparisons = space.comparisons
    for place in range(room.many[0]):
        operator = room.member[place] + 0
        index, last = demands.drain_start[operator] + 0, demands.drain_start[operator + 1] + 0
        while index < last:
            condition = demands.drained[index]
            if memory.lacking[condition] != plan:
                lack = room.short[condition] - demands.drain[index]
                lack -= sum_terms(
                    comparisons.term_start, comparisons.term, comparisons.weight, condition, memory.change
                )
                if lack > 0:
                    return operator, index, lack
            index += 1
    return 0, 0, 0


@kernel
def _find_producer(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    demands: NumericDemands,
    memory: DemandRoom,
    space: Space,
    condition: int,
    lack: int,
    plan: int,
) -> tuple[int, int]:
    """Return the operator that gives the condition what it lacks at the least cost, and how often; else `NOTHING`."""
    best, least, most = NOTHING, INFINITE, 0
    for place in range(demands.helper_start[condition], demands.helper_start[condition + 1]):
        operator, index = demands.by_operator[place] + 0, demands.helper[place] + 0
        if room.missing[operator] or memory.capped[operator] == plan or relaxed.action[operator] == NOTHING:
            continue
        gain = relaxed.steady[index] + 0
        if not gain:
            gain = gain_of(relaxed, space, index)
        if gain <= 0:
            continue
        times = min((lack + gain - 1) // gain, MOST_TIMES)
        value = relaxed.cost[operator] * times
        if room.used[operator] != plan:
            value += room.total[operator]
        if value < least:
            best, least, most = operator, value, times
    return best, most


@kernel
def _repeat_more(relaxed: NumericRelaxed, room: NumericRoom, operator: int, times: int, plan: int) -> int:
    """Let the plan have the action of `operator` so many times more; return what that adds to its cost."""
    action = relaxed.action[operator] + 0
    before = room.repeated[action] + 0 if room.planned[action] == plan else 0
    more = use_operator(relaxed, room, operator, before + times, plan)
    return more + achieve_wanted(relaxed, room, want_preconditions(relaxed, room, operator, 0, plan), plan)


@kernel
def _repeat_less(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    demands: NumericDemands,
    memory: DemandRoom,
    operator: int,
    index: int,
    lack: int,
    plan: int,
) -> int:
    """Repeat `operator` less often, as there is no more of what drain `index` takes; return the change of the cost."""
    memory.capped[operator] = plan
    action, drain = relaxed.action[operator] + 0, demands.drain[index] + 0
    less = 0
    if action != NOTHING and drain > 0:
        less = min((lack + drain - 1) // drain, room.repeated[action] - 1)
        room.repeated[action] -= less
    if less * drain < lack:
        memory.lacking[demands.drained[index]] = plan
        return LACKING - less * relaxed.cost[operator]
    return -less * relaxed.cost[operator]

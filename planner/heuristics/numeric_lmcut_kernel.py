"""Lower bounds for numeric tasks: h_max, and LM-cut with multiplicities.

What a linear condition lacks must come from operators that add to it: so many of them, each times its gain, as make up
for it (Scala, Haslum, Thiébaux and Ramirez, 2020). An edge of LM-cut's justification graph that leads to a condition
counts for the part of what the condition lacks that one application gains, so that a cut charges each action for that
part of its worth (Kuroiwa, Shleyfman, Piacentini, Castro and Beck, 2022). Assignments bring a condition to a level, and
so gain the difference at most.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_numbers_kernel import lack_of
from planner.task.packed_states_kernel import Space

DEAR: Final = 1 << 59
"""Cap of values, so that the sum of two fits into a word."""
MOST_SHORT: Final = 1 << 28
"""Greatest shortfall by which prices are multiplied; greater ones are divided, with what is gained."""


class NumericBounds(NamedTuple):
    """The relaxation: operators that need facts, and their edges to what they achieve.

    Operator o needs the facts of its list in `precondition`, at least one of them, and has `edge_start[o]` up to
    `edge_start[o + 1]` as edges; `action[o]` is `NOTHING` for axioms and the goal. Edge e leads to the fact
    `target[e]`; where that is a condition, one application adds at most `gain[e]` to it, or if `gain[e]` is 0 brings it
    to at most `level[e]`. `incoming` lists the edges by fact, and `source[e]` is the operator. `needed` lists by fact
    the operators that need it, `operator` lists them by action. `condition[f]` is the condition that fact f stands for;
    `grain[c]` divides all gains of condition c. After the facts of the task come the goal, and a fact that always
    holds. `free` are facts that count as true in every state. `cost[a]` is the cost of action a, and `scale[0]` the
    factor between costs and LM-cut's prices.
    """

    precondition_start: Index
    precondition: Index
    edge_start: Index
    target: Index
    gain: Words
    level: Words
    source: Index
    incoming_start: Index
    incoming: Index
    needed_start: Index
    needed: Index
    action: Index
    operator_start: Index
    operator: Index
    condition: Index
    grain: Words
    free: Index
    cost: Words
    scale: Words


class BoundRoom(NamedTuple):
    """Working memory.

    By fact: `value`, `zone` (1 in the goal zone). By operator: `missing` preconditions and `supporter` (a precondition
    of highest value; `NOTHING` before all preconditions are reached). By action: its `price`, and what an application
    counts for in the present cut: `part[a]` (0 outside) out of `lack[a]`. By condition: `short` (what it lacks, over 2
    to the power of `shift`), and for h_max the best `rate` of its operators so far at the cost `per`, since the value
    `since`, and what was `gained` before. `key` and `heap` are a queue of facts; `list` has room for facts, `cut` for
    actions.
    """

    value: Words
    zone: Index
    missing: Index
    supporter: Index
    price: Words
    lack: Words
    part: Words
    short: Words
    shift: Words
    rate: Words
    per: Words
    since: Words
    gained: Words
    key: Words
    heap: Index
    list: Index
    cut: Index


@kernel
def numeric_h_max(
    bounds: NumericBounds,
    room: BoundRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
) -> int:
    """Return h_max of the state at `state[base]`; `INFINITE` for a dead end.

    Nothing is gained for a condition before the first operator that helps it is applicable, and until another one is,
    no more than the better of those before could gain for as much.
    """
    goal = len(room.value) - 2
    waiting = _load_state(bounds, room, space, words, state, base)
    while waiting:
        fact, value = room.heap[0] + 0, room.key[0] + 0
        if fact == goal:
            return value
        waiting = pop(room.key, room.heap, waiting)
        if value > room.value[fact]:  # it has been reached at less cost since
            continue
        for index in range(bounds.needed_start[fact], bounds.needed_start[fact + 1]):
            operator = bounds.needed[index] + 0
            room.missing[operator] -= 1
            if not room.missing[operator]:
                action = bounds.action[operator] + 0
                cost = 0
                if action != NOTHING:
                    cost = bounds.cost[action]
                for edge in range(bounds.edge_start[operator], bounds.edge_start[operator + 1]):
                    waiting = _lower(bounds, room, edge, _value_by(bounds, room, edge, value, cost), waiting)
    return INFINITE


@kernel
def _lack(bounds: NumericBounds, room: BoundRoom, fact: int) -> int:
    """Return what `fact` lacks: 1 if it is none of a condition, else no more than 0 if it holds."""
    condition = bounds.condition[fact]
    return 1 if condition == NOTHING else room.short[condition] + 0


@kernel
def _part(bounds: NumericBounds, room: BoundRoom, edge: int, lack: int) -> int:
    """Return the part of what its target lacks that one application of `edge` gains; no more than 0 for nothing."""
    condition, gain = bounds.condition[bounds.target[edge]], bounds.gain[edge] + 0
    if condition == NOTHING:
        return 1
    shift = room.shift[condition]
    if gain:
        return min(((gain - 1) >> shift) + 1, lack)
    level = bounds.level[edge] + 0
    if shift:  # what the condition lacks was rounded down
        level = (level >> shift) + 2
    return min(lack + level, lack)


@kernel
def _value_by(bounds: NumericBounds, room: BoundRoom, edge: int, value: int, cost: int) -> int:
    """Return the least value at which the target of `edge` can be reached, whose operator is reached at `value`."""
    fact = bounds.target[edge]
    lack = _lack(bounds, room, fact)
    gain = _part(bounds, room, edge, lack)
    if gain <= 0:
        return INFINITE
    if cost == 0 or bounds.condition[fact] == NOTHING:
        return min(value + cost, DEAR)
    condition = bounds.condition[fact]
    rate, per = room.rate[condition] + 0, room.per[condition] + 0
    if rate:
        reached = value - room.since[condition]
        more = INFINITE
        if reached < MOST_SHORT:
            more = (reached * rate + per - 1) // per
        room.gained[condition] = min(room.gained[condition] + more, lack)
    room.since[condition] = value
    if rate == 0 or gain * per > rate * cost:
        rate, per = gain, cost
        room.rate[condition], room.per[condition] = rate, per
    return min(value + ((lack - room.gained[condition]) * per + rate - 1) // rate, DEAR)


@kernel
def _load_state(
    bounds: NumericBounds,
    room: BoundRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
) -> int:
    """Queue the facts of the state at `state[base]` at value 0, all others being `INFINITE`; measure all conditions.

    Returns the length of the queue.
    """
    for fact in range(len(room.value)):
        room.value[fact] = INFINITE
    for operator in range(len(bounds.action)):
        room.missing[operator] = bounds.precondition_start[operator + 1] - bounds.precondition_start[operator]
        room.supporter[operator] = NOTHING
    waiting = 0
    for index in range(len(bounds.free)):
        waiting = _reach(room, bounds.free[index] + 0, 0, waiting)
    for variable in range(len(space.coding.word)):
        now = state[base + space.coding.word[variable]] >> space.coding.shift[variable] & space.coding.mask[variable]
        fact = space.coding.fact[space.coding.first[variable] + now] + 0
        if fact != NOTHING and room.value[fact] > 0:
            waiting = _reach(room, fact, 0, waiting)
    for number in range(len(space.comparisons.constant)):
        short = lack_of(space.comparisons, number, state, base + words)
        grain = bounds.grain[number]
        if grain > 1 and short > 0:
            short = (short + grain - 1) // grain * grain
        room.shift[number] = 0
        while short > MOST_SHORT:
            short >>= 1
            room.shift[number] += 1
        room.short[number] = short
        room.rate[number] = 0
        room.gained[number] = 0
    return waiting


@kernel
def _reach(room: BoundRoom, fact: int, value: int, waiting: int) -> int:
    room.value[fact] = value
    return push(room.key, room.heap, waiting, value, fact)


@kernel
def _lower(bounds: NumericBounds, room: BoundRoom, edge: int, value: int, waiting: int) -> int:
    """Lower the value of the target of `edge` to `value`; return the queue's new length."""
    fact = bounds.target[edge] + 0
    if value >= room.value[fact]:
        return waiting
    return _reach(room, fact, value, waiting)


@kernel
def numeric_lm_cut(
    bounds: NumericBounds,
    room: BoundRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    limit: int,
) -> int:
    """Return LM-cut of the state at `state[base]`; `INFINITE` for a dead end.

    The evaluation stops once it reaches `limit`.
    """
    scale, goal = bounds.scale[0] + 0, len(room.value) - 2
    for action in range(len(room.price)):
        room.price[action] = bounds.cost[action] * scale
        room.part[action] = 0
    _explore(bounds, room, _load_state(bounds, room, space, words, state, base), 1)
    if room.value[goal] >= INFINITE:
        return INFINITE
    total, most = 0, min(limit, 1 << 38) * scale
    while room.value[goal] > 0 and total < most:
        many = _find_cut(bounds, room, _mark_zone(bounds, room))
        worth = INFINITE
        for index in range(many):
            action = room.cut[index]
            worth = min(worth, room.price[action] * room.lack[action] // room.part[action])
        total += worth
        _explore(bounds, room, _charge_cut(bounds, room, many, worth), 0)
    return (total + scale - 1) // scale


@kernel
def _charge_cut(bounds: NumericBounds, room: BoundRoom, many: int, worth: int) -> int:
    """Charge the `many` actions of the cut for its `worth`, and queue what becomes cheaper; return the queue's length.

    The quotient is rounded up, which takes the whole price of the action that determines the worth.
    """
    waiting = 0
    for index in range(many):
        action = room.cut[index] + 0
        part, lack = room.part[action] + 0, room.lack[action] + 0
        room.price[action] -= worth // lack * part + (worth % lack * part + lack - 1) // lack
        room.part[action] = 0
        for place in range(bounds.operator_start[action], bounds.operator_start[action + 1]):
            operator = bounds.operator[place] + 0
            if room.supporter[operator] != NOTHING:
                waiting = _fire(bounds, room, operator, waiting)
    return waiting


@kernel
def _explore(bounds: NumericBounds, room: BoundRoom, waiting: int, first: int) -> None:
    """Propagate the values of the `waiting` facts: at `first` they are reached, then they have become cheaper."""
    while waiting:
        fact, value = room.heap[0] + 0, room.key[0] + 0
        waiting = pop(room.key, room.heap, waiting)
        if value > room.value[fact]:
            continue
        for index in range(bounds.needed_start[fact], bounds.needed_start[fact + 1]):
            operator = bounds.needed[index] + 0
            if first:
                room.missing[operator] -= 1
                if room.missing[operator]:
                    continue
            elif room.supporter[operator] != fact:
                continue
            waiting = _fire(bounds, room, operator, waiting)


@kernel
def _fire(bounds: NumericBounds, room: BoundRoom, operator: int, waiting: int) -> int:
    """Find the supporter of `operator` and lower the values of its targets; return the queue's new length."""
    best = -1
    for index in range(bounds.precondition_start[operator], bounds.precondition_start[operator + 1]):
        fact = bounds.precondition[index] + 0
        if room.value[fact] > best:
            best = room.value[fact]
            room.supporter[operator] = fact
    action = bounds.action[operator] + 0
    price = 0
    if action != NOTHING:
        price = room.price[action]
    for edge in range(bounds.edge_start[operator], bounds.edge_start[operator + 1]):
        lack = _lack(bounds, room, bounds.target[edge])
        part = _part(bounds, room, edge, lack)
        if part > 0:
            waiting = _lower(bounds, room, edge, min(best + min(price * lack // part, DEAR), DEAR), waiting)
    return waiting


@kernel
def _first_to_enter(bounds: NumericBounds, room: BoundRoom, operator: int) -> bool:
    """Return whether `operator` is reached and needs nothing of the goal zone: only then may it enter first."""
    if room.supporter[operator] == NOTHING:
        return False
    for index in range(bounds.precondition_start[operator], bounds.precondition_start[operator + 1]):
        if room.zone[bounds.precondition[index]]:
            return False
    return True


@kernel
def _mark_zone(bounds: NumericBounds, room: BoundRoom) -> int:
    """Mark the goal zone: the goal, and the supporter of each operator that enters the zone at no price.

    Write its facts to `room.list`; return their number.
    """
    count, done, goal = 1, 0, len(room.value) - 2
    room.list[0] = goal
    room.zone[goal] = 1
    while done < count:
        fact = room.list[done]
        done += 1
        for index in range(bounds.incoming_start[fact], bounds.incoming_start[fact + 1]):
            operator = bounds.source[bounds.incoming[index]] + 0
            action = bounds.action[operator] + 0
            if action != NOTHING and room.price[action]:
                continue
            edge = bounds.incoming[index]
            if _part(bounds, room, edge, _lack(bounds, room, fact)) > 0 and _first_to_enter(bounds, room, operator):
                supporter = room.supporter[operator] + 0
                room.zone[supporter] = 1
                room.list[count] = supporter
                count += 1
    return count


@kernel
def _find_cut(bounds: NumericBounds, room: BoundRoom, count: int) -> int:
    """Write the actions that enter the zone of `count` facts to `room.cut`; unmark the zone; return their number.

    An application of action a counts for `room.part[a]` out of `room.lack[a]`, the most that it does for any fact.
    """
    many = 0
    for position in range(count):
        fact = room.list[position]
        for index in range(bounds.incoming_start[fact], bounds.incoming_start[fact + 1]):
            edge = bounds.incoming[index]
            operator = bounds.source[edge] + 0
            action = bounds.action[operator] + 0
            if action == NOTHING or not room.price[action] or not _first_to_enter(bounds, room, operator):
                continue
            lack = _lack(bounds, room, fact)
            part = _part(bounds, room, edge, lack)
            if part <= 0:
                continue
            if not room.part[action]:
                room.cut[many] = action
                many += 1
                room.lack[action], room.part[action] = lack, part
            elif part * room.lack[action] > room.part[action] * lack:
                room.lack[action], room.part[action] = lack, part
    for position in range(count):
        room.zone[room.list[position]] = 0
    return many

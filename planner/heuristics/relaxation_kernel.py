"""The delete relaxation: h_max (Bonet and Geffner, 2001) and h_FF (Hoffmann and Nebel, 2001).

h_FF extracts its relaxed plan from the achievers of h_add (Keyder and Geffner, 2008). The readable twin is
`relaxation`.

The level queue of h_max has a circular list of facts for each level, so that a fact changes its level in constant time.
Item f is fact f, and item `facts + l` is the head of level l. A level covers 2 ** `level[SHIFT]` values, and the last
level all greater ones. `pop_level` searches a level for its least value.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.task.packed_facts_kernel import Coding
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER


class Relaxed(NamedTuple):
    """The delete relaxation: operators with preconditions and effects, and the operators that need or add each fact.

    The last two facts are `start`, which always holds, and the goal; see `planner.heuristics.relaxation`.
    """

    precondition_start: Index
    precondition: Index
    effect_start: Index
    effect: Index
    needed_start: Index
    needed: Index
    added_start: Index
    added: Index
    cost: Words
    action: Index
    operator_start: Index
    operator: Index


class Exploration(NamedTuple):
    """Working memory for explorations of the relaxation.

    The start of the last exploration: `state` is the packed state; `at_first` counts the unmet preconditions of each
    operator. By operator: `missing` (unexpanded preconditions), `price` (remaining cost), `supporter`. By fact:
    `value`, `expanded`, `zone` (whether it is in the goal zone); `following` and `previous` are its neighbours in the
    queue (`following` is `NOTHING` for a fact that is not queued); `level` holds the levels. `queue` has room for
    facts, `marked` has a mark for each action.
    """

    state: Words
    at_first: Index
    missing: Index
    price: Words
    supporter: Index
    value: Words
    expanded: Words
    following: Index
    previous: Index
    level: Words
    zone: Words
    queue: Index
    marked: Words


LEVELS: Final = 1024
LOWEST: Final = 0
"""Index into `Exploration.level`: all levels below this one are empty."""
SHIFT: Final = 1
"""Index into `Exploration.level`: the right shift that turns a value into its level."""


@kernel
def push_level(room: Exploration, fact: int) -> None:
    """Queue `fact` at the level of its (lowered) value, whether or not it is queued already."""
    if room.following[fact] != NOTHING:
        _unlink(room, fact)
    level = min(room.value[fact] >> room.level[SHIFT], LEVELS - 1)
    room.level[LOWEST] = min(level, room.level[LOWEST])
    head = len(room.value) + level
    after = room.following[head] + 0
    room.following[head], room.previous[fact] = fact, head
    room.following[fact], room.previous[after] = after, fact


@kernel
def _unlink(room: Exploration, fact: int) -> None:
    before, after = room.previous[fact] + 0, room.following[fact] + 0
    room.following[before], room.previous[after] = after, before
    room.following[fact] = NOTHING


@kernel
def pop_level(room: Exploration, limit: int) -> int:
    """Remove and return the fact with the least value; `NOTHING` if no value is below `limit`."""
    facts, level = len(room.value), room.level[LOWEST] + 0
    last = min(limit >> room.level[SHIFT], LEVELS - 1)
    while level <= last and room.following[facts + level] == facts + level:
        level += 1
    room.level[LOWEST] = level
    if level > last:
        return NOTHING
    least = room.following[facts + level] + 0
    if room.level[SHIFT] or level == LEVELS - 1:
        other = room.following[least] + 0
        while other < facts:
            if room.value[other] < room.value[least]:
                least = other
            other = room.following[other] + 0
    if room.value[least] >= limit:
        return NOTHING
    _unlink(room, least)
    return least


@kernel
def clear_levels(room: Exploration) -> None:
    """Empty the queue."""
    facts = len(room.value)
    for head in range(facts + room.level[LOWEST], facts + LEVELS):
        while room.following[head] != head:
            _unlink(room, room.following[head])
    room.level[LOWEST] = LEVELS


GIVEN: Final = 1
"""The mark in `expanded` of facts that hold in the state."""


@kernel
def begin_exploration(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> None:
    """Initialize `room` for the state at `state[base]`: its facts have value 0, all others `INFINITE`."""
    load_state(relaxed, room, coding, state, base)
    for operator in range(len(relaxed.cost)):
        room.missing[operator] = room.at_first[operator]
        room.price[operator] = relaxed.cost[operator]


@kernel
def load_state(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> None:
    """Replace the facts of the last state by those of the state at `state[base]`."""
    count_missing(relaxed.needed_start, relaxed.needed, room.at_first, room.state, coding, state, base)
    for fact in range(len(room.value)):
        room.value[fact] = INFINITE
        room.expanded[fact] = 0
    for variable in range(len(coding.word)):
        fact = fact_of(coding, variable, state, base)
        if fact != NOTHING:
            _give_fact(room, fact)
    _give_fact(room, len(room.value) - 2)


@kernel
def _give_fact(room: Exploration, fact: int) -> None:
    room.value[fact] = 0
    room.expanded[fact] = GIVEN


@kernel
def count_missing(
    needed_start: Index, needed: Index, missing: Index, last: Words, coding: Coding, state: Words, base: int
) -> None:
    """Count the unmet preconditions in the state at `state[base]`: `missing` has those in `last`, the state before.

    `needed` lists by fact the operators that need it. Successive states differ little, so only facts that have changed
    are looked at. `missing` and `last` are modified in place.
    """
    for variable in range(len(coding.word)):
        before, now = fact_of(coding, variable, last, 0), fact_of(coding, variable, state, base)
        if before != now:
            _add_to_missing(needed_start, needed, missing, before, 1)
            _add_to_missing(needed_start, needed, missing, now, -1)
    for word in range(len(last)):
        last[word] = state[base + word]


@kernel
def fact_of(coding: Coding, variable: int, state: Words, base: int) -> int:
    """Return the fact that is the value of a variable in the state at `state[base]`, or `NOTHING`."""
    value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
    return coding.fact[coding.first[variable] + value] + 0


@kernel
def _add_to_missing(needed_start: Index, needed: Index, missing: Index, fact: int, difference: int) -> None:
    if fact != NOTHING:
        for index in range(needed_start[fact], needed_start[fact + 1]):
            missing[needed[index]] += difference


@kernel
def fire(relaxed: Relaxed, room: Exploration, operator: int, value: int) -> None:
    """Lower the values of the effects of `operator` to `value`, and queue the effects whose values fall."""
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        effect = relaxed.effect[index]
        if value < room.value[effect]:
            room.value[effect] = value
            push_level(room, effect)


@kernel
def fire_ready(relaxed: Relaxed, room: Exploration) -> None:
    """Fire the operators without unmet preconditions."""
    for operator in range(len(relaxed.cost)):
        if not room.missing[operator]:
            room.supporter[operator] = relaxed.precondition[relaxed.precondition_start[operator]]
            fire(relaxed, room, operator, room.price[operator])


@kernel
def reach(relaxed: Relaxed, room: Exploration, again: int) -> None:
    """Compute h_max of the goal, and of all facts of lower value; leave the other facts in the queue.

    With `again`, prices fell since then, so that the values of expanded facts may fall, too.
    """
    value, goal = room.value, len(room.value) - 1
    fact = pop_level(room, value[goal])
    while fact != NOTHING:
        is_new = not again or not room.expanded[fact]
        room.expanded[fact] = 1
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            if is_new:
                room.missing[operator] -= 1
            elif room.supporter[operator] != fact:
                continue
            if not room.missing[operator]:
                highest = fact
                if again:
                    highest = _highest_precondition(relaxed, value, operator, fact)
                room.supporter[operator] = highest
                fire(relaxed, room, operator, value[highest] + room.price[operator])
        fact = pop_level(room, value[goal])


@kernel
def _highest_precondition(relaxed: Relaxed, value: Words, operator: int, highest: int) -> int:
    """Return the precondition of highest value: `highest`, unless that of another one is greater."""
    for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
        if value[relaxed.precondition[index]] > value[highest]:
            highest = relaxed.precondition[index] + 0
    return highest


@kernel
def h_max(relaxed: Relaxed, room: Exploration, coding: Coding, state: Words, base: int) -> int:
    """Return the h_max value of the state at `state[base]`, `INFINITE` for a dead end."""
    begin_exploration(relaxed, room, coding, state, base)
    fire_ready(relaxed, room)
    reach(relaxed, room, 0)
    clear_levels(room)
    return room.value[len(room.value) - 1]


DEAR: Final = 1 << 58
"""Cap of h_add values, so that sums of sums fit into a word."""


REACHED: Final = 2


class Achievers(NamedTuple):
    """By fact: the operator that achieves it at least cost, and the number of the last plan that needed it.

    By action: the number of the last plan that contained it. `queue` has room for facts.
    """

    operator: Index
    wanted: Words
    planned: Words
    queue: Index


class Reachable(NamedTuple):
    """The queue of h_add: buckets by value, each a linked list of facts, the latest first.

    `first[v]` is the first entry of value v; the last bucket also holds all greater values. There is room for an entry
    for each effect of each operator.
    """

    first: Index
    fact: Index
    next: Index


@kernel
def relaxed_plan(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    coding: Coding,
    state: Words,
    base: int,
    plan: int,
    seed: int,
) -> int:
    """Return the cost of a relaxed plan for the state at `state[base]`, `INFINITE` for a dead end.

    The plan marks its actions by its number `plan`, which must exceed the numbers of all plans before. `seed` breaks
    ties among achievers: with an odd seed, operators applicable in the state come in descending order.
    """
    begin_exploration(relaxed, room, coding, state, base)
    goal = len(room.value) - 1
    want_fact(room, achievers, goal, 0, plan)
    explore(relaxed, room, achievers, reachable, 1, plan, seed)
    if room.value[goal] == INFINITE:
        return INFINITE
    return extract_plan(relaxed, room, achievers, 1, plan)


@kernel
def want_fact(room: Exploration, achievers: Achievers, fact: int, count: int, plan: int) -> int:
    """Mark `fact` as needed by plan number `plan`, and queue it after `count` others; return the new length."""
    if achievers.wanted[fact] == plan or room.expanded[fact] == GIVEN:
        return count
    achievers.wanted[fact] = plan
    achievers.queue[count] = fact
    return count + 1


@kernel
def explore(
    relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, missing: int, plan: int, seed: int
) -> int:
    """Compute h_add of the `missing` facts marked by the number of the `plan`, and of all facts of lower value.

    Returns the number of marked facts without a value.
    """
    value = room.value
    many = _achieve_ready(relaxed, room, achievers, reachable, seed)
    bucket, most = 0, len(reachable.first) - 1
    left = many
    while left and bucket <= most:
        # take the next fact from the lowest bucket; an entry whose fact is expanded already is stale
        entry = reachable.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        reachable.first[bucket] = reachable.next[entry]
        left -= 1
        fact = reachable.fact[entry] + 0
        if room.expanded[fact] or not missing:
            continue
        room.expanded[fact] = REACHED
        if achievers.wanted[fact] == plan:
            missing -= 1
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            room.missing[operator] -= 1
            if not room.missing[operator]:  # all preconditions have values: h_add sums them
                total = relaxed.cost[operator]
                for other in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
                    total = min(total + value[relaxed.precondition[other]], DEAR)
                before = many
                many = achieve(relaxed, room, achievers, reachable, operator, total, many)
                left += many - before
    return missing


@kernel
def _achieve_ready(relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, seed: int) -> int:
    """Fire the operators without unmet preconditions, in an order by `seed`; return the length of the queue."""
    many, operators = 0, len(relaxed.cost)
    shift = (seed * MULTIPLIER & LOW_BITS) % operators
    for index in range(operators):
        operator = operators - 1 - index if seed & 1 else index + shift
        if operator >= operators:
            operator -= operators
        if not room.missing[operator]:
            many = achieve(relaxed, room, achievers, reachable, operator, relaxed.cost[operator], many)
    return many


@kernel
def achieve(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    operator: int,
    total: int,
    many: int,
) -> int:
    """Lower the h_add values of the effects of `operator` to `total`; return the number of entries."""
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        effect = relaxed.effect[index]
        if total < room.value[effect]:
            room.value[effect] = total
            achievers.operator[effect] = operator
            bucket = min(total, len(reachable.first) - 1)
            reachable.fact[many] = effect
            reachable.next[many] = reachable.first[bucket]
            reachable.first[bucket] = many
            many += 1
    return many


@kernel
def extract_plan(relaxed: Relaxed, room: Exploration, achievers: Achievers, count: int, plan: int) -> int:
    """Mark the actions of the relaxed plan for the `count` queued facts; return its cost, each action paid once."""
    planned = achievers.planned
    done, total = 0, 0
    while done < count:
        operator = achievers.operator[achievers.queue[done]] + 0
        done += 1
        action = relaxed.action[operator]
        if action != NOTHING and planned[action] != plan:
            planned[action] = plan
            total += relaxed.cost[operator]
        for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
            count = want_fact(room, achievers, relaxed.precondition[index], count, plan)
    return total

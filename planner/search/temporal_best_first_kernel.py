"""Lazy greedy best-first search in time, over decision epochs (Eyerich, Mattmüller and Röger, 2009).

A state has, beside facts and numbers, an agenda: the lapses that run, each with the time that is left. In a state,
an action may start now, or time goes on to the end of the next lapse. A step whose duration is a range may end when its
least duration has passed, or go on: then it ends in some later state, when its greatest duration has passed at last.
Absolute time is no part of a state: states that
differ in it alone are one, and keep the path by which their plans end first, where plans must end before a limit. A
state is evaluated by a relaxed plan of starts and ends; its edges wait in two queues, for all and for the helpful ones.
Happenings may follow each other without any time between them: a schedule of the plan sets apart what must not come at
once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.numeric_relaxation_kernel import NumericRelaxed, NumericRoom, estimate_numeric
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, NOTHING, PAUSED, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push
from planner.search.numeric_best_first_kernel import OLD, is_novel
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import APPLIED
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import Registry, number_of

SHIFT: Final = 20
"""An entry of the agenda is the ticks that are left, and in so many lower bits the number of the lapse."""
FREE: Final = 1 << 62
"""A free place of the agenda."""
MOST_TICKS: Final = 1 << 40
"""No lapse takes as long."""
LATER: Final = NOTHING - 1
"""An edge: time goes on to the least duration of the next step, which goes on."""
NOW: Final = NOTHING - 2
"""An edge: the step at the first place of the agenda ends now; numbers below are those of the places after it."""
BOOST: Final = 1000
"""Turns that the queue of helpful edges gains when the best estimate improves."""


class Lapses(NamedTuple):
    """What passes: see `planner.task.temporal_task`.

    Action a begins lapse `begins[a]`; `NOTHING` for an action without a duration, and one more than the number of
    lapses for one that only ends a lapse. Lapse p takes `ticks[p]`, or what variable `variable[p]` says, unless that is
    `NOTHING`. `invariants` are conjunctions, those of its list. While it runs with less than `doom_ticks[d]` left, for
    d of its list, word `doom_word[d]` has `doom_bits[d]` under `doom_mask[d]`. After that, a step may go on as lapse
    `longer[p]`, which is `NOTHING` for others; its ticks are those by which the step may last longer, and its variable
    says how long the step may last in all. Such a lapse `is_open`: it may end at any time.
    """

    begins: Index
    longer: Index
    is_open: Index
    ticks: Words
    variable: Index
    factor: Words
    divisor: Words
    end_start: Index
    end: Index
    invariant_start: Index
    invariant: Index
    invariants: Conditions
    doom_start: Index
    doom_ticks: Words
    doom_word: Index
    doom_mask: Words
    doom_bits: Words


class TemporalPaths(NamedTuple):
    """How the S states of a registry were reached.

    `parent[s]` is `NOTHING` for the initial state; `action[s]` happened at tick `time[s]`, and `last[s]` is when the
    last step so far has ended or will end.
    """

    parent: Index
    action: Index
    time: Words
    last: Words


class TemporalQueues(NamedTuple):
    """Two queues of batches of edges, for all and for helpful edges.

    Batch b has the edges `at[b]` up to `end[b]` of state `state[b]`. Edge e starts action `edge[e]`, or lets time go on
    where this is `NOTHING`; or it is `LATER`, or at most `NOW`.
    """

    all_key: Words
    all_heap: Index
    helpful_key: Words
    helpful_heap: Index
    state: Index
    at: Index
    end: Index
    edge: Index


@entry
@kernel
def temporal_best_first(
    work: int,
    places: int,
    youngest: int,
    novel: int,
    pace: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    lapses: Lapses,
    registry: Registry,
    paths: TemporalPaths,
    queues: TemporalQueues,
    relaxed: NumericRelaxed,
    room: NumericRoom,
    seen: Words,
    found: Index,
    stack: Index,
) -> int:
    """Search for about `work` steps; return `PAUSED`, `EXHAUSTED`, `FOUND` or `FULL`.

    The agenda has so many `places`; `number[slot.LEFT_OUT]` counts the starts for which there was none.
    After `FOUND`, `number[slot.GOAL_STATE]` is reached by a plan whose last step ends before `number[slot.LIMIT]`; the
    next call goes on from there. Among edges of one estimate the oldest comes first, or the `youngest`; if `novel` is
    not 0, states without a new value come last. If `pace` is not 0, each `pace` ticks count as much as a step.
    """
    words = len(room.state)
    row = words + len(space.numbers.low) + places
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if (
            number[slot.STATES] + 2 >= len(paths.parent)
            or 2 * (number[slot.STATES] + 1) > len(registry.table)
            or number[slot.BATCHES] + 2 >= len(queues.state)
            or number[slot.EDGES] + 2 * len(found) + 2 * places + 4 >= len(queues.edge)
        ):
            return FULL
        state = number[slot.PENDING] + 0
        number[slot.PENDING] = -1
        if state < 0:
            batch = next_batch(queues, number)
            if batch < 0:
                return EXHAUSTED
            _follow_edge(
                number,
                space,
                preconditions,
                lapses,
                registry,
                paths,
                queues,
                batch,
                words,
                places,
            )
            number[slot.WORK] += 40
            continue
        base = state * row
        agenda = base + row - places
        if registry.state[agenda] == FREE and holds(space.goal, 0, registry.state, base):
            number[slot.GOAL_STATE] = state
            return FOUND
        number[slot.EVALUATIONS] += 1
        estimate = estimate_numeric(relaxed, room, space, words, registry.state, base, number[slot.EVALUATIONS])
        number[slot.WORK] += 2 * len(relaxed.cost) + 20
        if estimate == INFINITE:
            continue
        if estimate < number[slot.BEST]:
            number[slot.BEST] = estimate
            number[slot.TURNS + 1] -= BOOST
        number[slot.EXPANSIONS] += 1
        many = find_applicable(space.tree, registry.state, base, found, stack)
        key = estimate
        if pace:
            key += paths.last[state] // pace
        if novel and not is_novel(registry.state, base, space, words, estimate, seen):
            key = min(key, OLD - 1) + OLD
        _put_edges(
            number,
            queues,
            preconditions,
            lapses,
            room,
            registry.state,
            base,
            agenda,
            places,
            state,
            key,
            found,
            many,
            youngest,
        )
    return PAUSED


@kernel
def next_batch(queues: TemporalQueues, number: Words) -> int:
    """Return the first batch of the queue whose turn it is; -1 if both are empty."""
    if number[slot.MEMBERS] and (number[slot.TURNS + 1] <= number[slot.TURNS] or not number[slot.OPEN]):
        number[slot.TURNS + 1] += 1
        batch = queues.helpful_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.MEMBERS] = pop(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS])
        return batch
    if number[slot.OPEN]:
        number[slot.TURNS] += 1
        batch = queues.all_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.OPEN] = pop(queues.all_key, queues.all_heap, number[slot.OPEN])
        return batch
    return -1


@kernel
def _follow_edge(
    number: Words,
    space: Space,
    preconditions: Conditions,
    lapses: Lapses,
    registry: Registry,
    paths: TemporalPaths,
    queues: TemporalQueues,
    batch: int,
    words: int,
    places: int,
) -> None:
    """Follow the next edge of `batch`; a state that is new becomes pending."""
    row = words + len(space.numbers.low) + places
    place = queues.at[batch] + 0
    queues.at[batch] = place + 1
    parent, edge = queues.state[batch] + 0, queues.edge[place] + 0
    if paths.last[parent] >= number[slot.LIMIT]:
        return
    state = registry.state
    source, target = parent * row, number[slot.STATES] * row
    agenda, following = source + row - places, target + row - places
    last, time = paths.last[parent] + 0, paths.time[parent] + 0
    action = edge
    if edge > NOW - places:
        ending = NOW - edge if edge <= NOW else _find_ending(lapses, state, agenda, places)
        first = state[agenda + ending] + 0
        lapse = first & ((1 << SHIFT) - 1)
        passed = 0 if edge <= NOW else first >> SHIFT
        time += passed
        _move_on(state, agenda, following, places, passed, ending)
        if edge == LATER:
            for index in range(row - places):
                state[target + index] = state[source + index]
            slack = slack_of(lapses, lapse, state, source + words)
            _insert(state, following, places, (slack << SHIFT) + lapses.longer[lapse])
            last = max(last, time)
        else:
            action = find_end(preconditions, lapses, lapse, state, source)
            if action == NOTHING:
                return
            if apply(space, action, state, source, target, words) != APPLIED:
                return
            if lapses.is_open[lapse]:
                last = max(last, time)
    else:
        if apply(space, action, state, source, target, words) != APPLIED:
            return
        for index in range(places):
            state[following + index] = state[agenda + index]
        last = _begin(number, lapses, state, action, target + words, following, places, last, time)
        if last < 0:
            return
    if last >= number[slot.LIMIT] or not _keeps_invariants(lapses, state, target, following, places):
        return
    _doom(lapses, state, target, following, places)
    child = number_of(registry, number[slot.STATES], row)
    if child < number[slot.STATES]:
        # A known state is reached again: that counts if its plans may now end in time.
        if number[slot.LIMIT] == INFINITE or last >= paths.last[child]:
            return
    else:
        number[slot.STATES] += 1
    number[slot.GENERATED] += 1
    paths.parent[child] = parent
    paths.action[child] = action
    paths.time[child] = time
    paths.last[child] = last
    number[slot.PENDING] = child


@kernel
def _begin(
    number: Words,
    lapses: Lapses,
    state: Words,
    action: int,
    variables: int,
    agenda: int,
    places: int,
    last: int,
    time: int,
) -> int:
    """Insert the lapse that `action` begins at tick `time` into the agenda; -1 if it cannot begin.

    Return when the last step ends, which was `last` so far.
    """
    begun = lapses.begins[action] + 0
    if begun >= len(lapses.ticks):
        return max(last, time)
    ticks = ticks_of(lapses, begun, state, variables)
    if ticks < 0 or ticks >= MOST_TICKS or slack_of(lapses, begun, state, variables) < 0:
        return -1
    if not _insert(state, agenda, places, (ticks << SHIFT) + begun):
        number[slot.LEFT_OUT] += 1
        return -1
    return max(last, time + ticks)


@kernel
def _find_ending(lapses: Lapses, state: Words, agenda: int, places: int) -> int:
    """Return the place of the lapse that ends next: of several that end at once, one that needs something until then.

    Another one that ends at the same moment might take what it needs.
    """
    first = state[agenda] >> SHIFT
    for place in range(places):
        known = state[agenda + place]
        if known == FREE or known >> SHIFT != first:
            return 0
        lapse = known & ((1 << SHIFT) - 1)
        if lapses.invariant_start[lapse] != lapses.invariant_start[lapse + 1]:
            return place
    return 0


@kernel
def find_end(preconditions: Conditions, lapses: Lapses, lapse: int, state: Words, source: int) -> int:
    """Return the action that ends `lapse` in the state at `state[source]`; `NOTHING` if none can be applied."""
    for index in range(lapses.end_start[lapse], lapses.end_start[lapse + 1]):
        action = lapses.end[index] + 0
        if holds(preconditions, action, state, source):
            return action
    return NOTHING


@kernel
def ticks_of(lapses: Lapses, lapse: int, state: Words, variables: int) -> int:
    """Return how long `lapse` takes, in the state after its start whose variables begin at `state[variables]`."""
    if lapses.variable[lapse] == NOTHING:
        return lapses.ticks[lapse] + 0
    value = state[variables + lapses.variable[lapse]] * lapses.factor[lapse]
    return -(-value // lapses.divisor[lapse])


@kernel
def slack_of(lapses: Lapses, lapse: int, state: Words, variables: int) -> int:
    """Return by how many ticks `lapse` may last longer than the least time, in the state after its start."""
    longer = lapses.longer[lapse] + 0
    if longer == NOTHING:
        return 0
    if lapses.variable[longer] == NOTHING:
        return lapses.ticks[longer] + 0
    value = state[variables + lapses.variable[longer]] * lapses.factor[longer]
    return min(value // lapses.divisor[longer] - ticks_of(lapses, lapse, state, variables), MOST_TICKS)


@kernel
def _move_on(state: Words, source: int, target: int, places: int, passed: int, ending: int) -> None:
    """Write the agenda at `state[source]` without entry `ending`, so many ticks later, to `state[target]`."""
    for index in range(places - 1):
        entry_there = state[source + index + int(index >= ending)] + 0
        if entry_there >> SHIFT < MOST_TICKS:
            entry_there -= passed << SHIFT
        state[target + index] = entry_there
    state[target + places - 1] = FREE


@kernel
def _insert(state: Words, agenda: int, places: int, added: int) -> bool:
    """Insert an entry into the agenda, which is sorted; return False if there is no place."""
    if state[agenda + places - 1] != FREE:
        return False
    place = places - 1
    while place > 0 and state[agenda + place - 1] > added:
        state[agenda + place] = state[agenda + place - 1]
        place -= 1
    state[agenda + place] = added
    return True


@kernel
def _runs(lapses: Lapses, state: Words, agenda: int, places: int, lapse: int) -> bool:
    for place in range(places):
        known = state[agenda + place]
        if known == FREE:
            return False
        runs = known & ((1 << SHIFT) - 1)
        if runs == lapse or runs == lapses.longer[lapse]:
            return True
    return False


@kernel
def _keeps_invariants(lapses: Lapses, state: Words, base: int, agenda: int, places: int) -> bool:
    """Return whether the state at `state[base]` has all that the lapses need which do not end now."""
    for place in range(places):
        known = state[agenda + place]
        if known == FREE:
            return True
        lapse = known & ((1 << SHIFT) - 1)
        first, after = lapses.invariant_start[lapse], lapses.invariant_start[lapse + 1]
        if first == after or known >> SHIFT == 0:
            continue
        kept = False
        for index in range(first, after):
            if holds(lapses.invariants, lapses.invariant[index], state, base):
                kept = True
        if not kept:
            return False
    return True


@kernel
def _doom(lapses: Lapses, state: Words, base: int, agenda: int, places: int) -> None:
    """Let the state at `state[base]` say that facts hold too short which lapses of its agenda will delete soon."""
    for place in range(places):
        known = state[agenda + place] + 0
        if known == FREE:
            return
        left, lapse = known >> SHIFT, known & ((1 << SHIFT) - 1)
        for index in range(lapses.doom_start[lapse], lapses.doom_start[lapse + 1]):
            if left >= lapses.doom_ticks[index]:
                break
            word = base + lapses.doom_word[index]
            state[word] = state[word] & ~lapses.doom_mask[index] | lapses.doom_bits[index]


@kernel
def _put_edges(
    number: Words,
    queues: TemporalQueues,
    preconditions: Conditions,
    lapses: Lapses,
    room: NumericRoom,
    states: Words,
    base: int,
    agenda: int,
    places: int,
    state: int,
    key: int,
    found: Index,
    many: int,
    youngest: int,
) -> None:
    """Queue what may happen in `state`: the `many` applicable actions that are starts, ends, and that time goes on."""
    plan = number[slot.EVALUATIONS]
    age = number[slot.BATCHES] + 0
    if youngest:
        age = (1 << 31) - 1 - age
    key = (min(key, (1 << 31) - 1) << 31) + age
    ending = len(lapses.ticks) + 1
    kept = 0
    for index in range(many):
        action = found[index] + 0
        begun = lapses.begins[action]
        if begun == ending or (begun != NOTHING and _runs(lapses, states, agenda, places, begun)):
            continue
        found[kept] = action
        kept += 1
    first = number[slot.EDGES] + 0
    count = first
    for index in range(kept):
        if room.planned[found[index]] == plan:
            queues.edge[count] = found[index]
            count += 1
    count = _put_ends(queues, preconditions, lapses, states, base, agenda, places, count)
    if count > first:
        batch = number[slot.BATCHES] + 0
        queues.state[batch], queues.at[batch], queues.end[batch] = state, first, count
        number[slot.MEMBERS] = push(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS], key, batch)
        number[slot.BATCHES] += 1
    first = count
    for index in range(kept):
        queues.edge[count] = found[index]
        count += 1
    count = _put_ends(queues, preconditions, lapses, states, base, agenda, places, count)
    if count > first:
        batch = number[slot.BATCHES] + 0
        queues.state[batch], queues.at[batch], queues.end[batch] = state, first, count
        number[slot.OPEN] = push(queues.all_key, queues.all_heap, number[slot.OPEN], key, batch)
        number[slot.BATCHES] += 1
    number[slot.EDGES] = count


@kernel
def _put_ends(
    queues: TemporalQueues,
    preconditions: Conditions,
    lapses: Lapses,
    states: Words,
    base: int,
    agenda: int,
    places: int,
    count: int,
) -> int:
    """Put the edges that end lapses behind the first `count` edges, and return how many there are then."""
    for place in range(places):
        known = states[agenda + place] + 0
        if known == FREE:
            break
        lapse = known & ((1 << SHIFT) - 1)
        if lapses.is_open[lapse] and find_end(preconditions, lapses, lapse, states, base) != NOTHING:
            queues.edge[count] = NOW - place
            count += 1
    if states[agenda] >> SHIFT < MOST_TICKS:
        queues.edge[count] = NOTHING
        count += 1
        next_lapse = states[agenda + _find_ending(lapses, states, agenda, places)] & ((1 << SHIFT) - 1)
        if lapses.longer[next_lapse] != NOTHING:
            queues.edge[count] = LATER
            count += 1
    return count

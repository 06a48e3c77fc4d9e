"""Lazy greedy best-first search for tasks with numbers or time, with helpful actions and macro steps.

As in LAMA (Richter and Westphal, 2010), a state is evaluated when it is expanded; its edges wait in two queues, for all
and for the helpful ones, which are those of its relaxed plan. States with a value of a variable that no state with the
same estimate had may come first (best-first width search: Lipovetzky and Geffner, 2017). Machine code comes in two
variants of one source, for numbers and for numbers and lapses.

In tasks without time, a helpful action that the relaxed plan repeats has an edge that repeats it as often as it can be
applied, up to so many times. Other edges may jump: they repeat an action until a fact changes, such as a condition that
begins to hold.

In time, search goes over decision epochs (Eyerich, Mattmüller and Röger, 2009). A state has an agenda of the lapses
that run. In a state, an action may start now, or time goes on to the end of the next lapse. A step whose duration is a
range may end when its least duration has passed, or go on: then it ends in some later state, when its greatest duration
has passed at last. Absolute time is no part of a state: states that differ in it alone are one, and keep the path by
which their plans end first, where plans must end before a limit. Happenings may follow each other without any time
between them: a schedule of the plan sets apart what must not come at once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.numeric_demands_kernel import DemandRoom, NumericDemands, meet_demands
from planner.heuristics.numeric_relaxation_kernel import NumericRelaxed, NumericRoom, estimate_numeric
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, entry, kernel
from planner.search.best_first_loop_kernel import Parts, make_opening, make_search
from planner.search.edge_queues_kernel import (
    EdgeQueues,
    append_actions,
    key_by_age,
    next_batch,
    note_estimate,
    put_batch,
)
from planner.task.lapses_kernel import (
    FREE,
    MOST_TICKS,
    SHIFT,
    Lapses,
    doom_facts,
    find_end,
    find_ending,
    insert_lapse,
    is_running,
    keeps_invariants,
    move_on,
    slack_of,
    ticks_of,
)
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import APPLIED, OUT_OF_RANGE, value_of
from planner.task.packed_states_kernel import LAPSES, NUMBERS, Space, apply, row_of
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER, Registry, number_of

OLD: Final = 1 << 29
"""Added to the estimates of states that are not novel; greater estimates count as equal."""
JUMP: Final = 0
"""Stands for the number of repetitions up to the next one that changes a fact."""
EDGES: Final = 1 << 32
"""Numbers of edges."""
LONGEST_JUMP: Final = 1 << 10
"""Most repetitions of an action by a jump, as some actions change no fact however often they are repeated."""
MOST_REPEATED: Final = 1 << 14
"""Most repetitions of an action by one edge: without machine code, they take half a second between two pauses."""
SCRATCH: Final = 3
"""Rows of the registry, behind its states, that a search writes to."""
LATER: Final = NOTHING - 1
"""An edge: time goes on to the least duration of the next step, which goes on."""
NOW: Final = NOTHING - 2
"""An edge: the step at the first place of the agenda ends now; numbers below are those of the places after it."""


class Paths(NamedTuple):
    """How the S states of a registry were reached.

    `parent[s]` is `NOTHING` for the initial state; `action[s]` was applied `times[s]` times. In time, it happened at
    tick `time[s]`, and `last[s]` is when the last step so far has ended or will end.
    """

    parent: Index
    action: Index
    times: Index
    time: Words
    last: Words


class Workspace(NamedTuple):
    """What a search works on: `found` has room for all actions, `stack` for all nodes of the decision tree.

    In time, edge e of `queues` starts action `edge[e]`, or time goes on where that is `NOTHING`, or it is `LATER`, or
    at most `NOW`. Without time, `edge[e]` is the action plus the number of all actions times how often it is repeated
    at most, or `JUMP`.
    """

    number: Words
    space: Space
    preconditions: Conditions
    lapses: Lapses
    registry: Registry
    paths: Paths
    queues: EdgeQueues
    relaxed: NumericRelaxed
    room: NumericRoom
    demands: NumericDemands
    memory: DemandRoom
    seen: Words
    found: Index
    stack: Index


@kernel
def _has_room(at: Workspace) -> bool:
    number, queues = at.number, at.queues
    return (
        number[slot.STATES] + SCRATCH < len(at.paths.parent)
        and 2 * (number[slot.STATES] + 1) <= len(at.registry.table)
        and number[slot.BATCHES] + 2 < len(queues.state)
        and number[slot.EDGES] + 3 * len(at.found) + 2 * number[slot.AGENDA] + 4 < len(queues.edge)
    )


@kernel
def _follow(layers: int, at: Workspace) -> bool:
    """Follow the next edge of the queue whose turn it is; return False if both are empty."""
    number = at.number
    batch = next_batch(at.queues, number)
    if batch < 0:
        return False
    if layers == LAPSES:
        _follow_in_time(at, batch, len(at.room.state), number[slot.AGENDA] + 0)
    else:
        _follow_edge(at, batch, len(at.room.state))
    number[slot.WORK] += 40
    return True


@kernel
def _row(layers: int, at: Workspace) -> int:
    """Return the length of a state."""
    return row_of(at.space, len(at.room.state)) + (at.number[slot.AGENDA] if layers == LAPSES else 0)


@kernel
def _is_goal(layers: int, at: Workspace, base: int) -> bool:
    if layers == LAPSES and at.registry.state[base + _row(layers, at) - at.number[slot.AGENDA]] != FREE:
        return False
    return holds(at.space.goal, 0, at.registry.state, base)


@kernel
def _evaluate(layers: int, at: Workspace, state: int, base: int) -> int:
    """Return the key of `state`, `INFINITE` for a dead end.

    If `number[NOVEL]`, states without a value that is new at their estimate come after all others; if `number[PAYS]`,
    relaxed plans produce what they use up; if `number[PACE]`, so many ticks count as much as a step.
    """
    number, space, states, words = at.number, at.space, at.registry.state, len(at.room.state)
    number[slot.EVALUATIONS] += 1
    plan = number[slot.EVALUATIONS] + 0
    key = estimate_numeric(at.relaxed, at.room, space, words, states, base, plan)
    number[slot.WORK] += 2 * len(at.relaxed.cost) + 20
    if key == INFINITE:
        return key
    if layers == NUMBERS and number[slot.PAYS]:
        key += meet_demands(at.relaxed, at.room, at.demands, at.memory, space, plan)
        number[slot.WORK] += len(at.relaxed.cost)
    note_estimate(number, key)
    is_old = number[slot.NOVEL] and not is_novel(states, base, space, words, key, at.seen)
    if layers == LAPSES and number[slot.PACE]:
        key += at.paths.last[state] // number[slot.PACE]
    return min(key, OLD - 1) + OLD if is_old else key


@kernel
def is_novel(state: Words, base: int, space: Space, words: int, estimate: int, seen: Words) -> bool:
    """Return whether the state has a value that none before it had at this estimate, and note its values."""
    novel = False
    mask = len(seen) * 32 - 1
    coding = space.coding
    for variable in range(len(coding.word) + len(space.numbers.low)):
        if variable < len(coding.word):
            value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        else:
            value = value_of(space.numbers.fields, variable - len(coding.word), state, base + words)
        code = (((variable * MULTIPLIER + value) & LOW_BITS) * MULTIPLIER + estimate) & LOW_BITS
        code ^= code >> 29
        code = (code * MULTIPLIER) & LOW_BITS
        place = (code >> 20) & mask
        bit = 1 << (place & 31)
        if not seen[place >> 5] & bit:
            seen[place >> 5] |= bit
            novel = True
    return novel


@kernel
def _follow_edge(at: Workspace, batch: int, words: int) -> None:
    """Follow the next edge of `batch`; a state that is new becomes pending."""
    number, space, registry, paths, queues = at.number, at.space, at.registry, at.paths, at.queues
    row = row_of(space, words)
    place = queues.at[batch] + 0
    queues.at[batch] = place + 1
    parent, edge, actions = queues.state[batch] + 0, queues.edge[place] + 0, len(space.actions.cost)
    action, most = edge % actions, edge // actions
    source, target, other = parent * row, number[slot.STATES] * row, (number[slot.STATES] + 1) * row
    times = 0
    jumps = most == JUMP
    if jumps:
        most = LONGEST_JUMP
    while times < most and (times == 0 or holds(at.preconditions, action, registry.state, source)):
        if jumps and times > 1 and not _has_same_facts(registry.state, source, target, words):
            break
        outcome = apply(space, action, registry.state, source, target, words)
        if outcome != APPLIED:
            if outcome == OUT_OF_RANGE:
                number[slot.LEFT_OUT] += 1
            break
        times += 1
        source, target, other = target, other, target
    number[slot.WORK] += 10 * times
    if not times:
        return
    last = number[slot.STATES] * row
    if source != last:
        for word in range(row):
            registry.state[last + word] = registry.state[source + word]
    child = number_of(registry, number[slot.STATES], row)
    if child < number[slot.STATES]:
        return
    number[slot.STATES] += 1
    number[slot.GENERATED] += 1
    paths.parent[child] = parent
    paths.action[child] = action
    paths.times[child] = times
    number[slot.PENDING] = child


@kernel
def _has_same_facts(state: Words, one: int, other: int, words: int) -> bool:
    for word in range(words):
        if state[one + word] != state[other + word]:
            return False
    return True


@kernel
def _follow_in_time(at: Workspace, batch: int, words: int, places: int) -> None:
    """Follow the next edge of `batch`; a state that is new becomes pending."""
    number, space, lapses, registry = at.number, at.space, at.lapses, at.registry
    paths, queues, preconditions = at.paths, at.queues, at.preconditions
    row = row_of(space, words) + places
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
        ending = NOW - edge if edge <= NOW else find_ending(lapses, state, agenda, places)
        first = state[agenda + ending] + 0
        lapse = first & ((1 << SHIFT) - 1)
        passed = 0 if edge <= NOW else first >> SHIFT
        time += passed
        move_on(state, agenda, following, places, passed, ending)
        if edge == LATER:
            for index in range(row - places):
                state[target + index] = state[source + index]
            slack = slack_of(lapses, space.numbers.fields, lapse, state, source + words)
            insert_lapse(state, following, places, (slack << SHIFT) + lapses.longer[lapse])
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
        last = _begin(number, space, lapses, state, action, target + words, following, places, last, time)
        if last < 0:
            return
    if last >= number[slot.LIMIT] or not keeps_invariants(lapses, state, target, following, places):
        return
    doom_facts(lapses, state, target, following, places)
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
    space: Space,
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
    fields = space.numbers.fields
    ticks = ticks_of(lapses, fields, begun, state, variables)
    if ticks < 0 or ticks >= MOST_TICKS or slack_of(lapses, fields, begun, state, variables) < 0:
        return -1
    if not insert_lapse(state, agenda, places, (ticks << SHIFT) + begun):
        number[slot.LEFT_OUT] += 1
        return -1
    return max(last, time + ticks)


@kernel
def _queue_edges(layers: int, at: Workspace, state: int, base: int, key: int, many: int) -> None:
    """Queue the `many` applicable actions of `state`, the helpful ones twice; in time, also that time goes on.

    Among edges of one key the oldest comes first, or the youngest if `number[YOUNGEST]`; if `number[JUMPS]`, edges
    jump.
    """
    number, edge, found, planned = at.number, at.queues.edge, at.found, at.room.planned
    plan, key = number[slot.EVALUATIONS] + 0, key_by_age(number, key)
    places = number[slot.AGENDA] + 0 if layers == LAPSES else 0
    agenda = base + _row(layers, at) - places
    first = number[slot.EDGES] + 0
    once = 0 if layers == LAPSES else len(at.space.actions.cost)
    if layers == LAPSES:
        many = _keep_starts(at, agenda, places, many)
        count = _put_ends(at, base, agenda, places, append_actions(edge, first, found, many, planned, plan, 0))
    else:
        count = append_actions(edge, _put_repeated(at, first, many, plan), found, many, planned, plan, once)
    put_batch(at.queues, number, 1, key, state, first, count)
    first = count
    count = append_actions(edge, first, found, many, planned, 0, JUMP if number[slot.JUMPS] else once)
    if layers == LAPSES:
        count = _put_ends(at, base, agenda, places, count)
    put_batch(at.queues, number, 0, key, state, first, count)
    number[slot.EDGES] = count


@kernel
def _put_repeated(at: Workspace, count: int, many: int, plan: int) -> int:
    """Put edges that repeat what the relaxed plan repeats behind the first `count`; return how many there are then."""
    room, found, actions = at.room, at.found, len(at.space.actions.cost)
    for index in range(many):
        action = found[index]
        if room.planned[action] == plan and room.repeated[action] > 1:
            at.queues.edge[count] = action + actions * min(room.repeated[action], MOST_REPEATED, EDGES // actions - 1)
            count += 1
    return count


@kernel
def _keep_starts(at: Workspace, agenda: int, places: int, many: int) -> int:
    """Keep those of the first `many` of `found` that start something which does not run; return their number."""
    lapses, found = at.lapses, at.found
    kept = 0
    for index in range(many):
        action = found[index] + 0
        begun = lapses.begins[action] + 0
        is_end = begun == len(lapses.ticks) + 1
        if not is_end and (begun == NOTHING or not is_running(lapses, at.registry.state, agenda, places, begun)):
            found[kept] = action
            kept += 1
    return kept


@kernel
def _put_ends(at: Workspace, base: int, agenda: int, places: int, count: int) -> int:
    """Put the edges that end lapses behind the first `count` edges, and return how many there are then."""
    queues, lapses, states = at.queues, at.lapses, at.registry.state
    for place in range(places):
        known = states[agenda + place] + 0
        if known == FREE:
            break
        lapse = known & ((1 << SHIFT) - 1)
        if lapses.is_open[lapse] and find_end(at.preconditions, lapses, lapse, states, base) != NOTHING:
            queues.edge[count] = NOW - place
            count += 1
    if states[agenda] >> SHIFT < MOST_TICKS:
        queues.edge[count] = NOTHING
        count += 1
        next_lapse = states[agenda + find_ending(lapses, states, agenda, places)] & ((1 << SHIFT) - 1)
        if lapses.longer[next_lapse] != NOTHING:
            queues.edge[count] = LATER
            count += 1
    return count


def _make_parts(layers: int) -> Parts:
    """Return the parts of the search of a task with these `layers`."""

    @kernel
    def row(at: Workspace) -> int:
        return _row(layers, at)

    @kernel
    def follow(at: Workspace) -> bool:
        return _follow(layers, at)

    @kernel
    def is_goal(at: Workspace, _state: int, base: int) -> bool:
        return _is_goal(layers, at, base)

    @kernel
    def evaluate(at: Workspace, state: int, base: int) -> int:
        return _evaluate(layers, at, state, base)

    @kernel
    def queue_edges(at: Workspace, state: int, base: int, key: int, many: int) -> None:
        _queue_edges(layers, at, state, base, key, many)

    return Parts(row, _has_room, follow, is_goal, make_opening(evaluate, queue_edges))


_search_numbers = make_search(_make_parts(NUMBERS))
_search_time = make_search(_make_parts(LAPSES))


@entry
@kernel
def best_first(work: int, at: Workspace) -> int:
    """Search a task without time as `make_search` says."""
    return _search_numbers(work, at)


@entry
@kernel
def best_first_in_time(work: int, at: Workspace) -> int:
    """Search a task in time as `make_search` says; plans end before `number[LIMIT]`.

    The agenda has `number[AGENDA]` places; `number[LEFT_OUT]` counts the starts for which there was none, and the
    states with too great numbers.
    """
    return _search_time(work, at)

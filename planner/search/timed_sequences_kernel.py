"""Best-first search for sequences of steps, each scheduled as early as the steps before it allow.

A step starts as soon as what it reads was written and what it writes is no longer read, so steps of a sequence overlap:
the times of a plan are those of its partial order. States that differ in times alone are one, and keep the sequence
that ends first. The key of a state is when its plan may end in the relaxation, plus so many ticks for each step that
is still to come. Its edges wait in two queues, for all and for those of relaxed plans, as in LAMA (Richter and
Westphal, 2010).
"""

from __future__ import annotations

from typing import NamedTuple

from planner.heuristics.numeric_relaxation_kernel import NumericRelaxed, NumericRoom
from planner.heuristics.timed_relaxation_kernel import (
    NEVER,
    TimedRelaxed,
    TimedRoom,
    Windows,
    estimate_timed,
    find_long_end,
    find_long_start,
    find_time,
    latest_goal,
)
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import FULL, INFINITE, NOTHING, Index, Words, entry, kernel
from planner.search.best_first_loop_kernel import Parts, make_opening, make_search
from planner.search.edge_queues_kernel import (
    GREATEST,
    EdgeQueues,
    append_actions,
    key_by_age,
    next_batch,
    note_estimate,
    put_batch,
)
from planner.task.lapses_kernel import Lapses, find_end, slack_of, ticks_of
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import APPLIED, Fields
from planner.task.packed_states_kernel import Space, apply, row_of
from planner.task.state_registry_kernel import Registry, number_of


class Touched(NamedTuple):
    """What actions read and write: variables of facts, and after them the numeric ones.

    `read` and `written` are the lists of action a. It only adds to the numbers of its list in `added`, in any order
    with others that do. A step of lapse p reads those of its list in `through` until its end.
    """

    read_start: Index
    read: Index
    written_start: Index
    written: Index
    added_start: Index
    added: Index
    through_start: Index
    through: Index


class SequencePaths(NamedTuple):
    """How the states of a registry were reached: by a step that began with `action[s]` and ended with `end[s]`.

    The step starts at `start[s]` and lasts `lasts[s]` ticks, at least `least[s]` and at most `slack[s]` more; `end[s]`
    is `NOTHING` for an action without a duration. `last[s]` is when the last step so far ends. `parent[s]` is `NOTHING`
    for the initial state.
    """

    parent: Index
    action: Index
    end: Index
    start: Words
    lasts: Words
    least: Words
    slack: Words
    last: Words


class Times(NamedTuple):
    """When each variable was `written`, and until when it is `read`, after the steps to a state; `path` is room."""

    written: Words
    read: Words
    path: Index


class Workspace(NamedTuple):
    """What a search works on: `found` has room for all actions, `stack` for all nodes of the decision tree.

    `number[SEPARATION]` is the least number of ticks between two happenings. A step still to come counts as
    `number[PACE]` ticks; in the choice of what relaxed plans consist of, it counts as `number[STEP]` ticks. Of edges of
    equal states the oldest comes first, or the youngest if `number[YOUNGEST]`. Keys are in units of `number[GRAIN]`
    ticks, which the first estimate determines where it is 0. `number[ESTIMATED]` numbers the relaxed plans of all
    searches that share `room`.
    """

    number: Words
    prefix: Index
    space: Space
    preconditions: Conditions
    lapses: Lapses
    touched: Touched
    windows: Windows
    registry: Registry
    paths: SequencePaths
    times: Times
    queues: EdgeQueues
    relaxed: NumericRelaxed
    timed: TimedRelaxed
    room: NumericRoom
    memory: TimedRoom
    found: Index
    stack: Index


@kernel
def _has_room(at: Workspace) -> bool:
    number = at.number
    return not (
        number[slot.STATES] + 3 >= len(at.paths.parent)
        or number[slot.STATES] + 3 >= len(at.times.path)
        or 2 * (number[slot.STATES] + 1) > len(at.registry.table)
        or number[slot.BATCHES] + 2 >= len(at.queues.state)
        or number[slot.EDGES] + 2 * len(at.found) + 2 >= len(at.queues.edge)
    )


@kernel
def _follow(at: Workspace) -> bool:
    """Follow the next edge of the queue whose turn it is; return False if both are empty."""
    number, queues = at.number, at.queues
    batch = next_batch(queues, number)
    if batch < 0:
        return False
    place = queues.at[batch] + 0
    queues.at[batch] = place + 1
    _take_step(at, queues.state[batch] + 0, queues.edge[place] + 0)
    number[slot.WORK] += 40
    return True


@kernel
def _row(at: Workspace) -> int:
    return row_of(at.space, len(at.room.state))


@kernel
def _is_goal(at: Workspace, state: int, base: int) -> bool:
    """Return whether the plan to `state` reaches the goal before the limit; then bring its times up to date."""
    number = at.number
    if at.paths.last[state] >= number[slot.LIMIT] or not holds(at.space.goal, 0, at.registry.state, base):
        return False
    number[slot.EXPANDED] = NOTHING
    _load_times(at, state)
    return True


@kernel
def _evaluate(at: Workspace, state: int, base: int) -> int:
    """Return when a plan through `state` may end, plus what the steps to come count as; `INFINITE` for a dead end."""
    number, last = at.number, at.paths.last[state] + 0
    if last >= number[slot.LIMIT]:
        return INFINITE
    _load_times(at, state)
    _measure_lapses(at.lapses, at.space.numbers.fields, at.memory, at.registry.state, base + len(at.room.state))
    count = _find_relaxed_plan(at, base)
    ends = max(last, latest_goal(at.relaxed, at.memory))
    if count == INFINITE or ends >= number[slot.LIMIT]:
        return INFINITE
    note_estimate(number, count)
    return ends + number[slot.PACE] * count


@kernel
def _find_relaxed_plan(at: Workspace, base: int) -> int:
    """Return the cost of a relaxed plan for the state at `base`, whose times are known; `INFINITE` if there is none."""
    number, space, states, words = at.number, at.space, at.registry.state, len(at.room.state)
    number[slot.EVALUATIONS] += 1
    number[slot.ESTIMATED] += 1
    number[slot.WORK] += 2 * len(at.relaxed.cost) + 20
    plan, separation, step = number[slot.ESTIMATED] + 0, number[slot.SEPARATION] + 0, number[slot.STEP] + 0
    written, windows, memory = at.times.written, at.windows, at.memory
    return estimate_timed(
        at.relaxed, at.timed, windows, at.room, memory, space, words, states, base, plan, written, separation, step
    )


@kernel
def _measure_lapses(lapses: Lapses, fields: Fields, memory: TimedRoom, state: Words, variables: int) -> None:
    """Note how long each lapse takes in the state whose variables begin at `state[variables]`."""
    for lapse in range(len(memory.ticks)):
        memory.ticks[lapse] = ticks_of(lapses, fields, lapse, state, variables)
        memory.slack[lapse] = slack_of(lapses, fields, lapse, state, variables)


@kernel
def _take_step(at: Workspace, parent: int, action: int) -> None:
    """Take the step of `action` in state `parent`; a state that is new, or is reached sooner, becomes pending."""
    number, space, lapses, preconditions = at.number, at.space, at.lapses, at.preconditions
    touched, windows, registry, paths, times = at.touched, at.windows, at.registry, at.paths, at.times
    words, separation = len(at.room.state), number[slot.SEPARATION] + 0
    row = row_of(space, words)
    if paths.last[parent] >= number[slot.LIMIT]:
        return
    state = registry.state
    source, target, between = parent * row, number[slot.STATES] * row, (number[slot.STATES] + 1) * row
    if not holds(preconditions, action, state, source):
        return
    begun, end, least, slack = lapses.begins[action] + 0, NOTHING, 0, 0
    if begun < len(lapses.ticks):
        if apply(space, action, state, source, between, words) != APPLIED:
            return
        end = find_end(preconditions, lapses, begun, state, between)
        if end == NOTHING:
            return
        least = ticks_of(lapses, space.numbers.fields, begun, state, between + words)
        slack = slack_of(lapses, space.numbers.fields, begun, state, between + words)
        if least < 0 or slack < 0:
            return
        if apply(space, end, state, between, target, words) != APPLIED:
            return
    elif apply(space, action, state, source, target, words) != APPLIED:
        return
    _load_times(at, parent)
    start = _find_start(touched, windows, times, action, end, begun, least, slack, separation)
    if start == NEVER:
        return
    lasts = _find_lasts(touched, windows, times, action, end, start, least, slack, separation)
    last = max(paths.last[parent], start + lasts)
    if last >= number[slot.LIMIT]:
        return
    child = number_of(registry, number[slot.STATES], row)
    if child < number[slot.STATES]:
        if number[slot.LIMIT] == INFINITE or last >= paths.last[child] or _leads_to(paths, child, parent):
            return
    else:
        number[slot.STATES] += 1
    number[slot.GENERATED] += 1
    paths.parent[child] = parent
    paths.action[child] = action
    paths.end[child] = end
    paths.start[child] = start
    paths.lasts[child] = lasts
    paths.least[child] = least
    paths.slack[child] = slack
    paths.last[child] = last
    _write_times(touched, times, action, end, begun, start, lasts)
    number[slot.EXPANDED] = child
    number[slot.PENDING] = child


@kernel
def _leads_to(paths: SequencePaths, first: int, state: int) -> bool:
    """Return whether the sequence to `state` goes through state `first`."""
    while state != NOTHING:
        if state == first:
            return True
        state = paths.parent[state] + 0
    return False


@kernel
def _load_times(at: Workspace, state: int) -> None:
    """Let `times` be those after the sequence to `state`; `number[slot.EXPANDED]` is the state that they belong to.

    The starts of the steps on the way are brought up to date.
    """
    number, lapses, touched, windows, paths, times = at.number, at.lapses, at.touched, at.windows, at.paths, at.times
    separation = number[slot.SEPARATION] + 0
    if number[slot.EXPANDED] == state:
        return
    number[slot.EXPANDED] = state
    for variable in range(len(times.written)):
        times.written[variable], times.read[variable] = 0, 0
    length = 0
    while paths.parent[state] != NOTHING:
        times.path[length] = state
        length += 1
        state = paths.parent[state] + 0
    number[slot.WORK] += 10 * length + len(times.written)
    while length:
        length -= 1
        state = times.path[length] + 0
        action, end = paths.action[state] + 0, paths.end[state] + 0
        least, slack = paths.least[state] + 0, paths.slack[state] + 0
        begun = lapses.begins[action] + 0
        start = max(_find_start(touched, windows, times, action, end, begun, least, slack, separation), 0)
        lasts = _find_lasts(touched, windows, times, action, end, start, least, slack, separation)
        paths.start[state], paths.lasts[state] = start, lasts
        _write_times(touched, times, action, end, begun, start, lasts)


@kernel
def _find_start(
    touched: Touched,
    windows: Windows,
    times: Times,
    action: int,
    end: int,
    begun: int,
    least: int,
    slack: int,
    separation: int,
) -> int:
    """Return the first tick at which a step may start after the steps so far; `NEVER` if there is none.

    It lasts `least` ticks if it may, so that it starts as late as its end allows; else it lasts longer.
    """
    first = _find_first(touched, times, action, separation)
    if end == NOTHING:
        return find_time(windows, action, first, 0, separation)
    ends = _find_first(touched, times, end, separation)
    for index in range(touched.through_start[begun], touched.through_start[begun + 1]):
        first = max(first, times.written[touched.through[index]])
    start = find_time(windows, action, max(first, ends - least), least, separation)
    if start == NEVER and slack > 0:
        start = find_long_start(windows, action, first, ends, least, slack, separation)
    return start


@kernel
def _find_lasts(
    touched: Touched,
    windows: Windows,
    times: Times,
    action: int,
    end: int,
    start: int,
    least: int,
    slack: int,
    separation: int,
) -> int:
    """Return how long a step lasts that starts at `start`."""
    if slack == 0:
        return least
    until = find_long_end(windows, action, start, _find_first(touched, times, end, separation), least, separation)
    return max(least, until - start)


@kernel
def _find_first(touched: Touched, times: Times, action: int, separation: int) -> int:
    """Return the first tick at which `action` may happen after the steps so far."""
    first = 0
    for index in range(touched.read_start[action], touched.read_start[action + 1]):
        written = times.written[touched.read[index]]
        if written:
            first = max(first, written + separation)
    for index in range(touched.written_start[action], touched.written_start[action + 1]):
        before = max(times.written[touched.written[index]], times.read[touched.written[index]])
        if before:
            first = max(first, before + separation)
    return first


@kernel
def _write_times(touched: Touched, times: Times, action: int, end: int, begun: int, start: int, lasts: int) -> None:
    """Note what a step reads and writes that starts at `start` and lasts so many ticks."""
    _note(touched, times, action, start)
    if end != NOTHING:
        for index in range(touched.through_start[begun], touched.through_start[begun + 1]):
            variable = touched.through[index]
            times.read[variable] = max(times.read[variable], start + lasts)
        _note(touched, times, end, start + lasts)


@kernel
def _note(touched: Touched, times: Times, action: int, now: int) -> None:
    for index in range(touched.read_start[action], touched.read_start[action + 1]):
        variable = touched.read[index]
        times.read[variable] = max(times.read[variable], now)
    for index in range(touched.added_start[action], touched.added_start[action + 1]):
        variable = touched.added[index]
        times.written[variable] = max(times.written[variable], now)
    for index in range(touched.written_start[action], touched.written_start[action + 1]):
        times.written[touched.written[index]] = max(times.written[touched.written[index]], now)


@kernel
def _queue_steps(at: Workspace, state: int, _base: int, price: int, many: int) -> None:
    """Queue the steps that may come next in `state`: among the `many` applicable actions, those that start steps."""
    number, queues, found, planned = at.number, at.queues, at.found, at.room.planned
    if not number[slot.GRAIN]:
        number[slot.GRAIN] = max(1, price >> 20)
    key = key_by_age(number, min(price // number[slot.GRAIN], GREATEST))
    many = _keep_starts(at.lapses, found, many)
    first = number[slot.EDGES] + 0
    count = append_actions(queues.edge, first, found, many, planned, number[slot.ESTIMATED] + 0, 0)
    put_batch(queues, number, 1, key, state, first, count)
    number[slot.EDGES] = append_actions(queues.edge, count, found, many, planned, 0, 0)
    put_batch(queues, number, 0, key, state, count, number[slot.EDGES] + 0)


@kernel
def _keep_starts(lapses: Lapses, found: Index, many: int) -> int:
    """Keep those of the first `many` of `found` that start steps; return their number."""
    kept = 0
    for index in range(many):
        action = found[index] + 0
        if lapses.begins[action] != len(lapses.ticks) + 1:
            found[kept] = action
            kept += 1
    return kept


@kernel
def _follow_prefix(at: Workspace) -> None:
    """Take the next step of the prefix from the state that it has reached so far, which is pending."""
    number = at.number
    state = max(number[slot.PENDING], 0)
    number[slot.PENDING] = -1
    _take_step(at, state, at.prefix[number[slot.TRIED]] + 0)
    number[slot.TRIED] += 1
    if number[slot.PENDING] < 0:
        number[slot.PENDING] = state
        number[slot.TRIED] = number[slot.MANY]


_search = make_search(Parts(_row, _has_room, _follow, _is_goal, make_opening(_evaluate, _queue_steps)))


@entry
@kernel
def search_timed_sequences(work: int, at: Workspace) -> int:
    """Search as `make_search` says for sequences that end before `number[LIMIT]`.

    A sequence begins with the first `number[MANY]` actions of `prefix`, as far as they can be applied; so many were
    `number[TRIED]`.
    """
    while at.number[slot.TRIED] < at.number[slot.MANY]:
        if not _has_room(at):
            return FULL
        _follow_prefix(at)
    return _search(work, at)

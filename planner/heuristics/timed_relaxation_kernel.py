"""Relaxed plans in time: when facts may hold at the earliest, and a plan that prefers those that hold early.

A fact of the evaluated state holds since it was written. An operator comes when all that it needs holds, and where it
reads facts that only changes at known times change, within their windows; the end of a step follows its start by its
least duration, or later where its range lets it wait for a window. An operator's cost is the sum of those of its
preconditions, as in h_add; its time is the latest of theirs, as in h_max (Haslum and Geffner, 2001). Of the operators
that add a fact, the plan has the one with the least time and cost, where each unit of cost counts as some ticks.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.numeric_relaxation_kernel import (
    DEAR,
    MOST_TIMES,
    NumericRelaxed,
    NumericRoom,
    extract_plan,
    gain_of,
    load_state,
)
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_states_kernel import Space

NEVER: Final = -1
"""There is no time."""


class Windows(NamedTuple):
    """When steps may start, as far as facts tell that only changes at known times change.

    A start of action a reads `clock[i]` for i of its list: at its start (`when[i]` is 0), throughout (1), or at its end
    (2). Clock c shows the fact from `opens[j]` to `closes[j]` for j of its list, ascending.
    """

    start: Index
    clock: Index
    when: Index
    window: Index
    opens: Words
    closes: Words


class TimedRelaxed(NamedTuple):
    """What relaxed plans in time need beside the operators: `lapse` begins with operator o, which adds `running`.

    Both are `NOTHING` for operators that begin none.
    """

    lapse: Index
    running: Index


class TimedRoom(NamedTuple):
    """Working memory: `time` and `cost` by fact, least `ticks` and `slack` of each lapse in the evaluated state."""

    time: Words
    cost: Words
    ticks: Words
    slack: Words


@kernel
def find_time(windows: Windows, action: int, earliest: int, ticks: int, separation: int) -> int:
    """Return the first tick from `earliest` on at which `action`, which lasts `ticks`, may start, or `NEVER`."""
    time = earliest
    settled = False
    while not settled:
        settled = True
        for index in range(windows.start[action], windows.start[action + 1]):
            clock, when = windows.clock[index] + 0, windows.when[index] + 0
            first = time + ticks if when == 2 else time
            last = time if when == 0 else time + ticks
            apart = 0 if when == 1 else separation
            place, end = windows.window[clock] + 0, windows.window[clock + 1] + 0
            while place < end and windows.closes[place] - apart < last:
                place += 1
            if place == end:
                return NEVER
            opens = windows.opens[place] + (apart if windows.opens[place] > 0 else 0)
            if first < opens:
                time += opens - first
                settled = False
    return time


@kernel
def find_long_start(
    windows: Windows, action: int, earliest: int, ends: int, ticks: int, slack: int, separation: int
) -> int:
    """Return the first tick from `earliest` on at which `action` may start, or `NEVER`, if it lasts as it must.

    It ends at tick `ends` or later, and lasts from `ticks` up to `slack` more: see `find_long_end`.
    """
    start = earliest
    settled = False
    while not settled:
        end = find_long_end(windows, action, start, ends, ticks, separation)
        if end == NEVER:
            return NEVER
        settled = True
        if end - start > ticks + slack:
            start = end - ticks - slack
            settled = False
        for index in range(windows.start[action], windows.start[action + 1]):
            clock, when = windows.clock[index] + 0, windows.when[index] + 0
            if when == 2:
                continue
            last = end if when == 1 else start
            apart = 0 if when == 1 else separation
            place, after = windows.window[clock] + 0, windows.window[clock + 1] + 0
            while place < after and windows.closes[place] - apart < last:
                place += 1
            if place == after:
                return NEVER
            opens = windows.opens[place] + (apart if windows.opens[place] > 0 else 0)
            if start < opens:
                start = opens
                settled = False
    return start


@kernel
def find_long_end(windows: Windows, action: int, start: int, ends: int, ticks: int, separation: int) -> int:
    """Return the first tick from `ends` on at which `action` may end that starts at `start`, or `NEVER`."""
    end = max(ends, start + ticks)
    settled = False
    while not settled:
        settled = True
        for index in range(windows.start[action], windows.start[action + 1]):
            if windows.when[index] != 2:
                continue
            clock = windows.clock[index] + 0
            place, after = windows.window[clock] + 0, windows.window[clock + 1] + 0
            while place < after and windows.closes[place] - separation < end:
                place += 1
            if place == after:
                return NEVER
            opens = windows.opens[place] + (separation if windows.opens[place] > 0 else 0)
            if end < opens:
                end = opens
                settled = False
    return end


@kernel
def estimate_timed(
    relaxed: NumericRelaxed,
    timed: TimedRelaxed,
    windows: Windows,
    room: NumericRoom,
    memory: TimedRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    plan: int,
    written: Words,
    separation: int,
    step: int,
) -> int:
    """Return the cost of a relaxed plan for the state at `state[base]`, whose variables were `written` at these ticks.

    Return `INFINITE` where there is none. The plan marks its actions by its number `plan`. A unit of cost counts as
    `step` ticks. `memory.time` has the earliest ticks of the facts of the plan.
    """
    _load(relaxed, room, memory, space, words, state, base, written)
    goal = len(relaxed.cost) - 1
    waiting = 0
    for operator in range(goal + 1):
        room.missing[operator] = room.at_first[operator]
        if not room.missing[operator]:
            waiting = _fire(
                relaxed, timed, windows, room, memory, space, words, state, base, operator, separation, step, waiting
            )
    while waiting and room.missing[goal]:
        fact, value = room.heap[0] + 0, room.key[0] + 0
        waiting = pop(room.key, room.heap, waiting)
        if value > room.value[fact]:  # it has been reached earlier or at less cost since
            continue
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index] + 0
            room.missing[operator] -= 1
            if not room.missing[operator]:
                waiting = _fire(
                    relaxed,
                    timed,
                    windows,
                    room,
                    memory,
                    space,
                    words,
                    state,
                    base,
                    operator,
                    separation,
                    step,
                    waiting,
                )
    if room.missing[goal]:
        return INFINITE
    return extract_plan(relaxed, room, plan)


@kernel
def latest_goal(relaxed: NumericRelaxed, memory: TimedRoom) -> int:
    """Return the earliest tick at which all facts of the goal hold in the relaxation that was explored last."""
    goal = len(relaxed.cost) - 1
    time = 0
    for index in range(relaxed.precondition_start[goal], relaxed.precondition_start[goal + 1]):
        time = max(time, memory.time[relaxed.precondition[index]])
    return time


@kernel
def _load(
    relaxed: NumericRelaxed,
    room: NumericRoom,
    memory: TimedRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    written: Words,
) -> None:
    """Load the state at `state[base]`; let its facts and comparisons have the ticks at which they were written."""
    load_state(relaxed, room, space, words, state, base)
    coding, comparisons = space.coding, space.comparisons
    for variable in range(len(coding.word)):
        now = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        fact = coding.fact[coding.first[variable] + now] + 0
        if fact != NOTHING:
            memory.time[fact] = written[variable]
            memory.cost[fact] = 0
    for number in range(len(comparisons.constant)):
        if room.short[number] <= 0:
            time = 0
            for index in range(comparisons.term_start[number], comparisons.term_start[number + 1]):
                time = max(time, written[len(coding.word) + comparisons.term[index]])
            memory.time[relaxed.fact[number]] = time


@kernel
def _fire(
    relaxed: NumericRelaxed,
    timed: TimedRelaxed,
    windows: Windows,
    room: NumericRoom,
    memory: TimedRoom,
    space: Space,
    words: int,
    state: Words,
    base: int,
    operator: int,
    separation: int,
    step: int,
    waiting: int,
) -> int:
    """Lower the values of what `operator` achieves, whose preconditions are reached; return the queue's length."""
    total, time = 0, 0
    for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
        fact = relaxed.precondition[index] + 0
        total = min(total + memory.cost[fact], DEAR)
        time = max(time, memory.time[fact])
    room.total[operator] = total
    cost = relaxed.cost[operator] + 0
    action, lapse, ticks, slack = relaxed.action[operator] + 0, timed.lapse[operator] + 0, 0, 0
    if lapse != NOTHING:
        ticks, slack = memory.ticks[lapse] + 0, memory.slack[lapse] + 0
    if action != NOTHING:
        begun = find_time(windows, action, time, ticks, separation)
        if begun == NEVER and slack > 0:
            begun = find_long_start(windows, action, time, 0, ticks, slack, separation)
            ticks = find_long_end(windows, action, begun, 0, ticks, separation) - begun
        if begun == NEVER:
            return waiting
        time = begun
    for index in range(relaxed.effect_start[operator], relaxed.effect_start[operator + 1]):
        fact = relaxed.effect[index] + 0
        then = time + ticks if fact == timed.running[operator] else time
        waiting = _lower(room, memory, fact, then, total + cost, step, operator, 1, waiting)
    for index in range(relaxed.help_start[operator], relaxed.help_start[operator + 1]):
        condition = relaxed.helped[index] + 0
        short = room.short[condition] + 0
        if short > 0:
            gain = relaxed.steady[index] + 0
            if not gain:
                gain = gain_of(relaxed, space, index, state, base + words)
            times = 16 if gain <= 0 else (short + gain - 1) // gain
            paid = min(total + cost * min(times, MOST_TIMES), DEAR)
            waiting = _lower(room, memory, relaxed.fact[condition] + 0, time, paid, step, operator, times, waiting)
    return waiting


@kernel
def _lower(
    room: NumericRoom,
    memory: TimedRoom,
    fact: int,
    time: int,
    cost: int,
    step: int,
    operator: int,
    times: int,
    waiting: int,
) -> int:
    value = min(time + step * min(cost, MOST_TIMES), DEAR)
    if value >= room.value[fact]:
        return waiting
    room.value[fact] = value
    memory.time[fact] = time
    memory.cost[fact] = cost
    room.supporter[fact] = operator
    room.times[fact] = times
    room.before[fact] = NOTHING
    return push(room.key, room.heap, waiting, value, fact)

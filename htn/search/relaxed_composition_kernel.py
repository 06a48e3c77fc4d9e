"""The relaxed composition heuristic: relaxed plans for all open tasks (Höller, Bercher, Behnke and Biundo, 2018).

In the delete relaxation, an action makes the fact true that it was done; a method does so for its task once its
subtasks were done. The estimate is the size of a relaxed plan that does all open tasks and reaches the goal, plus the
least cost of each repeated task. Only operators of tasks that the open tasks lead to take part.

An exploration can be paused and continued. One word per operator holds both its number of missing preconditions and its
cost so far, so that each expanded fact touches little memory.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from htn.search.task_stack_kernel import EMPTY, Hierarchy, Stacks
from planner.heuristics.relaxation_kernel import (
    REACHED,
    Achievers,
    Exploration,
    Reachable,
    Relaxed,
    achieve,
    extract_plan,
    load_state,
    want_fact,
)
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists
from planner.task.packed_states_kernel import Space

BITS: Final = 20
"""Number of lower bits, which count missing preconditions; the upper bits hold the cost so far."""
MISSING: Final = (1 << BITS) - 1
DEAREST: Final = 1 << 24
"""Cap of h_add values, so that sums fit into a word; the values only rank achievers."""

MADE: Final = 0
"""Indices into `Progress.number`: entries made, entries left, and the lowest value that may have entries."""
LEFT: Final = 1
LOWEST: Final = 2


class Progress(NamedTuple):
    """The progress of an exploration: `waiting` holds a word per operator (see `BITS`), `number` three counters."""

    waiting: Words
    number: Words


@kernel
def start_exploration(guide: Guide) -> None:
    """Start with the effects of operators without missing preconditions."""
    relaxed, reachable, progress = guide.relaxed, guide.reachable, guide.demands.progress
    number = progress.number
    if number[LEFT]:
        for bucket in range(number[LOWEST], len(reachable.first)):
            reachable.first[bucket] = NOTHING
    many = 0
    for operator in range(len(relaxed.cost)):
        missing, cost = guide.room.at_first[operator] + 0, min(relaxed.cost[operator], DEAREST)
        progress.waiting[operator] = missing + (cost << BITS)
        if not missing:
            many = achieve(relaxed, guide.room, guide.achievers, reachable, operator, cost, many)
    number[MADE], number[LEFT], number[LOWEST] = many, many, 0


@kernel
def continue_exploration(guide: Guide, missing: int, plan: int) -> int:
    """Compute h_add values until the `missing` wanted facts have one; return the number of those without.

    The number of the `plan` marks wanted facts.
    """
    relaxed, room, achievers, reachable = guide.relaxed, guide.room, guide.achievers, guide.reachable
    number, waiting = guide.demands.progress.number, guide.demands.progress.waiting
    many, left, bucket = number[MADE] + 0, number[LEFT] + 0, number[LOWEST] + 0
    while left and missing:
        entry = reachable.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        reachable.first[bucket] = reachable.next[entry]
        left -= 1
        fact = reachable.fact[entry] + 0
        if room.expanded[fact]:
            continue
        room.expanded[fact] = REACHED
        if achievers.wanted[fact] == plan:
            missing -= 1
        step = (room.value[fact] << BITS) - 1
        for index in range(relaxed.needed_start[fact], relaxed.needed_start[fact + 1]):
            operator = relaxed.needed[index]
            now = waiting[operator] + step
            waiting[operator] = now
            if not now & MISSING:
                before = many
                total = min(now >> BITS, DEAREST)
                many = achieve(relaxed, room, achievers, reachable, operator, total, many)
                left += many - before
    number[MADE], number[LEFT], number[LOWEST] = many, left, bucket
    return missing


ACTIVE: Final = 0
"""Index into `Demands.many`: the number of active components."""
ROOTS: Final = 1
"""Index: the number of active components that open tasks demand directly."""
CHANGES: Final = 2
"""Index: how many times the demanded components changed."""
OWNER: Final = 3
"""Index: the owner of the last exploration."""


class Demands(NamedTuple):
    """The components of tasks that take part in explorations.

    By task: its `component`. By component: the components that it `links` to, the `operators` of its tasks, the last
    relaxed plan that `marked` it, the change at which it was last `asked` for, and whether it is `on`: one of the first
    entries of `active`. `queue` has room for components. `own[0]` identifies the user of this working memory.
    """

    component: Index
    links: Lists
    operators: Lists
    marked: Words
    asked: Words
    on: Index
    active: Index
    queue: Index
    many: Words
    own: Words
    progress: Progress


class Guide(NamedTuple):
    """The relaxed composition under given costs, with working memory for its explorations and relaxed plans.

    Relaxed plans are numbered from 1.
    """

    relaxed: Relaxed
    room: Exploration
    achievers: Achievers
    reachable: Reachable
    demands: Demands


@kernel
def estimate_stack(
    guide: Guide, space: Space, hierarchy: Hierarchy, stacks: Stacks, states: Words, base: int, cell: int, plan: int
) -> int:
    """Return the estimate for `cell` in the state at `states[base]`, `INFINITE` for a dead end.

    `plan` must exceed all earlier numbers.
    """
    count, again, roots, done = 0, 0, 0, hierarchy.done[0] + 0
    while cell != EMPTY:
        task = stacks.cells.state[2 * cell] + 0
        before = count
        count = want_fact(guide.room, guide.achievers, done + task, count, plan)
        if count == before:
            again += hierarchy.least[task]
        else:
            roots = _mark_component(guide.demands, guide.demands.component[task] + 0, plan, roots)
        cell = stacks.cells.state[2 * cell + 1] + 0
    _set_demands(guide, space, states, base, roots, plan)
    return _relaxed_plan_size(guide, count, plan, again)


@entry
@kernel
def estimate_network(
    tasks: int, facts: int, plan: int, wanted: Index, guide: Guide, space: Space, hierarchy: Hierarchy, state: Words
) -> int:
    """Return the size of a relaxed plan for `tasks` and then `facts` in `wanted`; `INFINITE` for a dead end."""
    count, roots, done = 0, 0, hierarchy.done[0] + 0
    for index in range(tasks):
        count = want_fact(guide.room, guide.achievers, done + wanted[index], count, plan)
        roots = _mark_component(guide.demands, guide.demands.component[wanted[index]] + 0, plan, roots)
    _set_demands(guide, space, state, 0, roots, plan)
    for index in range(tasks, tasks + facts):
        count = want_fact(guide.room, guide.achievers, wanted[index] + 0, count, plan)
    return _relaxed_plan_size(guide, count, plan, 0)


@kernel
def _mark_component(demands: Demands, component: int, plan: int, count: int) -> int:
    """Mark `component` and add it to the queue; return the number of marked components."""
    if demands.marked[component] == plan:
        return count
    demands.marked[component] = plan
    demands.queue[count] = component
    return count + 1


@kernel
def _set_demands(guide: Guide, space: Space, state: Words, base: int, roots: int, plan: int) -> None:
    """Activate the `roots` components in the queue and all that they lead to, and explore from `state[base]`.

    If components and state are those of the last call, the exploration continues instead.
    """
    room, demands = guide.room, guide.demands
    known = roots == demands.many[ROOTS]
    for place in range(roots):
        known = known and demands.asked[demands.queue[place]] == demands.many[CHANGES]
    same = known and demands.many[OWNER] == demands.own[0]
    for word in range(len(room.state)):
        same = same and room.state[word] == state[base + word]
    if same:
        return
    demands.many[OWNER] = demands.own[0]
    if not known:
        _activate_components(room, demands, roots, plan)
    load_state(guide.relaxed, room, space.coding, state, base)
    start_exploration(guide)


@kernel
def _activate_components(room: Exploration, demands: Demands, count: int, plan: int) -> None:
    """Activate the components that the `count` queued ones lead to, and deactivate all others."""
    demands.many[ROOTS] = count
    demands.many[CHANGES] += 1
    for place in range(count):
        demands.asked[demands.queue[place]] = demands.many[CHANGES]
    place = 0
    while place < count:
        component = demands.queue[place] + 0
        place += 1
        for index in range(demands.links.start[component], demands.links.start[component + 1]):
            count = _mark_component(demands, demands.links.item[index] + 0, plan, count)
    left = 0
    for place in range(demands.many[ACTIVE]):
        component = demands.active[place] + 0
        if demands.marked[component] == plan:
            demands.active[left] = component
            left += 1
        else:
            demands.on[component] = 0
            _shift_missing(room, demands, component, 1)
    for place in range(count):
        component = demands.queue[place] + 0
        if not demands.on[component]:
            demands.on[component] = 1
            demands.active[left] = component
            left += 1
            _shift_missing(room, demands, component, -1)
    demands.many[ACTIVE] = left


@kernel
def _shift_missing(room: Exploration, demands: Demands, component: int, difference: int) -> None:
    """Add `difference` to the missing preconditions of the operators of `component`."""
    for index in range(demands.operators.start[component], demands.operators.start[component + 1]):
        room.at_first[demands.operators.item[index]] += difference


@kernel
def _relaxed_plan_size(guide: Guide, count: int, plan: int, again: int) -> int:
    """Return the size of a relaxed plan for the `count` facts in the queue and the goal, plus `again`."""
    relaxed, room, achievers = guide.relaxed, guide.room, guide.achievers
    goal = len(relaxed.cost) - 1
    for index in range(relaxed.precondition_start[goal], relaxed.precondition_start[goal + 1]):
        count = want_fact(room, achievers, relaxed.precondition[index] + 0, count, plan)
    missing = 0
    for place in range(count):
        if room.expanded[achievers.queue[place]] != REACHED:
            missing += 1
    if continue_exploration(guide, missing, plan):
        return INFINITE
    return extract_plan(relaxed, room, achievers, count, plan) + again

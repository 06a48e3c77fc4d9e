"""The relaxed composition of tasks: what it takes to do all that is left (Höller, Bercher, Behnke and Biundo, 2018).

With deletes ignored, actions make it true that they were done, and a method, when its subtasks were done, that its task
was. Only what the tasks that are left lead to takes part: every operator of a task waits to be let in. The estimate is
the size of a relaxed plan in which all tasks are done, and the goal holds. A task that occurs again costs what it costs
at least.

Explorations of the relaxation that can be left and gone on with.

What an operator waits for, and what it costs as far as that is known, is one number: so few bits of the memory are
looked at for each fact that is reached.
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
"""So many bits say how many preconditions an operator waits for; those above are its cost and that of the others."""
MISSING: Final = (1 << BITS) - 1
DEAREST: Final = 1 << 24
"""The greatest value of what can be reached: sums of it fit into a word. It only tells achievers apart."""

MADE: Final = 0
"""Places in `Progress.number`: how many entries were made, how many are left, below which value there are none."""
LEFT: Final = 1
LOWEST: Final = 2


class Progress(NamedTuple):
    """How far an exploration is: what each operator waits for, and `number`, three numbers about what waits."""

    waiting: Words
    number: Words


@kernel
def begin_again(
    relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, progress: Progress
) -> None:
    """Let nothing wait but what the operators that are ready at first achieve."""
    number = progress.number
    if number[LEFT]:
        for bucket in range(number[LOWEST], len(reachable.first)):
            reachable.first[bucket] = NOTHING
    many = 0
    for operator in range(len(relaxed.cost)):
        missing, cost = room.at_first[operator] + 0, min(relaxed.cost[operator], DEAREST)
        progress.waiting[operator] = missing + (cost << BITS)
        if not missing:
            many = achieve(relaxed, room, achievers, reachable, operator, cost, many)
    number[MADE], number[LEFT], number[LOWEST] = many, many, 0


@kernel
def go_on(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    progress: Progress,
    missing: int,
    plan: int,
) -> int:
    """Find the h_add values of the `missing` facts that are wanted, and of what is cheaper; return how many have none.

    They are those that were marked with the number of the `plan`.
    """
    number, waiting = progress.number, progress.waiting
    many, left, bucket = number[MADE] + 0, number[LEFT] + 0, number[LOWEST] + 0
    while left and missing:
        entry = reachable.first[bucket] + 0
        if entry == NOTHING:
            bucket += 1
            continue
        reachable.first[bucket] = reachable.next[entry]
        left -= 1
        fact = reachable.fact[entry] + 0
        if room.looked[fact]:
            continue
        room.looked[fact] = REACHED
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
"""Where in `Demands.many` it stands how many components take part."""
ROOTS: Final = 1
"""How many of them were asked for."""
CHANGES: Final = 2
"""How often these were others than before."""
OWNER: Final = 3
"""Who explored last."""


class Demands(NamedTuple):
    """What takes part: components of tasks that lead to each other.

    By task: its `component`. By component: the others that it `links` to, and the `operators` of its tasks.
    `marked` is the number of the last relaxed plan that it might take part in, `asked` when it was asked for last,
    `on` whether it takes part now: those that do are the first of `active`. `queue` is room for components; `own[0]` is
    another number for each who explores in the same room, and
    `progress` how far the exploration is.
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


@kernel
def composition(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    space: Space,
    hierarchy: Hierarchy,
    demands: Demands,
    stacks: Stacks,
    states: Words,
    state: int,
    cell: int,
    plan: int,
) -> int:
    """Return the estimate for `cell` in `state`, `INFINITE` for a dead end; `plan` is greater than all before."""
    count, again, roots, done = 0, 0, 0, hierarchy.done[0] + 0
    while cell != EMPTY:
        task = stacks.cells.state[2 * cell] + 0
        before = count
        count = want_fact(room, achievers, done + task, count, plan)
        if count == before:
            again += hierarchy.least[task]
        else:
            roots = _mark(demands, demands.component[task] + 0, plan, roots)
        cell = stacks.cells.state[2 * cell + 1] + 0
    _demand(relaxed, room, achievers, reachable, space, demands, states, state * len(room.state), roots, plan)
    return _rest(relaxed, room, achievers, reachable, demands, count, plan, again)


@entry
@kernel
def compose(
    tasks: int,
    facts: int,
    plan: int,
    wanted: Index,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    space: Space,
    hierarchy: Hierarchy,
    demands: Demands,
    state: Words,
) -> int:
    """Return the size of a relaxed plan for so many `tasks` and then `facts` of `wanted`, `INFINITE` for a dead end."""
    count, roots, done = 0, 0, hierarchy.done[0] + 0
    for index in range(tasks):
        count = want_fact(room, achievers, done + wanted[index], count, plan)
        roots = _mark(demands, demands.component[wanted[index]] + 0, plan, roots)
    _demand(relaxed, room, achievers, reachable, space, demands, state, 0, roots, plan)
    for index in range(tasks, tasks + facts):
        count = want_fact(room, achievers, wanted[index] + 0, count, plan)
    return _rest(relaxed, room, achievers, reachable, demands, count, plan, 0)


@kernel
def _mark(demands: Demands, component: int, plan: int, count: int) -> int:
    """Note that `component` may take part; return how many these are now."""
    if demands.marked[component] == plan:
        return count
    demands.marked[component] = plan
    demands.queue[count] = component
    return count + 1


@kernel
def _demand(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    space: Space,
    demands: Demands,
    state: Words,
    base: int,
    roots: int,
    plan: int,
) -> None:
    """Let all that the components in the queue, so many `roots`, lead to take part, and explore from `state[base]`.

    If the same did and it is the same state as before, the exploration goes on where it was.
    """
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
        _let_in(room, demands, roots, plan)
    load_state(relaxed, room, space.coding, state, base)
    begin_again(relaxed, room, achievers, reachable, demands.progress)


@kernel
def _let_in(room: Exploration, demands: Demands, count: int, plan: int) -> None:
    """Let what the `count` components in the queue lead to take part, instead of what does now."""
    demands.many[ROOTS] = count
    demands.many[CHANGES] += 1
    for place in range(count):
        demands.asked[demands.queue[place]] = demands.many[CHANGES]
    place = 0
    while place < count:
        component = demands.queue[place] + 0
        place += 1
        for index in range(demands.links.start[component], demands.links.start[component + 1]):
            count = _mark(demands, demands.links.item[index] + 0, plan, count)
    left = 0
    for place in range(demands.many[ACTIVE]):
        component = demands.active[place] + 0
        if demands.marked[component] == plan:
            demands.active[left] = component
            left += 1
        else:
            demands.on[component] = 0
            _wait(room, demands, component, 1)
    for place in range(count):
        component = demands.queue[place] + 0
        if not demands.on[component]:
            demands.on[component] = 1
            demands.active[left] = component
            left += 1
            _wait(room, demands, component, -1)
    demands.many[ACTIVE] = left


@kernel
def _wait(room: Exploration, demands: Demands, component: int, difference: int) -> None:
    """Let the operators of `component` wait for one precondition more or less."""
    for index in range(demands.operators.start[component], demands.operators.start[component + 1]):
        room.at_first[demands.operators.item[index]] += difference


@kernel
def _rest(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    demands: Demands,
    count: int,
    plan: int,
    again: int,
) -> int:
    """Return the size of a relaxed plan for the `count` facts in the queue, and the goal; and what is done `again`."""
    goal = len(relaxed.cost) - 1
    for index in range(relaxed.precondition_start[goal], relaxed.precondition_start[goal + 1]):
        count = want_fact(room, achievers, relaxed.precondition[index] + 0, count, plan)
    missing = 0
    for place in range(count):
        if room.looked[achievers.queue[place]] != REACHED:
            missing += 1
    if go_on(relaxed, room, achievers, reachable, demands.progress, missing, plan):
        return INFINITE
    return extract_plan(relaxed, room, achievers, count, plan) + again

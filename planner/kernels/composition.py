"""The relaxed composition of tasks: what it takes to do all that is left (Höller, Bercher, Behnke and Biundo, 2018).

With deletes ignored, actions make it true that they were done, and a method, when its subtasks were done, that its task
was. Only what the tasks that are left lead to takes part: every operator has the fact `DEMANDED` among its
preconditions, which is met here. The estimate is the size of a relaxed plan in which all tasks are done, and the goal
holds. A task that occurs again costs what it costs at least.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.kernels.data import INFINITE, Exploration, Relaxed, Space
from planner.kernels.hierarchy import EMPTY, Hierarchy, Stacks
from planner.kernels.kernel import Index, Words, entry, kernel
from planner.kernels.relaxed import begin
from planner.kernels.relaxed_plan import GIVEN, Achievers, Reachable, explore, extracted, want


class Demands(NamedTuple):
    """By task: the number of the last relaxed plan that it might take part in. `queue` is room for tasks."""

    marked: Words
    queue: Index


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
    begin(relaxed, room, space.coding, states, state * len(room.state))
    count, again, tasks = 0, 0, 0
    while cell != EMPTY:
        task = stacks.cells.state[2 * cell] + 0
        before = count
        count = want(room, achievers, hierarchy.done[task] + 0, count, plan)
        if count == before:
            again += hierarchy.least[task]
        tasks = _mark(demands, task, plan, tasks)
        cell = stacks.cells.state[2 * cell + 1] + 0
    _demand(relaxed, room, hierarchy, demands, tasks, plan, len(space.actions.cost))
    return _rest(relaxed, room, achievers, reachable, count, plan, again)


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
    begin(relaxed, room, space.coding, state, 0)
    count, marked = 0, 0
    for index in range(tasks):
        count = want(room, achievers, hierarchy.done[wanted[index]] + 0, count, plan)
        marked = _mark(demands, wanted[index] + 0, plan, marked)
    for index in range(tasks, tasks + facts):
        count = want(room, achievers, wanted[index] + 0, count, plan)
    _demand(relaxed, room, hierarchy, demands, marked, plan, len(space.actions.cost))
    return _rest(relaxed, room, achievers, reachable, count, plan, 0)


@kernel
def _mark(demands: Demands, task: int, plan: int, count: int) -> int:
    """Note that `task` may take part; return how many tasks these are now."""
    if demands.marked[task] == plan:
        return count
    demands.marked[task] = plan
    demands.queue[count] = task
    return count + 1


@kernel
def _demand(
    relaxed: Relaxed, room: Exploration, hierarchy: Hierarchy, demands: Demands, count: int, plan: int, actions: int
) -> None:
    """Let all that the `count` tasks in the queue lead to take part."""
    room.looked[hierarchy.demanded[0]] = GIVEN
    room.value[hierarchy.demanded[0]] = 0
    done = 0
    while done < count:
        task = demands.queue[done] + 0
        done += 1
        if task < actions:
            _allow(relaxed, room, task)
            continue
        for index in range(hierarchy.method_start[task - actions], hierarchy.method_start[task - actions + 1]):
            method = hierarchy.method[index] + 0
            _allow(relaxed, room, actions + method)
            for place in range(hierarchy.subtask_start[method], hierarchy.subtask_start[method + 1]):
                count = _mark(demands, hierarchy.subtask[place] + 0, plan, count)


@kernel
def _allow(relaxed: Relaxed, room: Exploration, action: int) -> None:
    """Let the operators of `action` take part: they wait for one precondition less."""
    for index in range(relaxed.operator_start[action], relaxed.operator_start[action + 1]):
        room.missing[relaxed.operator[index]] -= 1


@kernel
def _rest(
    relaxed: Relaxed, room: Exploration, achievers: Achievers, reachable: Reachable, count: int, plan: int, again: int
) -> int:
    """Return the size of a relaxed plan for the `count` facts in the queue, and the goal; and what is done `again`."""
    goal = len(relaxed.cost) - 1
    for index in range(relaxed.precondition_start[goal], relaxed.precondition_start[goal + 1]):
        count = want(room, achievers, relaxed.precondition[index] + 0, count, plan)
    if explore(relaxed, room, achievers, reachable, count, plan, 0):
        return INFINITE
    return extracted(relaxed, room, achievers, count, plan) + again

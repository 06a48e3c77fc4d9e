"""Analyses of the task decomposition graph: useful tasks and methods, least costs, and strongly connected components.

A method is given by its task and the list of its subtasks; an action is a method without subtasks for a task of its
own.
"""

from __future__ import annotations

from typing import Final

from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists, pop, push

DOABLE: Final = 1
WANTED: Final = 2


@entry
@kernel
def keep_useful(
    root: int,
    task: Index,
    subtasks: Lists,
    users: Lists,
    doers: Lists,
    kept: Index,
    missing: Index,
    state: Index,
    queue: Index,
) -> int:
    """Keep of the `kept` methods those that can be finished and that `root` leads to; returns how many these are.

    `users` and `doers` are by task: the methods that have it as a subtask, and the methods for it. `missing` is by
    method, `queue` and `state` by task; `state` is 0 at first.
    """
    waiting = 0
    for method in range(len(task)):
        missing[method] = subtasks.start[method + 1] - subtasks.start[method]
        waiting = _queue_task(task, kept, missing, state, queue, waiting, method)
    while waiting:
        waiting -= 1
        done = queue[waiting] + 0
        for place in range(users.start[done], users.start[done + 1]):
            missing[users.item[place]] -= 1
            waiting = _queue_task(task, kept, missing, state, queue, waiting, users.item[place] + 0)
    if state[root]:
        _mark_wanted(root, subtasks, doers, kept, missing, state, queue)
    count = 0
    for method in range(len(task)):
        kept[method] = 1 if kept[method] and not missing[method] and state[task[method]] == WANTED else 0
        count += kept[method]
    return count


@kernel
def _queue_task(task: Index, kept: Index, missing: Index, state: Index, queue: Index, waiting: int, method: int) -> int:
    """Queue the task of `method`, if this shows for the first time that it can be finished; return the queue size."""
    if missing[method] or not kept[method] or state[task[method]]:
        return waiting
    state[task[method]] = DOABLE
    queue[waiting] = task[method]
    return waiting + 1


@kernel
def _mark_wanted(
    root: int, subtasks: Lists, doers: Lists, kept: Index, missing: Index, state: Index, queue: Index
) -> None:
    """Mark the tasks that `root` leads to."""
    state[root], queue[0], waiting = WANTED, root, 1
    while waiting:
        waiting -= 1
        wanted = queue[waiting] + 0
        for place in range(doers.start[wanted], doers.start[wanted + 1]):
            method = doers.item[place] + 0
            if not kept[method] or missing[method]:
                continue
            for at in range(subtasks.start[method], subtasks.start[method + 1]):
                if state[subtasks.item[at]] == DOABLE:
                    state[subtasks.item[at]] = WANTED
                    queue[waiting] = subtasks.item[at]
                    waiting += 1


@entry
@kernel
def compute_least_costs(
    cost: Words, task: Index, subtasks: Lists, users: Lists, least: Words, missing: Index, key: Words, heap: Index
) -> int:
    """Compute the `least` cost of each task in any state (Knuth, 1977, generalises Dijkstra's algorithm); returns 0.

    The first tasks are actions, each with its `cost`; methods are free. `least` is `INFINITE` at first. `missing` is by
    method; `key` and `heap` have room for an entry for each method and each action.
    """
    waiting = 0
    for action in range(len(cost)):
        waiting = push(key, heap, waiting, cost[action] + 0, action)
    for method in range(len(task)):
        missing[method] = subtasks.start[method + 1] - subtasks.start[method]
        if not missing[method]:
            waiting = push(key, heap, waiting, 0, task[method] + 0)
    while waiting:
        value, done = key[0] + 0, heap[0] + 0
        waiting = pop(key, heap, waiting)
        if least[done] != INFINITE:
            continue
        least[done] = value
        for place in range(users.start[done], users.start[done + 1]):
            method = users.item[place] + 0
            missing[method] -= 1
            if not missing[method] and least[task[method]] == INFINITE:
                total = 0
                for at in range(subtasks.start[method], subtasks.start[method + 1]):
                    total += least[subtasks.item[at]]
                waiting = push(key, heap, waiting, total, task[method] + 0)
    return 0


@entry
@kernel
def number_components(
    actions: int,
    methods_of: Lists,
    subtasks: Lists,
    component: Index,
    found: Index,
    low: Index,
    method_at: Index,
    subtask_at: Index,
    path: Index,
    stack: Index,
) -> int:
    """Give each strongly connected component of tasks a number (Tarjan, 1972); returns how many there are.

    Tasks lead to the subtasks of their methods; `component` is by task, and what a component leads to has lower numbers
    than it. All arrays are by task; at first, `component` and `found` are full of `NOTHING`.
    """
    count, met, height = 0, 0, 0
    for first in range(len(component)):
        if found[first] != NOTHING:
            continue
        depth, entered = 0, first
        while True:
            if entered != NOTHING:
                found[entered], low[entered], subtask_at[entered] = met, met, 0
                stack[height], path[depth] = entered, entered
                met, height, depth = met + 1, height + 1, depth + 1
                method_at[entered] = methods_of.start[entered - actions] if entered >= actions else 0
            task = path[depth - 1] + 0
            entered = _next_subtask(actions, methods_of, subtasks, method_at, subtask_at, task)
            if entered != NOTHING:
                if found[entered] != NOTHING:
                    if component[entered] == NOTHING:
                        low[task] = min(low[task], found[entered])
                    entered = NOTHING
                continue
            if low[task] == found[task]:
                height = _number_component(component, stack, height, task, count)
                count += 1
            depth -= 1
            if not depth:
                break
            low[path[depth - 1]] = min(low[path[depth - 1]], low[task])
    return count


@kernel
def _number_component(component: Index, stack: Index, height: int, task: int, number: int) -> int:
    """Give the tasks on the stack down to `task` the `number` of their component; return the new height."""
    while component[task] == NOTHING:
        height -= 1
        component[stack[height]] = number
    return height


@kernel
def _next_subtask(
    actions: int, methods_of: Lists, subtasks: Lists, method_at: Index, subtask_at: Index, task: int
) -> int:
    """Return the next subtask of `task`, `NOTHING` if there is none left."""
    if task < actions:
        return NOTHING
    while method_at[task] < methods_of.start[task - actions + 1]:
        method = methods_of.item[method_at[task]] + 0
        place = subtasks.start[method] + subtask_at[task]
        if place < subtasks.start[method + 1]:
            subtask_at[task] += 1
            return subtasks.item[place] + 0
        method_at[task] += 1
        subtask_at[task] = 0
    return NOTHING


@entry
@kernel
def link_components(
    actions: int, methods_of: Lists, subtasks: Lists, component: Index, members: Lists, links: Lists, seen: Index
) -> int:
    """Make `links` the other components that the `members` of each component lead to; returns how many these are.

    `seen` is by component, and 0 at first.
    """
    count = 0
    for mine in range(len(members.start) - 1):
        links.start[mine] = count
        seen[mine] = mine + 1
        for place in range(members.start[mine], members.start[mine + 1]):
            task = members.item[place] + 0
            if task < actions:
                continue
            for index in range(methods_of.start[task - actions], methods_of.start[task - actions + 1]):
                method = methods_of.item[index] + 0
                for at in range(subtasks.start[method], subtasks.start[method + 1]):
                    other = component[subtasks.item[at]] + 0
                    if seen[other] != mine + 1:
                        seen[other] = mine + 1
                        links.item[count] = other
                        count += 1
    links.start[len(members.start) - 1] = count
    return count

"""Totally ordered open tasks as stacks in arrays.

Tasks are numbered: first the actions, then the compound tasks. A stack is a *cell*: its first task and the cell of the
other tasks. Equal stacks are the same cell, so that a node of the search, a *place*, is a pair of a state and a cell.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Words, kernel
from planner.task.packed_facts_kernel import Conditions
from planner.task.state_registry_kernel import Registry, number_of

EMPTY = 0
"""The cell of the empty stack."""


class Hierarchy(NamedTuple):
    """The ground hierarchy: compound task k has methods `method[method_start[k]:method_start[k + 1]]`.

    Method m has subtasks `subtask[subtask_start[m]:subtask_start[m + 1]]` and the precondition m of `possible`; action
    a has the precondition a of `required`. By task: its `least` cost in any state. That task k was done is the fact
    `done[0]` + k of the relaxed composition.
    """

    required: Conditions
    possible: Conditions
    method_start: Index
    method: Index
    subtask_start: Index
    subtask: Index
    least: Words
    done: Index


class Stacks(NamedTuple):
    """All cells: `cells` has two words for each, its first task and the cell of the others.

    By cell: `least` is the least cost of its tasks in any state, `depth` their number.
    """

    cells: Registry
    least: Words
    depth: Index


@kernel
def push_task(number: Words, stacks: Stacks, least: Words, task: int, rest: int) -> int:
    """Return the cell of `task` and then the cell `rest`; there must be room for one more."""
    count = number[slot.CELLS]
    cells = stacks.cells
    cells.state[2 * count] = task
    cells.state[2 * count + 1] = rest
    cell = number_of(cells, count, 2)
    if cell == count:
        stacks.least[cell] = stacks.least[rest] + least[task]
        stacks.depth[cell] = stacks.depth[rest] + 1
        number[slot.CELLS] = count + 1
    return cell


@kernel
def push_subtasks(number: Words, stacks: Stacks, hierarchy: Hierarchy, method: int, rest: int) -> int:
    """Return the cell of the subtasks of `method` and then the cell `rest`; there must be room for all subtasks."""
    first, end = hierarchy.subtask_start[method] + 0, hierarchy.subtask_start[method + 1] + 0
    cell = rest
    for place in range(end - first):
        cell = push_task(number, stacks, hierarchy.least, hierarchy.subtask[end - 1 - place] + 0, cell)
    return cell

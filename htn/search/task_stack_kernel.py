"""Hierarchies of totally ordered tasks as arrays: what is left to do is a stack of tasks.

Tasks are numbered: first the actions, then the compound tasks. A stack is a *cell*: its first task and the cell of the
others. Equal stacks are the same cell, and so what a search has reached, a *place*, is a pair of a state and a cell.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Words, kernel
from planner.task.packed_states_kernel import Conditions
from planner.task.state_registry_kernel import Registry, number_of

EMPTY = 0
"""The cell in which nothing is left to do."""


class Hierarchy(NamedTuple):
    """What can be done: compound task k has methods `method[method_start[k]:method_start[k + 1]]`.

    By method: the `subtask`s of its list, and its conjunction in `possible`; by action: what it needs, in `required`.
    By task: `least`, which it costs at least whatever the state is. That it is done is a fact of the relaxation: task k
    has fact `done[0]` + k.
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

    `least` is what its tasks cost at least, `depth` how many they are.
    """

    cells: Registry
    least: Words
    depth: Index


@kernel
def pushed(number: Words, stacks: Stacks, least: Words, task: int, rest: int) -> int:
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
def unfolded(number: Words, stacks: Stacks, hierarchy: Hierarchy, method: int, rest: int) -> int:
    """Return the cell of the subtasks of `method` and then the cell `rest`; there must be room for all of them."""
    first, end = hierarchy.subtask_start[method] + 0, hierarchy.subtask_start[method + 1] + 0
    cell = rest
    for place in range(end - first):
        cell = pushed(number, stacks, hierarchy.least, hierarchy.subtask[end - 1 - place] + 0, cell)
    return cell

"""The relaxed composition of tasks: what it takes to do all that is left (Höller, Bercher, Behnke and Biundo, 2018).

With deletes ignored, actions make it true that they were done, and a method, when its subtasks were done, that its task
was. The estimate is the size of a relaxed plan in which all tasks of a stack are done, and the goal holds. A task that
occurs again costs what it costs at least.
"""

from __future__ import annotations

from planner.kernels.data import INFINITE, Exploration, Relaxed, Space
from planner.kernels.hierarchy import EMPTY, Hierarchy, Stacks
from planner.kernels.kernel import Index, Words, entry, kernel
from planner.kernels.relaxed import begin
from planner.kernels.relaxed_plan import Achievers, Reachable, explore, extracted, want


@kernel
def composition(
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    space: Space,
    hierarchy: Hierarchy,
    stacks: Stacks,
    states: Words,
    state: int,
    cell: int,
    plan: int,
) -> int:
    """Return the estimate for `cell` in `state`, `INFINITE` for a dead end; `plan` is greater than all before."""
    begin(relaxed, room, space.coding, states, state * len(room.state))
    count, again = 0, 0
    while cell != EMPTY:
        task = stacks.cells.state[2 * cell] + 0
        before = count
        count = want(room, achievers, hierarchy.done[task] + 0, count, plan)
        if count == before:
            again += hierarchy.least[task]
        cell = stacks.cells.state[2 * cell + 1] + 0
    return _rest(relaxed, room, achievers, reachable, count, plan, again)


@entry
@kernel
def compose(
    count: int,
    plan: int,
    facts: Index,
    relaxed: Relaxed,
    room: Exploration,
    achievers: Achievers,
    reachable: Reachable,
    space: Space,
    state: Words,
) -> int:
    """Return the size of a relaxed plan for the first `count` of `facts` and the goal, `INFINITE` for a dead end."""
    begin(relaxed, room, space.coding, state, 0)
    wanted = 0
    for index in range(count):
        wanted = want(room, achievers, facts[index] + 0, wanted, plan)
    return _rest(relaxed, room, achievers, reachable, wanted, plan, 0)


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

"""The loop of best-first search, from which all variants are made: for facts, for numbers, in time, by novelty.

Search is lazy: the successor to which the best edge leads becomes the *pending* state, and is evaluated when it is
opened. The kernels that a variant consists of are what the task's features choose: room for a state, the open list and
the successors, the goal, and the estimate. The compiler inlines them, so that each variant is machine code of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PAUSED, Index, Words, kernel
from planner.task.packed_states_kernel import Space, find_applicable
from planner.task.state_registry_kernel import Registry


class Workspace(Protocol):
    """What a search works on; each variant has its own."""

    @property
    def number(self) -> Words:
        """The numbers that the search keeps between two calls."""

    @property
    def space(self) -> Space:
        """The task."""

    @property
    def registry(self) -> Registry:
        """The states."""

    @property
    def found(self) -> Index:
        """Room for all actions."""

    @property
    def stack(self) -> Index:
        """Room for all nodes of the decision tree."""


class Parts(NamedTuple):
    """What makes a variant; `state` begins at `base` in the registry.

    `row(at)` is the length of a state. `has_room(at)` says whether all arrays have room for another state. `follow(at)`
    follows the best edge and makes a state pending that search has to open; it returns False where no edge waits.
    `is_goal(at, state, base)` says whether a plan leads to a state. `open_state(at, state, base)` evaluates a state and
    puts it or its edges into the open list.
    """

    row: Callable[..., int]
    has_room: Callable[..., bool]
    follow: Callable[..., bool]
    is_goal: Callable[..., bool]
    open_state: Callable[..., None]


def make_opening(evaluate: Callable[..., int], queue_edges: Callable[..., None]) -> Callable[..., None]:
    """Return the kernel that opens a state in a search whose edges wait.

    `evaluate(at, state, base)` returns the key of the state, `INFINITE` for a dead end. Then
    `queue_edges(at, state, base, key, many)` queues its edges; the first `many` of `at.found` are applicable.
    """

    @kernel
    def open_state(at: Workspace, state: int, base: int) -> None:
        key = evaluate(at, state, base)
        if key == INFINITE:
            return
        at.number[slot.EXPANSIONS] += 1
        many = find_applicable(at.space.tree, at.registry.state, base, at.found, at.stack)
        queue_edges(at, state, base, key, many)

    return open_state


def make_search(parts: Parts) -> Callable[[int, Workspace], int]:
    """Return the kernel of the search that consists of `parts`.

    It searches for about `work` steps of inner loops, and returns `PAUSED`, `EXHAUSTED`, `FOUND` or `FULL`. After
    `FOUND`, a plan leads to `number[GOAL_STATE]`. The next call goes on from there.
    """
    row, has_room, follow, is_goal, open_state = parts

    @kernel
    def search(work: int, at: Workspace) -> int:
        number = at.number
        number[slot.WORK] = 0
        while number[slot.WORK] < work:
            if not has_room(at):
                return FULL
            state = number[slot.PENDING] + 0
            base = state * row(at)
            number[slot.PENDING] = -1
            if state < 0:
                if not follow(at):
                    return EXHAUSTED
            elif is_goal(at, state, base):
                number[slot.GOAL_STATE] = state
                return FOUND
            else:
                open_state(at, state, base)
        return PAUSED

    return search

"""The delete relaxation of a task as arrays for the kernels."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from planner.heuristics.relaxation import AXIOM, RelaxedTask
from planner.heuristics.relaxation_kernel import LEVELS, Achievers, Exploration, Reachable, Relaxed
from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.jit.common_kernel import NOTHING
from planner.task.packed_task_compiled import Packing

VALUES: Final = 1 << 12
"""Number of buckets for the values of facts; the last bucket holds all greater values."""
LEVEL_BITS: Final = 6
"""The cost of the most expensive action spans about 2 ** this number of levels of the queue; 16 such steps fit."""


def pack_relaxation(relaxed: RelaxedTask, costs: Sequence[int]) -> Relaxed:
    """Pack `relaxed` into arrays, with these `costs` of the actions."""
    return Relaxed(
        *flatten(relaxed.preconditions),
        *flatten(relaxed.effects),
        *flatten(relaxed.needed_by),
        *flatten(relaxed.added_by),
        price_operators(relaxed, costs),
        index(NOTHING if action == AXIOM else action for action in relaxed.actions),
        *flatten(relaxed.operators_of(len(costs))),
    )


def price_operators(relaxed: RelaxedTask, costs: Sequence[int]) -> array[int]:
    """Return the cost of each operator if actions have these `costs`."""
    return words(0 if action == AXIOM else costs[action] for action in relaxed.actions)


def replace_goal(arrays: Relaxed, relaxed: RelaxedTask, goal: Sequence[int]) -> Relaxed:
    """Return `arrays` of `relaxed` with another goal: at least one fact, none derived."""
    last, needed_by = len(relaxed.preconditions) - 1, [*relaxed.needed_by]
    for fact in relaxed.preconditions[last]:
        needed_by[fact] = needed_by[fact][:-1]
    for fact in goal:
        needed_by[fact] = [*needed_by[fact], last]
    needed_start, needed = flatten(needed_by)
    begin = arrays.precondition_start[last]
    return arrays._replace(
        precondition_start=arrays.precondition_start[:-1] + index([begin + len(goal)]),
        precondition=arrays.precondition[:begin] + index(goal),
        needed_start=needed_start,
        needed=needed,
    )


def count_missing(relaxed: RelaxedTask, packing: Packing) -> array[int]:
    """Return the number of unmet preconditions of each operator in the state whose words are all 0."""
    missing = index(len(facts) for facts in relaxed.preconditions)
    for fact in (relaxed.start, *facts_of_zero(packing)):
        for operator in relaxed.needed_by[fact]:
            missing[operator] -= 1
    return missing


def facts_of_zero(packing: Packing) -> list[int]:
    """Return the facts that hold in the state whose words are all 0."""
    held = [packing.coding.fact[first] for first in packing.coding.first]
    return [fact for fact in held if fact != NOTHING]


def make_achievers(facts: int, actions: int) -> Achievers:
    """Return empty achievers of so many `facts` and `actions`, for relaxed plans numbered from 1 on."""
    return Achievers(empty_index(facts), zeros(facts), zeros(actions), empty_index(facts))


def make_reachable(relaxed: Relaxed) -> Reachable:
    """Return an empty queue of facts."""
    entries = len(relaxed.effect) + 1
    return Reachable(empty_index(VALUES), empty_index(entries), empty_index(entries))


def make_exploration(relaxed: RelaxedTask, missing: array[int], costs: Sequence[int], packing: Packing) -> Exploration:
    """Allocate working memory for explorations of `relaxed`, as after one of the state whose words are all 0.

    `missing` counts the unmet preconditions of each operator in that state.
    """
    return allocate_exploration(relaxed.size, len(relaxed.costs), missing, costs, packing)


def allocate_exploration(
    facts: int, operators: int, missing: array[int], costs: Sequence[int], packing: Packing
) -> Exploration:
    """Allocate working memory for explorations of these `facts` and `operators`; see `make_exploration`."""
    heads = index(range(facts, facts + LEVELS))
    return Exploration(
        state=zeros(packing.words),
        at_first=missing,
        missing=index([0]) * operators,
        price=zeros(operators),
        supporter=empty_index(operators),
        value=zeros(facts),
        expanded=zeros(facts),
        following=empty_index(facts) + heads,
        previous=empty_index(facts) + heads,
        level=words([LEVELS, max(max(costs, default=0).bit_length() - LEVEL_BITS, 0)]),
        zone=zeros(facts),
        queue=empty_index(facts),
        marked=zeros(len(costs)),
    )

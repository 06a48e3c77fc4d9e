"""The delete relaxation of a task as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from planner.compiled.arrays import empty_index, flat, index, words, zeros
from planner.compiled.packing import Packing
from planner.heuristics.relaxed import AXIOM, RelaxedTask
from planner.kernels.data import NOTHING, Exploration, Relaxed


def packed_relaxation(relaxed: RelaxedTask, costs: Sequence[int]) -> Relaxed:
    """Return the arrays of `relaxed`, with these `costs` of the actions."""
    return Relaxed(
        *flat(relaxed.preconditions),
        *flat(relaxed.effects),
        *flat(relaxed.needed_by),
        *flat(relaxed.added_by),
        prices(relaxed, costs),
        index(NOTHING if action == AXIOM else action for action in relaxed.actions),
        *flat(relaxed.operators_of(len(costs))),
    )


def prices(relaxed: RelaxedTask, costs: Sequence[int]) -> array[int]:
    """Return what each operator costs if actions have these `costs`."""
    return words(0 if action == AXIOM else costs[action] for action in relaxed.actions)


def aimed(relaxed: RelaxedTask, goal: Sequence[int]) -> RelaxedTask:
    """Return `relaxed` with another goal, of facts none of which is derived."""
    last, needed_by = len(relaxed.preconditions) - 1, [*relaxed.needed_by]
    for fact in relaxed.preconditions[last]:
        needed_by[fact] = needed_by[fact][:-1]
    wanted = tuple(goal) or (relaxed.start,)
    for fact in wanted:
        needed_by[fact] = [*needed_by[fact], last]
    return replace(relaxed, preconditions=[*relaxed.preconditions[:last], wanted], needed_by=needed_by)


def exploration(relaxed: RelaxedTask, actions: int, packing: Packing) -> Exploration:
    """Return room for explorations, as after one from the state whose words are all 0."""
    facts, operators = relaxed.size, len(relaxed.costs)
    missing = words(len(facts) for facts in relaxed.preconditions)
    held = [packing.coding.fact[first] for first in packing.coding.first]
    for fact in [relaxed.start, *(fact for fact in held if fact != NOTHING)]:
        for operator in relaxed.needed_by[fact]:
            missing[operator] -= 1
    return Exploration(
        zeros(packing.words),
        missing,
        zeros(operators),
        zeros(operators),
        empty_index(operators),
        zeros(facts),
        zeros(facts),
        empty_index(facts),
        empty_index(facts),
        zeros(facts),
        empty_index(facts),
        zeros(actions),
    )

"""The delete relaxation of a task as arrays."""

from __future__ import annotations

from planner.compiled.arrays import empty_index, flat, index, words, zeros
from planner.compiled.packing import Packing
from planner.heuristics.relaxed import AXIOM, RelaxedTask
from planner.kernels.data import NOTHING, Exploration, Relaxed


def packed_relaxation(relaxed: RelaxedTask, actions: int) -> Relaxed:
    """Return the arrays of `relaxed`, which is of a task with so many `actions`."""
    return Relaxed(
        *flat(relaxed.preconditions),
        *flat(relaxed.effects),
        *flat(relaxed.needed_by),
        *flat(relaxed.added_by),
        words(relaxed.costs),
        index(NOTHING if action == AXIOM else action for action in relaxed.actions),
        *flat(relaxed.operators_of(actions)),
    )


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

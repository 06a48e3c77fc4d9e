"""Reading and changing packed states."""

from __future__ import annotations

from planner.kernels.axioms import close
from planner.kernels.data import Changes, Conditions, Space
from planner.kernels.kernel import Words, kernel


@kernel
def holds(conditions: Conditions, number: int, state: Words, base: int) -> bool:
    """Return whether conjunction `number` holds in the state whose words begin at `state[base]`."""
    for index in range(conditions.start[number], conditions.start[number + 1]):
        if state[base + conditions.word[index]] & conditions.mask[index] != conditions.bits[index]:
            return False
    return True


@kernel
def is_useless(space: Space, state: Words, base: int) -> bool:
    """Return whether no plan goes through the state whose words begin at `state[base]`, as two of its facts say."""
    for pair in range(len(space.never.start) - 1):  # noqa: SIM110 - kernels have no generators
        if holds(space.never, pair, state, base):
            return True
    return False


@kernel
def change(changes: Changes, number: int, state: Words, base: int) -> None:
    """Carry out assignment `number` on the state whose words begin at `state[base]`, in place."""
    for index in range(changes.start[number], changes.start[number + 1]):
        word = base + changes.word[index]
        state[word] = state[word] & changes.keep[index] | changes.put[index]


@kernel
def apply(space: Space, action: int, state: Words, source: int, target: int, words: int) -> None:
    """Write the state after `action` in the one at `state[source]` to `state[target]`.

    Conditions are read from the source; what deletes comes first and what adds comes last: adding wins. Then what the
    axioms say is derived.
    """
    for word in range(words):
        state[target + word] = state[source + word]
    actions, conditions, conditional = space.actions, space.conditions, space.conditional
    first, middle, last = actions.before[action], actions.middle[action], actions.before[action + 1]
    for effect in range(first, middle):
        if holds(conditions, effect, state, source):
            change(conditional, effect, state, target)
    change(space.changes, action, state, target)
    for effect in range(middle, last):
        if holds(conditions, effect, state, source):
            change(conditional, effect, state, target)
    if len(space.axioms.keep):
        close(space.axioms, space.coding, state, target)

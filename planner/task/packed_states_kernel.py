"""Packed states: read, change, number and complete them, and find the applicable actions, by kernels.

A decision tree finds the applicable actions without a test of each. Derived facts have fields of their own in the
state; the rules of the axioms fill them layer by layer (Thiébaux, Hoffmann and Nebel, 2005). A registry, an
open-addressing hash table, numbers the states. The readable twin is `ground_task`.
"""

from __future__ import annotations

from typing import Final

from planner.jit.common_kernel import (
    NOTHING,
    Axioms,
    Changes,
    Coding,
    Conditions,
    Index,
    Registry,
    Space,
    Tree,
    Words,
    entry,
    kernel,
)


@kernel
def applicable(tree: Tree, state: Words, base: int, found: Index, waiting: Index) -> int:
    """Write the actions that can be applied in the state at `state[base]` to `found`; return how many there are.

    `waiting` is room for node numbers: as many as the tree has nodes are enough.
    """
    count, top = 0, 1
    waiting[0] = 0
    while top:
        top -= 1
        node = waiting[top]
        for index in range(tree.action_start[node], tree.action_start[node + 1]):
            found[count] = tree.action[index]
            count += 1
        for switch in range(tree.switch_start[node], tree.switch_start[node + 1]):
            value = state[base + tree.word[switch]] >> tree.shift[switch] & tree.mask[switch]
            child = tree.child[tree.base[switch] + value]
            if child != NOTHING:
                waiting[top] = child
                top += 1
    return count


@kernel
def close(axioms: Axioms, coding: Coding, state: Words, base: int) -> None:
    """Let exactly those derived facts hold that follow in the state at `state[base]`."""
    for word in range(len(axioms.keep)):
        state[base + word] &= axioms.keep[word]
    for rule in range(len(axioms.size)):
        axioms.missing[rule] = axioms.size[rule]
    count = _given(axioms, coding, state, base)
    done = 0
    for layer in range(len(axioms.layer_start)):
        count = _fixed_point(axioms, state, base, done, count)
        done = count
        if layer + 1 < len(axioms.layer_start):
            for index in range(axioms.layer_start[layer], axioms.layer_start[layer + 1]):
                if not _holds(axioms, axioms.derived[index], state, base):
                    count = _hold(axioms, axioms.negated[index], state, base, count)


@kernel
def _given(axioms: Axioms, coding: Coding, state: Words, base: int) -> int:
    """Queue the facts that hold and are not derived, and the heads of rules without conditions; return how many."""
    count = 0
    for variable in range(len(coding.word) - axioms.many[0]):
        value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        fact = coding.fact[coding.first[variable] + value]
        if fact != NOTHING:
            axioms.queue[count] = fact
            count += 1
    for rule in range(len(axioms.size)):
        if not axioms.size[rule] and not _holds(axioms, axioms.head[rule], state, base):
            count = _hold(axioms, axioms.head[rule], state, base, count)
    return count


@kernel
def _fixed_point(axioms: Axioms, state: Words, base: int, done: int, count: int) -> int:
    """Apply rules to the queued facts from `done` on, and to what they derive; return how many there are then."""
    while done < count:
        fact = axioms.queue[done]
        done += 1
        for index in range(axioms.needed_start[fact], axioms.needed_start[fact + 1]):
            rule = axioms.needed[index]
            axioms.missing[rule] -= 1
            if not axioms.missing[rule] and not _holds(axioms, axioms.head[rule], state, base):
                count = _hold(axioms, axioms.head[rule], state, base, count)
    return count


@kernel
def _holds(axioms: Axioms, fact: int, state: Words, base: int) -> bool:
    return state[base + axioms.word[fact]] & axioms.bit[fact] != 0


@kernel
def _hold(axioms: Axioms, fact: int, state: Words, base: int, count: int) -> int:
    state[base + axioms.word[fact]] |= axioms.bit[fact]
    axioms.queue[count] = fact
    return count + 1


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
    for pair in range(len(space.never.start) - 1):
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


MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


@kernel
def hashed(state: Words, base: int, words: int) -> int:
    """Return a number that is never negative and depends on all words of the state at `state[base]`.

    Products are cut off at 62 bits: so much is the same whether or not numbers wrap around at 64.
    """
    value = 0
    for word in range(base, base + words):
        value = ((value ^ state[word]) * MULTIPLIER) & LOW_BITS
        value ^= value >> 29
    return value


@kernel
def number_of(registry: Registry, count: int, words: int) -> int:
    """Return the number of the state that stands behind the `count` known ones; a new state has the number `count`.

    A new state is entered; `table` must have room for it.
    """
    state, table = registry.state, registry.table
    mask = len(table) - 1
    base = count * words
    slot = hashed(state, base, words) & mask
    while table[slot] != NOTHING:
        known = table[slot] * words
        word = 0
        while word < words and state[known + word] == state[base + word]:
            word += 1
        if word == words:
            return known // words
        slot = (slot + 1) & mask
    table[slot] = count
    return count


@entry
@kernel
def enter_all(registry: Registry, count: int, words: int) -> int:
    """Enter the `count` states into an empty table, which has just grown; returns 0."""
    state, table = registry.state, registry.table
    mask = len(table) - 1
    for number in range(count):
        slot = hashed(state, number * words, words) & mask
        while table[slot] != NOTHING:
            slot = (slot + 1) & mask
        table[slot] = number
    return 0

"""Derived facts of a packed state: the rules of all axioms, layer by layer (Thiébaux, Hoffmann and Nebel, 2005).

The twin is `planner.closure`. Derived facts have fields of their own in the state, which follow from the others.
"""

from __future__ import annotations

from planner.kernels.data import NOTHING, Axioms, Coding
from planner.kernels.kernel import Words, kernel


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

"""The task over packed states: apply actions, derive facts, and find the applicable actions.

A decision tree finds the applicable actions without a test of each. Derived facts have fields of their own in the
state; the rules of the axioms fill them layer by layer (Thiébaux, Hoffmann and Nebel, 2005). The readable twin is
`ground_task`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, kernel
from planner.task.packed_facts_kernel import Changes, Coding, Conditions, assign, holds
from planner.task.packed_numbers_kernel import APPLIED, Comparisons, Numbers, change_numbers

FACTS: Final = 0
"""Constants for the layers of a task: kernels leave out what a task does not have."""
NUMBERS: Final = 1
LAPSES: Final = 2


class Actions(NamedTuple):
    """What actions cost, and which conditional effects they have.

    The effects of action a are `before[a]` up to `middle[a]` (they delete, and come before the action's own changes),
    and from there up to `before[a + 1]` (they add, and come after it).
    """

    cost: Words
    before: Index
    middle: Index


class Tree(NamedTuple):
    """The successor generator: a decision tree.

    Node n has the actions of list n, which can be applied where n is reached, and the switches of list n. A switch
    reads a variable (`word`, `shift`, `mask`) and leads to node `child[base + value]`, or nowhere (`NOTHING`).
    """

    action_start: Index
    action: Index
    switch_start: Index
    word: Index
    shift: Words
    mask: Words
    base: Index
    child: Index


class Axioms(NamedTuple):
    """Rules by which facts are derived: rule r derives `head[r]` from `size[r]` facts; `needed` by fact says by which.

    `keep` clears the derived facts of a state word by word; it is empty where nothing is derived. Their variables are
    the last `many[0]` ones, and fact f is `bit[f]` of word `word[f]`. After layer i, those `negated[j]` of its list
    hold whose `derived[j]` does not. `missing` and `queue` are room for a number for each rule and fact.
    """

    many: Index
    keep: Words
    head: Index
    size: Words
    needed_start: Index
    needed: Index
    layer_start: Index
    negated: Index
    derived: Index
    word: Index
    bit: Words
    missing: Words
    queue: Index


class Space(NamedTuple):
    """The state space: how states are packed, what actions do, what the goal is (conjunction 0 of `goal`).

    No state on a plan has what one of the conjunctions of `never` says. `conditions` are those of the conditional
    effects, whose changes are `conditional`.

    The words of the facts of a state are followed by one for each variable of `numbers`, which may have none. The facts
    of the `comparisons` are kept up to date with the variables, so that everything else reads them as any fact.
    """

    coding: Coding
    actions: Actions
    changes: Changes
    conditions: Conditions
    conditional: Changes
    goal: Conditions
    tree: Tree
    axioms: Axioms
    never: Conditions
    numbers: Numbers
    comparisons: Comparisons


@kernel
def find_applicable(tree: Tree, state: Words, base: int, found: Index, waiting: Index) -> int:
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
def derive_facts(axioms: Axioms, coding: Coding, state: Words, base: int) -> None:
    """Let exactly those derived facts hold that follow in the state at `state[base]`."""
    for word in range(len(axioms.keep)):
        state[base + word] &= axioms.keep[word]
    for rule in range(len(axioms.size)):
        axioms.missing[rule] = axioms.size[rule]
    count = _queue_base_facts(axioms, coding, state, base)
    done = 0
    for layer in range(len(axioms.layer_start)):
        count = _derive_layer(axioms, state, base, done, count)
        done = count
        if layer + 1 < len(axioms.layer_start):
            for index in range(axioms.layer_start[layer], axioms.layer_start[layer + 1]):
                if not _holds(axioms, axioms.derived[index], state, base):
                    count = _set_fact(axioms, axioms.negated[index], state, base, count)


@kernel
def _queue_base_facts(axioms: Axioms, coding: Coding, state: Words, base: int) -> int:
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
            count = _set_fact(axioms, axioms.head[rule], state, base, count)
    return count


@kernel
def _derive_layer(axioms: Axioms, state: Words, base: int, done: int, count: int) -> int:
    """Apply rules to the queued facts from `done` on, and to what they derive; return how many there are then."""
    while done < count:
        fact = axioms.queue[done]
        done += 1
        for index in range(axioms.needed_start[fact], axioms.needed_start[fact + 1]):
            rule = axioms.needed[index]
            axioms.missing[rule] -= 1
            if not axioms.missing[rule] and not _holds(axioms, axioms.head[rule], state, base):
                count = _set_fact(axioms, axioms.head[rule], state, base, count)
    return count


@kernel
def _holds(axioms: Axioms, fact: int, state: Words, base: int) -> bool:
    return state[base + axioms.word[fact]] & axioms.bit[fact] != 0


@kernel
def _set_fact(axioms: Axioms, fact: int, state: Words, base: int, count: int) -> int:
    state[base + axioms.word[fact]] |= axioms.bit[fact]
    axioms.queue[count] = fact
    return count + 1


@kernel
def is_useless(space: Space, state: Words, base: int) -> bool:
    """Return whether no plan goes through the state whose words begin at `state[base]`, as two of its facts say."""
    for pair in range(len(space.never.start) - 1):
        if holds(space.never, pair, state, base):
            return True
    return False


@kernel
def row_of(space: Space, words: int) -> int:
    """Return how many words a state has for facts and numbers, `words` of them for facts."""
    return words + space.numbers.fields.words[0]


@kernel
def apply(space: Space, action: int, state: Words, source: int, target: int, words: int) -> int:
    """Write the state after `action` in the one at `state[source]`, of so many `words` for facts, to `state[target]`.

    Conditions are read from the source; what deletes comes first and what adds comes last: adding wins. Then what the
    axioms say is derived. Returns `APPLIED`, or why the action cannot be applied; then what was written means nothing.
    """
    for word in range(row_of(space, words)):
        state[target + word] = state[source + word]
    actions, conditions, conditional = space.actions, space.conditions, space.conditional
    first, middle, last = actions.before[action], actions.middle[action], actions.before[action + 1]
    for effect in range(first, middle):
        if holds(conditions, effect, state, source):
            assign(conditional, effect, state, target)
    assign(space.changes, action, state, target)
    for effect in range(middle, last):
        if holds(conditions, effect, state, source):
            assign(conditional, effect, state, target)
    if len(space.numbers.low):
        outcome = change_numbers(space.numbers, space.comparisons, action, words, state, source, target)
        if outcome != APPLIED:
            return outcome
    if len(space.axioms.keep):
        derive_facts(space.axioms, space.coding, state, target)
    return APPLIED

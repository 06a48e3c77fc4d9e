"""The task over packed states: test conditions, apply actions, derive facts, and find the applicable actions.

A decision tree finds the applicable actions without a test of each. Derived facts have fields of their own in the
state; the rules of the axioms fill them layer by layer (Thiébaux, Hoffmann and Nebel, 2005). The readable twin is
`ground_task`.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists


class Coding(NamedTuple):
    """How states are packed.

    Variable v is `state[word[v]] >> shift[v] & mask[v]`; its value k is fact `fact[first[v] + k]`, or `NOTHING` where
    none of its facts holds.
    """

    word: Index
    shift: Words
    mask: Words
    first: Index
    fact: Index


class Conditions(NamedTuple):
    """Conjunctions: number i holds where `state[word[j]] & mask[j] == bits[j]` for each j of its list."""

    start: Index
    word: Index
    mask: Words
    bits: Words


class Changes(NamedTuple):
    """Assignments: number i makes `state[word[j]]` be `state[word[j]] & keep[j] | put[j]` for each j of its list."""

    start: Index
    word: Index
    keep: Words
    put: Words


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

    No state on a plan has what one of the conjunctions of `never` says.

    `conditions` are those of the conditional effects, whose changes are `conditional`.
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


class Places(NamedTuple):
    """Where facts are in a packed state: fact f holds where `state[word[f]] & mask[f] == bits[f]`.

    `variable` is which one it is a value of.
    """

    word: Index
    mask: Words
    bits: Words
    variable: Index


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
def assign(changes: Changes, number: int, state: Words, base: int) -> None:
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
            assign(conditional, effect, state, target)
    assign(space.changes, action, state, target)
    for effect in range(middle, last):
        if holds(conditions, effect, state, source):
            assign(conditional, effect, state, target)
    if len(space.axioms.keep):
        derive_facts(space.axioms, space.coding, state, target)


@entry
@kernel
def pack_conditions(lists: Lists, places: Places, tests: Conditions) -> int:
    """Make `tests` say that all facts of each list hold; returns how many words are tested.

    Facts that exclude each other make a test that no state passes.
    """
    count = 0
    for number in range(len(lists.start) - 1):
        tests.start[number] = count
        first = count
        for place in range(lists.start[number], lists.start[number + 1]):
            fact = lists.item[place]
            word, mask, bits = places.word[fact], places.mask[fact], places.bits[fact]
            at = first
            while at < count and tests.word[at] != word:
                at += 1
            if at == count:
                tests.word[at], tests.mask[at], tests.bits[at] = word, mask, bits
                count += 1
            elif tests.mask[at] & mask and tests.bits[at] & mask != bits:
                tests.word[first], tests.mask[first], tests.bits[first] = 0, 0, 1
                count = first + 1
                break
            else:
                tests.mask[at] |= mask
                tests.bits[at] |= bits
    tests.start[len(lists.start) - 1] = count
    return count


@entry
@kernel
def pack_assignments(needs: Lists, adds: Lists, deletes: Lists, places: Places, changes: Changes, unsure: Lists) -> int:
    """Make `changes` what each action assigns whatever holds; returns how many words are changed.

    Deletes of what need not hold depend on what holds: they are `unsure`, and the changes say nothing of them.
    """
    count, left = 0, 0
    for number in range(len(adds.start) - 1):
        changes.start[number], unsure.start[number] = count, left
        first = count
        for place in range(adds.start[number], adds.start[number + 1]):
            fact = adds.item[place]
            count = _assign(changes, first, count, places.word[fact], places.mask[fact], places.bits[fact])
        for place in range(deletes.start[number], deletes.start[number + 1]):
            fact = deletes.item[place]
            if _has_value(adds, number, places.variable, places.variable[fact]):
                continue
            if _has(needs, number, fact):
                count = _assign(changes, first, count, places.word[fact], places.mask[fact], 0)
            else:
                unsure.item[left] = fact
                left += 1
    changes.start[len(adds.start) - 1], unsure.start[len(adds.start) - 1] = count, left
    return count


@kernel
def _assign(changes: Changes, first: int, count: int, word: int, mask: int, bits: int) -> int:
    """Change the bits of a `mask` in a `word`; return how many words are changed now."""
    at = first
    while at < count and changes.word[at] != word:
        at += 1
    if at == count:
        changes.word[at], changes.keep[at], changes.put[at] = word, ~mask, bits
        return count + 1
    changes.keep[at] &= ~mask
    changes.put[at] |= bits
    return count


@kernel
def _has_value(adds: Lists, number: int, variable_of: Index, variable: int) -> bool:
    """Return whether list `number` has a value of the `variable`."""
    for place in range(adds.start[number], adds.start[number + 1]):
        if variable_of[adds.item[place]] == variable:
            return True
    return False


@kernel
def _has(lists: Lists, number: int, wanted: int) -> bool:
    """Return whether `wanted` is in list `number`."""
    for place in range(lists.start[number], lists.start[number + 1]):
        if lists.item[place] == wanted:
            return True
    return False


@entry
@kernel
def mark_emptied_variables(adds: Lists, deletes: Lists, variable_of: Index, vague: Index) -> int:
    """Mark in `vague` the variables that some action deletes a value of without adding another; returns 0."""
    for number in range(len(adds.start) - 1):
        for place in range(deletes.start[number], deletes.start[number + 1]):
            variable = variable_of[deletes.item[place]] + 0
            if not _has_value(adds, number, variable_of, variable):
                vague[variable] = 1
    return 0

"""The arrays that kernels work on, in records by what they mean.

Lists of lists are flat: the elements of list i are `items[start[i]:start[i + 1]]`. Places in a packed state are a word
and bits in it; words are used up to 63 bits, and so never negative.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.kernels.kernel import Index, Words

NOTHING: Final = 0xFFFFFFFF
"""In an `Index`: no fact, no state, no action, the end of a list."""
MOVED: Final = 1 << 31
"""Added to the action that led to a state, if what it led to is one that the state stands for."""
INFINITE: Final = 1 << 60
"""A cost that cannot be paid."""

WAITING: Final = 0
EVALUATED: Final = 1
CLOSED: Final = 2
LOOKED_UP: Final = 3


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


class Registry(NamedTuple):
    """All states that were seen: number s is `state[s * words:(s + 1) * words]`.

    `table` is an open-addressing hash table of state numbers (`NOTHING` where it is free); its length is a power of 2.
    """

    state: Words
    table: Index


class Nodes(NamedTuple):
    """What a search knows of each state: how it was reached, `cost` to get there, `bound` on the way to the goal.

    `stage` is one of `WAITING`, `LOOKED_UP` (estimated by what is cheap), `EVALUATED` and `CLOSED`.
    """

    parent: Index
    action: Index
    cost: Words
    bound: Words
    stage: Index


class Open(NamedTuple):
    """An open list by f and then h; entries are linked lists of states.

    `by_f[f - lowest]` and `by_h[h]` are the first entries; entries of the smallest f wait by h, all others by f alone.
    """

    by_f: Index
    by_h: Index
    state: Index
    next: Index


class Relaxed(NamedTuple):
    """The delete relaxation: operators with preconditions and effects, and the operators that facts lead to.

    The last two facts are `start`, which always holds, and the goal; see `planner.heuristics.relaxed`.
    """

    precondition_start: Index
    precondition: Index
    effect_start: Index
    effect: Index
    needed_start: Index
    needed: Index
    added_start: Index
    added: Index
    cost: Words
    action: Index
    operator_start: Index
    operator: Index


class Exploration(NamedTuple):
    """Room for explorations of the relaxation.

    What the last one started from: `state` is packed, `at_first` counts for each operator the preconditions that did
    not hold in it. By operator: `missing` preconditions, `price` (what is left of its cost), `supporter`. By fact:
    `value`, whether it was `looked` into, whether it is in the `zone`; `following` and `previous` are those that wait,
    by `level` (see `planner.kernels.levels`; `following` is `NOTHING` for a fact that does not wait). `queue` is room
    for facts, `marked` for a mark on each action.
    """

    state: Words
    at_first: Index
    missing: Index
    price: Words
    supporter: Index
    value: Words
    looked: Words
    following: Index
    previous: Index
    level: Words
    zone: Words
    queue: Index
    marked: Words


class Landmarks(NamedTuple):
    """LM-cut's landmarks: number i is worth `worth[i]` and consists of the actions of its list.

    Those of state s are `reference[of[s]:of[s] + many[s]]`, worth `kept[s]` together. `lost` is room for a number for
    each action.
    """

    worth: Words
    start: Index
    member: Index
    reference: Index
    of: Words
    many: Index
    kept: Words
    lost: Words

"""How kernels are declared, and the records of arrays that they share: the one place that knows of a compiler.

Kernels compute with signed 64-bit integers, so that numbers mean the same with and without a compiler. Arrays hold them
in 64 bits (`Words`) or, where they are never negative, in 32 (`Index`); indexing by an unsigned number needs no test
for a negative one. Floating-point numbers (`Reals`) come out alike if they are added in the same order.

Lists of lists are flat: the elements of list i are `items[start[i]:start[i + 1]]`. A place in a packed state is a word
and bits in it; words are used up to 63 bits, and so never negative. The single numbers that a search keeps between two
calls have places in one array of `Words`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    _Array = array[int]
    _Floats = array[float]
else:
    _Array = _Floats = array  # it cannot be subscripted before Python 3.12

Words = Annotated[_Array, "q"]
"""An array of signed 64-bit integers; the letter is the type code of `array.array`."""
Index = Annotated[_Array, "I"]
"""An array of unsigned 32-bit integers."""

Reals = Annotated[_Floats, "d"]
"""An array of floating-point numbers."""

F = TypeVar("F", bound=Callable[..., Any])
ENTRIES: dict[str, Callable[..., Any]] = {}
"""The kernels that are called from outside, by name."""
_compiler: list[Callable[[Any], Any]] = []


def kernel(function: F) -> F:
    """Mark `function` as a kernel: it is compiled where a compiler was given, and otherwise runs as it stands."""
    compiled: F = _compiler[0](function) if _compiler else function
    return compiled


def entry(function: F) -> F:
    """Mark `function` as a kernel that is called from outside.

    Its parameters are integers and records of arrays (NamedTuples of `Words`, `Index` and `Reals`), with annotations;
    it returns an integer.
    """
    ENTRIES[function.__name__] = function
    return function


def use_compiler(compiler: Callable[[Any], Any]) -> None:
    """Let `compiler` make every kernel that is imported from now on."""
    _compiler[:] = [compiler]


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

    The last two facts are `start`, which always holds, and the goal; see `planner.heuristics.relaxation`.
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
    by `level` (see `planner.jit.containers_kernel`; `following` is `NOTHING` for a fact that does not wait). `queue` is
    room for facts, `marked` for a mark on each action.
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


STATES: Final = 0
"""States in the registry."""
COUNTERS: Final = 1
"""Entries of the open list that were ever used."""
FREE: Final = 2
"""The first entry that is free again, or `NOTHING`."""
OPEN: Final = 3
"""Entries that wait."""
BASE_F: Final = 4
"""The f of the first bucket."""
CURRENT_F: Final = 5
LOWEST_H: Final = 6
LIMIT: Final = 7
"""Only plans that cost less are looked for."""
GOAL_STATE: Final = 8
PENDING: Final = 9
"""A state that has yet to be put into the open list, or -1."""
EVALUATIONS: Final = 10
EXPANSIONS: Final = 11
GENERATED: Final = 12
LANDMARKS: Final = 13
MEMBERS: Final = 14
REFERENCES: Final = 15
WORK: Final = 16
"""Steps of inner loops since the call began."""
LONGEST: Final = 17
"""The most landmarks that a state has had."""
MAX_COST: Final = 18
"""What the dearest action costs."""
HIGHEST_F: Final = 19
"""The highest f that any entry has had."""
BATCHES: Final = 20
"""Batches of edges that were ever put in."""
EDGES: Final = 21
"""Edges that were ever put in."""
GRAIN: Final = 22
"""Keys are divided by it, so that there are buckets enough."""
LOWEST: Final = 23
"""Four numbers: the lowest bucket of each queue that may have entries."""
TURNS: Final = 27
"""Five numbers: the turns that each queue and the types have had, less their boosts."""
BEST: Final = 32
"""Two numbers: the least estimates so far."""
LEFT: Final = 34
"""Milestones that are left, as estimated last; `INFINITE` where there are none at all."""
TYPES: Final = 35
"""Types of states that there are."""
ACTIVE: Final = 36
"""Types that have batches."""
RANDOM: Final = 37
"""The last random number."""
SEED: Final = 38
"""Not 0: the order of actions and operators is another one, drawn from this number."""
MANY: Final = 39
"""Actions that can be applied in the state that is expanded now."""
TRIED: Final = 40
"""How many of them were."""
CELLS: Final = 41
"""Stacks of tasks."""
PLACES: Final = 42
"""Pairs of a state and a stack of tasks."""
WIDEST: Final = 43
"""The most subtasks that a method has."""
REOPEN: Final = 44
"""Not 0: what is reached again more cheaply is news."""
NESTED: Final = 45
"""Not 0: a task may come up within itself, in the same state."""
SIMULATIONS: Final = 46
MOST_SIMULATIONS: Final = 47
UNTIL: Final = 48
"""States with a greater f are left for later."""
NODES: Final = 49
"""Nodes of a decision process."""
OPTIONS: Final = 50
"""Places for options that were given away."""
BRANCHES: Final = 51
DEPTH: Final = 52
"""How many nodes the simulation has come by."""
STAGE: Final = 53
"""What is next where the simulation is."""
FRESH: Final = 54
"""Not 0: the simulation has looked into the node where it is."""
WIDENED: Final = 55
"""Not 0: there was a node with more choices than options: values may be worse than the truth."""
KIND: Final = 56
"""The estimate."""
BUDGETS: Final = 57
LUCKY: Final = 58
"""Not 0: the first budget is on the cost."""
REWARDS: Final = 59
"""How many rewards come before the cost."""
WIDE: Final = 60
"""Options for which there is no question whether they are made."""
MOST_BRANCHES: Final = 61
"""The most branches that a choice has."""
ESTIMATED: Final = 62
"""States that were estimated."""
ENTERED: Final = 63
"""Nodes of which it is known what may be hoped for."""
PRUNES: Final = 64
"""Not 0: actions are left out that are not in a stubborn set."""
PRUNED: Final = 65
"""States for which such a set was looked for."""
APPLICABLE: Final = 66
"""Actions that could be applied in them."""
STUBBORN: Final = 67
"""Those of them that were not left out."""
SETS: Final = 68
"""Steps that it took to find the sets."""
HOW_MANY: Final = 69

PAUSED: Final = 0
"""So much work was done as was allowed."""
EXHAUSTED: Final = 1
FOUND: Final = 2
"""`GOAL_STATE` is reached by a plan that costs `CURRENT_F`."""
FULL: Final = 3
"""An array is too short: lengthen it, and call again."""
DONE: Final = 4
"""What was asked for was done."""
PASSED: Final = 4
"""All that waits has a greater f than `UNTIL`: the least is `CURRENT_F`."""

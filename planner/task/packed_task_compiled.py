"""A task as arrays for the kernels: where each fact lies in a packed state, and its state space.

A variable is a mutex group: its values are its facts and, unless one of them holds in every reachable state, "none of
them". Derived facts have a variable each. Variables are packed into words of 63 bits, the widest first.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from planner.jit.arrays import empty_index, flatten, index, make_hollow, words, zeros
from planner.jit.common_kernel import NOTHING
from planner.lightweight import dataclass, field
from planner.limits import check_regularly, never, under_limits
from planner.task.ground_task import GroundAction, State, Task
from planner.task.packed_facts_kernel import Changes, Coding, Conditions
from planner.task.packed_numbers_kernel import Comparisons, Fields, Numbers
from planner.task.packed_states_kernel import Actions, Axioms, Space, Tree, derive_facts
from planner.task.successor_generator import build_decision_nodes

WORD_BITS: Final = 63
NO_NUMBERS: Final[Numbers] = make_hollow(Numbers, 0)._replace(fields=make_hollow(Fields))
NO_COMPARISONS: Final[Comparisons] = make_hollow(Comparisons, 0)


@dataclass(frozen=True, slots=True)
class Packing:
    """`words` per state; fact f holds where `word & mask == bits` for `(word number, mask, bits)` of `places[f]`.

    `none[f]` are the bits of "none" in the variable of f, and `variable_of[f]` its number.
    """

    words: int
    coding: Coding
    places: list[tuple[int, int, int]]
    variable_of: list[int]

    def pack(self, facts: Iterable[int]) -> list[int]:
        """Return the words of the state in which exactly `facts` hold."""
        state = [0] * self.words
        for fact in facts:
            word, _, bits = self.places[fact]
            state[word] |= bits
        return state

    def unpack(self, state: Sequence[int], variables: int) -> State:
        """Return the facts of the first `variables` variables in a state with these words, as bits."""
        coding, found = self.coding, 0
        for variable in range(variables):
            value = state[coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
            fact = coding.fact[coding.first[variable] + value]
            if fact != NOTHING:
                found |= 1 << fact
        return found


def choose_packing(task: Task) -> Packing:
    """Return how the states of `task` are packed."""
    variable_of = variables_of(task)
    return pack_variables(task, variable_of, find_emptied(_list_effects(task), variable_of))


def branch_space(space: Space) -> Space:
    """Return `space` with memory of its own for all that kernels write to: another thread may use it, too."""
    axioms, numbers = space.axioms, space.numbers
    return space._replace(
        axioms=axioms._replace(missing=axioms.missing[:], queue=axioms.queue[:]),
        numbers=numbers._replace(now=numbers.now[:], after=numbers.after[:]),
    )


def variables_of(task: Task) -> list[int]:
    """Return for each fact which variable it is a value of."""
    variable_of = [0] * len(task.facts)
    for variable, facts in enumerate(task.fields):
        for fact in facts:
            variable_of[fact] = variable
    return variable_of


def pack_variables(task: Task, variable_of: list[int], emptied: set[int]) -> Packing:
    """Return how the states of `task` are packed if actions may leave the variables `emptied` without a value."""
    variables = task.fields
    vague = emptied | _find_unset(task, variable_of)
    values = [((NOTHING, *facts) if number in vague else facts) for number, facts in enumerate(variables)]
    sites = fit_fields([max(1, (len(each) - 1).bit_length()) for each in values])
    places = [(0, 0, 0)] * len(task.facts)
    for (word, shift, width), facts in zip(sites, values, strict=True):
        for value, fact in enumerate(facts):
            if fact != NOTHING:
                places[fact] = (word, ((1 << width) - 1) << shift, value << shift)
    first, total = [], 0
    for facts in values:
        first.append(total)
        total += len(facts)
    coding = Coding(
        index(word for word, _, _ in sites),
        words(shift for _, shift, _ in sites),
        words((1 << width) - 1 for _, _, width in sites),
        index(first),
        index(fact for facts in values for fact in facts),
    )
    return Packing(max((word for word, _, _ in sites), default=0) + 1, coding, places, variable_of)


def find_emptied(effects: Iterable[tuple[tuple[int, ...], tuple[int, ...]]], variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts may hold after one of the `effects`, which add and delete facts."""
    found: set[int] = set()
    for adds, deletes in under_limits(effects):
        if deletes:
            found |= {variable_of[fact] for fact in deletes} - {variable_of[fact] for fact in adds}
    return found


def find_optional_variables(task: Task, variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts may hold, as far as initial state and actions tell."""
    return find_emptied(_list_effects(task), variable_of) | _find_unset(task, variable_of)


def _find_unset(task: Task, variable_of: list[int]) -> set[int]:
    """Return the variables none of whose facts holds initially."""
    return set(range(len(task.fields))) - {variable_of[fact] for fact in task.initial}


def _list_effects(task: Task) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [part for each in under_limits(task.actions) for part in _parts(each)]


def _parts(action: GroundAction) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(action.adds, action.deletes), *((effect.adds, effect.deletes) for effect in action.conditional)]


def fit_fields(widths: list[int]) -> list[tuple[int, int, int]]:
    """Return word, shift and width for fields of these widths: first fit, the widest first."""
    sites = [(0, 0, 0)] * len(widths)
    used: list[int] = []
    start: dict[int, int] = {}
    for number in sorted(range(len(widths)), key=lambda number: -widths[number]):
        width = widths[number]
        word = start.get(width, 0)
        while word < len(used) and used[word] + width > WORD_BITS:
            word += 1
        start[width] = word
        if word == len(used):
            used.append(0)
        sites[number] = (word, used[word], width)
        used[word] += width
    return sites


Test = list[tuple[int, int, int]]
"""Word, mask and bits."""
NEVER: Final = (0, 0, 1)
"""A test that no state passes."""


@dataclass(slots=True)
class Effects:
    """Collects conditional effects: the conditions and changes of each.

    Those of the actions so far begin `before` and have their `middle` (see `packed_states_kernel.Actions`).
    """

    conditions: list[Test] = field(default_factory=list)
    changes: list[Test] = field(default_factory=list)
    before: array[int] = field(default_factory=lambda: index([]))
    middle: array[int] = field(default_factory=lambda: index([]))

    def take(self, action: GroundAction, packing: Packing) -> Test:
        """Add the effects of `action` that depend on the state; return its unconditional assignments."""
        self.before.append(len(self.changes))
        own = _add_deletes(action, packing, self)
        self.middle.append(len(self.changes))
        for effect in action.conditional:
            if effect.adds:
                self.conditions.append(_make_test(effect.condition, packing))
                self.changes.append(_merge(packing.places[fact] for fact in effect.adds))
        return own

    def skip(self, actions: int) -> None:
        """Take so many `actions` without conditional effects."""
        for each in (self.before, self.middle):
            each.extend(index([len(self.changes)]) * actions)

    def space(self, task: Task, packing: Packing, own: Changes, tree: Tree, costs: Iterable[int]) -> Space:
        """Return the state space of `task`, whose actions have the assignments `own` and these `costs`."""
        self.before.append(len(self.changes))
        return Space(
            packing.coding,
            Actions(words(costs), self.before, self.middle),
            own,
            pack_tests(self.conditions),
            _pack_changes(self.changes),
            pack_conjunction(task.goal, packing),
            tree,
            _pack_axioms(task, packing),
            pack_conjunctions(task.conflicts, packing),
            NO_NUMBERS,
            NO_COMPARISONS,
        )


def pack_space(task: Task, packing: Packing, check: Callable[[], None] = never, *, searched: bool = True) -> Space:
    """Return the state space of `task`; `check` raises when a limit is reached meanwhile.

    Unless it is `searched` for applicable actions, its decision tree is hollow.
    """
    effects = Effects()
    own = [effects.take(action, packing) for action in check_regularly(task.actions, check)]
    tree = pack_tree(task, packing, check) if searched else make_hollow(Tree)
    check()
    return effects.space(task, packing, _pack_changes(own), tree, [action.cost for action in task.actions])


def pack_conjunction(facts: Iterable[int], packing: Packing) -> Conditions:
    """Return the condition that all `facts` hold."""
    return pack_conjunctions([facts], packing)


def pack_conjunctions(lists: Iterable[Iterable[int]], packing: Packing) -> Conditions:
    """Return the conditions that all facts of each list hold."""
    return pack_tests([_make_test(facts, packing) for facts in under_limits(lists)])


def pack_initial_state(task: Task, packing: Packing, space: Space) -> list[int]:
    """Return the words of the initial state, with its derived facts."""
    state = words(packing.pack(task.initial))
    if task.derived:
        derive_facts(space.axioms, space.coding, state, 0)
    return list(state)


def _add_deletes(action: GroundAction, packing: Packing, effects: Effects) -> Test:
    """Add the deletes of `action` that depend on the state; return its unconditional assignments."""
    places, variable_of = packing.places, packing.variable_of
    changed = [variable_of[fact] for fact in action.adds]
    cleared = []
    for fact in action.deletes:
        if variable_of[fact] not in changed:
            if fact in action.precondition:
                cleared.append(fact)
            else:
                _add_delete((fact,), fact, packing, effects)
    for effect in action.conditional:
        assigned = [variable_of[fact] for fact in effect.adds]
        for fact in effect.deletes:
            if variable_of[fact] not in assigned:
                _add_delete((*effect.condition, fact), fact, packing, effects)
    return _merge([*[places[fact] for fact in action.adds], *[_none_of(fact, packing) for fact in cleared]])


def _add_delete(condition: Iterable[int], fact: int, packing: Packing, effects: Effects) -> None:
    effects.conditions.append(_make_test(condition, packing))
    effects.changes.append([_none_of(fact, packing)])


def _none_of(fact: int, packing: Packing) -> tuple[int, int, int]:
    word, mask, _ = packing.places[fact]
    return word, mask, 0


def _make_test(facts: Iterable[int], packing: Packing) -> Test:
    """Return the test that all `facts` hold; `NEVER` passes if two of them exclude each other."""
    merged: dict[int, tuple[int, int, int]] = {}
    for fact in facts:
        place = word, mask, bits = packing.places[fact]
        known = merged.get(word)
        if known is None:
            merged[word] = place
        elif known[1] & mask and known[2] & mask != bits:
            return [NEVER]
        else:
            merged[word] = (word, known[1] | mask, known[2] | bits)
    return list(merged.values())


def _merge(places: Iterable[tuple[int, int, int]]) -> Test:
    """Return one mask and bits for each word."""
    merged: dict[int, tuple[int, int, int]] = {}
    for place in places:
        word, mask, bits = place
        known = merged.get(word)
        merged[word] = place if known is None else (word, known[1] | mask, known[2] | bits)
    return list(merged.values())


def pack_tests(tests: Sequence[Test]) -> Conditions:
    """Return these conjunctions as arrays."""
    starts, _ = flatten([[0] * len(test) for test in under_limits(tests)])
    return Conditions(
        starts,
        index(word for test in tests for word, _, _ in test),
        words(mask for test in tests for _, mask, _ in test),
        words(bits for test in tests for _, _, bits in test),
    )


def _pack_changes(tests: Sequence[Test]) -> Changes:
    start, word, mask, bits = pack_tests(tests)
    return Changes(start, word, words(~each for each in mask), bits)


def _pack_axioms(task: Task, packing: Packing) -> Axioms:
    rules = [rule for layer in task.axioms for rule in layer.rules]
    needed: list[list[int]] = [[] for _ in task.facts]
    for number, rule in enumerate(rules):
        for fact in set(rule.body):
            needed[fact].append(number)
    keep = [-1] * packing.words if rules or task.derived else []
    for fact in task.derived:
        keep[packing.places[fact][0]] &= ~packing.places[fact][1]
    pairs = [pair for layer in task.axioms for pair in layer.negated]
    starts, _ = flatten([[0] * len(layer.negated) for layer in task.axioms])
    return Axioms(
        index([len(task.derived)]),
        words(keep),
        index(rule.head for rule in rules),
        words(len(set(rule.body)) for rule in rules),
        *flatten(needed),
        starts,
        index(negated for negated, _ in pairs),
        index(derived for _, derived in pairs),
        index(word for word, _, _ in packing.places),
        words(bits for _, _, bits in packing.places),
        zeros(len(rules)),
        empty_index(len(task.facts) + 1),
    )


def pack_tree(task: Task, packing: Packing, check: Callable[[], None] = never) -> Tree:
    """Return the decision tree of the reference tier, which finds the actions of `task`, as arrays.

    `check` raises when a limit is reached meanwhile.
    """
    coding, values = packing.coding, _values_of(packing.coding, len(task.facts))
    nodes = build_decision_nodes(task, check)
    switches = [switch for _, node_switches in nodes for switch in node_switches]
    sizes = [end - first for first, end in pairwise([*coding.first, len(coding.fact)])]
    base = list(accumulate([sizes[variable] for variable, _ in switches], initial=0))
    child = empty_index(base[-1])
    for first, (_, children) in zip(base, switches, strict=False):
        for fact, node in children.items():
            child[first + values[fact]] = node
    action_start, actions = flatten([actions for actions, _ in nodes])
    return Tree(
        action_start,
        actions,
        index(accumulate([len(node_switches) for _, node_switches in nodes], initial=0)),
        index(coding.word[variable] for variable, _ in switches),
        words(coding.shift[variable] for variable, _ in switches),
        words(coding.mask[variable] for variable, _ in switches),
        index(base[:-1]),
        child,
    )


def _values_of(coding: Coding, facts: int) -> list[int]:
    """Return which value of its variable each fact is."""
    values = [0] * facts
    for first, end in pairwise([*coding.first, len(coding.fact)]):
        for place in range(first, end):
            if coding.fact[place] != NOTHING:
                values[coding.fact[place]] = place - first
    return values

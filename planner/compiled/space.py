"""The state space of a task as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from planner.budget import checked, never
from planner.compiled.arrays import empty_index, flat, hollow, index, words, zeros
from planner.compiled.packing import Packing
from planner.kernels.axioms import close
from planner.kernels.data import NOTHING, Actions, Axioms, Changes, Coding, Conditions, Space, Tree
from planner.records import dataclass, field
from planner.search.successors import decision_nodes
from planner.task import GroundAction, Task

Test = list[tuple[int, int, int]]
"""Word, mask and bits."""
NEVER: Final = (0, 0, 1)
"""A test that no state passes."""


@dataclass(slots=True)
class Effects:
    """Conditional effects as they are collected: conditions and changes of each.

    Those of the actions so far begin `before` and have their `middle` (see `planner.kernels.data.Actions`).
    """

    conditions: list[Test] = field(default_factory=list)
    changes: list[Test] = field(default_factory=list)
    before: array[int] = field(default_factory=lambda: index([]))
    middle: array[int] = field(default_factory=lambda: index([]))

    def take(self, action: GroundAction, packing: Packing) -> Test:
        """Add the effects of `action` that depend on what holds; return what it assigns whatever holds."""
        self.before.append(len(self.changes))
        own = _add_deletes(action, packing, self)
        self.middle.append(len(self.changes))
        for effect in action.conditional:
            if effect.adds:
                self.conditions.append(_test(effect.condition, packing))
                self.changes.append(_merged(packing.places[fact] for fact in effect.adds))
        return own

    def skip(self, actions: int) -> None:
        """Go on after so many actions that have none."""
        for each in (self.before, self.middle):
            each.extend(index([len(self.changes)]) * actions)

    def space(self, task: Task, packing: Packing, own: Changes, tree: Tree, costs: Iterable[int]) -> Space:
        """Return the state space of `task`, whose actions have what they assign as `own`, and these `costs`."""
        self.before.append(len(self.changes))
        return Space(
            packing.coding,
            Actions(words(costs), self.before, self.middle),
            own,
            conditions(self.conditions),
            _changes(self.changes),
            conjunction(task.goal, packing),
            tree,
            _axioms(task, packing),
            conjunctions(task.conflicts, packing),
        )


def packed_space(task: Task, packing: Packing, check: Callable[[], None] = never, *, searched: bool = True) -> Space:
    """Return the state space of `task`; `check` raises when a limit is reached meanwhile.

    Unless it is `searched` for the actions that can be applied in a state, its decision tree is a hollow one.
    """
    effects = Effects()
    own = [effects.take(action, packing) for action in checked(task.actions, check)]
    tree = packed_tree(task, packing, check) if searched else hollow(Tree)
    check()
    return effects.space(task, packing, _changes(own), tree, [action.cost for action in task.actions])


def conjunction(facts: Iterable[int], packing: Packing) -> Conditions:
    """Return the condition that all `facts` hold."""
    return conjunctions([facts], packing)


def conjunctions(lists: Iterable[Iterable[int]], packing: Packing) -> Conditions:
    """Return the conditions that all facts of each list hold."""
    return conditions([_test(facts, packing) for facts in lists])


def first_state(task: Task, packing: Packing, space: Space) -> list[int]:
    """Return the words of the initial state, with what is derived in it."""
    state = words(packing.pack(task.initial))
    if task.derived:
        close(space.axioms, space.coding, state, 0)
    return list(state)


def _add_deletes(action: GroundAction, packing: Packing, effects: Effects) -> Test:
    """Add the effects that depend on what holds and delete; return what `action` assigns whatever holds."""
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
    return _merged([*[places[fact] for fact in action.adds], *[_none(fact, packing) for fact in cleared]])


def _add_delete(condition: Iterable[int], fact: int, packing: Packing, effects: Effects) -> None:
    effects.conditions.append(_test(condition, packing))
    effects.changes.append([_none(fact, packing)])


def _none(fact: int, packing: Packing) -> tuple[int, int, int]:
    word, mask, _ = packing.places[fact]
    return word, mask, 0


def _test(facts: Iterable[int], packing: Packing) -> Test:
    """Return what holds where all `facts` do: never, if two of them exclude each other."""
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


def _merged(places: Iterable[tuple[int, int, int]]) -> Test:
    """Return one mask and bits for each word."""
    merged: dict[int, tuple[int, int, int]] = {}
    for place in places:
        word, mask, bits = place
        known = merged.get(word)
        merged[word] = place if known is None else (word, known[1] | mask, known[2] | bits)
    return list(merged.values())


def conditions(tests: Sequence[Test]) -> Conditions:
    """Return these conjunctions as arrays."""
    starts, _ = flat([[0] * len(test) for test in tests])
    return Conditions(
        starts,
        index(word for test in tests for word, _, _ in test),
        words(mask for test in tests for _, mask, _ in test),
        words(bits for test in tests for _, _, bits in test),
    )


def _changes(tests: Sequence[Test]) -> Changes:
    starts, _ = flat([[0] * len(test) for test in tests])
    return Changes(
        starts,
        index(word for test in tests for word, _, _ in test),
        words(~mask for test in tests for _, mask, _ in test),
        words(bits for test in tests for _, _, bits in test),
    )


def _axioms(task: Task, packing: Packing) -> Axioms:
    rules = [rule for layer in task.axioms for rule in layer.rules]
    needed: list[list[int]] = [[] for _ in task.facts]
    for number, rule in enumerate(rules):
        for fact in set(rule.body):
            needed[fact].append(number)
    keep = [-1] * packing.words if rules or task.derived else []
    for fact in task.derived:
        keep[packing.places[fact][0]] &= ~packing.places[fact][1]
    pairs = [pair for layer in task.axioms for pair in layer.negated]
    starts, _ = flat([[0] * len(layer.negated) for layer in task.axioms])
    return Axioms(
        index([len(task.derived)]),
        words(keep),
        index(rule.head for rule in rules),
        words(len(set(rule.body)) for rule in rules),
        *flat(needed),
        starts,
        index(negated for negated, _ in pairs),
        index(derived for _, derived in pairs),
        index(word for word, _, _ in packing.places),
        words(bits for _, _, bits in packing.places),
        zeros(len(rules)),
        empty_index(len(task.facts) + 1),
    )


def packed_tree(task: Task, packing: Packing, check: Callable[[], None] = never) -> Tree:
    """Return the decision tree of the reference tier, which finds the actions of `task`, as arrays.

    `check` raises when a limit is reached meanwhile.
    """
    coding, values = packing.coding, _values(packing.coding, len(task.facts))
    nodes = decision_nodes(task, check)
    switches = [switch for _, node_switches in nodes for switch in node_switches]
    sizes = [end - first for first, end in pairwise([*coding.first, len(coding.fact)])]
    base = list(accumulate([sizes[variable] for variable, _ in switches], initial=0))
    child = empty_index(base[-1])
    for first, (_, children) in zip(base, switches, strict=False):
        for fact, node in children.items():
            child[first + values[fact]] = node
    action_start, actions = flat([actions for actions, _ in nodes])
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


def _values(coding: Coding, facts: int) -> list[int]:
    """Return which value of its variable each fact is."""
    values = [0] * facts
    for first, end in pairwise([*coding.first, len(coding.fact)]):
        for place in range(first, end):
            if coding.fact[place] != NOTHING:
                values[coding.fact[place]] = place - first
    return values

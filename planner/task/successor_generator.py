"""Successor generation: the initial state, the goal, and the successors of a state.

A search uses only this interface of the state space. States hold base facts only, so that equal states are equal
numbers; derived facts are computed for conditions that may read them. A decision tree over variables generates the
applicable actions without a test of each (Helmert, 2006). A node holds the actions whose preconditions were all tested
on the way to it. Its switches lead by the value of a variable to the actions that need this value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property

from planner.lightweight import Final
from planner.limits import check_regularly, look, never, under_limits
from planner.task.ground_task import Closure, State, Task, bits, facts_of

SMALL: Final = 24
"""Up to this number of actions, trying all is faster than building and walking a tree."""

Applicable = Callable[[State], list[int]]
Node = tuple[list[int], list[tuple[State, dict[State, "Node"]]]]
"""The actions applicable at the node, and its switches: (mask of the variable, child by the fact that holds)."""
NumberedNode = tuple[list[int], list[tuple[int, dict[int, int]]]]
"""A node by numbers: the actions, and the switches: (variable, number of the child by the fact that holds)."""


def make_finder(task: Task) -> Applicable:
    """Return a function that finds the applicable actions: a tester for small tasks, else a decision tree."""
    return make_tester(task) if len(task.actions) <= SMALL else make_decision_tree(task)


def make_tester(task: Task) -> Applicable:
    """Return a function that tests every action: the obvious twin of the decision tree."""
    preconditions = [(number, bits(action.precondition)) for number, action in enumerate(under_limits(task.actions))]

    def applicable(state: State) -> list[int]:
        missing = ~state
        return [number for number, precondition in preconditions if not precondition & missing]

    return applicable


def make_decision_tree(task: Task) -> Applicable:
    """Return a function that walks a decision tree."""
    masks = [bits(facts) for facts in task.fields]
    numbered = build_decision_nodes(task, look)
    nodes: list[Node] = [(actions, []) for actions, _ in numbered]
    for (_, switches), (_, by_number) in under_limits(zip(nodes, numbered, strict=True)):
        for variable, children in by_number:
            switches.append((masks[variable], {1 << fact: nodes[child] for fact, child in children.items()}))
    root = nodes[0]

    def applicable(state: State) -> list[int]:
        found: list[int] = []
        nodes = [root]
        for actions, switches in nodes:  # `nodes` grows while we walk it
            found += actions
            for mask, children in switches:
                value = state & mask
                if value in children:
                    nodes.append(children[value])
        return found

    return applicable


def build_decision_nodes(task: Task, check: Callable[[], None] = never) -> list[NumberedNode]:
    """Build the nodes of the tree, the root first: each is the actions, and switches (variable, child by fact).

    Variables that many preconditions mention come first, since they share most tests (measured on competition tasks).
    Derived facts are variables of their own, after the task's. `check` raises when a limit is reached.
    """
    fields, facts = task.fields, len(task.facts)
    uses = Counter([fact for action in under_limits(task.actions) for fact in action.precondition])
    ranked = sorted(range(len(fields)), key=lambda variable: -sum([uses[fact] for fact in fields[variable]]))
    test_for = [0] * facts
    for rank, variable in enumerate(ranked):
        for fact in fields[variable]:
            test_for[fact] = rank * facts + fact
    leaves: list[list[int]] = [[]]
    below: list[dict[int, int]] = [{}]
    for number, action in enumerate(check_regularly(task.actions, check)):
        node = 0
        for test in sorted([test_for[fact] for fact in action.precondition]):
            children = below[node]
            node = children.get(test, 0)
            if not node:
                node = children[test] = len(below)
                below.append({})
                leaves.append([])
        leaves[node].append(number)
    return [
        (actions, _group_switches(children, ranked, facts) if children else [])
        for actions, children in under_limits(zip(leaves, below, strict=True))
    ]


def _group_switches(children: dict[int, int], ranked: list[int], facts: int) -> list[tuple[int, dict[int, int]]]:
    """Group the children of a node, by test, into switches."""
    by_rank: dict[int, dict[int, int]] = {}
    for test, child in children.items():
        by_rank.setdefault(test // facts, {})[test % facts] = child
    return [(ranked[rank], by_fact) for rank, by_fact in by_rank.items()]


Conditional = tuple[State, State, State]
"""An effect as bits: its condition, the facts that it adds, and the facts that it keeps (all but its deletes)."""
Effects = tuple[State, State, State]
"""The kept facts, the added facts, and the conditions of the triggered effects."""


class Space:
    """The state space of `task`; `costs` are the costs of its actions, by number."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.initial = bits(task.initial)
        self.costs = [action.cost for action in task.actions]
        self.goal = bits(task.goal)
        self.close: Callable[[State], State] | None = Closure(task) if task.has_axioms else None
        """Adds the derived facts to a state; None for tasks without axioms."""
        self._conflicts = _rows_of(task.conflicts)
        self._conflicting = bits(self._conflicts)
        self._added = [bits(action.adds) for action in under_limits(task.actions)]
        self._kept = [~bits(action.deletes) for action in under_limits(task.actions)]
        self._conditional: dict[int, list[Conditional]] = {
            number: [
                (bits(effect.condition), bits(effect.adds), ~bits(effect.deletes)) for effect in action.conditional
            ]
            for number, action in enumerate(under_limits(task.actions))
            if action.conditional
        }

    @cached_property
    def applicable(self) -> Applicable:
        """The function that returns the numbers of the actions whose preconditions hold in a (closed) state."""
        return make_finder(self.task)

    @cached_property
    def preconditions(self) -> list[State]:
        """The preconditions of the actions as bits, by number."""
        return [bits(action.precondition) for action in under_limits(self.task.actions)]

    def closed(self, state: State) -> State:
        """Return `state` with its derived facts."""
        return state if self.close is None else self.close(state)

    def cost_of(self, plan: Iterable[int]) -> int:
        """Return the cost of `plan`."""
        return sum([self.costs[action] for action in plan])

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return not self.goal & ~self.closed(state)

    def actions_in(self, state: State) -> list[int]:
        """Return the numbers of the actions applicable in `state`."""
        return self.applicable(self.closed(state))

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(action, next state)` for every applicable action, except into states with conflicting facts."""
        full = self.closed(state)
        if self._conditional:
            found = [(action, self._apply(action, state, full)) for action in self.applicable(full)]
        else:
            added, kept = self._added, self._kept
            found = [(action, state & kept[action] | added[action]) for action in self.applicable(full)]
        return [each for each in found if not self._is_useless(each[1])] if self._conflicts else found

    def _is_useless(self, state: State) -> bool:
        """Return whether two conflicting facts show that no plan passes through `state`."""
        return any(state & self._conflicts[fact] for fact in facts_of(state & self._conflicting))

    def apply(self, action: int, state: State) -> State:
        """Return the state after `action`, applicable or not."""
        if action not in self._conditional:
            return state & self._kept[action] | self._added[action]
        return self._apply(action, state, self.closed(state))

    def _apply(self, action: int, state: State, full: State) -> State:
        kept, added, _ = self.effects(action, full)
        return state & kept | added

    def effects(self, action: int, full: State) -> Effects:
        """Return what `action` keeps and adds in the closed state `full`, and the conditions of its triggered effects.

        All triggered deletes come first, then all triggered adds: adding wins.
        """
        kept, added, conditions = self._kept[action], self._added[action], 0
        for condition, adds, keeps in self._conditional.get(action, ()):
            if not condition & ~full:
                kept &= keeps
                added |= adds
                conditions |= condition
        return kept, added, conditions


def _rows_of(pairs: Iterable[tuple[int, int]]) -> dict[int, State]:
    """Group the second facts of `pairs` by the first."""
    rows: dict[int, State] = {}
    for one, other in pairs:
        rows[one] = rows.get(one, 0) | 1 << other
    return rows

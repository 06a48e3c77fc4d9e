"""Which actions can be applied in a state, without trying all of them.

A decision tree over variables: each node holds the actions whose preconditions have all been tested on the way to it,
and switches; a switch looks up which fact of its variable holds and leads to the actions that need that fact
(Helmert, 2006). Actions that do not mention a variable are not under its switch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from planner.annotations import Final
from planner.task import State, Task, bits

SMALL: Final = 24
"""Up to so many actions, trying all is faster than making and walking a tree."""

Applicable = Callable[[State], list[int]]
Node = tuple[list[int], list[tuple[State, dict[State, "Node"]]]]
"""The actions that are applicable once here, and the switches: (mask of the variable, node by the fact that holds)."""
NumberedNode = tuple[list[int], list[tuple[int, dict[int, int]]]]
"""The same by numbers: the actions, and the switches: (variable, number of the node by the fact that holds)."""
Test = tuple[list[tuple[int, int, int]], int]
"""What to test for an action, in order: (rank and number of the variable, the fact); and the action."""


def applicable_finder(task: Task) -> Applicable:
    """Return the function that finds the applicable actions, by whichever way suits the size of `task`."""
    return try_all(task) if len(task.actions) <= SMALL else decision_tree(task)


def try_all(task: Task) -> Applicable:
    """Return a function that tests every action: the obvious twin of `decision_tree`."""
    preconditions = [(number, bits(action.precondition)) for number, action in enumerate(task.actions)]

    def applicable(state: State) -> list[int]:
        missing = ~state
        return [number for number, precondition in preconditions if not precondition & missing]

    return applicable


def decision_tree(task: Task) -> Applicable:
    """Return a function that walks a decision tree."""
    masks = [bits(facts) for facts in task.fields]
    numbered = decision_nodes(task)
    nodes: list[Node] = [(actions, []) for actions, _ in numbered]
    for (_, switches), (_, by_number) in zip(nodes, numbered, strict=True):
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


def decision_nodes(task: Task) -> list[NumberedNode]:
    """Return the nodes of the tree, the root first: each is the actions, and switches (variable, node by fact).

    Variables that many preconditions mention come first: they share most tests (measured on competition tasks).
    Derived facts are variables of their own, after the task's.
    """
    variable_of = {fact: variable for variable, facts in enumerate(task.fields) for fact in facts}
    uses = Counter(variable_of[fact] for action in task.actions for fact in action.precondition)
    tests = [
        (sorted([(-uses[variable_of[fact]], variable_of[fact], fact) for fact in action.precondition]), number)
        for number, action in enumerate(task.actions)
    ]
    nodes: list[NumberedNode] = [([], [])]
    waiting = [(tests, 0, 0)]
    while waiting:
        here, depth, node = waiting.pop()
        done, switches = nodes[node]
        groups: dict[int, dict[int, list[Test]]] = {}
        for test in here:
            conditions, number = test
            if len(conditions) == depth:
                done.append(number)
            else:
                _, variable, fact = conditions[depth]
                groups.setdefault(variable, {}).setdefault(fact, []).append(test)
        for variable, by_fact in groups.items():
            children: dict[int, int] = {}
            for fact, below in by_fact.items():
                children[fact] = len(nodes)
                waiting.append((below, depth + 1, len(nodes)))
                nodes.append(([], []))
            switches.append((variable, children))
    return nodes

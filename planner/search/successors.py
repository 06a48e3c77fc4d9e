"""Which actions can be applied in a state, without trying all of them.

A decision tree over variables: each node holds the actions whose preconditions have all been tested on the way to it,
and switches; a switch looks up which fact of its variable holds and leads to the actions that need that fact
(Helmert, 2006). Actions that do not mention a variable are not under its switch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from planner.annotations import Final
from planner.budget import checked, never
from planner.task import State, Task, bits

SMALL: Final = 24
"""Up to so many actions, trying all is faster than making and walking a tree."""

Applicable = Callable[[State], list[int]]
Node = tuple[list[int], list[tuple[State, dict[State, "Node"]]]]
"""The actions that are applicable once here, and the switches: (mask of the variable, node by the fact that holds)."""
NumberedNode = tuple[list[int], list[tuple[int, dict[int, int]]]]
"""The same by numbers: the actions, and the switches: (variable, number of the node by the fact that holds)."""


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


def decision_nodes(task: Task, check: Callable[[], None] = never) -> list[NumberedNode]:
    """Return the nodes of the tree, the root first: each is the actions, and switches (variable, node by fact).

    Variables that many preconditions mention come first: they share most tests (measured on competition tasks).
    Derived facts are variables of their own, after the task's. `check` raises when a limit is reached meanwhile.
    """
    fields, facts = task.fields, len(task.facts)
    uses = Counter([fact for action in task.actions for fact in action.precondition])
    ranked = sorted(range(len(fields)), key=lambda variable: -sum([uses[fact] for fact in fields[variable]]))
    test_for = [0] * facts
    for rank, variable in enumerate(ranked):
        for fact in fields[variable]:
            test_for[fact] = rank * facts + fact
    leaves: list[list[int]] = [[]]
    below: list[dict[int, int]] = [{}]
    for number, action in enumerate(checked(task.actions, check)):
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
        (actions, _switches(children, ranked, facts) if children else [])
        for actions, children in zip(leaves, below, strict=True)
    ]


def _switches(children: dict[int, int], ranked: list[int], facts: int) -> list[tuple[int, dict[int, int]]]:
    """Return the children of a node, by test, as switches."""
    by_rank: dict[int, dict[int, int]] = {}
    for test, child in children.items():
        by_rank.setdefault(test // facts, {})[test % facts] = child
    return [(ranked[rank], by_fact) for rank, by_fact in by_rank.items()]

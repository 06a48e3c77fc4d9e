"""The tree of a Monte-Carlo search and its transposition table, as lists by the number of a node.

A state has one number and is in a tree once, so nodes are states. The table outlives the trees.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.annotations import Final
from planner.records import dataclass, field
from planner.task import INFINITY, State

ROOT: Final = 0
NO_NODE: Final = -1
"""No parent, no child, no sibling, no action."""


@dataclass(frozen=True, slots=True)
class Table:
    """The transposition table: what is known of the N states that were reached, whatever tree they are in.

    The number of a state is that of its node; the initial state is `ROOT`.
    """

    number: dict[State, int] = field(default_factory=dict)
    state: list[State] = field(default_factory=list)
    """[N]"""
    estimate: list[int] = field(default_factory=list)
    """[N] What it costs to reach the goal, as estimated; `DEAD_END` where that is impossible."""
    actions: list[list[int]] = field(default_factory=list)
    """[N] Those that can be applied, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class SearchTree:
    """A tree over N states; those that are not in it yet cost `INFINITY`."""

    parent: list[int]
    """[N] `NO_NODE` for the root."""
    action: list[int]
    """[N] What leads here from the parent."""
    cost: list[int]
    """[N] Of the way from the root."""
    value: list[int]
    """[N] What the way on to the goal costs, as estimated by now."""
    visits: list[int]
    """[N] Simulations that came by, and one for the node itself."""
    tried: list[int]
    """[N] How many of the actions were tried."""
    settled: list[bool]
    """[N] Whether no plan through here can be better than the best one."""
    child: list[int]
    """[N] The latest child, or `NO_NODE`."""
    sibling: list[int]
    """[N] The child of the same parent that came before, or `NO_NODE`."""

    def grow(self) -> None:
        """Add a node that is not reached yet."""
        for each in (self.parent, self.action, self.child, self.sibling):
            each.append(NO_NODE)
        for each in (self.value, self.visits, self.tried):
            each.append(0)
        self.cost.append(INFINITY)
        self.settled.append(False)

    def children(self, node: int) -> Iterator[int]:
        """Go through the children of `node`, the latest first."""
        child = self.child[node]
        while child != NO_NODE:
            yield child
            child = self.sibling[child]

    def link(self, child: int, parent: int) -> None:
        """Make `child` the latest one of `parent`, and of nobody else."""
        before = self.parent[child]
        if before != NO_NODE:
            self._unlink(child, before)
        self.parent[child] = parent
        self.sibling[child] = self.child[parent]
        self.child[parent] = child

    def _unlink(self, child: int, parent: int) -> None:
        if self.child[parent] == child:
            self.child[parent] = self.sibling[child]
            return
        for other in self.children(parent):
            if self.sibling[other] == child:
                self.sibling[other] = self.sibling[child]
                return


def new_tree(nodes: int) -> SearchTree:
    """Return a tree over so many states, none of which is in it."""
    tree = SearchTree([], [], [], [], [], [], [], [], [])
    for _ in range(nodes):
        tree.grow()
    return tree

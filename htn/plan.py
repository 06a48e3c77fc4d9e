"""A hierarchical plan: the steps, and the decomposition that justifies them."""

from __future__ import annotations

from collections.abc import Iterator

from planner.annotations import Any
from planner.model import Atom
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One task of a decomposition.

    An action is `step`, its number in the plan from 0; a compound task was done by `method`, with its `children` in the
    order of the method's subtasks. `binding` are the objects that the method's parameters stand for, in their order.
    """

    task: Atom
    step: int | None = None
    method: str = ""
    binding: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, from above and from the left."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as JSON-ready data, without recursion: `{"nodes": [...]}` would hide its shape."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What became of the initial network: `roots` are its tasks in their order, `binding` its parameters' objects."""

    roots: tuple[Node, ...]
    binding: tuple[str, ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes, from above and from the left."""
        for root in self.roots:
            yield from root.walk()

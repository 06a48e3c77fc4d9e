"""A hierarchical plan: the steps, and the decomposition that justifies them."""

from __future__ import annotations

from planner.lightweight import Any, dataclass
from planner.model import Atom


@dataclass(frozen=True, slots=True)
class Node:
    """One task of a decomposition.

    An action is `step`, its place in the plan from 0; a compound task was done by `method`, with its `children` (places
    in `Decomposition.nodes`) in the order of the method's subtasks. `binding` are the objects that the method's
    parameters stand for, in their order.
    """

    task: Atom
    step: int | None = None
    method: str = ""
    binding: tuple[str, ...] = ()
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What became of the initial network: a forest, flat, as it may be thousands of levels deep.

    `roots` are the tasks of the network in their order, as places in `nodes`; `binding` are the objects that the
    problem's parameters stand for.
    """

    nodes: tuple[Node, ...]
    roots: tuple[int, ...]
    binding: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the forest as JSON-ready data; numbers of nodes are places in `nodes`."""
        return {"roots": list(self.roots), "binding": list(self.binding), "nodes": [_node(each) for each in self.nodes]}


def _node(node: Node) -> dict[str, Any]:
    task = {"task": node.task.predicate, "arguments": list(node.task.args)}
    if node.step is not None:
        return {**task, "step": node.step}
    return {**task, "method": node.method, "binding": list(node.binding), "children": list(node.children)}

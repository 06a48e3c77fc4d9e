"""The decomposition of a plan that goes on otherwise: new subtrees in the place of old ones."""

from __future__ import annotations

from collections.abc import Collection

from htn.plan import Decomposition, Node
from htn.repair.rest import Rest
from planner.records import replace


def grafted(old: Decomposition, rest: Rest, anew: Collection[int], new: Decomposition, size: int) -> Decomposition:
    """Return `old` with the subtrees of the tasks `anew`, and the numbers of all steps left, taken from `new`.

    `new` is the decomposition of a plan of `rest`; its steps are numbered after the `size` steps of the old plan.
    """
    offset = len(old.nodes)
    nodes = [*old.nodes, *(_moved(node, offset, size) for node in new.nodes)]
    for place, root in zip(rest.places, new.roots, strict=True):
        if place in anew or old.nodes[place].step is not None:
            nodes[place] = nodes[offset + root]
    whole = Decomposition(tuple(nodes), old.roots, new.binding or old.binding)
    return _without_rest(whole)


def _moved(node: Node, offset: int, size: int) -> Node:
    if node.step is not None:
        return replace(node, step=node.step + size)
    return replace(node, children=tuple([child + offset for child in node.children]))


def _without_rest(tree: Decomposition) -> Decomposition:
    """Return `tree` without the nodes that are below no root."""
    kept, stack = list[int](), [*reversed(tree.roots)]
    while stack:
        place = stack.pop()
        kept.append(place)
        stack += reversed(tree.nodes[place].children)
    number = {place: new for new, place in enumerate(kept)}
    nodes = [
        replace(tree.nodes[each], children=tuple([number[child] for child in tree.nodes[each].children]))
        for each in kept
    ]
    return Decomposition(tuple(nodes), tuple([number[each] for each in tree.roots]), tree.binding)

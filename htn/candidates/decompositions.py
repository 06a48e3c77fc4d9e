"""How the tasks come to certain steps."""

from __future__ import annotations

from collections.abc import Sequence

from htn.candidates.subsets import Subsets
from planner.annotations import Final

Layer = dict[int, tuple[int, int]]
"""Nodes after so many steps, each with the node before it and the edge from there."""
NONE: Final = (-1, -1)
"""Instead of these, where it begins."""


def moves_of(part: Subsets, plan: Sequence[int]) -> list[int]:
    """Return the moves (see `htn.search.trees`) of a decomposition that comes to the steps of `plan`, one in `part`."""
    layers = [_closed(part, {part.within.start: NONE})]
    for action in plan:
        begun: Layer = {}
        for node in layers[-1]:
            for done, edge, child in part.steps(node):
                if done == action:
                    begun.setdefault(child, (node, edge))
        layers.append(_closed(part, begun))
    node = next(node for node in layers[-1] if node in part.within.goals)
    edges: list[int] = []
    for layer in reversed(layers):
        while layer[node] != NONE:
            node, edge = layer[node]
            edges.append(edge)
            if part.by.action(edge) is not None:
                break
    return [part.by.move(edge) for edge in reversed(edges)]


def _closed(part: Subsets, layer: Layer) -> Layer:
    """Return `layer` with all that decompositions lead to."""
    waiting = [*layer]
    for node in waiting:
        for edge, child in part.decomposed(node):
            if child not in layer:
                layer[child] = node, edge
                waiting.append(child)
    return layer

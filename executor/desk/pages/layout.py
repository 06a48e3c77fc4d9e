"""Layered drawings of directed graphs (Sugiyama, Tagawa and Toda, 1981).

Each node stands one layer behind the last node that it follows, or later where that shortens more edges. Sweeps sort
layers by the mean of their neighbours and move nodes towards it, as far as the nodes beside them allow. An edge over
few layers takes a place in each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

BEND_SPAN: Final = 6
"""Most layers over which an edge takes a place in each layer; longer ones go straight."""
SWEEPS: Final = 6
"""Sweeps over all layers, forwards and backwards in turn; further ones change little in plans of 20 to 2,000 steps."""
NARROW: Final = 0.45
"""Height of the place of an edge, in heights of a node."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The `layers` and `heights` of nodes, and the bends of edges as points (layer, height), by edge."""

    layers: tuple[int, ...]
    heights: tuple[float, ...]
    bends: dict[tuple[int, int], tuple[tuple[int, float], ...]]


def lay_out(size: int, edges: Iterable[tuple[int, int]], layers: Sequence[int] | None = None) -> Layout:
    """Lay out nodes 0 … `size` - 1; `edges` form no cycle. Where `layers` are given, nodes keep to them."""
    edges = list(dict.fromkeys(edges))
    layers = pull_late(longest_paths(size, edges), edges) if layers is None else layers
    grid = _Grid(size, list(layers))
    for source, target in edges:
        grid.connect(source, target)
    grid.sweep()
    bends = {edge: tuple([(grid.layer[each], round(grid.y[each], 2)) for each in grid.bends[edge]]) for edge in edges}
    return Layout(tuple(layers), tuple([round(each, 2) for each in grid.y[:size]]), bends)


def longest_paths(size: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each node the length of the longest path to it."""
    following: list[list[int]] = [[] for _ in range(size)]
    waits_for = [0] * size
    for source, target in edges:
        following[source].append(target)
        waits_for[target] += 1
    layers = [0] * size
    ready = [node for node in range(size) if not waits_for[node]]
    for node in ready:
        for target in following[node]:
            layers[target] = max(layers[target], layers[node] + 1)
            waits_for[target] -= 1
            if not waits_for[target]:
                ready.append(target)
    return layers


def pull_late(layers: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return `layers` with each node as late as its followers allow, if it has more edges out than in."""
    following: dict[int, list[int]] = {}
    balance = [0] * len(layers)
    for source, target in edges:
        following.setdefault(source, []).append(target)
        balance[source] += 1
        balance[target] -= 1
    late = list(layers)
    for node in sorted(range(len(layers)), key=lambda each: -layers[each]):
        if balance[node] > 0:
            late[node] = min([late[target] for target in following[node]]) - 1
    return late


class _Grid:
    """Nodes, and the places that edges take, in layers; `y` is around 0."""

    def __init__(self, size: int, layers: list[int]) -> None:
        self.layer = layers
        self.y = [0.0] * size
        self.bends: dict[tuple[int, int], list[int]] = {}
        self._height = [1.0] * size
        self._before: list[list[int]] = [[] for _ in range(size)]
        self._after: list[list[int]] = [[] for _ in range(size)]

    def connect(self, source: int, target: int) -> None:
        """Add an edge, with a place in each layer that it crosses if these are few."""
        span = self.layer[target] - self.layer[source]
        crossed = range(self.layer[source] + 1, self.layer[target]) if span <= BEND_SPAN else range(0)
        self.bends[source, target] = [self._add_place(layer) for layer in crossed]
        chain = [source, *self.bends[source, target], target]
        for one, other in pairwise(chain):
            self._after[one].append(other)
            self._before[other].append(one)

    def _add_place(self, layer: int) -> int:
        self.layer.append(layer)
        self.y.append(0.0)
        self._height.append(NARROW)
        self._before.append([])
        self._after.append([])
        return len(self.layer) - 1

    def sweep(self) -> None:
        """Order the nodes of each layer, and give them their heights."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for node, layer in enumerate(self.layer):
            rows[layer].append(node)
        for row in rows:
            self._place(row, [float(place) for place in range(len(row))])
        for number in range(SWEEPS):
            forwards = number % 2 == 0
            near = self._before if forwards else self._after
            for row in rows if forwards else reversed(rows):
                wanted = {node: self._mean(near[node], self.y[node]) for node in row}
                row.sort(key=lambda node, wanted=wanted: wanted[node])  # type: ignore[misc]
                self._place(row, [wanted[node] for node in row])

    def _mean(self, nodes: Sequence[int], default: float) -> float:
        return sum([self.y[node] for node in nodes]) / len(nodes) if nodes else default

    def _place(self, row: Sequence[int], wanted: Sequence[float]) -> None:
        """Move the nodes of `row` to the heights next to those `wanted` that keep their order and distances."""
        offsets, total = [], 0.0
        for one, other in zip(row, [*row[1:], None], strict=True):
            offsets.append(total)
            total += (self._height[one] + (self._height[other] if other is not None else 0.0)) / 2
        fitted = fit_increasing([want - offset for want, offset in zip(wanted, offsets, strict=True)])
        for node, base, offset in zip(row, fitted, offsets, strict=True):
            self.y[node] = base + offset


def fit_increasing(values: Sequence[float]) -> list[float]:
    """Return the numbers in non-decreasing order that are next to `values` in the sum of squares.

    The algorithm pools adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman, 1955).
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, size = pools.pop()
            total, count = total + before, count + size
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]

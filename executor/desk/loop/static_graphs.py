"""Graphs that grow: more nodes, and what holds of a graph holds of the grown one.

Known are complete graphs, chains, rings, strict orders, forests of one root, acyclic, symmetric, connected and strongly
connected graphs; the mean degree stays about the same, and so does the greatest one where that leaves a choice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import networkx as nx

DRAWS: Final = 50
"""How often an edge is drawn before a graph stays with fewer edges."""

Edge = tuple[str, str]


def is_acyclic(edges: Iterable[Edge]) -> bool:
    """Return whether the directed graph of `edges` has no cycle."""
    return bool(nx.is_directed_acyclic_graph(nx.DiGraph(list(edges))))


def grow_graph(edges: Sequence[Edge], old: Sequence[str], new: Sequence[str], draw: random.Random) -> list[Edge]:
    """Return edges between the nodes `new` that are structured as `edges` are between the nodes `old`."""
    graph = nx.DiGraph()
    graph.add_nodes_from(old)
    graph.add_edges_from(edge for edge in edges if edge[0] != edge[1])
    loops = [(node, node) for node in new] if len(edges) - graph.number_of_edges() == len(old) else []
    count = round(graph.number_of_edges() * len(new) / len(old))
    return loops + _grow_simple(graph, list(new), count, draw)


def _grow_simple(graph: nx.DiGraph, new: list[str], count: int, draw: random.Random) -> list[Edge]:
    """Grow a graph without loops to about `count` edges."""
    size, edges = graph.number_of_nodes(), graph.number_of_edges()
    if size > 2 and edges == size * (size - 1):
        return [(one, other) for one in new for other in new if one != other]
    if nx.is_directed_acyclic_graph(graph):
        return _grow_acyclic(graph, new, count, draw)
    if all(graph.has_edge(other, one) for one, other in graph.edges):
        return _grow_symmetric(graph, new, count, draw)
    if edges == size and nx.is_strongly_connected(graph):
        return list(zip(new, [*new[1:], new[0]], strict=True))
    found = _draw_ring(new, draw) if nx.is_strongly_connected(graph) else []
    if not found and nx.is_weakly_connected(graph):
        pairs = _draw_tree(new, len(new), draw)
        found = [(one, other) if draw.random() < 0.5 else (other, one) for one, other in pairs]
    return _add_edges(found, new, count, draw)


def _grow_acyclic(graph: nx.DiGraph, new: list[str], count: int, draw: random.Random) -> list[Edge]:
    """Grow an acyclic graph: a chain, a strict order, a forest, or any other; old nodes keep their order."""
    size, edges = graph.number_of_nodes(), graph.number_of_edges()
    kept = [node for node in nx.lexicographical_topological_sort(graph, list(graph).index) if node in new]
    order = kept + [node for node in new if node not in kept]
    most_in = max((degree for _, degree in graph.in_degree()), default=0)
    most_out = max((degree for _, degree in graph.out_degree()), default=0)
    if size > 1 and edges == size - 1 and most_in == most_out == 1 and nx.is_weakly_connected(graph):
        return list(pairwise(order))
    if size > 2 and edges == size * (size - 1) // 2:
        return [(one, other) for place, one in enumerate(order) for other in order[place + 1 :]]
    if edges == 0:
        return []
    draw.shuffle(order)
    found = _draw_tree(order, most_out, draw) if nx.is_weakly_connected(graph) else []
    if most_in == 1 and found:
        return found
    if most_out == 1 and found:
        return [(other, one) for one, other in _draw_tree(order[::-1], most_in, draw)]
    rank = {node: place for place, node in enumerate(order)}
    return _add_edges(found, new, count, draw, rank)


def _grow_symmetric(graph: nx.DiGraph, new: list[str], count: int, draw: random.Random) -> list[Edge]:
    most = max(degree for _, degree in graph.out_degree())
    found = _draw_tree(new, most, draw, shuffled=True) if nx.is_weakly_connected(graph) else []
    is_tree = graph.number_of_edges() == 2 * (graph.number_of_nodes() - 1)
    if not (is_tree and found):
        found = _add_edges(found, new, count // 2, draw, {node: place for place, node in enumerate(new)})
    return [edge for one, other in found for edge in ((one, other), (other, one))]


def _draw_tree(nodes: Sequence[str], most: int, draw: random.Random, *, shuffled: bool = False) -> list[Edge]:
    """Return the edges of a random tree, away from its root, with up to `most` edges at a node where that can be."""
    order = draw.sample(nodes, len(nodes)) if shuffled else list(nodes)
    degree = dict.fromkeys(order, 0)
    found: list[Edge] = []
    free = order[:1]
    for place, node in enumerate(order[1:], start=1):
        number = draw.randrange(len(free) or place)
        above = free[number] if free else order[number]
        degree[above] += 1
        degree[node] += int(shuffled)
        if free and degree[above] >= most:
            free[number] = free[-1]
            free.pop()
        if degree[node] < most:
            free.append(node)
        found.append((above, node))
    return found


def _draw_ring(nodes: Sequence[str], draw: random.Random) -> list[Edge]:
    order = draw.sample(nodes, len(nodes))
    return list(zip(order, [*order[1:], order[0]], strict=True)) if len(order) > 1 else []


def _add_edges(
    found: list[Edge], nodes: Sequence[str], count: int, draw: random.Random, rank: dict[str, int] | None = None
) -> list[Edge]:
    """Add random edges to `found` until there are `count`; with `rank`, each leads from a lower to a higher one."""
    edges = dict.fromkeys(found)
    for _ in range(DRAWS * max(count, 1)):
        if len(edges) >= count or len(nodes) < 2:
            break
        one, other = draw.sample(nodes, 2)
        if rank is not None and rank[one] > rank[other]:
            one, other = other, one
        if (other, one) not in edges or rank is None:
            edges[one, other] = None
    return list(edges)

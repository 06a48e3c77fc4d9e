"""The slow, obvious twin of partial orders: every pair of steps is looked at, by the definition of each reason."""

from __future__ import annotations

from itertools import combinations

import networkx as nx

from planner.model import Not
from planner.partial_order.causal_links import find_links
from planner.partial_order.read_write_sets import find_accesses, overlap


def ordered_pairs(problem, plan):
    """Return the reason for each pair of steps that must stay in their order, by number."""
    found = find_accesses(problem, plan)
    links = find_links(found, problem.ran)
    pairs = {(link.provider, link.consumer): "link" for link in links if link.provider}
    for link in links:
        for number, access in enumerate(found, start=1):
            if undoes(access.changes, link.condition):
                if number < link.provider:
                    pairs.setdefault((number, link.provider), "threat")
                elif number > link.consumer:
                    pairs.setdefault((link.consumer, number), "threat")
    for (one, first), (other, second) in combinations(enumerate(found[:-1], start=1), 2):
        if writes_what_it_touches(first, second) or writes_what_it_touches(second, first):
            pairs.setdefault((one, other), "item")
    return {pair: reason for pair, reason in pairs.items() if pair[1] <= len(plan)}


def undoes(changes, condition):
    if isinstance(condition, Not):
        return condition.part in changes.provided
    return condition not in changes.provided and any(pattern.matches(condition) for pattern in changes.retracted)


def writes_what_it_touches(writer, user):
    reads = [fact for fact, _ in user.reads]
    touched = (*user.changes.modified, *user.changes.provided, *user.changes.retracted, *reads)
    return any(overlap(item, each) for item in writer.changes.modified for each in touched)


def reduced(pairs, size):
    """Return the pairs that no others imply."""
    graph = nx.DiGraph(list(pairs))
    graph.add_nodes_from(range(1, size + 1))
    return {pair: pairs[pair] for pair in nx.transitive_reduction(graph).edges}

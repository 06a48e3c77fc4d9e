"""Irreversible steps of a plan in time begin late: after the reversible ones that could still fail, if time allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from executor.dispatching.dispatch_network import APART, DispatchNetwork
from executor.loop.dispatch import defer_irreversible, find_descendants

Edge = tuple[int, int]


def defer_irreversible_steps(
    network: DispatchNetwork,
    irreversible: Collection[str],
    now: int,
    stalled: Collection[str],
    serves_others: Callable[[str, str], bool],
) -> None:
    """Let the `irreversible` steps of `network` come after the reversible ones that do not depend on them.

    Where the plan would miss a deadline or contradict itself by that, the step comes only after those that leave it the
    time. It does not come after steps for other goals that wait for `stalled` ones. What was deferred before is looked
    at anew.
    """
    for edge in network.deferred:
        network.edges.pop(edge, None)
    network.deferred.clear()
    late = [
        about for about in network.starts if about in irreversible and network.starts[about] not in network.happened
    ]
    if not late or not network.keeps_limits(now):
        return
    order, before = list(network.starts), _find_predecessors(network)
    behind = {*stalled, *find_descendants([each for each in stalled if each in network.starts], order, before)}
    found = defer_irreversible(
        order, before, set(late), lambda one, other: other in behind and serves_others(one, other)
    )
    edges = {about: _list_edges(network, about, found[about]) for about in late}
    if _add([each for own in edges.values() for each in own], network, now):
        return
    for about in reversed(late):
        if not _add(edges[about], network, now):
            for each in edges[about]:
                _add([each], network, now)


def _find_predecessors(network: DispatchNetwork) -> Mapping[str, Collection[str]]:
    """Return the steps of which a happening comes before one of each step."""
    before: dict[str, set[str]] = {about: set() for about in network.starts}
    for (one, other), least in network.edges.items():
        earlier, later = network.nodes[one].about, network.nodes[other].about
        if least >= 0 and earlier and later and earlier != later:
            before[later].add(earlier)
    return before


def _list_edges(network: DispatchNetwork, about: str, before: Collection[str]) -> list[Edge]:
    """Return the edges by which the step `about` comes after the steps `before`, as far as these have not ended."""
    start = network.starts[about]
    ends = [network.ends[each] for each in network.starts if each in before]
    left = [end for end in ends if end in network.at_work or end not in network.happened]
    return [(end, start) for end in left if (end, start) not in network.edges]


def _add(edges: Collection[Edge], network: DispatchNetwork, now: int) -> bool:
    """Add `edges` to the network, unless the plan cannot be carried out then; return whether they were added."""
    network.edges.update(dict.fromkeys(edges, APART))
    if network.keeps_limits(now):
        network.deferred.update(edges)
        return True
    for each in edges:
        del network.edges[each]
    return False

"""Irreversible steps begin as late as the order of a plan allows: first what is reversible and could still fail."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence

Before = Mapping[str, Collection[str]]
"""The steps that each step waits for, by id."""


def defer(order: Sequence[str], before: Before, irreversible: Collection[str]) -> dict[str, frozenset[str]]:
    """Return `before` in which irreversible steps also wait for the reversible ones that do not depend on them.

    `order` has the ids of all steps in the order of the plan. An irreversible step waits for every reversible step,
    unless that one waits for this irreversible step or for a later one. The result has a cycle only if `before` has.
    """
    line, following = linearise(order, before), _following(order, before)
    reversible = [id_ for id_ in line if id_ not in irreversible]
    found = {id_: frozenset(before.get(id_, ())) for id_ in order}
    dependent: set[str] = set()
    for id_ in reversed(line):
        if id_ in irreversible:
            _add_descendants(id_, following, dependent)
            found[id_] |= {each for each in reversible if each not in dependent}
    return found


def linearise(order: Sequence[str], before: Before) -> list[str]:
    """Return `order` sorted so that no step comes before one that it waits for; otherwise the order stays as it is.

    Steps of a cycle are left out.
    """
    place = {id_: at for at, id_ in enumerate(order)}
    missing = {id_: sum(1 for each in before.get(id_, ()) if each in place) for id_ in order}
    following = _following(order, before)
    ready = [place[id_] for id_ in order if not missing[id_]]
    line: list[str] = []
    while ready:
        line.append(id_ := order[heapq.heappop(ready)])
        for each in following.get(id_, ()):
            missing[each] -= 1
            if not missing[each]:
                heapq.heappush(ready, place[each])
    return line


def _following(order: Iterable[str], before: Before) -> dict[str, list[str]]:
    """Return the steps that wait for each step."""
    found: dict[str, list[str]] = {}
    for id_ in order:
        for each in before.get(id_, ()):
            found.setdefault(each, []).append(id_)
    return found


def _add_descendants(id_: str, following: Mapping[str, Sequence[str]], found: set[str]) -> None:
    """Add the steps that wait for step `id_`, directly or not, to `found`."""
    stack = [id_]
    while stack:
        fresh = [each for each in following.get(stack.pop(), ()) if each not in found]
        found.update(fresh)
        stack += fresh

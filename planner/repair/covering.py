"""Items as a set of facts: those that one of them covers."""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import OPEN, Atom


class Covered:
    """The facts that some of `items` covers: these are facts, and patterns with open arguments."""

    def __init__(self, items: Iterable[Atom]) -> None:
        self.items = tuple(items)
        self._facts: set[Atom] = set()
        self._open: dict[str, list[Atom]] = {}
        for item in self.items:
            if OPEN in item.args:
                self._open.setdefault(item.predicate, []).append(item)
            else:
                self._facts.add(item)

    def __contains__(self, fact: Atom) -> bool:
        return fact in self._facts or any(item.matches(fact) for item in self._open.get(fact.predicate, ()))

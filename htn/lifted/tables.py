"""Facts by predicate, with indexes by those arguments that conditions bring along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from planner.model import Problem
from planner.model.domain import TypeHierarchy

Row = tuple[str, ...]
Places = tuple[int, ...]


class Tables:
    """The initial state of `problem` as it is searched: mutable, every change can be undone.

    `facts` has for each predicate its rows. An index for some `places` has, for the objects there (one object, or a
    tuple of several), the objects at the other places in the same form. Rows are kept in dictionaries: their order is
    that of insertion and so the same in every run. `changing` are the predicates that actions write.
    """

    def __init__(self, problem: Problem, changing: Iterable[str]) -> None:
        domain = problem.domain
        self.changing = frozenset(changing)
        self.facts: dict[str, dict[Row, None]] = {predicate: {} for predicate in domain.predicates}
        for atom in problem.initial:
            self.facts.setdefault(atom.predicate, {})[atom.args] = None
        self.objects = problem.all_objects
        self._by_type = TypeHierarchy(domain.types).objects_by_type(self.objects)
        self.indexes: dict[tuple[str, Places], dict[Any, dict[Any, None]]] = {}
        self._distinct: dict[tuple[str, int], int] = {}

    def of_types(self, types: Sequence[str]) -> dict[str, None]:
        """Return the objects of any of `types`."""
        return {name: None for each in types for name in self._by_type.get(each, ())}

    def index(self, predicate: str, places: Places) -> dict[Any, dict[Any, None]]:
        """Return the index of `predicate` for `places`: neither none of them nor all."""
        found = self.indexes.get((predicate, places))
        if found is None:
            found = self.indexes[predicate, places] = {}
            for row in self.facts[predicate]:
                others = tuple([each for place, each in enumerate(row) if place not in places])
                key = tuple([row[place] for place in places])
                found.setdefault(_plain(key), {})[_plain(others)] = None
        return found

    def indexes_of(self, predicate: str) -> Iterator[Places]:
        """Yield for which places `predicate` has an index."""
        yield from (places for name, places in self.indexes if name == predicate)

    def matches(self, predicate: str, bound: Iterable[int]) -> float:
        """Return about how many rows agree with given objects at the places `bound`."""
        count = float(len(self.facts[predicate]))
        for place in bound:
            key = predicate, place
            if key not in self._distinct:
                self._distinct[key] = len({row[place] for row in self.facts[predicate]}) or 1
            count /= self._distinct[key]
        return count


def _plain(row: tuple[str, ...]) -> Any:
    return row[0] if len(row) == 1 else row

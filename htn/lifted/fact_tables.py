"""Facts by predicate, with indexes for bound arguments, and the goal atoms that tasks can still achieve."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from htn.model import HtnDomain
from planner.limits import under_limits
from planner.model import Action, Atom, Formula, Object, Problem, Term
from planner.model.actions import positive_atoms
from planner.model.domain import TypeHierarchy
from planner.model.formulas import conjuncts, is_variable

Row = tuple[str, ...]
Places = tuple[int, ...]


class Tables:
    """The state of a search, at first the initial state of `problem`: mutable tables, whose changes can be undone.

    `facts` has the rows of each predicate. An index for some `places` maps the objects there (one object, or a tuple of
    several) to the objects at the other places in the same form. Rows are kept in dictionaries, in the order of
    insertion, so that all runs are alike. `changing` are the predicates that actions write.
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
        """Return the index of `predicate` for `places`, which are some of its places, not all."""
        found = self.indexes.get((predicate, places))
        if found is None:
            found = self.indexes[predicate, places] = {}
            for row in self.facts[predicate]:
                others = tuple([each for place, each in enumerate(row) if place not in places])
                key = tuple([row[place] for place in places])
                found.setdefault(_unwrap(key), {})[_unwrap(others)] = None
        return found

    def indexes_of(self, predicate: str) -> Iterator[Places]:
        """Yield the places of each index of `predicate`."""
        yield from (places for name, places in self.indexes if name == predicate)

    def matches(self, predicate: str, bound: Iterable[int]) -> float:
        """Return an estimate of the number of rows with given objects at the places `bound`."""
        count = float(len(self.facts[predicate]))
        for place in bound:
            key = predicate, place
            if key not in self._distinct:
                self._distinct[key] = len({row[place] for row in self.facts[predicate]}) or 1
            count /= self._distinct[key]
        return count


def _unwrap(row: tuple[str, ...]) -> Any:
    return row[0] if len(row) == 1 else row


Kind = int | str | tuple[str, ...]
"""An argument: a place among a task's arguments, a constant, or any object of certain types."""
Pattern = tuple[str, tuple[Kind, ...]]


class Goals:
    """The conjuncts of `goal` that are atoms; `bit` has a bit for each, by predicate and arguments."""

    def __init__(self, domain: HtnDomain, objects: Iterable[Object], goal: Formula) -> None:
        self._by_type = TypeHierarchy(domain.classical.types).objects_by_type(objects)
        atoms = dict.fromkeys(part for part in conjuncts(goal) if isinstance(part, Atom))
        self.bit = {(atom.predicate, atom.args): 1 << place for place, atom in enumerate(atoms)}
        self.all = (1 << len(atoms)) - 1
        self._rows: dict[str, list[tuple[Row, int]]] = {}
        for (predicate, row), bit in self.bit.items():
            self._rows.setdefault(predicate, []).append((row, bit))
        self._patterns = _patterns(domain, self._rows.keys())

    def reachable(self, task: str) -> Callable[[Row], int]:
        """Return a function from the arguments of `task` to the goal atoms that it may make true, as bits."""
        tables: list[tuple[tuple[int, ...], dict[Row, int]]] | None = None

        @functools.cache
        def found(args: Row) -> int:
            nonlocal tables
            tables = tables or [*self._tables(task)]
            bits = 0
            for places, table in tables:
                bits |= table.get(tuple([args[place] for place in places]), 0)
            return bits

        return found

    def _tables(self, task: str) -> Iterator[tuple[tuple[int, ...], dict[Row, int]]]:
        """Yield places of arguments of `task`, and a table from objects there to goal atoms that it may make true."""
        for predicate, kinds in under_limits(self._patterns[task]):
            table: dict[Row, int] = {}
            fixed = [place for place, kind in enumerate(kinds) if isinstance(kind, int)]
            free = [(place, self._objects_of(kind)) for place, kind in enumerate(kinds) if not isinstance(kind, int)]
            for row, bit in self._rows[predicate]:
                if all(row[place] in objects for place, objects in free):
                    key = tuple([row[place] for place in fixed])
                    table[key] = table.get(key, 0) | bit
            yield tuple([kind for kind in kinds if isinstance(kind, int)]), table

    def _objects_of(self, kind: str | tuple[str, ...]) -> set[str]:
        return {kind} if isinstance(kind, str) else {name for each in kind for name in self._by_type.get(each, ())}


def _patterns(domain: HtnDomain, predicates: Collection[str]) -> dict[str, set[Pattern]]:
    """Return the patterns of facts of `predicates` that each task may make true."""
    uses = _uses(domain)
    found: dict[str, set[Pattern]] = {name: set() for name in (*domain.classical.actions, *domain.tasks)}
    queue = [
        (name, pattern)
        for name, action in domain.classical.actions.items()
        for pattern in _patterns_of_action(action)
        if pattern[0] in predicates
    ]
    while queue:
        name, pattern = queue.pop()
        if pattern in found[name]:
            continue
        found[name].add(pattern)
        predicate, kinds = pattern
        for task, args in uses.get(name, ()):
            queue.append((task, (predicate, tuple([args[kind] if isinstance(kind, int) else kind for kind in kinds]))))
    return found


def _uses(domain: HtnDomain) -> dict[str, list[tuple[str, list[Kind]]]]:
    """Return for each task the tasks above it, and its arguments in terms of theirs."""
    uses: dict[str, list[tuple[str, list[Kind]]]] = {}
    for method in domain.methods.values():
        kinds: dict[Term, Kind] = {each.name: each.types for each in method.parameters}
        kinds |= {term: place for place, term in enumerate(method.task.args) if is_variable(term)}
        for subtask in method.network.subtasks:
            args = [kinds.get(term, term) for term in subtask.task.args]
            uses.setdefault(subtask.task.predicate, []).append((method.task.predicate, args))
    return uses


def _patterns_of_action(action: Action) -> Iterator[Pattern]:
    place = {each.name: number for number, each in enumerate(action.parameters)}
    for effect in action.effects:
        types = {each.name: each.types for each in effect.variables}
        for atom in positive_atoms(effect.provides):
            yield atom.predicate, tuple([types[term] if term in types else place.get(term, term) for term in atom.args])

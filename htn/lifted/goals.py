"""Which parts of the goal tasks can still bring about: what none of the tasks left can is out of reach."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator

from htn.lifted.tables import Row
from htn.model import HtnDomain
from planner.model import Action, Atom, Formula, Object, Term
from planner.model.actions import added
from planner.model.atoms import is_variable
from planner.model.domain import TypeHierarchy
from planner.model.formulas import conjuncts

Kind = int | str | tuple[str, ...]
"""An argument: a place among a task's arguments, a constant, or anything of certain types."""
Pattern = tuple[str, tuple[Kind, ...]]


class Goals:
    """The atoms that `goal` is a conjunction of; `bit` has one for each, by predicate and arguments."""

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
        """Return a function from the arguments of `task` to the atoms that it may make true, as bits."""
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
        """Yield places of arguments of `task`, and what can be made true for each choice of objects there."""
        for predicate, kinds in self._patterns[task]:
            table: dict[Row, int] = {}
            fixed = [place for place, kind in enumerate(kinds) if isinstance(kind, int)]
            free = [(place, self._of_kind(kind)) for place, kind in enumerate(kinds) if not isinstance(kind, int)]
            for row, bit in self._rows[predicate]:
                if all(row[place] in objects for place, objects in free):
                    key = tuple([row[place] for place in fixed])
                    table[key] = table.get(key, 0) | bit
            yield tuple([kind for kind in kinds if isinstance(kind, int)]), table

    def _of_kind(self, kind: str | tuple[str, ...]) -> set[str]:
        return {kind} if isinstance(kind, str) else {name for each in kind for name in self._by_type.get(each, ())}


def _patterns(domain: HtnDomain, predicates: Collection[str]) -> dict[str, set[Pattern]]:
    """Return which facts of the `predicates` each task may make true."""
    uses = _uses(domain)
    found: dict[str, set[Pattern]] = {name: set() for name in (*domain.classical.actions, *domain.tasks)}
    queue = [
        (name, pattern)
        for name, action in domain.classical.actions.items()
        for pattern in _of_action(action)
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
    """Return for each task those that it is a subtask of, and what its arguments are in terms of these."""
    uses: dict[str, list[tuple[str, list[Kind]]]] = {}
    for method in domain.methods.values():
        kinds: dict[Term, Kind] = {each.name: each.types for each in method.parameters}
        kinds |= {term: place for place, term in enumerate(method.task.args) if is_variable(term)}
        for subtask in method.network.subtasks:
            args = [kinds.get(term, term) for term in subtask.task.args]
            uses.setdefault(subtask.task.predicate, []).append((method.task.predicate, args))
    return uses


def _of_action(action: Action) -> Iterator[Pattern]:
    place = {each.name: number for number, each in enumerate(action.parameters)}
    for effect in action.effects:
        types = {each.name: each.types for each in effect.variables}
        for atom in added(effect.provides):
            yield atom.predicate, tuple([types[term] if term in types else place.get(term, term) for term in atom.args])

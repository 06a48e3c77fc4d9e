"""Which parts of the goal tasks can still bring about: what none of the tasks left can is out of reach."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping

from htn.lifted.tables import Row
from htn.model import HtnDomain, Method
from planner.model import Action, Atom, Formula, Object, Term, Variable
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
        self._patterns = _patterns(domain)
        self._by_type = TypeHierarchy(domain.classical.types).objects_by_type(objects)
        atoms = dict.fromkeys(part for part in conjuncts(goal) if isinstance(part, Atom))
        self.bit = {(atom.predicate, atom.args): 1 << place for place, atom in enumerate(atoms)}
        self.all = (1 << len(atoms)) - 1
        self._rows: dict[str, list[tuple[Row, int]]] = {}
        for (predicate, row), bit in self.bit.items():
            self._rows.setdefault(predicate, []).append((row, bit))

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
            if predicate not in self._rows:
                continue
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


def _patterns(domain: HtnDomain) -> dict[str, set[Pattern]]:
    """Return what each task may make true."""
    found = {name: set(_of_action(action)) for name, action in domain.classical.actions.items()}
    found |= {name: set() for name in domain.tasks}
    size = -1
    while size != sum(map(len, found.values())):
        size = sum(map(len, found.values()))
        for method in domain.methods.values():
            mine = found[method.task.predicate]
            for subtask in method.network.subtasks:
                mine |= set(_lifted(found[subtask.task.predicate], subtask.task, method))
    return found


def _of_action(action: Action) -> Iterator[Pattern]:
    place = {each.name: number for number, each in enumerate(action.parameters)}
    for effect in action.effects:
        types = {each.name: each.types for each in effect.variables}
        for atom in added(effect.provides):
            yield atom.predicate, tuple([types[term] if term in types else place.get(term, term) for term in atom.args])


def _lifted(patterns: Iterable[Pattern], subtask: Atom, method: Method) -> Iterator[Pattern]:
    """Yield what a subtask may make true in terms of the task that `method` does."""
    place = {term: number for number, term in enumerate(method.task.args) if is_variable(term)}
    types = {each.name: each for each in method.parameters}

    def above(kind: Kind) -> Kind:
        return _kind(subtask.args[kind], place, types) if isinstance(kind, int) else kind

    for predicate, kinds in patterns:
        yield predicate, tuple(map(above, kinds))


def _kind(term: Term, place: Mapping[Term, int], variables: Mapping[Term, Variable]) -> Kind:
    if not is_variable(term):
        return term
    return place[term] if term in place else variables[term].types

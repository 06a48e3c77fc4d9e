"""What must hold when a task begins: preconditions, pulled up to where they can be asked first.

A condition of a subtask must hold already when the method begins, unless another subtask may bring it about in between;
what every method of a task needs, the task needs (Magnaguagno, Meneguzzi and de Silva, 2020, pull up preconditions in
the same way). Conditions that never change, and (in)equalities, can be asked at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from htn.model import HtnDomain, Method, Network, closure
from planner.lightweight import Final
from planner.model import Action, Atom, Equals, Formula, Not, Object, Term
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.domain import TypeHierarchy
from planner.model.formulas import conjuncts, free_variables, substitute

ROUNDS: Final = 8
"""So many times needs climb from a method to the task above it; each round is sound."""

CONSTANT: Final = "= "
"""What comes before a constant where a type could stand."""

Kinds = tuple[tuple[str, ...], ...]
"""For each argument the types of what may stand there, or the constant that does."""
Signed = tuple[str, bool]
"""A predicate, and whether it becomes true (or false)."""


class Needs:
    """What the tasks of a domain need, whose actions are plain ADL.

    With `alone`, nothing but subtasks of a method happens between its beginning and its end: so it is where all tasks
    are totally ordered. Otherwise only what never changes is needed when a method begins: the rest may come about, and
    what the method itself requires may end, between that and its first step.
    """

    def __init__(self, domain: HtnDomain, objects: Iterable[Object], *, alone: bool) -> None:
        self._domain = domain
        self._alone = alone
        self._by_type = TypeHierarchy(domain.classical.types).objects_by_type(objects)
        self._apart: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}
        actions = domain.classical.actions
        self._changes = {name: set(_typed_changes(action)) for name, action in actions.items()}
        self._changes |= {name: set() for name in domain.tasks}
        self._climb_changes()
        self._static = set(domain.classical.predicates) - {
            predicate for action in actions for predicate, _, _ in self._changes[action]
        }
        self._static -= domain.classical.derived
        self._needs: dict[str, list[Formula]] = {
            name: [part for part in conjuncts(action.requires) if _is_simple(part)] for name, action in actions.items()
        }
        self._needs |= {name: [] for name in domain.tasks}
        self._methods: dict[str, list[Method]] = {name: [] for name in domain.tasks}
        for method in domain.methods.values():
            self._methods[method.task.predicate].append(method)
        for _ in range(ROUNDS):
            if not self._climb():
                break

    def of_method(self, method: Method) -> list[Formula]:
        """Return what must hold when `method` begins, beyond its precondition: literals over its parameters."""
        return [*dict.fromkeys(self._pulled(method.network))]

    def _climb_changes(self) -> None:
        above: dict[str, dict[str, None]] = {}
        for method in self._domain.methods.values():
            for subtask in method.network.subtasks:
                above.setdefault(subtask.task.predicate, {})[method.task.predicate] = None
        queue = list(self._changes)
        while queue:
            name = queue.pop()
            for upper in above.get(name, ()):
                if not self._changes[name] <= self._changes[upper]:
                    self._changes[upper] |= self._changes[name]
                    queue.append(upper)

    def _climb(self) -> bool:
        """Let what all methods of a task need be a need of the task; return whether that was news."""
        news = False
        for name, task in self._domain.tasks.items():
            found: list[set[Formula]] = []
            for method in self._methods[name]:
                names = {mine: theirs.name for mine, theirs in zip(method.task.args, task.parameters, strict=True)}
                own = [*conjuncts(method.precondition), *conjuncts(method.network.constraints)]
                parts = [part for part in (*own, *self._pulled(method.network)) if _is_simple(part)]
                found.append({substitute(part, names) for part in parts if free_variables(part) <= names.keys()})
            common = [*set.intersection(*found)] if found else []
            common.sort(key=str)
            news |= common != self._needs[name]
            self._needs[name] = common
        return news

    def _pulled(self, network: Network) -> Iterator[Formula]:
        after = closure(len(network.subtasks), network.ordering)
        places: dict[str, int] = {}
        for place, subtask in enumerate(network.subtasks):
            places[subtask.task.predicate] = places.get(subtask.task.predicate, 0) | 1 << place
        for place, subtask in enumerate(network.subtasks):
            name = subtask.task.predicate
            if not self._needs[name]:
                continue
            parameters = (self._domain.tasks.get(name) or self._domain.classical.actions[name]).parameters
            names = {theirs.name: mine for theirs, mine in zip(parameters, subtask.task.args, strict=True)}
            types = {each.name: each.types for each in parameters}
            later = after[place] | 1 << place
            others = [task for task, bits in places.items() if bits & ~later]
            for need in self._needs[name]:
                if self._stays(need, types, others):
                    yield substitute(need, names)

    def _stays(self, need: Formula, types: Mapping[Term, tuple[str, ...]], others: Collection[str]) -> bool:
        """Return whether nothing among the tasks `others` can make `need`, about things of `types`, true."""
        match need:
            case Atom():
                atom, sign = need, True
            case Not(Atom() as atom):
                sign = False
            case _:
                return True
        if atom.predicate in self._static:
            return True
        if atom.predicate in self._domain.classical.derived:
            return False
        if not self._alone:
            return False
        kinds = _kinds(atom, types)
        return not any(
            (predicate, becomes) == (atom.predicate, sign) and not self._are_apart(kinds, theirs)
            for other in others
            for predicate, becomes, theirs in self._changes[other]
        )

    def _are_apart(self, one: Kinds, other: Kinds) -> bool:
        """Return whether no fact is about objects of both kinds."""
        return any(self._is_apart(mine, theirs) for mine, theirs in zip(one, other, strict=True))

    def _is_apart(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        if (one, other) not in self._apart:
            mine, theirs = (
                {name for each in kinds for name in self._by_type.get(each, (each.removeprefix(CONSTANT),))}
                for kinds in (one, other)
            )
            self._apart[one, other] = mine.isdisjoint(theirs)
        return self._apart[one, other]


def _is_simple(part: Formula) -> bool:
    return isinstance(part, Atom | Equals) or (isinstance(part, Not) and isinstance(part.part, Atom | Equals))


def changes(action: Action) -> Iterator[Signed]:
    """Yield of which predicates facts may become true, or false, by a plain `action`."""
    for effect in action.effects:
        yield from ((atom.predicate, True) for atom in positive_atoms(effect.provides))
        yield from ((atom.predicate, False) for atom in negated_atoms(effect.provides))


def _typed_changes(action: Action) -> Iterator[tuple[str, bool, Kinds]]:
    """Yield the same with what the facts may be about."""
    for effect in action.effects:
        types = {each.name: each.types for each in (*action.parameters, *effect.variables)}
        yield from ((atom.predicate, True, _kinds(atom, types)) for atom in positive_atoms(effect.provides))
        yield from ((atom.predicate, False, _kinds(atom, types)) for atom in negated_atoms(effect.provides))


def _kinds(atom: Atom, types: Mapping[Term, tuple[str, ...]]) -> Kinds:
    return tuple([types.get(each, (CONSTANT + each,)) for each in atom.args])

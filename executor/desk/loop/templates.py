"""What a template problem shows of its domain: kinds of objects, facts by shape, facts that exclude each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from planner.errors import UnsupportedError
from planner.lightweight import replace
from planner.model import OPEN, Atom, Formula, Problem
from planner.model.domain import ROOT_TYPE, written_predicates
from planner.model.formulas import conjuncts
from planner.problem_kinds import AnyProblem, classical_of

Kind = tuple[str, ...]
"""The types that an object is declared with; in a problem without types, the static predicates that it alone has."""
Shape = tuple[str, tuple[Kind, ...]]
"""A predicate, function or task, and the kinds of the objects in its places."""
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Facts of which for each key at most one holds, or exactly one (`is_exact`).

    `members` are predicates, each with the places of its arguments that are the key; `kinds` are those of the key.
    """

    members: tuple[tuple[str, tuple[int, ...]], ...]
    kinds: tuple[Kind, ...]
    is_exact: bool = False

    def key_of(self, fact: Atom, kinds: Mapping[str, Kind]) -> Key | None:
        """Return the key for which `fact` belongs to the group; None where it does not."""
        for predicate, places in self.members:
            if predicate == fact.predicate:
                key = tuple([fact.args[place] for place in places])
                return key if tuple([kinds[each] for each in key]) == self.kinds else None
        return None

    def place_in(self, shape: Shape) -> tuple[int, ...] | None:
        """Return the places of the key in facts of a shape; None where these do not belong to the group."""
        for predicate, places in self.members:
            if predicate == shape[0] and tuple([shape[1][place] for place in places]) == self.kinds:
                return places
        return None


class Template:
    """A problem, and what its instances have in common with it."""

    def __init__(self, problem: AnyProblem) -> None:
        self.problem = problem
        self.classical: Problem = classical_of(problem)
        self.changing = written_predicates(self.classical.domain)
        self.kinds = self._find_kinds()

    def _find_kinds(self) -> dict[str, Kind]:
        """Return the kinds of the objects: in a domain without types, predicates such as `truck` take their place."""
        types = {each.name: each.types for each in self.classical.all_objects}
        if {*types.values()} != {(ROOT_TYPE,)}:
            return types
        marks: dict[str, list[str]] = {name: [] for name in types}
        for fact in self.classical.initial:
            if len(fact.args) == 1 and fact.predicate not in self.changing:
                marks[fact.args[0]].append(fact.predicate)
        return {name: tuple(sorted(found)) or (ROOT_TYPE,) for name, found in marks.items()}

    @cached_property
    def objects(self) -> dict[Kind, list[str]]:
        """The objects of each kind, constants included."""
        return list_by_kind(self.kinds)

    def shape_of(self, atom: Atom) -> Shape:
        """Return the shape of a ground atom."""
        return atom.predicate, tuple([self.kinds[arg] for arg in atom.args])

    @cached_property
    def facts(self) -> dict[Shape, list[Atom]]:
        """The initial facts by their shapes."""
        return self.group_by_shape(self.classical.initial)

    def group_by_shape(self, atoms: Iterable[Atom]) -> dict[Shape, list[Atom]]:
        """Return ground atoms by their shapes."""
        found: dict[Shape, list[Atom]] = {}
        for atom in atoms:
            found.setdefault(self.shape_of(atom), []).append(atom)
        return found

    @cached_property
    def groups(self) -> list[Group]:
        """The lifted mutex groups of facts that change, exact where the template has one fact for each key."""
        found = {*self._lift_mutexes(), *self._lift_patterns()}
        return [replace(group, is_exact=self._is_exact(group)) for group in sorted(found, key=str)]

    def _lift_mutexes(self) -> Iterator[Group]:
        """Yield the mutex groups that grounding finds, with the objects that all their facts share as the key."""
        from planner import lab

        try:
            groups = lab.ground(self.classical, whole=True).mutex_groups()
        except UnsupportedError:
            return
        for facts in groups:
            group = self._lift([fact for fact in facts if isinstance(fact, Atom)])
            if group is not None:
                yield group

    def _lift(self, facts: Sequence[Atom]) -> Group | None:
        """Return the lifted group of ground facts; None where their predicates have the key in several places.

        Facts such as `on(a, a)` do not tell the places apart.
        """
        facts = [fact for fact in facts if len({*fact.args}) == len(fact.args)]
        if len(facts) < 2:
            return None
        shared = [arg for arg in dict.fromkeys(facts[0].args) if all(arg in fact.args for fact in facts)]
        members: dict[str, tuple[int, ...]] = {}
        for fact in facts:
            places = tuple([fact.args.index(arg) for arg in shared])
            if members.setdefault(fact.predicate, places) != places:
                return None
        return Group(tuple(sorted(members.items())), tuple([self.kinds[arg] for arg in shared]))

    def _lift_patterns(self) -> Iterator[Group]:
        """Yield what actions change as items with one value at a time: patterns with one open place."""
        for action in self.classical.domain.actions.values():
            for pattern in (each for when in action.effects for each in when.modifies if OPEN in each.args):
                places = tuple([place for place, arg in enumerate(pattern.args) if arg != OPEN])
                for predicate, kinds in self.facts:
                    if predicate == pattern.predicate:
                        yield Group(((predicate, places),), tuple([kinds[place] for place in places]))

    def _is_exact(self, group: Group) -> bool:
        counts = Counter(group.key_of(fact, self.kinds) for fact in self.classical.initial)
        keys = product(*[self.objects.get(kind, ()) for kind in group.kinds])
        return all(counts[key] == 1 for key in keys)

    def is_possible(self, group: Group) -> bool:
        """Return whether no key has two facts in the template: a pattern may be open for another reason."""
        counts = Counter(group.key_of(fact, self.kinds) for fact in self.classical.initial)
        return all(count < 2 for key, count in counts.items() if key is not None)

    def functional_groups(self, shape: Shape) -> list[Group]:
        """Return a group for each place in facts of `shape` where each object of its kind stands exactly once."""
        facts, (predicate, kinds) = self.facts[shape], shape
        found: list[Group] = []
        for place, kind in enumerate(kinds):
            if Counter(fact.args[place] for fact in facts) == Counter(self.objects[kind]) and len(kinds) > 1:
                found.append(Group(((predicate, (place,)),), (kind,), is_exact=True))
        return found


def list_by_kind(kinds: Mapping[str, Kind]) -> dict[Kind, list[str]]:
    """Return the objects of each kind."""
    found: dict[Kind, list[str]] = {}
    for name, kind in kinds.items():
        found.setdefault(kind, []).append(name)
    return found


def describes_facts(formula: Formula) -> bool:
    """Return whether a goal is a conjunction of facts, which alone grows with the number of objects."""
    return all(isinstance(part, Atom) for part in conjuncts(formula))

"""Which actions of a domain may make a fact true or false: an index, made once for each domain.

An action is found by the predicates that it writes and the constants in them. What negative conditions need is put in
when the first of them asks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from planner.model import OPEN, Action, Atom, DomainModel, Term
from planner.model.actions import added, deleted

Shape = tuple[Term, ...]
"""The arguments of an atom, `_` for each that may be anything."""
Write = tuple[tuple[Term, ...], int]
"""The arguments of what an action may write, and the action's number."""


class Writers:
    """The actions of `domain` by what they write; actions are numbered in order of declaration."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._adds = _additions(domain.actions.values())
        self._patterns: dict[tuple[str, bool], _Patterns] = {}

    @cached_property
    def _deletes(self) -> dict[str, list[Write]]:
        return _retractions(self._domain)

    def of(self, predicate: str, shape: Shape, *, positive: bool) -> Iterator[int]:
        """Yield the numbers of the actions that may make a fact of this shape true (or false, if not `positive`)."""
        writes = (self._adds if positive else self._deletes).get(predicate, ())
        if not shape:
            return (number for _, number in writes)
        if (predicate, positive) not in self._patterns:
            self._patterns[predicate, positive] = _Patterns(writes)
        return self._patterns[predicate, positive].matching(shape)


def shape_of(atom: Atom) -> Shape:
    """Return the arguments of `atom`, open where they are variables."""
    return tuple([OPEN if arg.startswith("?") else arg for arg in atom.args]) if atom.args else ()


def _additions(actions: Iterable[Action]) -> dict[str, list[Write]]:
    """Return, by predicate, what the actions may make true."""
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(actions):
        for literal in action.provides:
            if isinstance(literal, Atom):
                found[literal.predicate].append((literal.args, number))
        for when in action.when:
            for atom in added(when.provides):
                found[atom.predicate].append((atom.args, number))
    return found


def _retractions(domain: DomainModel) -> dict[str, list[Write]]:
    """Return, by predicate, what the actions may make false: by deletes, `modifies`, and what is stale with a write."""
    stale = _dependants(domain)
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(domain.actions.values()):
        for effect in action.effects:
            for atom in (*deleted(effect.provides), *[item for item in effect.modifies if OPEN in item.args]):
                found[atom.predicate].append((atom.args, number))
            if stale:
                written = [*added(effect.provides), *deleted(effect.provides), *effect.modifies]
                for name in {name for atom in written for name in stale.get(atom.predicate, ())}:
                    found[name].append(((OPEN,) * len(domain.predicates[name].parameters), number))
    return found


def _dependants(domain: DomainModel) -> dict[str, set[str]]:
    """Return, for each predicate, those that go stale when facts of it are written, directly or through others."""
    direct: dict[str, set[str]] = defaultdict(set)
    for predicate in domain.predicates.values():
        for source in predicate.stale_with:
            direct[source.predicate].add(predicate.name)
    found: dict[str, set[str]] = {}
    for name in direct:
        queue = [name]
        reached = found[name] = set()
        while queue:
            fresh = direct.get(queue.pop(), set()) - reached
            reached |= fresh
            queue.extend(fresh)
    return found


class _Patterns:
    """Patterns of one predicate, found by the constants that they share with another pattern."""

    def __init__(self, writes: Iterable[Write]) -> None:
        self._by_places: dict[tuple[int, ...], list[Write]] = defaultdict(list)
        self._indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[tuple[Term, ...], list[int]]] = {}
        for args, number in writes:
            self._by_places[_constants(args)].append((args, number))

    def matching(self, shape: Shape) -> Iterator[int]:
        """Yield the numbers of the patterns that some fact of this shape fits."""
        known = set(_constants(shape))
        for places in self._by_places:
            common = tuple([place for place in places if place in known])
            if (places, common) not in self._indexes:
                self._indexes[places, common] = self._indexed(places, common)
            yield from self._indexes[places, common].get(tuple([shape[place] for place in common]), ())

    def _indexed(self, places: tuple[int, ...], common: tuple[int, ...]) -> dict[tuple[Term, ...], list[int]]:
        index: dict[tuple[Term, ...], list[int]] = defaultdict(list)
        for args, number in self._by_places[places]:
            index[tuple([args[place] for place in common])].append(number)
        return index


def _constants(args: tuple[Term, ...]) -> tuple[int, ...]:
    """Return the places at which an object is named."""
    return tuple([place for place, arg in enumerate(args) if arg != OPEN and not arg.startswith("?")])

"""Mutex groups: sets of facts of which at most one holds in any reachable state.

Candidates are lifted, as in Helmert (2009): a set of predicates, in each of which all arguments but at most one form
the group's key. They are tested on the ground actions, where the proof is simple (the fact-alternating groups of Fišer
and Komenda 2018): a group in which one fact holds initially stays one if every action that adds a fact of it also
takes one away that held before. A candidate that fails is extended by a predicate that the failing action deletes.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.budget import Budget
from planner.grounding.instantiate import RawAction, RawEffect
from planner.grounding.joins import Key, Row
from planner.model import Atom

CANDIDATE_LIMIT: Final = 300
"""How many candidates are tested at most; real domains have a few dozen."""

Parts = tuple[tuple[str, Key], ...]
"""A candidate: predicates, each with the argument positions that hold the key, in the order of the key."""

Group = tuple[int, ...]


@dataclass(slots=True)
class _Change:
    """What an action adds under one condition; `held` are the facts that then held before, `gone` those it deletes."""

    adds: Sequence[int]
    held: Sequence[int]
    gone: Sequence[int]
    swapped: Sequence[int]
    """The facts that held and are deleted."""


class MutexFinder:
    """Finds the mutex groups of `facts` under `actions`."""

    def __init__(
        self, atoms: Sequence[Atom], initial: Iterable[int], actions: Sequence[RawAction], facts: Iterable[int]
    ) -> None:
        self._facts = atoms
        self._initial = list(initial)
        self._by_predicate: dict[str, list[int]] = defaultdict(list)
        for number in facts:
            self._by_predicate[atoms[number].predicate].append(number)
        self._adders: dict[str, list[int]] = defaultdict(list)
        self._changes = [list(_changes(action)) for action in actions]
        for number, changes in enumerate(self._changes):
            for predicate in {atoms[fact].predicate for change in changes for fact in change.adds}:
                self._adders[predicate].append(number)

    def groups(self, budget: Budget) -> list[Group]:
        """Return all groups found, of two facts or more, largest first."""
        found: dict[Group, None] = {}
        queue = list(self._first_candidates())
        seen = {frozenset(parts) for parts in queue}
        for parts in queue:
            budget.check()
            failure = self._failure(parts)
            if failure is None:
                found.update(dict.fromkeys(self._instances(parts)))
                continue
            for extended in self._extensions(parts, *failure):
                if frozenset(extended) not in seen and len(queue) < CANDIDATE_LIMIT:
                    seen.add(frozenset(extended))
                    queue.append(extended)
        return sorted(found, key=lambda group: (-len(group), group))

    def _first_candidates(self) -> Iterator[Parts]:
        for predicate, numbers in self._by_predicate.items():
            positions = tuple(range(len(self._facts[numbers[0]].args)))
            yield ((predicate, positions),)
            for counted in positions:
                yield ((predicate, tuple([place for place in positions if place != counted])),)

    def _members(self, parts: Parts) -> dict[int, Row]:
        """Return the key of each fact that belongs to a group of the candidate."""
        facts = self._facts
        return {
            number: tuple([facts[number].args[place] for place in key])
            for predicate, key in parts
            for number in self._by_predicate.get(predicate, ())
        }

    def _failure(self, parts: Parts) -> tuple[_Change, Row] | None:
        """Return what an action may do that leaves two facts in a group, and the group's key; None if nothing does."""
        members = self._members(parts)
        numbers: dict[Row, int] = {}
        groups = _Groups({fact: numbers.setdefault(key, len(numbers)) for fact, key in members.items()})
        for number in dict.fromkeys(n for predicate, _ in parts for n in self._adders.get(predicate, ())):
            failed = groups.unbalanced(self._changes[number])
            if failed is not None:
                change, group = failed
                return change, next(key for key, place in numbers.items() if place == group)
        return None

    def _instances(self, parts: Parts) -> Iterator[Group]:
        group_of = self._members(parts)
        members: dict[Row, list[int]] = defaultdict(list)
        for number, key in group_of.items():
            members[key].append(number)
        held = Counter(group_of[fact] for fact in self._initial if fact in group_of)
        for key, numbers in members.items():
            if held[key] <= 1 and len(numbers) > 1:
                yield tuple(sorted(numbers))

    def _extensions(self, parts: Parts, change: _Change, key: Row) -> Iterator[Parts]:
        """Yield the candidate with one more predicate, whose facts the failing action takes away."""
        known = {predicate for predicate, _ in parts}
        for fact in change.swapped:
            atom = self._facts[fact]
            if atom.predicate in known or len(atom.args) - len(key) not in (0, 1):
                continue
            for places in itertools.permutations(range(len(atom.args)), len(key)):
                if all(atom.args[place] == value for place, value in zip(places, key, strict=True)):
                    yield (*parts, (atom.predicate, places))


def _changes(action: RawAction) -> Iterator[_Change]:
    """Yield what the action adds, once for each condition."""
    precondition = [literal for literal in action.condition if literal >= 0]
    if not action.effects:
        yield _Change(action.adds, precondition, action.deletes, [f for f in action.deletes if f in precondition])
        return
    for part in [RawEffect([], action.adds, action.deletes), *action.effects]:
        if part.adds:
            held = {*precondition, *[literal for literal in part.condition if literal >= 0]}
            gone = list(dict.fromkeys(_surely_gone(action, held)))
            yield _Change(part.adds, sorted(held), gone, [fact for fact in gone if fact in held])


def _surely_gone(action: RawAction, held: set[int]) -> Iterator[int]:
    """Yield the facts that do not survive when `held` holds: a delete may ask for the very fact that it deletes."""
    yield from action.deletes
    for effect in action.effects:
        missing = [literal for literal in effect.condition if literal not in held]
        yield from (fact for fact in effect.deletes if not missing or missing == [fact])


class _Groups:
    """The groups of one candidate; `group_of` maps each fact that belongs to one to the number of its group."""

    def __init__(self, group_of: dict[int, int]) -> None:
        self._group_of = group_of
        self._size = Counter(group_of.values())

    def unbalanced(self, changes: list[_Change]) -> tuple[_Change, int] | None:
        """Return the first change that may leave a second fact in a group, with the group."""
        group_of = self._group_of
        added: dict[int, list[tuple[int, _Change]]] = {}
        for change in changes:
            for fact in change.adds:
                group = group_of.get(fact)
                if group is None:
                    continue
                for other in change.swapped:
                    if group_of.get(other) == group:
                        break
                else:
                    if not self._makes_room(change, fact, group):
                        return change, group
                rivals = added.setdefault(group, [])
                if rivals and any(f != fact and not self._exclusive(change, rival, group) for f, rival in rivals):
                    return change, group
                rivals.append((fact, change))
        return None

    def _makes_room(self, change: _Change, fact: int, group: int) -> bool:
        """Whether no other fact of the group holds after `change` has added `fact`, though it swaps none for it."""
        group_of = self._group_of
        held = [other for other in change.held if group_of.get(other) == group]
        if len(held) > 1 or held == [fact]:
            return True
        others = self._size[group] - 1
        return 0 < others <= len(change.gone) and others <= sum(
            [group_of.get(other) == group for other in change.gone if other != fact]
        )

    def _exclusive(self, one: _Change, other: _Change, group: int) -> bool:
        """Whether the two cannot happen at once: they need different facts of the group."""
        mine = {fact for fact in one.held if self._group_of.get(fact) == group}
        theirs = {fact for fact in other.held if self._group_of.get(fact) == group}
        return bool(mine and theirs and mine.isdisjoint(theirs))


def cover(groups: Iterable[Group], facts: Iterable[int]) -> list[Group]:
    """Return a partition of `facts` into groups, greedily the largest first; facts that are left stand alone."""
    left = dict.fromkeys(facts)
    candidates = [group for group in groups if len(group) > 1]
    chosen: list[Group] = []
    while candidates:
        candidates = sorted(candidates, key=len, reverse=True)
        best = candidates[0]
        chosen.append(best)
        for fact in best:
            left.pop(fact, None)
        taken = set(best)
        candidates = [rest for group in candidates[1:] if len(rest := tuple(f for f in group if f not in taken)) > 1]
    return chosen + [(fact,) for fact in left]

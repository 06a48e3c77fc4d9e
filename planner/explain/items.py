"""Items of the state that have one value at a time, read off the action schemas.

A candidate is a set of predicates, in each of which all arguments but at most one are the item's key: `at(ball, _)` and
`carried(ball, _)` give the place of a ball. It is an invariant when every action that adds a value of an item also
takes away the one that it required, or all that there may be (the candidates of Helmert 2009, tested on schemas and not
on what is reachable: the values of interest here are those that cannot be reached).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from planner.model import OPEN, Atom, Term
from planner.normalise import Conjunction, NormalProblem, Schema, SchemaEffect

CANDIDATES: Final = 300
"""How many candidates are tested at most."""

Parts = tuple[tuple[str, tuple[int, ...]], ...]
"""Predicates, each with the argument positions that hold the key, in the order of the key."""


@dataclass(frozen=True, slots=True)
class _Writes:
    """What a schema writes: `swapped` atoms it requires and deletes, `cleared` are patterns it deletes whole."""

    adds: tuple[Atom, ...]
    swapped: tuple[Atom, ...]
    cleared: tuple[Atom, ...]
    uncertain: frozenset[str]
    """The predicates that conditional effects add to."""


class Items:
    """The invariants of a problem in normal form."""

    def __init__(self, normal: NormalProblem) -> None:
        self._writes = [_writes(schema) for schema in normal.schemas]
        arities = {atom.predicate: len(atom.args) for writes in self._writes for atom in writes.adds}
        self.invariants = list(self._search(arities))

    def _search(self, arities: dict[str, int]) -> Iterator[Parts]:
        queue: list[Parts] = [
            ((name, tuple([place for place in range(arity) if place != counted])),)
            for name, arity in arities.items()
            for counted in range(arity + 1)
        ]
        seen = {frozenset(parts) for parts in queue}
        for parts in queue:
            failure = next((found for writes in self._writes if (found := _failure(parts, writes)) is not None), None)
            if failure is None:
                yield parts
                continue
            for extended in _extensions(parts, *failure):
                if frozenset(extended) not in seen and len(queue) < CANDIDATES:
                    seen.add(frozenset(extended))
                    queue.append(extended)

    def rivals(
        self, facts: Iterable[Atom], initial: Iterable[Atom], *, one_predicate: bool = False
    ) -> dict[Atom, list[Atom]]:
        """Return, for each of `facts`, those of `facts` and `initial` that are other values of the same item.

        Items that have several values initially have several values; they have no rivals. With `one_predicate`, only
        items of one predicate count, such as the place of a robot: an invariant over several may also be a stock that
        runs down, "the key is there, or the door is open", and more of a stock is no contradiction.
        """
        wanted, held = list(facts), list(initial)
        found: dict[Atom, dict[Atom, None]] = {fact: {} for fact in wanted}
        for parts in self.invariants:
            if one_predicate and len(parts) > 1:
                continue
            before, after = _by_item(parts, held), _by_item(parts, wanted)
            for key, values in after.items():
                others = before.get(key, [])
                if len(others) <= 1:
                    for fact in values:
                        found[fact].update((other, None) for other in (*others, *values) if other != fact)
        return {fact: list(others) for fact, others in found.items()}


def _by_item(parts: Parts, facts: Iterable[Atom]) -> dict[tuple[Term, ...], list[Atom]]:
    positions = dict(parts)
    found: dict[tuple[Term, ...], list[Atom]] = defaultdict(list)
    for fact in facts:
        if fact.predicate in positions:
            found[_key(fact, positions[fact.predicate])].append(fact)
    return found


def _key(atom: Atom, positions: tuple[int, ...]) -> tuple[Term, ...]:
    return tuple([atom.args[place] for place in positions])


def _writes(schema: Schema) -> _Writes:
    return _Writes(
        schema.adds,
        tuple([atom for atom in schema.condition.atoms if atom in schema.deletes]),
        tuple(
            [
                _pattern(atom, effect)
                for effect in schema.effects
                for atom in effect.deletes
                if effect.condition == Conjunction(effect.condition.variables)
            ]
        ),
        frozenset(atom.predicate for effect in schema.effects for atom in effect.adds),
    )


def _pattern(atom: Atom, effect: SchemaEffect) -> Atom:
    return atom.substitute({variable.name: OPEN for variable in effect.variables})


def _failure(parts: Parts, writes: _Writes) -> tuple[_Writes, tuple[Term, ...]] | None:
    """Return the writes again, and the key of an item that they may leave with two values; None where they do not."""
    positions = dict(parts)
    swapped = [_key(atom, positions[atom.predicate]) for atom in writes.swapped if atom.predicate in positions]
    cleared: set[tuple[Term, ...]] = set()
    for atom in writes.adds:
        if atom.predicate in positions:
            key = _key(atom, positions[atom.predicate])
            if key in swapped:
                swapped.remove(key)
            elif key not in cleared and _is_cleared(parts, key, writes.cleared):
                cleared.add(key)
            else:
                return writes, key
    return None if writes.uncertain.isdisjoint(positions) else (writes, ())


def _is_cleared(parts: Parts, key: tuple[Term, ...], cleared: tuple[Atom, ...]) -> bool:
    return all(
        any(
            atom.predicate == predicate
            and _key(atom, positions) == key
            and all(arg == OPEN for place, arg in enumerate(atom.args) if place not in positions)
            for atom in cleared
        )
        for predicate, positions in parts
    )


def _extensions(parts: Parts, writes: _Writes, key: tuple[Term, ...]) -> Iterator[Parts]:
    """Yield the candidate with one more predicate, whose atoms the failing action swaps."""
    known = {predicate for predicate, _ in parts}
    for atom in writes.swapped:
        if atom.predicate not in known and len(atom.args) - len(key) in (0, 1):
            for positions in itertools.permutations(range(len(atom.args)), len(key)):
                if _key(atom, positions) == key:
                    yield (*parts, (atom.predicate, positions))

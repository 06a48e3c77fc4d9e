"""Planning with assumptions at a price: a problem in which facts may be assumed before the first step.

Each candidate becomes an action that costs `PRICE` and can be used only before the first step of the source problem.
Each of those steps costs 1: so little that a cheapest plan of at most `STEPS` steps makes the fewest assumptions.
Göbelbecker, Keller, Eyerich, Brenner and Nebel (2010), "Coming up with good excuses", compile such changes in this way.

An assumed value of an item takes the place of its present one. Items are read off the action schemas: a candidate is a
set of predicates, in each of which all arguments but at most one are the item's key, as `at(ball, _)` and
`carried(ball, _)` give the place of a ball. It is an item where every action that adds a value also deletes the one
that it required, or all that there may be (the candidates of Helmert, 2009, tested on schemas, since values of interest
are those that nothing reaches).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.compilations.normal_form import Conjunction, NormalProblem, Schema, SchemaEffect
from planner.explain.near_misses import atom_of
from planner.model import OPEN, Action, Atom, Literal, Metric, Not, Number, Predicate, Problem, Term
from planner.plan import Step

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


PRICE: Final = 10**9
"""What an assumption costs."""
STEPS: Final = 10**8
"""More steps than any plan has that is of use."""
UNNAMED: Final = 10**5
"""What one costs more that nothing can provide, but that is not what the explanation of the goal leads to."""
DEEPER: Final = 2 * UNNAMED
"""What one costs more that something could provide: so that of equally many, those at the root are chosen."""
BESIDE: Final = 3 * UNNAMED
"""What one costs more that holds beside what it could replace."""
DEAREST: Final = PRICE + DEEPER + BESIDE


@dataclass(frozen=True, slots=True)
class Assumption:
    """A fact that would hold from the start, or fail (`Not`).

    `instead_of` are the initial facts that would then not hold, since they are values of the same item; `rivals` are
    these and all other candidates of which that is true.
    """

    literal: Literal
    instead_of: tuple[Atom, ...] = ()
    rivals: tuple[Atom, ...] = ()
    price: int = PRICE

    def __str__(self) -> str:
        instead = f" instead of {', '.join(map(str, self.instead_of))}" if self.instead_of else ""
        return f"{self.literal}{instead}"

    def to_dict(self) -> dict[str, Any]:
        """Return the assumption as JSON-ready data."""
        return {
            "fact": str(atom_of(self.literal)),
            "holds": isinstance(self.literal, Atom),
            "instead_of": list(map(str, self.instead_of)),
        }


def assumptions(
    literals: Iterable[Literal], prices: Mapping[Literal, int], items: Items, initial: tuple[Atom, ...]
) -> list[Assumption]:
    """Return `literals` as assumptions, each with what it would replace in the initial state.

    Their `prices` are what they cost in the first place; those that have none cost `PRICE + DEEPER`.

    A fact that may replace others of another predicate, or stand beside them, gives two assumptions.
    """
    wanted, holding = list(dict.fromkeys(literals)), set(initial)
    positive = [literal for literal in wanted if isinstance(literal, Atom)]
    every, same = items.rivals(positive, initial), items.rivals(positive, initial, one_predicate=True)
    found = []
    for literal in wanted:
        price = prices.get(literal, PRICE + DEEPER)
        variants = [every[literal], same[literal]] if isinstance(literal, Atom) else [[], []]
        for rivals, extra in zip(variants, (0, BESIDE), strict=True):
            if not extra or rivals != variants[0]:
                instead = tuple([fact for fact in rivals if fact in holding])
                found.append(Assumption(literal, instead, tuple(rivals), price + extra))
    return found


def with_assumptions(plain: Problem, candidates: Sequence[Assumption]) -> Problem:
    """Return the plain ADL problem `plain` with an action for each of `candidates`, named `assume-<number>`."""
    domain = plain.domain
    phase = Atom(_fresh("assuming", domain.predicates))
    prefix = assume_prefix(plain)
    real = {
        name: replace(action, provides=(*action.provides, Not(phase)), cost=(1,))
        for name, action in domain.actions.items()
    }
    extra = {
        f"{prefix}{number}": Action(
            f"{prefix}{number}",
            requires=phase,
            provides=(candidate.literal, *[Not(fact) for fact in candidate.rivals]),
            cost=(candidate.price,),
        )
        for number, candidate in enumerate(candidates)
    }
    return replace(
        plain,
        domain=replace(
            domain, actions=real | extra, predicates={**domain.predicates, phase.predicate: Predicate(phase.predicate)}
        ),
        initial=(*plain.initial, phase),
        metric=Metric.COST,
    )


def assume_prefix(problem: Problem) -> str:
    """Return how the names of the assuming actions begin: as no action of `problem` does."""
    prefix = "assume-"
    while any(name.startswith(prefix) for name in problem.domain.actions):
        prefix = f"@{prefix}"
    return prefix


def split(steps: Iterable[Step], prefix: str, candidates: Sequence[Assumption]) -> tuple[list[Assumption], list[Step]]:
    """Return the assumptions that a plan begins with, and the steps that remain."""
    made: list[Assumption] = []
    rest: list[Step] = []
    for step in steps:
        if step.action.startswith(prefix):
            made.append(candidates[int(step.action.removeprefix(prefix))])
        else:
            rest.append(step)
    return made, rest


def changed(problem: Problem, made: Iterable[Assumption]) -> Problem:
    """Return `problem` with its initial state changed as assumed."""
    facts = dict.fromkeys(problem.initial)
    for assumption in made:
        for fact in assumption.rivals:
            facts.pop(fact, None)
        if isinstance(assumption.literal, Atom):
            facts[assumption.literal] = None
        else:
            facts.pop(atom_of(assumption.literal), None)
    return replace(problem, initial=tuple(facts))


def fewest(cost: Number) -> int:
    """Return how many assumptions a plan of at most `STEPS` steps makes at least, if it costs `cost` or more."""
    return max(0, math.ceil((cost - STEPS) / DEAREST))


def _fresh(name: str, taken: Iterable[str]) -> str:
    while name in set(taken):
        name += "_"
    return name

"""Random well-typed atoms and formulas over a random vocabulary."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Final

from planner.model.actions import Literal
from planner.model.domain import Function, Predicate, TypeHierarchy
from planner.model.formulas import TRUE, And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Object, Or, Variable

TYPES: Final = {"thing": (), "box": ("thing",), "cart": ("thing",), "hybrid": ("box", "cart")}
HIERARCHY: Final = TypeHierarchy(TYPES)
VARIABLE_TYPES: Final = (
    *[("object",)] * 3,
    *[("thing",)] * 4,
    ("box",),
    ("box",),
    ("cart",),
    ("hybrid",),
    ("box", "cart"),
)

Scope = tuple[Variable | Object, ...]
"""What an argument may be: variables and objects, with their types."""
Signature = Predicate | Function


@dataclass(frozen=True, slots=True)
class Features:
    """What random problems may contain; `actions` and `objects` are the largest numbers of each.

    With `universal_recursion`, a derived predicate may depend on itself inside `forall`: PDDL allows that (it is
    monotone), Fast Downward does not.
    """

    actions: int = 5
    objects: int = 4
    either: bool = True
    negative: bool = True
    disjunctive: bool = True
    quantified: bool = True
    equality: bool = True
    conditional: bool = True
    universal: bool = True
    modifies: bool = True
    stale: bool = True
    after: bool = True
    axioms: bool = True
    universal_recursion: bool = True
    costs: bool = True
    decimals: bool = False
    lengths: bool = True
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Readable:
    """The predicates that a formula may use where their truth helps it, and where their falsity does."""

    positive: Sequence[Predicate]
    negative: Sequence[Predicate]

    @property
    def flipped(self) -> Readable:
        """What may be used inside a negation."""
        return Readable(self.negative, self.positive)

    @property
    def either_way(self) -> Readable:
        """What may be used whatever surrounds it."""
        both = [predicate for predicate in self.positive if predicate in self.negative]
        return Readable(both, both)


class FormulaDrawer:
    """Draws formulas with at most the constructs that `features` allow."""

    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng = rng
        self.features = features
        self._names = count()

    def variables(self, least: int, most: int) -> tuple[Variable, ...]:
        """Return new variables."""
        allowed = VARIABLE_TYPES if self.features.either else VARIABLE_TYPES[:-1]
        number = self.rng.randint(least, most)
        return tuple([Variable(f"?v{next(self._names)}", self.rng.choice(allowed)) for _ in range(number)])

    def atom(self, signatures: Iterable[Signature], scope: Scope, *, prefer: Scope = ()) -> Atom | None:
        """Return a well-typed atom, with arguments of `prefer` where they fit; None where none can be formed."""
        order = list(signatures)
        self.rng.shuffle(order)
        for signature in order:
            args = [self._argument(parameter.types, scope, prefer) for parameter in signature.parameters]
            if None not in args:
                return Atom(signature.name, tuple([arg for arg in args if arg is not None]))
        return None

    def _argument(self, types: tuple[str, ...], scope: Scope, prefer: Scope) -> str | None:
        fitting = [term.name for term in scope if fits(term, types)]
        preferred = [term.name for term in prefer if fits(term, types)]
        return self.rng.choice(preferred * 2 + fitting) if fitting else None

    def formula(self, readable: Readable, scope: Scope, depth: int, *, prefer: Scope = ()) -> Formula:
        """Return a formula whose free variables are in `scope`."""
        makers = self._makers() if depth else []
        if not makers or self.rng.random() < 0.45:
            return self._leaf(readable, scope, prefer)
        return self.rng.choice(makers)(readable, scope, depth - 1, prefer)

    def _makers(self) -> list[Callable[[Readable, Scope, int, Scope], Formula]]:
        makers: list[Callable[[Readable, Scope, int, Scope], Formula]] = [self._and]
        if self.features.disjunctive:
            makers += [self._or, self._or, self._imply]
        if self.features.negative and self.features.disjunctive:
            makers.append(self._not)
        if self.features.quantified:
            makers += [self._exists, self._forall]
        return makers

    def _leaf(self, readable: Readable, scope: Scope, prefer: Scope) -> Formula:
        if self.features.equality and len(scope) > 1 and self.rng.random() < 0.12:
            left, right = self.rng.sample(list(scope), 2)
            same = Equals(left.name, right.name)
            return Not(same) if self.rng.random() < 0.6 else same
        if self.features.negative and self.rng.random() < 0.35:
            atom = self.atom(readable.negative, scope, prefer=prefer)
            return TRUE if atom is None else Not(atom)
        return self.atom(readable.positive, scope, prefer=prefer) or TRUE

    def _and(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return And(tuple([self.formula(readable, scope, depth, prefer=prefer) for _ in range(self.rng.randint(2, 3))]))

    def _or(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return Or(tuple([self.formula(readable, scope, depth, prefer=prefer) for _ in range(self.rng.randint(2, 3))]))

    def _imply(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        premise = self.formula(self._guarded(readable).flipped, scope, depth, prefer=prefer)
        return Imply(premise, self.formula(readable, scope, depth, prefer=prefer))

    def _not(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return Not(self.formula(self._guarded(readable).flipped, scope, depth, prefer=prefer))

    def _exists(self, readable: Readable, scope: Scope, depth: int, _: Scope) -> Formula:
        variables = self.variables(1, 1)
        return Exists(variables, self.formula(readable, (*scope, *variables), depth, prefer=variables))

    def _forall(self, readable: Readable, scope: Scope, depth: int, _: Scope) -> Formula:
        variables = self.variables(1, 1)
        return Forall(variables, self.formula(self._guarded(readable), (*scope, *variables), depth, prefer=variables))

    def _guarded(self, readable: Readable) -> Readable:
        return readable if self.features.universal_recursion else readable.either_way

    def literal(self, writable: Sequence[Predicate], scope: Scope, *, prefer: Scope = ()) -> Literal | None:
        """Return a fact to provide, or one to retract."""
        atom = self.atom(writable, scope, prefer=prefer)
        return Not(atom) if atom is not None and self.rng.random() < 0.35 else atom


def fits(term: Variable | Object, types: tuple[str, ...]) -> bool:
    """Return whether every object that `term` may be belongs to one of `types`."""
    if isinstance(term, Object):
        return HIERARCHY.is_a(term.types, types)
    return all(HIERARCHY.is_a((name,), types) for name in term.types)


def instances(signatures: Iterable[Signature], objects: Sequence[Object]) -> list[Atom]:
    """Return every well-typed ground atom."""
    return [
        Atom(signature.name, names)
        for signature in signatures
        for names in product(
            *([item.name for item in objects if fits(item, each.types)] for each in signature.parameters)
        )
    ]

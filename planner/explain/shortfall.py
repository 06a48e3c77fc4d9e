"""The graph of what cannot come about: each literal with the near misses that would provide it.

A near miss needs all the literals that it lacks, a literal needs one of its near misses. A literal is worth the number
of missing capabilities that its best near miss leads to; what only leads back to itself is worth nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from planner.explain.nearmiss import NearMiss, near_misses
from planner.explain.providers import Provider, Providers, atom_of
from planner.explain.relaxed import Literals, Relaxed
from planner.explain.unreachable import Cause
from planner.model import Literal, Not

LITERALS: Final = 300
"""How many literals are looked at."""

Value = tuple[int, int]
"""Missing capabilities, then links: what an explanation should have few of."""


GIVEN: Final = 2
"""What the end of a fact counts for that no action ever touches: it is given, and rather the guard of a need."""


@dataclass(slots=True)
class Need:
    """A literal that cannot come about: what could provide it, and how near that comes."""

    providers: list[Provider]
    misses: list[NearMiss]
    cause: Cause | None = None


@dataclass(slots=True)
class Shortfall:
    """The graph, grown from the literals that parts of the goal lack; explanations lead to the literals `named`."""

    relaxed: Relaxed
    providers: Providers
    needs: dict[Literal, Need] = field(default_factory=dict)
    named: set[Literal] = field(default_factory=set)
    _values: dict[Literal, Value] = field(default_factory=dict)

    def grow(self, roots: Iterable[Literal]) -> None:
        """Add `roots` and all that they need, nearest first; raises `LimitReached`."""
        queue = deque(roots)
        while queue:
            literal = queue.popleft()
            if literal not in self.needs:
                need = self.needs[literal] = self._need(literal)
                queue.extend(lacking for miss in need.misses for lacking in miss.lacks)
        self._evaluate()

    def _need(self, literal: Literal) -> Need:
        self.relaxed.budget.check()
        providers = self.providers.of(literal)
        if not providers:
            return Need([], [], self._cause(literal))
        if len(self.needs) >= LITERALS:
            return Need(providers, [], Cause.NOT_FOLLOWED)
        misses = [miss for provider in providers for miss in near_misses(provider, literal, self.relaxed)]
        return Need(providers, sorted(misses, key=lambda miss: len(miss.lacks)), None if misses else Cause.NO_OBJECTS)

    def _cause(self, literal: Literal) -> Cause:
        if isinstance(literal, Not):
            return Cause.LASTING
        return Cause.NO_PROVIDER if self._is_changed(literal) else Cause.STATIC

    def _is_changed(self, literal: Literal) -> bool:
        atom = atom_of(literal)
        return self.providers.changes(atom) or self.providers.changes(Not(atom))

    def _end(self, literal: Literal, cause: Cause) -> Value:
        if cause is Cause.NOT_FOLLOWED:
            return LITERALS, 1
        return (GIVEN if cause is Cause.LASTING and not self._is_changed(literal) else 1), 1

    def _evaluate(self) -> None:
        """Find the value of each literal, by passes until nothing gets better."""
        values = {literal: self._end(literal, need.cause) for literal, need in self.needs.items() if need.cause}
        better = True
        while better:
            better = False
            for literal, need in self.needs.items():
                for miss in need.misses:
                    value = _sum(miss.lacks, values)
                    if value is not None and (literal not in values or value < values[literal]):
                        values[literal], better = value, True
        self._values = values

    def best(self, literal: Literal) -> NearMiss | None:
        """Return the near miss to explain `literal` with; None where its chain ends."""
        need = self.needs[literal]
        return min(need.misses, key=lambda miss: self.rank(miss.lacks), default=None)

    def rank(self, literals: Literals) -> tuple[bool, Value]:
        """Return how good it is to explain something by `literals`: what ends in missing capabilities comes first."""
        value = _sum(literals, self._values)
        return value is None, value or (len(literals), len(literals))


def _sum(literals: Literals, values: dict[Literal, Value]) -> Value | None:
    """Return the value of needing all of `literals`; None where one of them is worth nothing so far."""
    if any(literal not in values for literal in literals):
        return None
    return sum(values[literal][0] for literal in literals), 1 + sum(values[literal][1] for literal in literals)

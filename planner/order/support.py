"""Which facts make a condition true or false: a set of literals that suffices, whatever else holds.

A literal is an atom and whether it holds. Literals of derived atoms are traced to their base facts: what holds, through
one proof of it; what does not, through a false literal in each instance of an axiom that might derive it (an unfounded
set; Van Gelder, Ross, Schlipf 1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.model import Atom
from planner.validate.conditions import All, Binding, Condition, Domains, Either, Lookup, Never, Same, Some
from planner.validate.state import Row, State
from planner.validate.strata import Axioms, Rule
from planner.validate.world import World

Literals = dict[tuple[Atom, bool], None]
"""Atoms and whether they hold, as an ordered set."""


class RankedWorld(World):
    """A world that knows in which order facts were derived, so that no proof goes in a circle."""

    def __init__(self, state: State, axioms: Axioms) -> None:
        super().__init__(state, axioms)
        self._ranks: dict[Atom, int] = {}
        self._next = 0

    def enter(self, predicate: str, row: Row) -> None:
        """Take in a derived fact, after those that it is derived from."""
        super().enter(predicate, row)
        self._ranks[Atom(predicate, row)] = self._next = self._next + 1

    def rank(self, fact: Atom) -> int:
        """Return when `fact` was derived; 0 for base facts."""
        return self._ranks[fact] if fact.predicate in self.axioms else 0


class Support:
    """Explains conditions in `world`; `possible` covers all states that count (see `possible_world`)."""

    def __init__(self, world: RankedWorld, possible: World) -> None:
        self._world = world
        self._possible = possible

    def base(self, condition: Condition, binding: Binding, *, holds: bool) -> Literals:
        """Return base literals that hold now and suffice for `condition` to hold, or not to, as it does now."""
        found = self._literals(condition, binding, holds=holds)
        assert found is not None, "asked why something holds that does not"  # noqa: S101 - a broken promise of ours
        queue, base = list(found), Literals()
        seen = set(queue)
        while queue:
            fact, wanted = queue.pop()
            if fact.predicate not in self._world.axioms:
                base[fact, wanted] = None
                continue
            more = self._proof(fact) if wanted else self._refutation(fact)
            fresh = [literal for literal in more if literal not in seen]
            seen.update(fresh)
            queue.extend(fresh)
        return base

    def instances(self, condition: Condition, domains: Domains, binding: Binding) -> Iterator[Binding]:
        """Yield every instance of `condition` that may hold in a state that counts."""
        return self._possible.solver.solutions([condition], domains, binding)

    def _literals(
        self, condition: Condition, binding: Binding, *, holds: bool, before: int | None = None
    ) -> Literals | None:
        """Return literals that suffice; None where there are none, or only such as were derived later than `before`."""
        match condition:
            case Lookup(predicate, args, positive):
                fact = Atom(predicate, tuple([binding.get(arg, arg) for arg in args]))
                return self._literal(fact, positive is holds, before)
            case Same():
                return Literals() if self._world.solver.holds(condition, binding) is holds else None
            case All(parts) | Either(parts):
                found = (self._literals(part, binding, holds=holds, before=before) for part in parts)
                return _all_of(found) if isinstance(condition, All) is holds else _fewest(found)
            case Some(domains, part) | Never(domains, part):
                if isinstance(condition, Some) is holds:
                    witnesses = self._world.solver.solutions([part], domains, binding)
                    found = (self._literals(part, each, holds=True, before=before) for each in witnesses)
                    return next((literals for literals in found if literals is not None), None)
                candidates = self.instances(part, domains, binding)
                return _all_of(self._literals(part, each, holds=False, before=before) for each in candidates)

    def _literal(self, fact: Atom, wanted: bool, before: int | None) -> Literals | None:  # noqa: FBT001 - a truth value
        if (fact.args in self._world.table(fact.predicate).rows) is not wanted:
            return None
        if wanted and before is not None and self._world.rank(fact) >= before:
            return None
        return {(fact, wanted): None}

    def _proof(self, fact: Atom) -> Literals:
        """Return literals that derive `fact` by one axiom; derived ones among them were derived earlier."""
        before = self._world.rank(fact)
        proofs = (
            self._literals(rule.condition, binding, holds=True, before=before) for rule, binding in self._rules(fact)
        )
        return next(proof for proof in proofs if proof is not None)

    def _refutation(self, fact: Atom) -> Literals:
        """Return literals under which no axiom derives `fact`, given that the negated ones among them hold."""
        reasons = _all_of(self._literals(rule.condition, binding, holds=False) for rule, binding in self._rules(fact))
        assert reasons is not None, "asked why a fact is not derived that is"  # noqa: S101 - as above
        return reasons

    def _rules(self, fact: Atom) -> Iterator[tuple[Rule, Binding]]:
        for rule in self._world.axioms.needed(fact.predicate)[-1].rules:
            if rule.predicate == fact.predicate and all(
                value in domain for value, domain in zip(fact.args, rule.domains.values(), strict=True)
            ):
                yield rule, dict(zip(rule.domains, fact.args, strict=True))


def _all_of(parts: Iterable[Literals | None]) -> Literals | None:
    found = Literals()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _fewest(parts: Iterable[Literals | None]) -> Literals | None:
    return min((part for part in parts if part is not None), key=len, default=None)

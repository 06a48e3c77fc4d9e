"""Lint of pairs: two facts that actions exchange, such as `empty(k)` and `holds_wort(k, b)`, of which one holds.

An action *takes* `empty(k)` where it requires and ends it, and provides `holds_wort(k, b)`, whose arguments contain
those of the first. All actions that end the second are expected to give the first back, and none to do so and leave
the second. These are invariants of two predicates, as those of Helmert (2009), looked for where a single action breaks
them: it is told then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from planner.lint.findings import Finding, Level, conjoined_atoms
from planner.lint.item_lint import Item, declared_items
from planner.model.actions import Action, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, TRUE, Atom


@dataclass(frozen=True, slots=True)
class Pair:
    """Facts of `taken` and `given` exclude each other; argument n of the one is argument `places[n]` of the other."""

    taken: str
    given: str
    places: tuple[int, ...]

    def free(self, fact: Atom) -> Atom:
        """Return the fact of `taken` that `fact`, one of `given`, excludes."""
        return Atom(self.taken, tuple([fact.args[each] for each in self.places]))


@dataclass(frozen=True, slots=True)
class _Effects:
    """What `action` requires, provides and ends without a condition."""

    action: Action
    required: tuple[Atom, ...]
    provided: tuple[Atom, ...]
    ended: tuple[Atom, ...]

    @classmethod
    def of(cls, action: Action) -> _Effects:
        """Collect them; an item of `modifies` without an open argument stays true."""
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        ended = [atom for each in sure for atom in (*negated_atoms(each.provides), *each.modifies)]
        return cls(
            action,
            tuple(conjoined_atoms(action.requires)),
            tuple([atom for each in sure for atom in positive_atoms(each.provides)]),
            tuple([x for x in ended if OPEN in x.args or x not in {y for each in sure for y in each.modifies}]),
        )

    def ends(self, fact: Atom) -> bool:
        """Return whether the action ends `fact` and does not provide it."""
        return fact not in self.provided and any(
            each.predicate == fact.predicate and each.matches(fact) for each in self.ended
        )

    def goes_on(self, free: Atom) -> bool:
        """Return whether the action provides anything of all objects of `free`, as by moving them to a third state."""
        return any(set(free.args) <= set(fact.args) for fact in self.provided)

    def taken(self) -> Iterator[Atom]:
        """Yield what the action requires and ends."""
        return (fact for fact in self.required if self.ends(fact))


def check_pairs(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one action that breaks a pair that all others keep."""
    if any(action.outcomes for action in domain.actions.values()):
        return
    effects = [_Effects.of(action) for action in domain.actions.values()]
    giving, needing = defaultdict[str, list[_Effects]](list), defaultdict[str, list[_Effects]](list)
    for each in effects:
        for name in {atom.predicate for atom in each.provided}:
            giving[name].append(each)
        for name in {atom.predicate for atom in each.required}:
            needing[name].append(each)
    items = [item for item in declared_items(domain) if item.predicate in giving]
    for pair, takers in _find_pairs(effects).items():
        if pair.taken not in domain.derived and _is_exclusive(pair, giving[pair.given]):
            yield from _check_pair(pair, takers[0], needing[pair.given], items)


def _check_pair(pair: Pair, taker: _Effects, users: list[_Effects], items: list[Item]) -> Iterator[Finding]:
    losers = [each for each in users if _loses(pair, each) is not None]
    backs = [each for each in users if each not in losers and _gives_back(pair, each)]
    doubles = [each for each in users if _doubles(pair, each) is not None]
    if len(losers) == 1 and backs and not doubles:
        yield _report_loss(pair, losers[0], taker, backs[0])
    is_single = any(item.predicate == pair.given and item.place not in pair.places for item in items)
    if len(doubles) == 1 and not losers and is_single:
        yield _report_double(pair, doubles[0], taker)


def _find_pairs(effects: list[_Effects]) -> dict[Pair, list[_Effects]]:
    """Return the pairs with the actions that take the one and give the other, and nothing else of its objects."""
    found: dict[Pair, list[_Effects]] = defaultdict(list)
    for each in effects:
        for taken in each.taken():
            counterparts = [x for x in each.provided if set(taken.args) <= set(x.args)] if taken.args else []
            if len(counterparts) == 1 and counterparts[0].predicate != taken.predicate:
                given = counterparts[0]
                places = tuple([given.args.index(arg) for arg in taken.args])
                found[Pair(taken.predicate, given.predicate, places)].append(each)
    return found


def _is_exclusive(pair: Pair, effects: list[_Effects]) -> bool:
    """Return whether every action that gives a fact of the pair takes its counterpart, or another fact of its kind."""
    for each in effects:
        for fact in each.provided:
            if fact.predicate == pair.given:
                others = [x for x in each.taken() if x.predicate == pair.given and pair.free(x) == pair.free(fact)]
                if pair.free(fact) not in list(each.taken()) and not others:
                    return False
    return True


def _loses(pair: Pair, effects: _Effects) -> Atom | None:
    """Return the fact that the action takes without giving its counterpart back, or another fact of its kind."""
    for fact in effects.taken():
        if fact.predicate == pair.given and not effects.goes_on(pair.free(fact)):
            return fact
    return None


def _gives_back(pair: Pair, effects: _Effects) -> bool:
    return any(each.predicate == pair.given and pair.free(each) in effects.provided for each in effects.taken())


def _doubles(pair: Pair, effects: _Effects) -> Atom | None:
    """Return the fact that the action requires and leaves, while it gives the counterpart."""
    for fact in effects.required:
        if fact.predicate == pair.given and pair.free(fact) in effects.provided and not effects.ends(fact):
            return fact
    return None


def _report_loss(pair: Pair, loser: _Effects, taker: _Effects, back: _Effects) -> Finding:
    fact = _loses(pair, loser)
    assert fact is not None
    free = _plain(pair.free(fact))
    message = (
        f"it ends {_plain(fact)} and does not give {free} back, as action {back.action.name} does;"
        f" action {taker.action.name} took it"
    )
    place, hint = f"action {loser.action.name}", f"provide {free}"
    return Finding(Level.WARNING, "unlike-pair", place, message, hint, "provides")


def _report_double(pair: Pair, effects: _Effects, taker: _Effects) -> Finding:
    fact = _doubles(pair, effects)
    assert fact is not None
    free, kept = _plain(pair.free(fact)), _plain(fact)
    message = f"it gives {free} back, and leaves {kept}, for which action {taker.action.name} took it: both hold then"
    place, hint = f"action {effects.action.name}", f"end {kept}, too"
    return Finding(Level.WARNING, "unlike-pair", place, message, hint, "provides", pair.free(fact))


def find_leak(taken: Atom, taker: Action, domain: DomainModel) -> tuple[Action, Atom] | None:
    """Return the one action that ends what `taker` provides for `taken`, so that it should give that back."""
    effects = {each.name: _Effects.of(each) for each in domain.actions.values()}
    own = effects[taker.name]
    found: list[tuple[Action, Atom]] = []
    for given in own.provided:
        if set(taken.args) <= set(given.args) and taken.args:
            found += [
                (each.action, fact)
                for name, each in effects.items()
                if name != taker.name
                for fact in each.taken()
                if fact.predicate == given.predicate and not each.goes_on(_match(taken, given, fact))
            ]
    names = {action.name for action, _ in found}
    return found[0] if len(names) == 1 else None


def _match(taken: Atom, given: Atom, fact: Atom) -> Atom:
    """Return `taken` with the arguments of `fact`, a fact like `given`."""
    return taken.substitute(dict(zip(given.args, fact.args, strict=True)))


def _plain(atom: Atom) -> str:
    return str(atom).replace("?", "")

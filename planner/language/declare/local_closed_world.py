"""Local closed worlds: the facts that say for which patterns all items are known.

An action that `lists` a pattern, such as `pending(_)`, provides the fact `listed_pending`: from then on every item of
the pattern is known, also those whose objects nobody had named before, and what was unknown of its items is known. A
step that may add items takes the fact away. Conditions over all objects need it, since an object that nobody has named
yet could make them false (Etzioni, Golden and Weld, 1994: local closed-world information).

The facts are ordinary ones, written into actions, axioms and goals when these are declared. So search, decomposition,
validation and the monitor treat them as they treat all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from planner.language.declare.fields import add_fact
from planner.lightweight import dataclass, replace
from planner.model.actions import Action, Literal, Outcome, When, positive_atoms
from planner.model.domain import Axiom, DomainModel, Predicate, TypeHierarchy, cache_per_domain
from planner.model.formulas import (
    OPEN,
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Term,
    Variable,
    conjunction,
    conjuncts,
    is_variable,
    literals_in,
)

BOUND = "?"
"""Stands for an argument that each listing step binds."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A pattern that actions list, with `BOUND` for arguments that their steps bind; `fact` is its predicate."""

    pattern: Atom
    fact: str

    @classmethod
    def generalise(cls, pattern: Atom) -> Atom:
        """Return `pattern` with `BOUND` in place of parameters."""
        return Atom(pattern.predicate, tuple([BOUND if is_variable(arg) else arg for arg in pattern.args]))

    def fact_of(self, item: Atom) -> Atom | None:
        """Return the fact that all items of the pattern with the bound arguments of `item` are known.

        Return None if the pattern covers no such items. An open argument of `item` stays open.
        """
        if item.predicate != self.pattern.predicate:
            return None
        bound: list[Term] = []
        for mine, given in zip(self.pattern.args, item.args, strict=True):
            if mine == BOUND:
                bound.append(given)
            elif OPEN not in (mine, given) and not is_variable(given) and mine != given:
                return None
        return Atom(self.fact, tuple(bound))

    def covers(self, item: Atom) -> bool:
        """Return whether a listing of the pattern tells whether `item` holds, whatever objects its variables name."""
        return item.predicate == self.pattern.predicate and all(
            mine in (OPEN, BOUND, given) for mine, given in zip(self.pattern.args, item.args, strict=True)
        )

    def is_within(self, pattern: Atom) -> bool:
        """Return whether who finds out all facts of `pattern` knows all items of this pattern."""
        return all(
            given == OPEN or mine in (given, BOUND) for mine, given in zip(self.pattern.args, pattern.args, strict=True)
        )

    def is_named_by(self, pattern: Atom) -> bool:
        """Return whether the retraction of `pattern` names the items that it ends."""
        pairs = zip(self.pattern.args, pattern.args, strict=True)
        return all(given != OPEN for mine, given in pairs if mine == OPEN)


def find_listings(actions: Iterable[Action]) -> tuple[Listing, ...]:
    """Return the listings of `actions`, each pattern once."""
    found: dict[Atom, Listing] = {}
    names: set[str] = set()
    for action in actions:
        for pattern in map(Listing.generalise, action.lists):
            if pattern not in found:
                name = _choose_name(pattern, names)
                names.add(name)
                found[pattern] = Listing(pattern, name)
    return tuple(found.values())


def _choose_name(pattern: Atom, taken: Collection[str]) -> str:
    """Return a name for the fact: `listed_` and the predicate, then constants and, if it is taken, the open places."""
    constants = [arg for arg in pattern.args if arg not in (OPEN, BOUND)]
    base = "_".join(["listed", pattern.predicate, *constants])
    opened = [str(at) for at, arg in enumerate(pattern.args, 1) if arg == OPEN]
    names = (base, "_".join([base, "at", *opened]), *(f"{base}_{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


@cache_per_domain
def listings_of(domain: DomainModel) -> tuple[Listing, ...]:
    """Return the listings of `domain`."""
    return find_listings(domain.actions.values())


def add_listed_facts(domain: DomainModel) -> DomainModel:
    """Write the facts of the listings into `domain`; where they stand already, nothing changes.

    Raises `InputError` if a predicate has the name of such a fact and other parameters.
    """
    listings = listings_of(domain)
    if not listings:
        return domain
    predicates = dict(domain.predicates)
    for listing in listings:
        source = domain.predicates[listing.pattern.predicate]
        add_fact(predicates, _make_predicate(listing, source), f"whether all {listing.pattern.predicate!r} are listed")
    return replace(
        domain,
        predicates=predicates,
        actions={name: _complete_action(action, domain, listings) for name, action in domain.actions.items()},
        axioms=tuple([_complete_axiom(axiom, domain) for axiom in domain.axioms]),
    )


def _make_predicate(listing: Listing, source: Predicate) -> Predicate:
    """Return the predicate of the fact of `listing`; it goes stale as the listed predicate `source` does."""
    places = [at for at, arg in enumerate(listing.pattern.args) if arg == BOUND]
    parameters = tuple([source.parameters[at] for at in places])
    kept = {each.name for each in parameters}
    stale = [
        Atom(each.predicate, tuple([arg if arg in kept or not is_variable(arg) else OPEN for arg in each.args]))
        for each in source.stale_with
    ]
    description = f"all items of {listing.pattern.predicate} are known"
    return Predicate(listing.fact, parameters, tuple(stale), frozenset({"trusted"}), description)


def _complete_action(action: Action, domain: DomainModel, listings: Sequence[Listing]) -> Action:
    """Return `action` with the facts that it needs, gives and takes away."""
    given = [_fact_of_step(pattern, listings) for pattern in action.lists]
    provides, modifies = _add_losses(action.provides, action.modifies, listings, given)
    known = positive_atoms(provides)
    return replace(
        action,
        requires=require_listings(action.requires, domain),
        provides=(*provides, *[fact for fact in given if fact not in known]),
        modifies=modifies,
        when=tuple([_complete_when(when, domain, listings, given) for when in action.when]),
        outcomes=tuple([_complete_outcome(outcome, listings, given) for outcome in action.outcomes]),
        senses=tuple(dict.fromkeys([*action.senses, *action.lists])),
        tags=action.tags | ({"idempotent"} if _only_lists(action) else set()),
    )


def _only_lists(action: Action) -> bool:
    """Return whether nothing is changed by listing what `action` lists, and nobody says otherwise."""
    changes = (*action.provides, *action.modifies, *action.when, *action.outcomes, *action.creates)
    return bool(action.lists) and not changes and "irreversible" not in action.tags


def _fact_of_step(pattern: Atom, listings: Sequence[Listing]) -> Atom:
    """Return the fact that a step provides which lists `pattern`."""
    listing = next(each for each in listings if each.pattern == Listing.generalise(pattern))
    return Atom(listing.fact, tuple([arg for arg in pattern.args if is_variable(arg)]))


def _complete_when(when: When, domain: DomainModel, listings: Sequence[Listing], given: Sequence[Atom]) -> When:
    provides, modifies = _add_losses(when.provides, when.modifies, listings, given)
    return replace(when, requires=require_listings(when.requires, domain), provides=provides, modifies=modifies)


def _complete_outcome(outcome: Outcome, listings: Sequence[Listing], given: Sequence[Atom]) -> Outcome:
    provides, modifies = _add_losses(outcome.provides, outcome.modifies, listings, given)
    known = positive_atoms(provides)
    return replace(outcome, provides=(*provides, *[fact for fact in given if fact not in known]), modifies=modifies)


def _complete_axiom(axiom: Axiom, domain: DomainModel) -> Axiom:
    return replace(axiom, condition=require_listings(axiom.condition, domain))


def _add_losses(
    provides: tuple[Literal, ...], modifies: tuple[Atom, ...], listings: Sequence[Listing], given: Sequence[Atom]
) -> tuple[tuple[Literal, ...], tuple[Atom, ...]]:
    """Add the ends of the facts in effects that may add items, or that retract items without naming them."""
    more: dict[Literal, None] = {}
    opened: dict[Atom, None] = {}
    for listing in listings:
        ended = [each for each in modifies if each.predicate == listing.pattern.predicate]
        for item in (*positive_atoms(provides), *[each for each in ended if not listing.is_named_by(each)]):
            fact = listing.fact_of(item)
            if fact is None or fact in given:
                continue
            if OPEN in fact.args:
                opened[fact] = None
            else:
                more[Not(fact)] = None
    return (
        (*provides, *[each for each in more if each not in provides]),
        (*modifies, *[each for each in opened if each not in modifies]),
    )


def require_listings(formula: Formula, domain: DomainModel) -> Formula:
    """Strengthen `formula`: where it speaks of all objects, what it needs to be absent must be listed.

    A part over all objects of a type that needs no absence needs the listings that name objects of this type.
    """
    listings = listings_of(domain)
    return _Strengthening(listings, domain).strengthen(formula) if listings else formula


@dataclass(frozen=True, slots=True)
class _Strengthening:
    """Adds the facts of `listings` to formulas of `domain`."""

    listings: Sequence[Listing]
    domain: DomainModel

    def strengthen(self, formula: Formula, *, positive: bool = True) -> Formula:
        """Return `formula` with what it needs; where it is negated, unless `positive`, with what its negation needs."""
        match formula:
            case Not(Exists() as part) if positive:
                return self._join(self._find_needs(part, positive=False), formula)
            case Not(part):
                return Not(self.strengthen(part, positive=not positive))
            case Imply(premise, conclusion):
                first = self.strengthen(premise, positive=not positive)
                return Imply(first, self.strengthen(conclusion, positive=positive))
            case And(parts):
                found = [self.strengthen(part, positive=positive) for part in parts]
                if not positive:
                    return And(tuple(found))
                flat = [piece for part, old in zip(found, parts, strict=True) for piece in _flatten(part, old)]
                return And(tuple(dict.fromkeys(flat)))
            case Or(parts):
                return Or(tuple([self.strengthen(part, positive=positive) for part in parts]))
            case Forall() if positive:
                return self._join(self._find_needs(formula, positive=True), formula)
            case Exists() if not positive:
                return Or((*map(Not, self._find_needs(formula, positive=False)), formula))
            case Forall(variables, part) | Exists(variables, part):
                return type(formula)(variables, self.strengthen(part, positive=positive))
            case _:
                return formula

    @staticmethod
    def _join(needs: Iterable[Formula], formula: Formula) -> Formula:
        return conjunction([*needs, formula])

    def _find_needs(self, formula: Forall | Exists, *, positive: bool) -> list[Formula]:
        """Return the conditions under which unknown objects cannot make `formula` false (true, unless `positive`)."""
        variables, part = self._unnest(formula)
        names = {each.name for each in variables}
        absent = [atom for atom, sign in literals_in(part, positive=positive) if not sign and names & set(atom.args)]
        needs = [need for atom in absent for need in self._find_cover(atom, variables)]
        if not any(self.is_listed(atom.predicate) for atom in absent):
            needs = list(self._find_naming(variables))
        return list(dict.fromkeys(needs))

    @staticmethod
    def _unnest(formula: Forall | Exists) -> tuple[list[Variable], Formula]:
        """Return the variables of nested quantifiers of one kind, and what is inside."""
        kind, variables = type(formula), list[Variable]()
        part: Formula = formula
        while isinstance(part, kind):
            variables += part.variables
            part = part.part
        return variables, part

    def is_listed(self, predicate: str) -> bool:
        """Return whether some action lists items of `predicate`."""
        return any(each.pattern.predicate == predicate for each in self.listings)

    def _find_cover(self, atom: Atom, variables: Sequence[Variable]) -> Iterator[Formula]:
        """Yield the condition that `atom` is known to be absent for unknown objects; nothing if no listing tells."""
        found = [fact for each in self.listings if each.covers(atom) and (fact := each.fact_of(atom)) is not None]
        closed = [_close(fact, variables) for fact in found]
        if closed:
            yield closed[0] if len(closed) == 1 else Or(tuple(closed))

    def _find_naming(self, variables: Iterable[Variable]) -> Iterator[Formula]:
        """Yield the facts of the listings that name all objects of the types of `variables`."""
        types = TypeHierarchy(self.domain.types)
        for variable in variables:
            for listing in self.listings:
                parameters = self.domain.predicates[listing.pattern.predicate].parameters
                opened = [each for each, arg in zip(parameters, listing.pattern.args, strict=True) if arg == OPEN]
                related = any(
                    types.is_a(each.types, variable.types) or types.is_a(variable.types, each.types) for each in opened
                )
                if related:
                    bound = [each for each, arg in zip(parameters, listing.pattern.args, strict=True) if arg == BOUND]
                    yield _close(Atom(listing.fact, tuple([each.name for each in bound])), bound)


def _flatten(part: Formula, old: Formula) -> Iterable[Formula]:
    """Return the conjuncts of a part that was strengthened; a part as it was stays one."""
    return conjuncts(part) if isinstance(part, And) and part is not old and not isinstance(old, And) else (part,)


def _close(fact: Atom, variables: Iterable[Variable]) -> Formula:
    """Return `fact` for all objects of those of `variables` that it has."""
    inside = tuple([each for each in variables if each.name in fact.args])
    return Forall(inside, fact) if inside else fact

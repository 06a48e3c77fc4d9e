"""The unknown facts of a problem as independent hidden variables, with the probabilities of their values.

Unknown facts are independent of each other, except for those of an *item*: where every action that writes `at(p, …)`
also modifies `at(p, _)`, that item has one value, so that at most one of its facts holds. A pattern in `unknown` with
the value of an item open says that one of its facts holds; patterns without open arguments allow that none holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product

from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, TypeHierarchy, cache_per_domain
from planner.model.formulas import OPEN, Atom
from planner.model.problem import Problem

ROUNDING: Final = Fraction(1, 10**15)
"""Tolerance for sums of probabilities, which decimals round."""

Places = tuple[int, ...]
"""Places among the arguments of a predicate, ascending."""


@dataclass(frozen=True, slots=True)
class HiddenVariable:
    """Unknown `facts` of which at most one holds, with the probability of each."""

    facts: tuple[Atom, ...]
    chances: tuple[Fraction, ...]

    @property
    def none(self) -> Fraction:
        """The probability that none of the facts holds."""
        return 1 - sum(self.chances, Fraction(0))


def find_hidden_variables(problem: Problem, predicates: Iterable[str] | None = None) -> tuple[HiddenVariable, ...]:
    """Return the hidden variables of `problem` for facts of `predicates`, or for all unknown facts."""
    wanted = None if predicates is None else frozenset(predicates)
    if not problem.unknown:
        return ()
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    stated, values = set(problem.initial), _find_stated_values(problem)
    items: dict[tuple[str, tuple[str, ...]], dict[Atom, None]] = {}
    surely: set[tuple[str, tuple[str, ...]]] = set()
    for pattern in problem.unknown:
        places = item_places(problem.domain).get(pattern.predicate, ())
        if wanted is not None and pattern.predicate not in wanted:
            continue
        is_open = bool(places) and all(pattern.args[place] == OPEN for place in places)
        for fact in _instances_of(problem, pattern, members):
            key = (fact.predicate, _drop_places(fact, places) if places else fact.args)
            if fact not in stated and key not in values:
                items.setdefault(key, {})[fact] = None
                surely |= {key} if is_open else set()
    return tuple([_make_variable(tuple(facts), problem, one=key in surely) for key, facts in items.items()])


def instances_of(problem: Problem, pattern: Atom) -> Iterator[Atom]:
    """Yield the ground facts that `pattern` covers."""
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    return _instances_of(problem, pattern, members)


def _instances_of(problem: Problem, pattern: Atom, members: Mapping[str, list[str]]) -> Iterator[Atom]:
    parameters = problem.domain.predicates[pattern.predicate].parameters
    ranges = [dict.fromkeys(name for kind in each.types for name in members.get(kind, ())) for each in parameters]
    columns = [fitting if arg == OPEN else [arg] for arg, fitting in zip(pattern.args, ranges, strict=True)]
    return (Atom(pattern.predicate, row) for row in product(*columns))


def fix_unknown_facts(problem: Problem, held: Iterable[Atom]) -> Problem:
    """Return `problem` with nothing unknown: of the unknown facts, exactly those in `held` hold."""
    return replace(problem, initial=(*problem.initial, *held), unknown=(), likely={})


def restrict_unknown_facts(problem: Problem, unknown: Collection[Atom]) -> tuple[tuple[Atom, ...], dict[Atom, Decimal]]:
    """Return the facts that are still `unknown`, with their probabilities given what is known by now."""
    left: list[Atom] = []
    likely: dict[Atom, Decimal] = {}
    for variable in find_hidden_variables(problem):
        shares = dict(zip(variable.facts, variable.chances, strict=True))
        shares = {fact: share for fact, share in shares.items() if fact in unknown}
        total = sum(shares.values(), variable.none)
        left += shares
        likely |= {fact: _decimal(share / total) for fact, share in shares.items() if total}
    return tuple(left), likely


def _decimal(share: Fraction) -> Decimal:
    return Decimal(share.numerator) / share.denominator


def enumerate_worlds(problem: Problem) -> Iterator[tuple[Fraction, Problem]]:
    """Yield each possible world of `problem`, which decides all unknown facts, with its probability."""
    for choice in product(*[list(_weigh_values(variable)) for variable in find_hidden_variables(problem)]):
        chance, facts = Fraction(1), list[Atom]()
        for share, held in choice:
            chance *= share
            facts += held
        yield chance, fix_unknown_facts(problem, facts)


def _weigh_values(variable: HiddenVariable) -> Iterator[tuple[Fraction, list[Atom]]]:
    for fact, chance in zip(variable.facts, variable.chances, strict=True):
        if chance:
            yield chance, [fact]
    if variable.none:
        yield variable.none, []


@cache_per_domain
def item_places(domain: DomainModel) -> Mapping[str, Places]:
    """Return the predicates whose facts give the values of items, with the places of the value among the arguments."""
    found: dict[str, Places | None] = {}
    for action in domain.actions.values():
        for pattern in _modified_patterns(action):
            places = tuple([place for place, arg in enumerate(pattern.args) if arg == OPEN])
            if places and found.setdefault(pattern.predicate, places) != places:
                found[pattern.predicate] = None
    for action in domain.actions.values():
        for predicate in _find_multi_valued(action, found):
            found[predicate] = None
    found |= {name: None for name, predicate in domain.predicates.items() if predicate.stale_with}
    return {name: places for name, places in found.items() if places}


def _modified_patterns(action: Action) -> Iterator[Atom]:
    patterns = [effect.modifies for effect in action.effects] + [outcome.modifies for outcome in action.outcomes]
    return (pattern for each in patterns for pattern in each)


def _find_multi_valued(action: Action, places: Mapping[str, Places | None]) -> Iterator[str]:
    """Yield the predicates for which an effect of `action` may give an item a second value."""
    effects = [(each.provides, each.modifies) for each in action.effects]
    for provides, modifies in [*effects, *[(each.provides, each.modifies) for each in action.outcomes]]:
        given, ended = [
            [(name, _open_places(fact, places[name] or ())) for fact in facts if places.get(name := fact.predicate)]
            for facts in (positive_atoms(provides), negated_atoms(provides))
        ]
        for place, (predicate, item) in enumerate([*given, *ended]):
            if item not in modifies or (predicate, item) in given[:place]:
                yield predicate


def _open_places(fact: Atom, places: Places) -> Atom:
    return Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))


def _drop_places(fact: Atom, places: Places) -> tuple[str, ...]:
    return tuple([arg for at, arg in enumerate(fact.args) if at not in places])


def _find_stated_values(problem: Problem) -> set[tuple[str, tuple[str, ...]]]:
    """Return the items whose values `problem` states."""
    places = item_places(problem.domain)
    patterns = {pattern.predicate for pattern in problem.unknown}
    facts = [fact for fact in problem.initial if fact.predicate in patterns and fact.predicate in places]
    return {(fact.predicate, _drop_places(fact, places[fact.predicate])) for fact in facts}


def _make_variable(facts: tuple[Atom, ...], problem: Problem, *, one: bool) -> HiddenVariable:
    """Return the variable of `facts`; those without a stated probability share the rest, with "none" unless `one`."""
    stated = {fact: Fraction(problem.likely[fact]) for fact in facts if fact in problem.likely}
    total = sum(stated.values(), Fraction(0))
    others = len(facts) - len(stated)
    whole = (one and total) or total > 1 - ROUNDING
    scale = 1 / total if not others and whole else Fraction(1) / max(total, Fraction(1))
    left = max(1 - total, Fraction(0))
    share = left / (others if one else others + 1) if others else Fraction(0)
    return HiddenVariable(facts, tuple([stated[fact] * scale if fact in stated else share for fact in facts]))

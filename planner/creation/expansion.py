"""Domains in which what may be created has placeholders.

A creating action has its created objects as further parameters, after the declared ones. It takes placeholders of
exactly their types that were not used before; everything else is guarded (`planner.creation.guards`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from planner.annotations import Final
from planner.creation.guards import Guards
from planner.model import (
    OPEN,
    Action,
    And,
    Atom,
    CostFunction,
    CostTerm,
    DomainModel,
    Equals,
    Formula,
    Literal,
    Not,
    Predicate,
    TypeHierarchy,
    Variable,
    When,
)
from planner.model.formulas import conjuncts
from planner.model.memo import kept_with_domain
from planner.records import dataclass, replace

EXISTING: Final = "existing"
FOLLOWS: Final = "follows"
NEXT: Final = "next"
UNBORN: Final = "unborn"


def created_types(actions: Iterable[Action]) -> dict[str, int]:
    """Return the types of what `actions` create, each with the most that one step creates."""
    found: dict[str, int] = {}
    for action in actions:
        types = list(action.creates.values())
        found.update({name: max(found.get(name, 0), types.count(name)) for name in types})
    return found


@dataclass(frozen=True, slots=True)
class Expansion:
    """A domain whose actions take placeholders; `fresh` has the predicate for those of each type that may be taken.

    `existing` says of an object that it exists, for variables of the types in `guarded`. Where placeholders are taken
    in order, `follows` says which comes after which.
    """

    domain: DomainModel
    existing: str
    guarded: frozenset[str]
    fresh: Mapping[str, str]
    follows: str | None


@kept_with_domain
def in_order(domain: DomainModel) -> Expansion:
    """Return `domain` with placeholders to be taken in a given order: search need not look at their permutations."""
    return _expansion(domain, NEXT, follows=True)


@kept_with_domain
def in_any_order(domain: DomainModel) -> Expansion:
    """Return `domain` with placeholders to be taken in whatever order."""
    return _expansion(domain, UNBORN, follows=False)


def _expansion(domain: DomainModel, prefix: str, *, follows: bool) -> Expansion:
    created = created_types(domain.actions.values())
    taken = set(domain.predicates)
    existing = _free(EXISTING, taken)
    fresh = {kind: _free(f"{prefix}-{kind}", taken) for kind in created}
    order = _free(FOLLOWS, taken) if follows else None
    guards = Guards(existing, created, TypeHierarchy(domain.types))
    writer = _Writer(guards, domain.actions, existing, fresh, order)
    predicates = [Predicate(existing, (Variable("?x"),))]
    predicates += [Predicate(name, (Variable("?x", (kind,)),)) for kind, name in fresh.items()]
    predicates += [Predicate(order, (Variable("?x"), Variable("?y")))] if order else []
    expanded = replace(
        domain,
        predicates={**domain.predicates, **{each.name: each for each in predicates}},
        actions={name: writer.action(action) for name, action in domain.actions.items()},
        axioms=tuple([guards.axiom(axiom) for axiom in domain.axioms]),
    )
    return Expansion(expanded, existing, frozenset(guards.types), fresh, order)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes actions; `declared` has them all as they are declared."""

    guards: Guards
    declared: Mapping[str, Action]
    existing: str
    fresh: Mapping[str, str]
    follows: str | None

    def action(self, action: Action) -> Action:
        """Return `action` with parameters for what it creates, guarded."""
        requires = self.guards.condition(action.requires, action.parameters)
        when = tuple([self.guards.effect(effect) for effect in action.when])
        after = tuple([padded(pattern, self.declared[pattern.predicate]) for pattern in action.after])
        if not action.creates:
            return replace(action, requires=requires, when=when, after=after)
        needs, provides, chains = self._birth(action)
        return replace(
            action,
            parameters=action.step_parameters,
            requires=And((*conjuncts(requires), *needs)),
            provides=(*action.provides, *provides),
            when=(*when, *chains),
            after=after,
            cost=_declared_costs(action.cost, len(action.parameters)),
            uses={name: _declared_costs(terms, len(action.parameters)) for name, terms in action.uses.items()},
            creates={},
        )

    def _birth(self, action: Action) -> tuple[list[Formula], list[Literal], list[When]]:
        """Return what is needed for the created objects, what comes of them, and who may be created next."""
        needs: list[Formula] = []
        provides: list[Literal] = [Atom(self.existing, (name,)) for name in action.creates]
        chains: list[When] = []
        for kind, fresh in self.fresh.items():
            born = [name for name, wanted in action.creates.items() if wanted == kind]
            if not born:
                continue
            if self.follows is None:
                needs += [Atom(fresh, (name,)) for name in born]
                needs += [Not(Equals(one, other)) for place, one in enumerate(born) for other in born[:place]]
                provides += [Not(Atom(fresh, (name,))) for name in born]
            else:
                needs.append(Atom(fresh, (born[0],)))
                needs += [Atom(self.follows, pair) for pair in pairwise(born)]
                provides.append(Not(Atom(fresh, (born[0],))))
                chains.append(_chain(born[-1], kind, fresh, self.follows))
        return needs, provides, chains


def _chain(last: str, kind: str, fresh: str, follows: str) -> When:
    """Return the effect that lets the placeholder after `last` be created next."""
    then = f"{last}-next"
    return When(Atom(follows, (last, then)), (Atom(fresh, (then,)),), (), (Variable(then, (kind,)),))


def padded(pattern: Atom, action: Action) -> Atom:
    """Return `pattern`, of steps of `action`, with open arguments for what it creates."""
    missing = len(action.parameters) + len(action.creates) - len(pattern.args)
    return Atom(pattern.predicate, (*pattern.args, *[OPEN] * missing))


def _declared_costs(terms: Iterable[CostTerm], arity: int) -> tuple[CostTerm, ...]:
    return tuple([_declared_cost(term, arity) for term in terms])


def _declared_cost(term: CostTerm, arity: int) -> CostTerm:
    """Return a cost that knows nothing of what is created."""
    if not isinstance(term, CostFunction):
        return term
    function = term.function
    return CostFunction(lambda *names: function(*names[:arity]), term.resolution)

"""Facts that may be assumed: those nearest to the goal, and all relevant ones."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from planner.compilations.normal_form import Conjunction, to_negation_normal_form
from planner.explain.near_misses import Providers, Relaxed, atom_of, find_near_misses
from planner.model import Atom, Exists, Forall, Formula, Not
from planner.model.actions import Literal
from planner.model.formulas import Variable, children, is_variable, literals_in, substitute
from planner.model.problem import Problem

NEARBY: Final = 150
"""Literals that the backward search from the goal collects."""
COMPLETE: Final = 1000
"""Most literals up to which all relevant ones are candidates."""


class Candidates:
    """The literals of one problem that may be assumed: basic facts with predicates and objects of `source`."""

    def __init__(self, relaxed: Relaxed, providers: Providers, source: Problem) -> None:
        self._relaxed = relaxed
        self._providers = providers
        self._problem = relaxed.normal.problem
        self._initial = frozenset(self._problem.initial)
        self._declared = frozenset(source.domain.predicates) - relaxed.normal.derived
        self._objects = frozenset([each.name for each in source.all_objects])
        self._goal = to_negation_normal_form(self._problem.goal.hard, itertools.count())
        self._wanted = list(_signed_literals(self._goal))

    def is_assumable(self, literal: Literal) -> bool:
        """Return whether the ground `literal` fails initially and may be assumed."""
        atom = atom_of(literal)
        is_known = atom.predicate in self._declared and self._objects.issuperset(atom.args)
        return is_known and (atom in self._initial) is isinstance(literal, Not)

    def is_goal(self, literal: Literal) -> bool:
        """Return whether `literal` is an instance of a literal in the goal."""
        return any(
            isinstance(goal, Not) is isinstance(literal, Not) and _covers(atom_of(goal), atom_of(literal))
            for goal in self._wanted
        )

    def nearby(self) -> list[Literal]:
        """Return the assumable literals nearest to the goal, by backward search; those of the goal are included."""
        queue = deque(self._goal_literals())
        seen = set(queue)
        found: list[Literal] = []
        while queue and len(seen) < NEARBY:
            literal = queue.popleft()
            if self.is_assumable(literal):
                found.append(literal)
            for provider in self._providers.of(literal):
                for miss in find_near_misses(provider, literal, self._relaxed):
                    new = [each for each in dict.fromkeys((*miss.lacks, *miss.needs)) if each not in seen]
                    seen.update(new)
                    queue.extend(new)
        return [*found, *filter(self.is_assumable, queue)]

    def _goal_literals(self) -> Iterator[Literal]:
        """Yield the ground literals of the goal, up to a limit."""
        return islice(self._ground(self._goal), NEARBY)

    def _ground(self, formula: Formula) -> Iterator[Literal]:
        match formula:
            case Atom() | Not(Atom()):
                yield formula
            case Forall(variables, part) | Exists(variables, part):
                for binding in self._relaxed.bindings(variables):
                    yield from self._ground(substitute(part, binding))
            case _:
                for part in children(formula):
                    yield from self._ground(part)

    def all_relevant(self) -> list[Literal] | None:
        """Return all relevant assumable literals, those of the goal included; None if there are too many."""
        kinds = self._relevant_kinds()
        if sum(map(self._size, kinds)) > COMPLETE:
            return None
        return [literal for kind in kinds for literal in self._instances(kind) if self.is_assumable(literal)]

    def _size(self, kind: Kind) -> int:
        name, negative = kind
        if name not in self._declared or negative:
            return len(self._initial_facts_of(name)) if negative else 0
        return math.prod(len(self._members(variable)) for variable in self._parameters(name))

    def _instances(self, kind: Kind) -> Iterator[Literal]:
        name, negative = kind
        if name not in self._declared:
            return
        if negative:
            yield from (Not(fact) for fact in self._initial_facts_of(name))
        else:
            choices = product(*map(self._members, self._parameters(name)))
            yield from (Atom(name, arguments) for arguments in choices)

    def _initial_facts_of(self, name: str) -> list[Atom]:
        return [fact for fact in self._problem.initial if fact.predicate == name]

    def _parameters(self, name: str) -> tuple[Variable, ...]:
        return self._problem.domain.predicates[name].parameters

    def _members(self, variable: Variable) -> dict[str, None]:
        return self._relaxed.database.members(variable.types)

    def _relevant_kinds(self) -> list[Kind]:
        """Return the relevant kinds of literals."""
        found = dict.fromkeys(map(_kind, self._wanted))
        queue = list(found)
        while queue:
            new = [kind for kind in self._kinds_behind(*queue.pop()) if kind not in found]
            found.update(dict.fromkeys(new))
            queue.extend(new)
        return list(found)

    def _kinds_behind(self, name: str, negative: bool) -> Iterator[Kind]:
        """Yield the kinds of literals that help to make `name` true (false if `negative`), or to keep it so."""
        for provider in self._providers.named(name, negative=negative):
            yield from map(_kind, _literals_of(provider.condition))
        for provider in self._providers.named(name, negative=not negative):
            if provider.action is None:
                yield from map(_opposite, _literals_of(provider.condition))
            yield from map(_opposite, _literals_of(provider.trigger))


Kind = tuple[str, bool]
"""A kind of literals: a predicate, and whether it is negated."""


def _kind(literal: Literal) -> Kind:
    return atom_of(literal).predicate, isinstance(literal, Not)


def _opposite(literal: Literal) -> Kind:
    return atom_of(literal).predicate, not isinstance(literal, Not)


def _signed_literals(formula: Formula) -> Iterator[Literal]:
    """Yield the literals of a formula in negation normal form."""
    return (atom if positive else Not(atom) for atom, positive in literals_in(formula))


def _literals_of(condition: Conjunction) -> Iterator[Literal]:
    yield from condition.atoms
    yield from map(Not, condition.negated)
    for formula in condition.residual:
        yield from _signed_literals(formula)


def _covers(pattern: Atom, fact: Atom) -> bool:
    """Return whether `fact` agrees with the constants of `pattern`."""
    return pattern.predicate == fact.predicate and all(
        is_variable(mine) or mine == other for mine, other in zip(pattern.args, fact.args, strict=True)
    )

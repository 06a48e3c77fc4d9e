"""The lifted normal form that grounding takes: action schemas and axioms whose conditions are conjunctions.

    Problem → to_adl → NormalProblem(schemas, axioms, goal)

A schema keeps its source action, and its first variables are the action's parameters: that is the map back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from planner.annotations import Final
from planner.model import Action, Atom, Formula, Literal, Not, Problem, Term, Variable, When
from planner.model.actions import added, deleted
from planner.model.formulas import conjuncts, substitute
from planner.normalise.conditions import Conjunction, disjuncts
from planner.normalise.declarations import to_adl
from planner.records import dataclass

RULE_LIMIT: Final = 1000
"""How many rules one axiom may become: rules are cheap, unlike copies of actions."""

GOAL: Final = "@goal"
"""Derived predicates of this name stand for the parts of the goal that are no literals."""


@dataclass(frozen=True, slots=True)
class SchemaEffect:
    """An effect for all `variables`, when `condition` holds (its existential variables are universal here)."""

    variables: tuple[Variable, ...]
    condition: Conjunction
    adds: tuple[Atom, ...]
    deletes: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """One conjunctive case of an action."""

    action: Action
    condition: Conjunction
    adds: tuple[Atom, ...]
    deletes: tuple[Atom, ...]
    effects: tuple[SchemaEffect, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The parameters, then the existential variables of the condition."""
        return (*self.action.parameters, *self.condition.variables)


@dataclass(frozen=True, slots=True)
class NormalAxiom:
    """`head` is derived where `condition` holds."""

    head: Atom
    variables: tuple[Variable, ...]
    condition: Conjunction


@dataclass(frozen=True, slots=True)
class NormalProblem:
    """A problem in normal form; `problem` is the plain ADL problem that it was made from.

    `written` has, for what stands in `goal` instead of a part of the declared goal, that part.
    """

    problem: Problem
    schemas: tuple[Schema, ...]
    axioms: tuple[NormalAxiom, ...]
    goal: Conjunction
    fluent: frozenset[str]
    derived: frozenset[str]
    written: Mapping[Formula, Formula]


def normalise(problem: Problem) -> NormalProblem:
    """Return `problem` in normal form; `planner.UnsupportedError` is left to `planner.solve`."""
    plain = to_adl(problem)
    actions = plain.domain.actions.values()
    goal, goal_axioms, written = _goal(plain.goal.hard)
    return NormalProblem(
        problem=plain,
        schemas=tuple([schema for action in actions for schema in _schemas(action)]),
        axioms=(*_axioms(plain), *goal_axioms),
        goal=goal,
        fluent=frozenset(_written(actions)),
        derived=plain.domain.derived | {axiom.head.predicate for axiom in goal_axioms},
        written=written,
    )


def _written(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        for effect in action.effects:
            yield from (atom.predicate for atom in (*added(effect.provides), *deleted(effect.provides)))


def _schemas(action: Action) -> Iterator[Schema]:
    fresh = itertools.count()
    effects = tuple([part for when in action.when for part in _effects(_apart(when, action, fresh), fresh)])
    for condition in disjuncts(action.requires, fresh=fresh):
        yield Schema(action, condition, added(action.provides), deleted(action.provides), effects)


def _apart(when: When, action: Action, fresh: Iterator[int]) -> When:
    """Return `when` with those of its variables renamed that shadow parameters of `action`."""
    parameters = {parameter.name for parameter in action.parameters}
    renamed = {v.name: f"{v.name}@{next(fresh)}" for v in when.variables if v.name in parameters}
    if not renamed:
        return when
    return When(
        substitute(when.requires, renamed),
        tuple([_renamed(literal, renamed) for literal in when.provides]),
        (),
        tuple([Variable(renamed.get(v.name, v.name), v.types) for v in when.variables]),
    )


def _renamed(literal: Literal, names: Mapping[Term, Term]) -> Literal:
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)  # noqa: S101 - effects write atoms
    return Not(atom.substitute(names)) if isinstance(literal, Not) else atom.substitute(names)


def _effects(when: When, fresh: Iterator[int]) -> Iterator[SchemaEffect]:
    for condition in disjuncts(when.requires, fresh=fresh):
        variables = (*when.variables, *condition.variables)
        yield SchemaEffect(variables, condition, added(when.provides), deleted(when.provides))


def _axioms(problem: Problem) -> Iterator[NormalAxiom]:
    for axiom in problem.domain.axioms:
        for condition in disjuncts(axiom.condition, RULE_LIMIT):
            yield NormalAxiom(axiom.head, (*axiom.parameters, *condition.variables), condition)


def _goal(goal: Formula) -> tuple[Conjunction, list[NormalAxiom], dict[Formula, Formula]]:
    """Return the goal as a conjunction, with a derived atom for each part that has alternatives, and what it was."""
    atoms: list[Atom] = []
    negated: list[Atom] = []
    residual: list[Formula] = []
    axioms: list[NormalAxiom] = []
    written: dict[Formula, Formula] = {}
    for number, part in enumerate(conjuncts(goal)):
        cases = disjuncts(part, RULE_LIMIT)
        if len(cases) == 1 and not cases[0].variables:
            atoms += cases[0].atoms
            negated += cases[0].negated
            residual += [*cases[0].residual, *cases[0].equal, *[Not(equality) for equality in cases[0].unequal]]
            written |= dict.fromkeys(cases[0].residual, part)
        else:
            head = Atom(f"{GOAL}{number}")
            axioms += [NormalAxiom(head, case.variables, case) for case in cases]
            atoms.append(head)
            written[head] = part
    return Conjunction((), tuple(atoms), tuple(negated), (), (), tuple(residual)), axioms, written

"""A problem under the names that a file gives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from planner.model import (
    OPEN,
    Action,
    Atom,
    Axiom,
    DomainModel,
    Equals,
    Exists,
    Forall,
    Formula,
    Function,
    Goal,
    Literal,
    Not,
    Object,
    Outcome,
    Predicate,
    Problem,
    Term,
    Variable,
    When,
)
from planner.model.formulas import children, with_children
from planner.pddl.names import Names, legal


def renamed(problem: Problem, names: Names) -> Problem:
    """Return the plain ADL `problem` with every name replaced by what `names` says."""
    return Renaming(names).problem(problem)


@dataclass(frozen=True, slots=True)
class Renaming:
    """Replaces the names in any part of plain ADL by what `names` says."""

    names: Names

    def problem(self, problem: Problem) -> Problem:
        """Return `problem` under the new names, its own made legal."""
        values = {self.value(atom): value for atom, value in problem.values.items()}
        return replace(
            problem,
            name=legal(problem.name),
            domain=self.domain(problem.domain),
            objects=self.objects(problem.objects),
            initial=tuple(map(self.atom, problem.initial)),
            goal=Goal(self.formula(problem.goal.hard)),
            values=values,
        )

    def domain(self, domain: DomainModel) -> DomainModel:
        """Return `domain` under the new names, its own made legal."""
        predicates = [
            Predicate(self.names.predicates[name], self.variables(each.parameters))
            for name, each in domain.predicates.items()
        ]
        functions = [
            Function(self.names.functions[name], self.variables(each.parameters))
            for name, each in domain.functions.items()
        ]
        actions = [self.action(action) for action in domain.actions.values()]
        return DomainModel(
            legal(domain.name),
            {self.names.types[name]: self.types(parents) for name, parents in domain.types.items()},
            self.objects(domain.constants),
            {each.name: each for each in predicates},
            {each.name: each for each in functions},
            {each.name: each for each in actions},
            tuple(map(self.axiom, domain.axioms)),
        )

    def action(self, action: Action) -> Action:
        """Return `action` under the new names."""
        return Action(
            self.names.actions[action.name],
            self.variables(action.parameters),
            self.formula(action.requires),
            self.literals(action.provides),
            when=tuple(map(self.effect, action.when)),
            cost=tuple([self.value(term) if isinstance(term, Atom) else term for term in action.cost]),
            outcomes=tuple(map(self.outcome, action.outcomes)),
        )

    def outcome(self, outcome: Outcome) -> Outcome:
        """Return `outcome` under the new names."""
        return Outcome(
            outcome.probability, self.literals(outcome.provides), tuple(map(self.atom, outcome.modifies)), outcome.name
        )

    def effect(self, effect: When) -> When:
        """Return `effect` under the new names."""
        condition, literals = self.formula(effect.requires), self.literals(effect.provides)
        return When(condition, literals, (), self.variables(effect.variables))

    def axiom(self, axiom: Axiom) -> Axiom:
        """Return `axiom` under the new names."""
        head, variables = self.names.predicates[axiom.predicate], self.variables(axiom.parameters)
        return Axiom(head, variables, self.formula(axiom.condition))

    def formula(self, formula: Formula) -> Formula:
        """Return `formula` under the new names."""
        match formula:
            case Atom():
                return self.atom(formula)
            case Equals(left, right):
                return Equals(self.term(left), self.term(right))
            case Forall(bound, part) | Exists(bound, part):
                return type(formula)(self.variables(bound), self.formula(part))
            case _:
                return with_children(formula, tuple([self.formula(part) for part in children(formula)]))

    def literals(self, literals: Iterable[Literal]) -> tuple[Literal, ...]:
        """Return `literals` under the new names."""
        return tuple([self.atom(each) if isinstance(each, Atom) else Not(self.formula(each.part)) for each in literals])

    def atom(self, atom: Atom) -> Atom:
        """Return `atom` under the new names."""
        return Atom(self.names.predicates[atom.predicate], tuple(map(self.term, atom.args)))

    def value(self, atom: Atom) -> Atom:
        """Return `atom` under the new names, where it is a term of a function."""
        return Atom(self.names.functions[atom.predicate], tuple(map(self.term, atom.args)))

    def term(self, term: Term) -> Term:
        """Return `term` under the new names; an open argument stays open."""
        if term == OPEN:
            return term
        return self.names.variables[term] if term in self.names.variables else self.names.objects[term]

    def variables(self, variables: Iterable[Variable]) -> tuple[Variable, ...]:
        """Return `variables` under the new names."""
        return tuple([Variable(self.names.variables[each.name], self.types(each.types)) for each in variables])

    def objects(self, objects: Iterable[Object]) -> tuple[Object, ...]:
        """Return `objects` under the new names."""
        return tuple([Object(self.names.objects[each.name], self.types(each.types)) for each in objects])

    def types(self, types: Iterable[str]) -> tuple[str, ...]:
        """Return `types` under the new names; `object` has none."""
        return tuple([self.names.types.get(name, name) for name in types])

"""Names that every PDDL reader takes, in place of names that people chose.

PDDL knows no upper and lower case, and a name is a letter with letters, digits, `-` and `_` after it. Some readers also
want types, predicates, actions and objects to have different names, and none of them a keyword's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.language.pddl.pddl_actions import TOTAL_COST
from planner.language.pddl.sections import choose_free_name
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, Literal, Outcome, When
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Function, Predicate
from planner.model.formulas import (
    OPEN,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Not,
    Object,
    Term,
    Variable,
    children,
    walk,
    with_children,
)
from planner.model.problem import Goal, Problem

_LEGAL: Final = re.compile(r"[a-z][a-z0-9_-]*")
_ILLEGAL: Final = re.compile(r"[^a-z0-9_-]+")
_LOGIC: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "when", "either", "preference"})
_NUMERIC: Final = frozenset({"increase", "decrease", "assign", "scale-up", "scale-down", TOTAL_COST, "total-time"})
_OTHER: Final = frozenset({"define", "domain", "problem", ROOT_TYPE, "number", "always", "sometime", "within"})
RESERVED: Final = _LOGIC | _NUMERIC | _OTHER


@dataclass(frozen=True, slots=True)
class Names:
    """For each kind of name in a problem: what it is called in the file."""

    types: Mapping[str, str]
    predicates: Mapping[str, str]
    functions: Mapping[str, str]
    actions: Mapping[str, str]
    objects: Mapping[str, str]
    variables: Mapping[str, str]

    @classmethod
    def of(cls, problem: Problem) -> Names:
        """Return the names for `problem`: legal ones stay, others are changed, and all are different."""
        domain = problem.domain
        objects = [*(item.name for item in problem.all_objects), *domain.unfinished.undeclared]
        kinds: list[Iterable[str]] = [domain.types, domain.predicates, domain.functions, domain.actions, objects]
        types, predicates, functions, actions, named_objects = make_distinct(kinds, set(RESERVED))
        bound = dict.fromkeys(variable.name[1:] for variable in variables_of(domain, [problem.goal.hard]))
        (variables,) = make_distinct([bound], set())
        named = {f"?{name}": f"?{word}" for name, word in variables.items()}
        return cls(types, predicates, functions, actions, named_objects, named)


def make_distinct(kinds: Sequence[Iterable[str]], taken: set[str]) -> list[dict[str, str]]:
    """Return what the names of each kind become: those that can stay first, and none in `taken`."""
    tables: list[dict[str, str]] = [{} for _ in kinds]
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table and name not in taken and _LEGAL.fullmatch(name):
                table[name] = name
                taken.add(name)
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table:
                table[name] = choose_free_name(make_legal(name), taken)
    return tables


def make_legal(name: str) -> str:
    """Return the legal name nearest to `name`: lower-case, without accents, `-` for what is not allowed."""
    if _LEGAL.fullmatch(name):
        return name
    letters = unicodedata.normalize("NFKD", name.casefold())
    word = _ILLEGAL.sub("-", "".join(letter for letter in letters if not unicodedata.combining(letter))).strip("-")
    return word if _LEGAL.fullmatch(word) else f"x{word}"


def variables_of(domain: DomainModel, others: Iterable[Formula]) -> Iterator[Variable]:
    """Yield the variables that are declared anywhere in `domain` and in `others`, with repetitions."""
    formulas = list(others)
    for predicate in domain.predicates.values():
        yield from predicate.parameters
    for function in domain.functions.values():
        yield from function.parameters
    for action in domain.actions.values():
        yield from action.parameters
        formulas.append(action.requires)
        for effect in action.when:
            yield from effect.variables
            formulas.append(effect.requires)
    for axiom in domain.axioms:
        yield from axiom.parameters
        formulas.append(axiom.condition)
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, Forall | Exists):
                yield from part.variables


def rename_problem(problem: Problem, names: Names) -> Problem:
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
            name=make_legal(problem.name),
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
            make_legal(domain.name),
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

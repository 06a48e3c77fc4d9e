"""Rename a problem so that every PDDL reader accepts its names.

PDDL knows no upper and lower case, and a name is a letter with letters, digits, `-` and `_` after it. Some readers also
want types, predicates, actions and objects to have different names, and none of them a keyword's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.language.pddl.sections import choose_free_name
from planner.language.pddl.syntax import TOTAL_COST
from planner.lightweight import Final, dataclass, replace
from planner.model import TOTAL_COST as COSTS
from planner.model import Arithmetic, Atom, Comparison, Equals, Exists, Expression, Forall, Formula, Not
from planner.model.actions import (
    DURATION,
    NO_MOMENT,
    Action,
    CostFunction,
    Duration,
    DurationRange,
    Literal,
    Moment,
    NumericEffect,
    Outcome,
    When,
)
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Predicate, has_durations
from planner.model.formulas import OPEN, Object, Term, Variable, children, walk, with_children
from planner.model.object_names import object_name
from planner.model.problem import Goal, NumericMetric, Problem
from planner.model.timing import TOTAL_TIME, TimedEffect

_LEGAL: Final = re.compile(r"[a-z][a-z0-9_-]*")
_ILLEGAL: Final = re.compile(r"[^a-z0-9_-]+")
_LOGIC: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "when", "either", "preference"})
_NUMERIC: Final = frozenset({"increase", "decrease", "assign", "scale-up", "scale-down", TOTAL_COST, "total-time"})
_OTHER: Final = frozenset({"define", "domain", "problem", ROOT_TYPE, "number", "always", "sometime", "within"})
_SPECIAL: Final = frozenset({COSTS, TOTAL_TIME, DURATION})
"""Terms in expressions that are no functions of the domain."""
RESERVED: Final = _LOGIC | _NUMERIC | _OTHER


@dataclass(frozen=True, slots=True)
class Names:
    """The legal name of each name in a problem, by kind."""

    types: Mapping[str, str]
    predicates: Mapping[str, str]
    functions: Mapping[str, str]
    actions: Mapping[str, str]
    objects: Mapping[str, str]
    variables: Mapping[str, str]

    @classmethod
    def of(cls, problem: Problem) -> Names:
        """Choose distinct names for `problem`; legal names stay."""
        domain = problem.domain
        objects = [*(item.name for item in problem.all_objects), *domain.unfinished.undeclared]
        kinds: list[Iterable[str]] = [domain.types, domain.predicates, domain.functions, domain.actions, objects]
        types, predicates, functions, actions, named_objects = make_distinct(kinds, set(RESERVED))
        bound = dict.fromkeys(variable.name[1:] for variable in variables_of(domain, [problem.goal.hard]))
        (variables,) = make_distinct([bound], {DURATION.predicate[1:]} if has_durations(domain) else set())
        named = {f"?{name}": f"?{word}" for name, word in variables.items()}
        return cls(types, predicates, functions, actions, named_objects, named)


def make_distinct(kinds: Sequence[Iterable[str]], taken: set[str]) -> list[dict[str, str]]:
    """Choose distinct legal names for those of each kind, none in `taken`; legal names stay where possible."""
    tables: list[dict[str, str]] = [{} for _ in kinds]
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table and name not in taken and _LEGAL.fullmatch(name):
                table[name] = name
                taken.add(name)
    for names, table in zip(kinds, tables, strict=True):
        for name in names:
            if name not in table:
                table[name] = choose_free_name(make_legal(object_name(name)), taken)
    return tables


def make_legal(name: str) -> str:
    """Make `name` legal: lower-case, without accents, with `-` for illegal characters."""
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
        formulas += [action.requires, action.throughout, action.at_end.requires]
        for effect in (*action.when, *action.at_start.when, *action.at_end.when):
            yield from effect.variables
            formulas.append(effect.requires)
    for axiom in domain.axioms:
        yield from axiom.parameters
        formulas.append(axiom.condition)
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, Forall | Exists):
                yield from part.variables


@dataclass(frozen=True, slots=True)
class Renaming:
    """Replaces the names in plain ADL by those of `names`; durations are left out, unless it is `in_time`."""

    names: Names
    in_time: bool = False

    def problem(self, problem: Problem) -> Problem:
        """Rename everything in `problem`, and make its own name legal."""
        return replace(
            problem,
            name=make_legal(problem.name),
            domain=self.domain(problem.domain),
            objects=self._objects(problem.objects),
            initial=tuple(map(self._atom, problem.initial)),
            goal=Goal(self.formula(problem.goal.hard)),
            values={self._function_term(term): value for term, value in problem.values.items()},
            metric=NumericMetric(self._expression(problem.metric.expression), problem.metric.maximize)
            if isinstance(problem.metric, NumericMetric)
            else problem.metric,
            timed=tuple([self._timed(each) for each in problem.timed]),
        )

    def _timed(self, effect: TimedEffect) -> TimedEffect:
        return TimedEffect(effect.time, self._literals(effect.provides), self._numbers(effect.numbers))

    def domain(self, domain: DomainModel) -> DomainModel:
        """Rename everything in `domain`, and make its own name legal."""
        names, variables = self.names, self.variables
        predicates = [Predicate(names.predicates[x.name], variables(x.parameters)) for x in domain.predicates.values()]
        functions = [
            replace(each, name=names.functions[name], parameters=variables(each.parameters))
            for name, each in domain.functions.items()
        ]
        actions = [self._action(action) for action in domain.actions.values()]
        return DomainModel(
            make_legal(domain.name),
            {self.names.types[name]: self._types(parents) for name, parents in domain.types.items()},
            self._objects(domain.constants),
            {each.name: each for each in predicates},
            {each.name: each for each in functions},
            {each.name: each for each in actions},
            tuple(map(self._axiom, domain.axioms)),
        )

    def _action(self, action: Action) -> Action:
        return Action(
            self.names.actions[action.name],
            self.variables(action.parameters),
            self.formula(action.requires),
            self._literals(action.provides),
            when=tuple(map(self._effect, action.when)),
            cost=tuple([x if isinstance(x, CostFunction) else self._expression(x) for x in action.cost]),
            outcomes=tuple(map(self._outcome, action.outcomes)),
            numbers=self._numbers(action.numbers),
            duration=self._duration(action.duration) if self.in_time else None,
            throughout=self.formula(action.throughout),
            at_start=self._moment(action.at_start),
            at_end=self._moment(action.at_end),
        )

    def _duration(self, duration: Duration | None) -> Duration | None:
        match duration:
            case None:
                return None
            case DurationRange(low, high):
                return DurationRange(self._expression(low), None if high is None else self._expression(high))
            case fixed:
                return self._expression(fixed)

    def _moment(self, moment: Moment) -> Moment:
        if moment.is_empty:
            return NO_MOMENT
        return Moment(
            self.formula(moment.requires),
            self._literals(moment.provides),
            when=tuple(map(self._effect, moment.when)),
            numbers=self._numbers(moment.numbers),
        )

    def _outcome(self, outcome: Outcome) -> Outcome:
        modifies = tuple(map(self._atom, outcome.modifies))
        literals, numbers = self._literals(outcome.provides), self._numbers(outcome.numbers)
        return Outcome(outcome.probability, literals, modifies, outcome.name, numbers)

    def _effect(self, effect: When) -> When:
        condition, literals = self.formula(effect.requires), self._literals(effect.provides)
        return When(condition, literals, (), self.variables(effect.variables), self._numbers(effect.numbers))

    def _axiom(self, axiom: Axiom) -> Axiom:
        head, variables = self.names.predicates[axiom.predicate], self.variables(axiom.parameters)
        return Axiom(head, variables, self.formula(axiom.condition))

    def formula(self, formula: Formula) -> Formula:
        """Rename the atoms and variables of `formula`."""
        match formula:
            case Atom():
                return self._atom(formula)
            case Equals(left, right):
                return Equals(self.term(left), self.term(right))
            case Comparison(left, relation, right):
                return Comparison(self._expression(left), relation, self._expression(right))
            case Forall(bound, part) | Exists(bound, part):
                return type(formula)(self.variables(bound), self.formula(part))
            case _:
                return with_children(formula, tuple([self.formula(part) for part in children(formula)]))

    def _expression(self, expression: Expression) -> Expression:
        match expression:
            case Atom():
                return expression if expression in _SPECIAL else self._function_term(expression)
            case Arithmetic(operator, operands):
                return Arithmetic(operator, tuple(map(self._expression, operands)))
            case _:
                return expression

    def _numbers(self, effects: Iterable[NumericEffect]) -> tuple[NumericEffect, ...]:
        return tuple(
            [
                NumericEffect(self._function_term(each.fluent), each.operator, self._expression(each.value))
                for each in effects
            ]
        )

    def _literals(self, literals: Iterable[Literal]) -> tuple[Literal, ...]:
        return tuple([self._atom(x) if isinstance(x, Atom) else Not(self.formula(x.part)) for x in literals])

    def _atom(self, atom: Atom) -> Atom:
        return Atom(self.names.predicates[atom.predicate], tuple(map(self.term, atom.args)))

    def _function_term(self, atom: Atom) -> Atom:
        return Atom(self.names.functions[atom.predicate], tuple(map(self.term, atom.args)))

    def term(self, term: Term) -> Term:
        """Rename `term`; an open argument stays open."""
        if term == OPEN:
            return term
        return self.names.variables[term] if term in self.names.variables else self.names.objects[term]

    def variables(self, variables: Iterable[Variable]) -> tuple[Variable, ...]:
        """Rename `variables` and their types."""
        return tuple([Variable(self.names.variables[each.name], self._types(each.types)) for each in variables])

    def _objects(self, objects: Iterable[Object]) -> tuple[Object, ...]:
        return tuple([Object(self.names.objects[each.name], self._types(each.types)) for each in objects])

    def _types(self, types: Iterable[str]) -> tuple[str, ...]:
        return tuple([self.names.types.get(name, name) for name in types])

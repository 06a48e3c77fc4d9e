"""Abstract numbers away: comparisons become negated facts, and numeric effects become facts that nobody reads.

`ground_numeric` grounds the classical problem that results, and gives the facts their meaning back. The fact
`@violates:k(…)` says that comparison k does not hold; since only its negation is required, relaxed reachability takes
every comparison for possible. A step that adds `@change:k(…)` has numeric effect k.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from planner.compilations.normal_form import to_negation_normal_form
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, NumericEffect, When
from planner.model.domain import Predicate
from planner.model.formulas import (
    RELATIONS,
    And,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Variable,
    comparisons_in,
    free_variables,
    functions_in,
    is_variable,
)
from planner.model.problem import Goal, Metric, Problem
from planner.semantics.undefined_values import keep_needed

VIOLATES: Final = "@violates:"
HOLDS: Final = "@holds:"
REACH: Final = "@reach:"
"""Prefix of static facts that the values for which a comparison holds are within reach, in explanations."""
CHANGES: Final = "@change:"


@dataclass(frozen=True, slots=True)
class Requirement:
    """The comparison that must hold, over the variables `parameters`; `negated` where its complement must not hold.

    A comparison with an undefined value is false, and a negated one true.
    """

    comparison: Comparison
    parameters: tuple[str, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A numeric effect over the variables `parameters`."""

    effect: NumericEffect
    parameters: tuple[str, ...]


@dataclass(slots=True)
class NumberAbstraction:
    """The classical `problem`, and the meaning of its predicates for comparisons and for numeric effects."""

    problem: Problem
    requirements: dict[str, Requirement] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)


def abstract_numbers(problem: Problem, *, positive: bool = False) -> NumberAbstraction:
    """Return `problem` without numbers, and what replaces them; it has no soft goals or constraints on numbers.

    With `positive`, the facts say that the comparisons hold.
    """
    abstraction = NumberAbstraction(problem)
    writer = _Writer(abstraction, positive=positive)
    domain = problem.domain
    actions = {name: writer.action(action) for name, action in domain.actions.items()}
    axioms = tuple([replace(each, condition=writer.formula(each.condition, each.parameters)) for each in domain.axioms])
    goal = Goal(writer.formula(problem.goal.hard, ()), problem.goal.soft)
    classical = replace(domain, actions=actions, axioms=axioms, predicates={**domain.predicates, **writer.predicates})
    metric = problem.metric if isinstance(problem.metric, Metric) else Metric.COST
    abstraction.problem = replace(problem, domain=classical, goal=goal, metric=metric, seal=())
    return abstraction


class _Writer:
    """Replaces comparisons and numeric effects; `predicates` are those that replace them."""

    def __init__(self, abstraction: NumberAbstraction, *, positive: bool) -> None:
        self._found = abstraction
        self._positive = positive
        self._names: dict[Requirement, str] = {}
        self.predicates: dict[str, Predicate] = {}

    def action(self, action: Action) -> Action:
        """Return `action` without numbers and costs, which may be undefined where comparisons fail."""
        types = {each.name: each.types for each in action.parameters}
        changes = [self._change(each, types, ()) for each in action.numbers]
        return replace(
            action,
            cost=(),
            uses={},
            holds={},
            duration=None,
            needs_values=keep_needed(action, self._found.problem),
            requires=self.formula(action.requires, action.parameters),
            provides=(*action.provides, *changes),
            when=tuple([self._when(each, types) for each in action.when]),
            measures=(),
            numbers=(),
        )

    def _when(self, when: When, types: Mapping[str, tuple[str, ...]]) -> When:
        inner = {**types, **{each.name: each.types for each in when.variables}}
        changes = [self._change(each, inner, [variable.name for variable in when.variables]) for each in when.numbers]
        requires = self.formula(when.requires, tuple([Variable(*each) for each in inner.items()]))
        return replace(when, requires=requires, provides=(*when.provides, *changes), numbers=())

    def _change(self, effect: NumericEffect, types: Mapping[str, tuple[str, ...]], inner: Iterable[str]) -> Atom:
        """Return the fact for `effect`: one for each binding of the variables `inner`, which count one by one."""
        terms = [effect.fluent, *functions_in(effect.value)]
        names = [arg for term in terms for arg in term.args if is_variable(arg)]
        parameters = tuple(dict.fromkeys([*names, *inner]))
        name = f"{CHANGES}{len(self._found.changes)}"
        self._found.changes[name] = Change(effect, parameters)
        self.predicates[name] = Predicate(name, tuple([Variable(each, types[each]) for each in parameters]))
        return Atom(name, parameters)

    def formula(self, formula: Formula, variables: tuple[Variable, ...]) -> Formula:
        """Return `formula`, over these free `variables`, without comparisons."""
        if not any(True for _ in comparisons_in(formula)):
            return formula
        normal = to_negation_normal_form(formula, itertools.count())
        return self._replace(normal, {each.name: each.types for each in variables})

    def _replace(self, formula: Formula, types: Mapping[str, tuple[str, ...]]) -> Formula:
        match formula:
            case Comparison(left, "=", right):
                both = [Comparison(left, relation, right) for relation in ("<=", ">=")]
                return And(tuple([self._require(each, types, negated=False) for each in both]))
            case Comparison():
                return self._require(formula, types, negated=False)
            case Not(Comparison(left, "=", right)):
                both = [Comparison(left, relation, right) for relation in "<>"]
                return Or(tuple([self._require(each, types, negated=True) for each in both]))
            case Not(Comparison(left, relation, right)):
                return self._require(Comparison(left, RELATIONS[relation], right), types, negated=True)
            case And(parts) | Or(parts):
                return type(formula)(tuple([self._replace(part, types) for part in parts]))
            case Forall(variables, part) | Exists(variables, part):
                inner = {**types, **{each.name: each.types for each in variables}}
                return type(formula)(variables, self._replace(part, inner))
            case _:
                return formula

    def _require(self, comparison: Comparison, types: Mapping[str, tuple[str, ...]], *, negated: bool) -> Formula:
        parameters = tuple(sorted(free_variables(comparison)))
        wanted = Requirement(comparison, parameters, negated)
        name = self._names.get(wanted)
        if name is None:
            name = self._names[wanted] = f"{HOLDS if self._positive else VIOLATES}{len(self._names)}"
            self._found.requirements[name] = wanted
            self.predicates[name] = Predicate(name, tuple([Variable(each, types[each]) for each in parameters]))
        return Atom(name, parameters) if self._positive else Not(Atom(name, parameters))

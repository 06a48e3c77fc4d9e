"""Steps in turn: each action that lasts becomes one action whose start, middle and end happen together.

Plans of the compiled problem are plans in time whose steps do not overlap; scheduling then lets them overlap. What an
action requires in its middle and at its end is regressed through what its start changes (Reiter, 1991), and the effects
of both moments are joined. Changes at known times, deadlines and the metric of time are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import reduce

from planner.errors import UnsupportedError
from planner.lightweight import dataclass, replace
from planner.model.actions import Action, CostFunction, CostTerm, Moment, NumericEffect, When
from planner.model.domain import DomainModel, numeric_fluents
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Term,
    Variable,
    conjunction,
    conjuncts,
    functions_in,
    is_variable,
    with_conjuncts,
)
from planner.model.problem import Metric, Problem
from planner.semantics.durations import as_seconds, least_term
from planner.semantics.numeric_state import Values, bounds_on
from planner.semantics.snap_actions import at_once, require_throughout, split_moments, sum_of
from planner.semantics.undefined_values import keep_needed


def compile_sequential(problem: Problem, *, by_costs: bool = False) -> Problem:
    """Return the problem whose plans are sequences of the steps of `problem`, each done before the next begins.

    A step costs its duration, where this depends on no numeric fluent, else 1; with `by_costs`, its own cost. Raises
    `UnsupportedError` where the effects of a start and an end on numbers may meet in a way that names do not show.
    """
    domain = problem.domain
    costs = costs_of_steps(problem) if by_costs else _durations_as_costs(problem)
    actions = {
        name: replace(_join_moments(action, problem), cost=costs[name], needs_values=keep_needed(action, problem))
        for name, action in domain.actions.items()
    }
    return replace(
        problem,
        domain=replace(domain, actions=actions),
        metric=Metric.COST,
        timed=(),
        due=(),
        capacity={},
        deadline=None,
    )


def costs_of_steps(problem: Problem) -> dict[str, tuple[CostTerm, ...]]:
    """Return for each action of `problem` what a step costs: 1 where plans are compared by their lengths."""
    is_length = problem.metric is Metric.LENGTH
    return {name: (1,) if is_length else action.cost for name, action in problem.domain.actions.items()}


def _durations_as_costs(problem: Problem) -> dict[str, tuple[CostTerm, ...]]:
    fluents = numeric_fluents(problem.domain)
    return {
        name: (_price(least_term(action), action, problem),) if _is_known(action, fluents) else (1,)
        for name, action in problem.domain.actions.items()
    }


def has_known_durations(domain: DomainModel) -> bool:
    """Return whether the least duration of each step depends on its arguments alone, and on no numeric fluent."""
    fluents = numeric_fluents(domain)
    return all(_is_known(action, fluents) for action in domain.actions.values())


def _is_known(action: Action, fluents: Collection[str]) -> bool:
    return all(each.predicate not in fluents for each in functions_in(least_term(action)))


def _price(duration: Expression, action: Action, problem: Problem) -> CostTerm:
    """Return the cost of a step that lasts `duration`: rounded, where it may be no finite decimal."""
    if not isinstance(duration, Arithmetic) or "/" not in str(duration):
        return duration
    names = [parameter.name for parameter in action.parameters]
    values = Values.of(problem)

    def seconds(*arguments: str) -> Number:
        value = values.evaluate(duration, dict(zip(names, arguments, strict=True)))
        if value is None:
            raise ValueError(f"the duration {duration} has no value")
        return as_seconds(value)

    return CostFunction(seconds)


def _join_moments(action: Action, problem: Problem) -> Action:
    if action.duration is None and not action.has_moments:
        return action
    start, _, end = split_moments(action)
    throughout = require_throughout(action, problem)
    through = Regression.through(start, throughout)
    requires = [
        *conjuncts(start.requires),
        *conjuncts(through.regress(throughout)),
        *conjuncts(through.regress(end.requires)),
        *_find_bounds(start, problem),
        *[Comparison(sum_of(terms), "<=", problem.capacity.get(name, 0)) for name, terms in action.holds.items()],
    ]
    ending = [at_once(replace(each, requires=through.regress(each.requires))) for each in end.effects]
    kept = [_keep(each, ending, through) for each in start.effects]
    effects = [each for group in kept for each in group] + [replace(each, numbers=()) for each in ending]
    numbers = _join_numbers(start, end, through)
    plain = [each for each in effects if each.requires == TRUE and not each.variables]
    return Action(
        action.name,
        action.parameters,
        conjunction(list(dict.fromkeys(requires))),
        tuple([literal for each in plain for literal in each.provides]),
        tuple([item for each in plain for item in each.modifies]),
        tuple([each for each in effects if each not in plain and (each.provides or each.modifies)])
        + _conditional_numbers(start, end, through),
        cost=(),
        tags=action.tags,
        description=action.description,
        numbers=numbers,
        measures=action.measures,
        after=action.after,
        data=action.data,
    )


def _find_bounds(start: Moment, problem: Problem) -> Iterator[Comparison]:
    """Yield what keeps the numbers that a start changes inside their bounds until the end."""
    for fluent in dict.fromkeys(each.fluent for each in start.numbers):
        yield from bounds_on(fluent, [each for each in start.numbers if each.fluent == fluent], problem.domain)


def _distinct_pairs(conditions: Iterable[Formula]) -> Iterator[frozenset[Term]]:
    """Yield the pairs of terms that `conditions` say to be different objects."""
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Not) and isinstance(part.part, Equals):
                yield frozenset((part.part.left, part.part.right))


@dataclass(frozen=True, slots=True)
class Regression:
    """The effects of a start, through which conditions are regressed; `distinct` are pairs of different objects."""

    moment: Moment
    distinct: frozenset[frozenset[Term]]

    @classmethod
    def through(cls, start: Moment, *conditions: Formula) -> Regression:
        """Return the regression through `start`, after which these `conditions` hold."""
        return cls(start, frozenset(_distinct_pairs((start.requires, *conditions))))

    def match(self, item: Atom, atom: Atom) -> list[Formula] | None:
        """Return the equalities by which `item`, with open arguments, covers `atom`; None where it cannot."""
        if item.predicate != atom.predicate or len(item.args) != len(atom.args):
            return None
        found: list[Formula] = []
        for mine, theirs in zip(item.args, atom.args, strict=True):
            if OPEN in (mine, theirs) or mine == theirs:
                continue
            if not (is_variable(mine) or is_variable(theirs)) or frozenset((mine, theirs)) in self.distinct:
                return None
            found.append(Equals(mine, theirs))
        return found

    def regress(self, formula: Formula) -> Formula:
        """Return what must hold before the start so that `formula` holds after it."""
        match formula:
            case Atom():
                return self._regress_atom(formula)
            case Not(part):
                return Not(self.regress(part))
            case And(parts):
                return And(tuple([self.regress(part) for part in parts]))
            case Or(parts):
                return Or(tuple([self.regress(part) for part in parts]))
            case Imply(premise, conclusion):
                return Imply(self.regress(premise), self.regress(conclusion))
            case Forall(variables, part):
                return Forall(variables, self.regress(part))
            case Exists(variables, part):
                return Exists(variables, self.regress(part))
            case Comparison(left, relation, right):
                return Comparison(self.value(left), relation, self.value(right))
            case _:
                return formula

    def _regress_atom(self, atom: Atom) -> Formula:
        added: list[Formula] = []
        ended: list[Formula] = []
        for when in self.moment.effects:
            for literal in when.provides:
                item = literal.part if isinstance(literal, Not) else literal
                assert isinstance(item, Atom)
                self._collect(ended if isinstance(literal, Not) else added, when, item, atom)
            for item in when.modifies:
                if OPEN in item.args:
                    self._collect(ended, when, item, atom)
        if TRUE in added:
            return TRUE
        if TRUE in ended:
            return Or(tuple(added))
        kept = conjunction([atom, *[Not(each) for each in ended]]) if ended else atom
        return Or((*added, kept)) if added else kept

    def _collect(self, found: list[Formula], when: When, item: Atom, atom: Atom) -> None:
        equalities = self.match(item, atom)
        if equalities is not None:
            found.append(bind(when.variables, [*conjuncts(when.requires), *equalities]))

    def value(self, expression: Expression) -> Expression:
        """Return the value of `expression` after the start, in terms of what holds before it."""
        if isinstance(expression, Arithmetic):
            return Arithmetic(expression.operator, tuple([self.value(each) for each in expression.operands]))
        if not isinstance(expression, Atom):
            return expression
        for when in self.moment.when:
            if any(self.match(each.fluent, expression) is not None for each in when.numbers):
                raise UnsupportedError(f"{expression}, which a start changes under a condition, read at an end")
        own = [each for each in self.moment.numbers if self.match(each.fluent, expression) is not None]
        if any(each.fluent != expression for each in own):
            raise UnsupportedError(f"{expression}, which a start may change under another name, read at an end")
        value: Expression = expression
        return reduce(_apply, own, value)


def _apply(before: Expression, effect: NumericEffect) -> Expression:
    return effect.value if effect.operator == ":=" else Arithmetic(effect.operator[0], (before, effect.value))


def bind(variables: tuple[Variable, ...], parts: list[Formula]) -> Formula:
    """Return the condition that all `parts` hold for some objects of `variables`."""
    condition = conjunction(list(dict.fromkeys(parts)))
    return Exists(variables, condition) if variables else condition


def _keep(when: When, ending: list[When], start: Regression) -> Iterator[When]:
    """Yield the effects of a start, `when`, as far as the effects of the end do not undo them."""
    for literal in when.provides:
        if not isinstance(literal, Atom):
            yield When(when.requires, (literal,), (), when.variables)
            continue
        undone: list[Formula] = []
        for other in ending:
            ended = [each.part for each in other.provides if isinstance(each, Not) and isinstance(each.part, Atom)]
            for item in (*ended, *[each for each in other.modifies if OPEN in each.args]):
                equalities = start.match(item, literal)
                if equalities is not None:
                    undone.append(bind(other.variables, [*conjuncts(other.requires), *equalities]))
        if TRUE not in undone:
            requires = with_conjuncts(when.requires, *[Not(each) for each in undone])
            yield When(requires, (literal,), (), when.variables)
    if when.modifies:
        yield When(when.requires, (), when.modifies, when.variables)


def _join_numbers(start: Moment, end: Moment, through: Regression) -> tuple[NumericEffect, ...]:
    """Return the unconditional changes of numbers by the start and then by the end, as one change of each fluent."""
    first = {each.fluent: [x for x in start.numbers if x.fluent == each.fluent] for each in start.numbers}
    last: dict[Atom, list[NumericEffect]] = {}
    for effect in end.numbers:
        last.setdefault(effect.fluent, []).append(replace(effect, value=through.value(effect.value)))
    found: list[NumericEffect] = []
    for fluent in dict.fromkeys((*first, *last)):
        both = (*first.get(fluent, ()), *last.get(fluent, ()))
        if all(each.is_additive for each in both) or len(both) == 1:
            found += both
        else:
            value: Expression = fluent
            found.append(NumericEffect(fluent, ":=", reduce(_apply, both, value)))
    return tuple(found)


def _conditional_numbers(start: Moment, end: Moment, through: Regression) -> tuple[When, ...]:
    """Return the conditional changes of numbers by the start and by the end."""
    found = [replace(each, provides=(), modifies=()) for each in start.when if each.numbers]
    for each in end.when:
        if each.numbers:
            numbers = tuple([replace(number, value=through.value(number.value)) for number in each.numbers])
            effect = replace(each, requires=through.regress(each.requires), provides=(), modifies=(), numbers=numbers)
            found.append(at_once(effect))
    return tuple(found)

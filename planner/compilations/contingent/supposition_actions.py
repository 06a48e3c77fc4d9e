"""Actions that suppose unknown facts, at prices, in problems whose states record knowledge.

The actions `see-…` suppose what a step has sensed, and `suppose-…` what none has: that costs the failing step, too. In
time and among numbers, the prices are part of the metric. Where constraints or tasks forbid steps between others, all
suppositions come `early`, before the first step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.compilations import reserve_name
from planner.compilations.budgets import budget_spending
from planner.compilations.contingent.knowledge import (
    Translation,
    conditional_effects,
    fill_open_arguments,
    find_affected,
)
from planner.compilations.contingent.readings import Names, mentions, rename
from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Action, Constraint, ConstraintKind, DurationRange, Literal, NumericEffect, When
from planner.model.domain import Function, Predicate, numeric_effects
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Formula,
    Not,
    Number,
    Or,
    Variable,
    conjunction,
    conjuncts,
    functions_in,
    literals_in,
)
from planner.model.problem import TOTAL_COST, Metric, NumericMetric, Problem, counts_makespan_alone
from planner.model.timing import TOTAL_TIME
from planner.plan import Step, exact, exact_sum
from planner.semantics.undefined_values import keep_needed

DIGITS: Final = 4
"""Significant digits of the highest price; all prices are rounded to the same decimal place."""
BEGUN: Final = Atom("@begun")
"""The fact that all suppositions are made, where they come early."""
BEGIN: Final = "@begin"
"""The action after which no supposition is made."""
SUPPOSED: Final = Atom("@supposed")
"""The sum of the prices of suppositions, which is added to a metric of numbers."""


@dataclass(frozen=True, slots=True)
class Supposing:
    """A problem with actions that suppose facts; `meaning` maps their names to a predicate and the supposed truth."""

    problem: Problem
    meaning: Mapping[str, tuple[str, bool]]
    prices: Mapping[str, str]
    """The functions that have the prices of the actions."""

    def is_own(self, step: Step) -> bool:
        """Return whether `step` is one of the source: it supposes nothing, and does not end the suppositions."""
        return step.action not in self.meaning and step.action != BEGIN

    def find_supposed(self, steps: Iterable[Step]) -> dict[Atom, bool]:
        """Return what `steps` suppose."""
        meant = [(step, self.meaning.get(step.action)) for step in steps]
        return {Atom(each[0], step.arguments): each[1] for step, each in meant if each is not None}

    def list_prices(self, steps: Iterable[Step]) -> list[Number]:
        """Return the prices of what `steps` suppose."""
        meant = [(step, self.problem.domain.actions[step.action]) for step in steps if step.action in self.meaning]
        return [self.problem.values[Atom(self.prices[each.name], step.arguments)] for step, each in meant]

    def without(self, steps: Sequence[Step]) -> tuple[tuple[Step, ...], dict[Atom, bool]]:
        """Return `steps` without those that suppose facts, and the supposed facts."""
        return tuple([step for step in steps if self.is_own(step)]), self.find_supposed(steps)


def add_suppositions(
    asked: Translation,
    knowing: Problem,
    surprise: Number | None,
    *,
    early: bool = False,
    also: Iterable[Formula] = (),
) -> Supposing:
    """Add actions that suppose unknown facts to `knowing`, a translation of what was `asked`.

    `surprise` is the price of a wrong supposition, beside the cost of a step that fails; None makes all prices 0.
    Suppositions that are made `early` come before all other steps, and constraints do not count the states between.
    The formulas `also` are read outside the problem.
    """
    source = asked.problem
    wanted = find_wanted(source, also) if early or asked.lasts else None
    writer = _SuppositionBuilder(asked, {*knowing.domain.actions}, {*knowing.domain.functions}, early, wanted)
    for name in asked.words.open:
        writer.write(name)
    failure = {name: highest_cost(source, name) for name in asked.words.open}
    prices: dict[Atom, Fraction] = {}
    for variable in asked.variables:
        for fact, chance in zip(variable.facts, variable.chances, strict=True):
            for kind in writer.kinds[fact.predicate]:
                fails = 0 if kind.looked else Fraction(failure[fact.predicate])
                price = 0 if surprise is None else Fraction(surprise) + fails
                prices[Atom(kind.price, fact.args)] = (1 - chance if kind.holds else chance) * price
    knowing = (
        begin_after_suppositions(budget_spending(knowing), asked.words.possible) if early else budget_spending(knowing)
    )
    functions = {**knowing.domain.functions, **writer.functions}
    knowing = replace(
        knowing,
        domain=replace(knowing.domain, functions=functions),
        values={**knowing.values, **_round(prices)},
    )
    kinds = [(each.action, (name, each.holds)) for name, found in writer.kinds.items() for each in found]
    functions_of = {each.action: each.price for found in writer.kinds.values() for each in found}
    return Supposing(_add_priced(knowing, writer.actions), dict(kinds), functions_of)


def find_wanted(problem: Problem, also: Iterable[Formula] = ()) -> set[tuple[str, bool]]:
    """Return the predicates that `problem`, or the formulas `also`, reads, each with the truth that helps somewhere."""
    domain = problem.domain
    formulas = [*also, problem.goal.hard, *[wish.condition for wish in problem.goal.soft]]
    formulas += [each.condition for each in problem.due]
    either = [each for constraint in problem.constraints for each in constraint.conditions]
    for action in domain.actions.values():
        formulas += [action.requires, action.throughout, action.at_start.requires, action.at_end.requires]
        either += [when.requires for when in conditional_effects(action)]
    queue = [(each, sign) for each in (*formulas, *either) for sign in ((True, False) if each in either else (True,))]
    found = set[tuple[str, bool]]()
    while queue:
        formula, positive = queue.pop()
        for atom, sign in literals_in(formula, positive=positive):
            if (atom.predicate, sign) not in found:
                found.add((atom.predicate, sign))
                queue += [(each.condition, sign) for each in domain.axioms if each.predicate == atom.predicate]
    return found


def _add_priced(knowing: Problem, actions: Mapping[str, Action]) -> Problem:
    """Add `actions`, whose costs are prices, to `knowing`, so that the metric counts the prices."""
    domain, metric = knowing.domain, knowing.metric
    if isinstance(metric, Metric):
        return replace(knowing, domain=replace(domain, actions={**domain.actions, **actions}))
    if counts_makespan_alone(knowing):
        free = {
            name: replace(each, cost=(), needs_values=(*each.needs_values, *keep_needed(each, knowing)))
            for name, each in domain.actions.items()
        }
        domain = replace(domain, actions={**free, **actions})
        return replace(knowing, domain=domain, metric=NumericMetric(Arithmetic("+", (TOTAL_TIME, TOTAL_COST))))
    priced = {
        name: replace(each, cost=(), numbers=tuple([NumericEffect(SUPPOSED, "+=", term) for term in _terms(each)]))
        for name, each in actions.items()
    }
    functions = {**domain.functions, SUPPOSED.predicate: Function(SUPPOSED.predicate)}
    value = Arithmetic("-", (metric.expression,)) if metric.maximize else metric.expression
    return replace(
        knowing,
        domain=replace(domain, actions={**domain.actions, **priced}, functions=functions),
        values={**knowing.values, SUPPOSED: 0},
        metric=NumericMetric(Arithmetic("+", (value, SUPPOSED))),
    )


def _terms(action: Action) -> list[Atom]:
    return [term for term in action.cost if isinstance(term, Atom)]


def begin_after_suppositions(knowing: Problem, possible: Names) -> Problem:
    """Return `knowing` with steps that come after all suppositions; constraints on knowledge hold from then on."""
    actions = {
        name: replace(each, requires=conjunction([BEGUN, *conjuncts(each.requires)]))
        for name, each in knowing.domain.actions.items()
    }
    actions[BEGIN] = Action(BEGIN, (), Not(BEGUN), (BEGUN,), cost=())
    known = {*possible, *possible.values()}
    goal = replace(knowing.goal, hard=conjunction([BEGUN, *conjuncts(knowing.goal.hard)]))
    predicates = {**knowing.domain.predicates, BEGUN.predicate: Predicate(BEGUN.predicate)}
    return replace(
        knowing,
        domain=replace(knowing.domain, actions=actions, predicates=predicates),
        goal=goal,
        constraints=tuple([_count_from_beginning(each, known) for each in knowing.constraints]),
    )


def _count_from_beginning(constraint: Constraint, known: Collection[str]) -> Constraint:
    """Return `constraint`, if it is about `known` facts, so that it does not count states before the first step."""
    if not any(mentions(each, known) for each in constraint.conditions):
        return constraint

    def guard(condition: Formula) -> Formula:
        if constraint.kind is ConstraintKind.ALWAYS:
            return Or((Not(BEGUN), condition))
        return And((BEGUN, condition))

    return constraint.mapped(guard, lambda pattern: pattern)


def price_of_surprise(lucky: Number | None, safe: Number | None) -> Number:
    """Return the price of a wrong supposition, from the costs of the optimistic plan and of the `safe` one.

    It is their difference; without a safe plan, it is the cost of the `lucky` plan.
    """
    hoped = lucky or 0
    return hoped if safe is None else max(safe - hoped, 0)


def highest_cost(problem: Problem, predicate: str) -> Number:
    """Return about the highest cost of the actions of `problem` that read `predicate`, as far as costs are numbers."""
    if problem.metric is Metric.LENGTH:
        return 1
    most: dict[str, Number] = {}
    for atom, value in problem.values.items():
        most[atom.predicate] = max(value, most.get(atom.predicate, 0))
    costs: list[Number] = [0]
    read = find_affected(problem.domain, [predicate])
    for action in problem.domain.actions.values():
        needs = (action.requires, action.throughout, action.at_start.requires, action.at_end.requires)
        if any(mentions(each, read) for each in needs):
            terms = [
                most.get(each.predicate, 0) if isinstance(each, Atom) else each for each in _amounts(action, problem)
            ]
            costs.append(exact_sum([term for term in terms if isinstance(term, int | Decimal)]))
    return max(costs)


def _amounts(action: Action, problem: Problem) -> Iterator[object]:
    """Yield what a step of `action` adds to the metric: costs, the duration, and changes of numbers."""
    if isinstance(problem.metric, Metric):
        yield from action.cost
        return
    read = list(functions_in(problem.metric.expression))
    if TOTAL_COST in read:
        yield from action.cost
    if TOTAL_TIME in read:
        yield action.duration.low if isinstance(action.duration, DurationRange) else action.duration
    names = {term.predicate for term in read}
    yield from [each.value for each in numeric_effects(action) if each.fluent.predicate in names and each.is_additive]


def _round(prices: Mapping[Atom, Fraction]) -> dict[Atom, Number]:
    """Return `prices` as decimals, rounded to one decimal place by `DIGITS`."""
    if not prices:
        return {}
    decimals = {atom: Decimal(price.numerator) / price.denominator for atom, price in prices.items()}
    unit = Decimal(1).scaleb(max(decimals.values()).adjusted() - DIGITS + 1)
    return {atom: exact(price.quantize(min(unit, Decimal(1)))) for atom, price in decimals.items()}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A way to suppose facts: the action, the function of its price, the supposed truth, and whether it was sensed."""

    action: str
    price: str
    holds: bool
    looked: bool


@dataclass(frozen=True, slots=True)
class _SuppositionBuilder:
    """Builds the actions that suppose the facts of a translation."""

    asked: Translation
    taken_actions: set[str]
    taken_functions: set[str]
    early: bool
    wanted: Collection[tuple[str, bool]] | None
    """Predicates with the truth that some condition wants; None for both truths of all."""
    kinds: dict[str, list[_Kind]] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def write(self, name: str) -> None:
        """Build the actions that suppose facts of the predicate `name`."""
        parameters = self.asked.problem.domain.predicates[name].parameters
        parameters = tuple([Variable(f"?a{place}", each.types) for place, each in enumerate(parameters)])
        fact = Atom(name, tuple([each.name for each in parameters]))
        self.kinds[name] = []
        for looked in (True, False) if name in self.asked.words.seen and not self.early else (False,):
            for holds in (True, False):
                if self.wanted is not None and (name, holds) not in self.wanted:
                    continue
                kind = self._name_kind(name, holds=holds, looked=looked)
                self.kinds[name].append(kind)
                self.functions[kind.price] = Function(kind.price, parameters)
                self.actions[kind.action] = self._action(kind, fact, parameters)

    def _name_kind(self, name: str, *, holds: bool, looked: bool) -> _Kind:
        word = f"{'see' if looked else 'suppose'}-{'' if holds else 'not-'}{name}"
        word = f"@{word}" if self.early else word
        return _Kind(
            reserve_name(word, self.taken_actions, "-"),
            reserve_name(f"price-{word}", self.taken_functions, "-"),
            holds,
            looked,
        )

    def _action(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Action:
        words = self.asked.words
        needs: list[Formula] = [rename(fact, words.open), *([rename(fact, words.seen)] if kind.looked else [])]
        needs += [Not(BEGUN)] if self.early else []
        provides: list[Literal] = [Not(rename(fact, words.open))]
        provides += [fact, rename(fact, words.possible)] if kind.holds else [Not(rename(fact, words.possible))]
        provides += self._guessed(kind, fact)
        when = tuple(self._others(kind, fact, parameters)) if kind.holds else ()
        price = Atom(kind.price, fact.args)
        return Action(kind.action, parameters, conjunction(needs), tuple(provides), when=when, cost=(price,))

    def _guessed(self, kind: _Kind, fact: Atom) -> Iterator[Literal]:
        if not kind.looked and fact.predicate in self.asked.words.guessed:
            yield rename(fact, self.asked.words.guessed)

    def _others(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Iterator[When]:
        """Yield the effect that the other facts of the same item are false."""
        words, places = self.asked.words, self.asked.items.get(fact.predicate, ())
        if not places:
            return
        opened = Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))
        other, variables = fill_open_arguments(opened, parameters, fact.args)
        ended = (Not(rename(other, words.possible)), Not(rename(other, words.open)))
        yield When(TRUE, (*ended, *self._guessed(kind, other)), (), variables)

"""Steps that suppose how an unknown fact is, and what they cost beside the others.

Whether it pays to look is a matter of price. A supposition is wrong with a probability, and then costs the way round;
where nobody has looked, it also costs the step that rests on it and fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from planner.annotations import Final
from planner.model import (
    COST,
    OPEN,
    TRUE,
    Action,
    Atom,
    Function,
    Literal,
    Metric,
    Not,
    Number,
    Problem,
    Variable,
    When,
)
from planner.model.formulas import conjunction
from planner.plan import Step, exact, exact_sum
from planner.records import dataclass, field, replace
from planner.unknown.knowledge import Translation, filled
from planner.unknown.readings import affected, mentions, renamed

DIGITS: Final = 4
"""So many digits of the highest price count; the others are as exact."""


@dataclass(frozen=True, slots=True)
class Supposing:
    """A problem with steps that suppose facts; `meaning` says by the names of their actions what they suppose."""

    problem: Problem
    meaning: Mapping[str, tuple[str, bool]]

    def without(self, steps: Iterable[Step]) -> tuple[tuple[Step, ...], dict[Atom, bool]]:
        """Return `steps` without those that suppose, and what these do."""
        kept: list[Step] = []
        supposed: dict[Atom, bool] = {}
        for step in steps:
            meaning = self.meaning.get(step.action)
            if meaning is None:
                kept.append(step)
            else:
                supposed[Atom(meaning[0], step.arguments)] = meaning[1]
        return tuple(kept), supposed


def supposing(asked: Translation, knowing: Problem, surprise: Number | None) -> Supposing:
    """Return `knowing`, a translation of what was `asked`, with steps that suppose unknown facts.

    `surprise` is what it costs beside a step that fails if a supposition is wrong; None: nothing costs anything.
    """
    source = asked.problem
    writer = _Writer(asked, {*knowing.domain.actions}, {*knowing.domain.functions})
    for name in asked.words.open:
        writer.write(name)
    failure = {name: dearest(source, name) for name in asked.words.open}
    prices: dict[Atom, Fraction] = {}
    for variable in asked.variables:
        for fact, chance in zip(variable.facts, variable.chances, strict=True):
            for kind in writer.kinds[fact.predicate]:
                fails = 0 if kind.looked else Fraction(failure[fact.predicate])
                price = 0 if surprise is None else Fraction(surprise) + fails
                prices[Atom(kind.price, fact.args)] = (1 - chance if kind.holds else chance) * price
    knowing = _without_prices(knowing) if COST in knowing.budgets else knowing
    actions = {**knowing.domain.actions, **writer.actions}
    domain = replace(knowing.domain, actions=actions, functions={**knowing.domain.functions, **writer.functions})
    kinds = [(each.action, (name, each.holds)) for name, found in writer.kinds.items() for each in found]
    return Supposing(replace(knowing, domain=domain, values={**knowing.values, **_rounded(prices)}), dict(kinds))


def _without_prices(problem: Problem) -> Problem:
    """Return `problem` with the budget on the cost as one on a resource, of which steps use what they cost."""
    spent = _free("spent", {name for action in problem.domain.actions.values() for name in action.uses})
    budgets = {spent if name == COST else name: limit for name, limit in problem.budgets.items()}
    actions = {
        name: replace(action, uses={**action.uses, spent: action.cost})
        for name, action in problem.domain.actions.items()
    }
    return replace(problem, budgets=budgets, domain=replace(problem.domain, actions=actions))


def surprise(lucky: Number | None, safe: Number | None) -> Number:
    """Return what it costs to be wrong, where a `lucky` plan and a `safe` one, that supposes nothing, cost so much.

    It is what the safe one costs more; where none is known, another lucky one.
    """
    hoped = lucky or 0
    return hoped if safe is None else max(safe - hoped, 0)


def dearest(problem: Problem, predicate: str) -> Number:
    """Return the most that an action of `problem` costs that reads `predicate`, as far as costs are numbers."""
    if problem.metric is Metric.LENGTH:
        return 1
    most: dict[str, Number] = {}
    for atom, value in problem.values.items():
        most[atom.predicate] = max(value, most.get(atom.predicate, 0))
    costs: list[Number] = [0]
    read = affected(problem.domain, [predicate])
    for action in problem.domain.actions.values():
        if mentions(action.requires, read):
            terms = [most.get(term.predicate, 0) if isinstance(term, Atom) else term for term in action.cost]
            costs.append(exact_sum([term for term in terms if isinstance(term, int | Decimal)]))
    return max(costs)


def _rounded(prices: Mapping[Atom, Fraction]) -> dict[Atom, Number]:
    """Return `prices` as decimals with as many digits behind the point."""
    decimals = {atom: Decimal(price.numerator) / price.denominator for atom, price in prices.items()}
    unit = Decimal(1).scaleb(max(decimals.values()).adjusted() - DIGITS + 1)
    return {atom: exact(price.quantize(min(unit, Decimal(1)))) for atom, price in decimals.items()}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A way to suppose facts: the names of the action and of the function that gives its price."""

    action: str
    price: str
    holds: bool
    looked: bool


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the actions that suppose facts, for what is `asked`."""

    asked: Translation
    taken_actions: set[str]
    taken_functions: set[str]
    kinds: dict[str, list[_Kind]] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def write(self, name: str) -> None:
        """Write the actions for the predicate `name`."""
        parameters = self.asked.problem.domain.predicates[name].parameters
        parameters = tuple([Variable(f"?a{place}", each.types) for place, each in enumerate(parameters)])
        fact = Atom(name, tuple([each.name for each in parameters]))
        self.kinds[name] = []
        for looked in (True, False) if name in self.asked.words.seen else (False,):
            for holds in (True, False):
                kind = self._kind(name, holds=holds, looked=looked)
                self.kinds[name].append(kind)
                self.functions[kind.price] = Function(kind.price, parameters)
                self.actions[kind.action] = self._action(kind, fact, parameters)

    def _kind(self, name: str, *, holds: bool, looked: bool) -> _Kind:
        word = f"{'see' if looked else 'suppose'}-{'' if holds else 'not-'}{name}"
        return _Kind(_free(word, self.taken_actions), _free(f"price-{word}", self.taken_functions), holds, looked)

    def _action(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Action:
        words = self.asked.words
        needs = [renamed(fact, words.open), *([renamed(fact, words.seen)] if kind.looked else [])]
        provides: list[Literal] = [Not(renamed(fact, words.open))]
        provides += [fact, renamed(fact, words.possible)] if kind.holds else [Not(renamed(fact, words.possible))]
        provides += self._guessed(kind, fact)
        when = tuple(self._others(kind, fact, parameters)) if kind.holds else ()
        price = Atom(kind.price, fact.args)
        return Action(kind.action, parameters, conjunction(needs), tuple(provides), when=when, cost=(price,))

    def _guessed(self, kind: _Kind, fact: Atom) -> Iterator[Literal]:
        if not kind.looked and fact.predicate in self.asked.words.guessed:
            yield renamed(fact, self.asked.words.guessed)

    def _others(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Iterator[When]:
        """Yield that the other facts of the same item do not hold."""
        words, places = self.asked.words, self.asked.items.get(fact.predicate, ())
        if not places:
            return
        opened = Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))
        other, variables = filled(opened, parameters, fact.args)
        ended = (Not(renamed(other, words.possible)), Not(renamed(other, words.open)))
        yield When(TRUE, (*ended, *self._guessed(kind, other)), (), variables)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "-"
    taken.add(name)
    return name

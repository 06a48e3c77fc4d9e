"""Steps that suppose how an unknown fact is, and what they cost beside the others.

Whether it pays to look is a matter of price. A supposition is wrong with a probability, and then costs the way round;
where nobody has looked, it also costs the step that rests on it and fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from planner.annotations import Final
from planner.model import OPEN, TRUE, Action, Atom, Function, Literal, Metric, Not, Number, Problem, Variable, When
from planner.model.formulas import conjunction
from planner.model.hidden import Hidden, item_places
from planner.plan import Step, exact, exact_sum
from planner.records import dataclass, field, replace
from planner.unknown.knowledge import filled
from planner.unknown.names import Vocabulary
from planner.unknown.readings import affected, mentions, renamed

PRECISION: Final = Decimal("0.001")
"""Prices are rounded to this."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a wrong supposition costs: `surprise` in any case, and where nobody has looked also a step that fails.

    `failure` says what that step costs, by the predicate of the fact that is supposed.
    """

    surprise: Number
    failure: Mapping[str, Number]


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


def supposing(
    source: Problem, knowing: Problem, words: Vocabulary, variables: Iterable[Hidden], prices: Prices
) -> Supposing:
    """Return `knowing`, the translation of `source`, with steps that suppose the facts of `variables` at `prices`."""
    writer = _Writer(source, words, {*knowing.domain.actions}, {*knowing.domain.functions, *knowing.domain.predicates})
    for name in words.open:
        writer.write(name)
    values = {**knowing.values}
    for variable in variables:
        for fact, chance in zip(variable.facts, variable.chances, strict=True):
            for kind in writer.kinds[fact.predicate]:
                risk = 1 - chance if kind.holds else chance
                price = Fraction(prices.surprise) + (0 if kind.looked else Fraction(prices.failure[fact.predicate]))
                values[Atom(kind.price, fact.args)] = _rounded(risk * price)
    domain = knowing.domain
    domain = replace(
        domain, actions={**domain.actions, **writer.actions}, functions={**domain.functions, **writer.functions}
    )
    kinds = [(each.action, (name, each.holds)) for name, found in writer.kinds.items() for each in found]
    return Supposing(replace(knowing, domain=domain, values=values), dict(kinds))


def _rounded(number: Fraction) -> Number:
    return exact((Decimal(number.numerator) / number.denominator).quantize(PRECISION))


@dataclass(frozen=True, slots=True)
class _Kind:
    """A way to suppose facts: the names of the action and of the function that gives its price."""

    action: str
    price: str
    holds: bool
    looked: bool


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the actions that suppose facts of `source`."""

    source: Problem
    words: Vocabulary
    taken_actions: set[str]
    taken_functions: set[str]
    kinds: dict[str, list[_Kind]] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def write(self, name: str) -> None:
        """Write the actions for the predicate `name`."""
        parameters = self.source.domain.predicates[name].parameters
        parameters = tuple([Variable(f"?a{place}", each.types) for place, each in enumerate(parameters)])
        fact = Atom(name, tuple([each.name for each in parameters]))
        self.kinds[name] = []
        for looked in (True, False) if name in self.words.seen else (False,):
            for holds in (True, False):
                kind = self._kind(name, holds=holds, looked=looked)
                self.kinds[name].append(kind)
                self.functions[kind.price] = Function(kind.price, parameters)
                self.actions[kind.action] = self._action(kind, fact, parameters)

    def _kind(self, name: str, *, holds: bool, looked: bool) -> _Kind:
        word = f"{'see' if looked else 'suppose'}-{'' if holds else 'not-'}{name}"
        return _Kind(_free(word, self.taken_actions), _free(f"price-{word}", self.taken_functions), holds, looked)

    def _action(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Action:
        words = self.words
        needs = [renamed(fact, words.open), *([renamed(fact, words.seen)] if kind.looked else [])]
        provides: list[Literal] = [Not(renamed(fact, words.open))]
        provides += [fact, renamed(fact, words.possible)] if kind.holds else [Not(renamed(fact, words.possible))]
        provides += self._guessed(kind, fact)
        when = tuple(self._others(kind, fact, parameters)) if kind.holds else ()
        price = Atom(kind.price, fact.args)
        return Action(kind.action, parameters, conjunction(needs), tuple(provides), when=when, cost=(price,))

    def _guessed(self, kind: _Kind, fact: Atom) -> Iterator[Literal]:
        if not kind.looked and fact.predicate in self.words.guessed:
            yield renamed(fact, self.words.guessed)

    def _others(self, kind: _Kind, fact: Atom, parameters: tuple[Variable, ...]) -> Iterator[When]:
        """Yield that the other facts of the same item do not hold."""
        places = item_places(self.source.domain).get(fact.predicate, ())
        if not places:
            return
        opened = Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))
        other, variables = filled(opened, parameters, fact.args)
        ended = (Not(renamed(other, self.words.possible)), Not(renamed(other, self.words.open)))
        yield When(TRUE, (*ended, *self._guessed(kind, other)), (), variables)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "-"
    taken.add(name)
    return name

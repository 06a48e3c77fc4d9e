"""Problems with unknown facts, translated to ones without: states say what is known, and actions change that.

The translation is that of planning with sensing as classical planning (Bonet and Geffner, 2011), for all of ADL. The
result has the actions of the source, under their names, so that its plans need no mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from planner.model import (
    OPEN,
    Action,
    And,
    Atom,
    Axiom,
    Formula,
    Goal,
    Literal,
    Metric,
    Not,
    Or,
    Problem,
    Variable,
    When,
)
from planner.model.hidden import Hidden, Places
from planner.records import dataclass, replace
from planner.unknown.names import CAREFUL, Vocabulary
from planner.unknown.readings import Reading, atom_of, mentions, possibly, read, renamed, surely


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates `problem`, in plain ADL, of which the facts of `variables` are unknown.

    `items` are the places among the arguments of predicates where items have their values.
    """

    problem: Problem
    variables: Sequence[Hidden]
    words: Vocabulary
    items: Mapping[str, Places]

    def optimistic(self) -> Problem:
        """Return a problem in which whatever may hold is taken to hold, from case to case.

        It has every sequence of steps that reaches the goal in some case, and others.
        """
        reading = possibly(self.words.possible)
        return self._translated(lambda _: reading, reading)

    def knowing(self) -> Problem:
        """Return a problem in which steps rest on nothing but what is known; nothing becomes known but by effects."""
        return self._translated(self._reading_of, surely(self.words.possible))

    def _reading_of(self, action: Action) -> Reading:
        return surely(self.words.possible) if action.tags.isdisjoint(CAREFUL) else self._careful

    def _careful(self, atom: Atom, helps: bool) -> Formula:  # noqa: FBT001 - a reading
        """Read what is known, and no guess: `atom` where it `helps`, else that it is possible."""
        words = self.words
        if atom.predicate in words.checked:
            return renamed(atom, words.checked if helps else words.suspected)
        known = atom if helps else renamed(atom, words.possible)
        if atom.predicate not in words.guessed:
            return known
        guess = renamed(atom, words.guessed)
        return And((known, Not(guess))) if helps else Or((known, guess))

    def _translated(self, reading_of: Callable[[Action], Reading], reading: Reading) -> Problem:
        source, domain, words = self.problem, self.problem.domain, self.words
        facts = [fact for variable in self.variables for fact in variable.facts]
        doubled = [fact for fact in source.initial if fact.predicate in words.possible]
        news = [renamed(fact, words.possible) for fact in chain(doubled, facts)]
        for names in (words.open, words.listed):
            news += [renamed(fact, names) for fact in facts if fact.predicate in names]
        axioms = [replace(each, condition=read(each.condition, surely(words.possible))) for each in domain.axioms]
        return replace(
            source,
            domain=replace(
                domain,
                predicates={**domain.predicates, **{each.name: each for each in words.predicates(domain)}},
                actions={name: self._action(each, reading_of(each)) for name, each in domain.actions.items()},
                axioms=(*axioms, *self._possible_axioms(), *self._careful_axioms()),
            ),
            initial=(*source.initial, *news),
            goal=self._goal(reading),
            metric=Metric.COST,
            unknown=(),
            likely={},
        )

    def _possible_axioms(self) -> Iterator[Axiom]:
        possible = self.words.possible
        for axiom in self.problem.domain.axioms:
            if axiom.predicate in possible:
                condition = read(axiom.condition, possibly(possible))
                yield Axiom(possible[axiom.predicate], axiom.parameters, condition)

    def _careful_axioms(self) -> Iterator[Axiom]:
        for axiom in self.problem.domain.axioms:
            for names, helps in ((self.words.checked, True), (self.words.suspected, False)):
                if axiom.predicate in names:
                    condition = read(axiom.condition, self._careful, helps=helps)
                    yield Axiom(names[axiom.predicate], axiom.parameters, condition)

    def _goal(self, reading: Reading) -> Goal:
        goal = self.problem.goal
        soft = tuple([replace(wish, condition=read(wish.condition, reading)) for wish in goal.soft])
        return Goal(read(goal.hard, reading), soft)

    def _action(self, action: Action, reading: Reading) -> Action:
        effects = [part for when in action.when for part in self._effects(when, self._reading_of(action))]
        cost = (1,) if self.problem.metric is Metric.LENGTH else action.cost
        return replace(
            action,
            requires=read(action.requires, reading),
            provides=(*self._known(action.provides), *self._looks(action.senses)),
            when=(*effects, *self._surveys(action)),
            senses=(),
            cost=cost,
        )

    def _effects(self, when: When, reading: Reading) -> Iterator[When]:
        """Yield what `when` does where its condition surely holds, by `reading`, and undoes where it may."""
        possible = self.words.possible
        if not mentions(when.requires, possible):
            yield replace(when, provides=tuple(self._known(when.provides)))
            return
        yield replace(when, requires=read(when.requires, reading), provides=tuple(self._known(when.provides)))
        may = read(when.requires, reading, helps=False)
        yield replace(when, requires=may, provides=tuple(self._blurred(when.provides)))

    def _known(self, literals: Iterable[Literal]) -> Iterator[Literal]:
        """Yield what `literals` are when it is known that they come about."""
        for literal in literals:
            yield literal
            atom = atom_of(literal)
            if atom.predicate in self.words.possible:
                twin = renamed(atom, self.words.possible)
                yield twin if literal is atom else Not(twin)
            yield from self._closed(atom)
            yield from self._unguessed(atom)

    def _blurred(self, literals: Iterable[Literal]) -> Iterator[Literal]:
        """Yield what `literals` are when they may come about, or not."""
        for literal in literals:
            atom = atom_of(literal)
            yield renamed(atom, self.words.possible) if literal is atom else literal
            yield from self._closed(atom)

    def _closed(self, atom: Atom) -> Iterator[Literal]:
        """Yield that `atom` may not be what it was at the beginning."""
        if atom.predicate in self.words.open:
            yield Not(renamed(atom, self.words.open))

    def _unguessed(self, atom: Atom) -> Iterator[Literal]:
        """Yield that `atom` is no guess."""
        if atom.predicate in self.words.guessed:
            yield Not(renamed(atom, self.words.guessed))

    def _looks(self, senses: Iterable[Atom]) -> Iterator[Literal]:
        """Yield what looking at single facts tells."""
        for pattern in senses:
            if pattern.predicate in self.words.seen and OPEN not in pattern.args:
                yield renamed(pattern, self.words.seen)
                yield from self._unguessed(pattern)

    def _surveys(self, action: Action) -> Iterator[When]:
        """Yield what looking at all that matches a pattern tells."""
        for pattern in action.senses:
            if pattern.predicate in self.words.seen and OPEN in pattern.args:
                parameters = self.problem.domain.predicates[pattern.predicate].parameters
                names = {parameter.name for parameter in action.parameters}
                fact, variables = filled(pattern, parameters, names)
                tells = (renamed(fact, self.words.seen), *self._unguessed(fact))
                yield When(renamed(fact, self.words.listed), tells, (), variables)


def filled(pattern: Atom, parameters: Sequence[Variable], taken: Iterable[str]) -> tuple[Atom, tuple[Variable, ...]]:
    """Return `pattern` with variables for its open arguments, and these; none is called as one in `taken`."""
    taken, fresh, args = set(taken), list[Variable](), list[str]()
    for arg, parameter in zip(pattern.args, parameters, strict=True):
        if arg != OPEN:
            args.append(arg)
            continue
        name = f"?other{len(fresh)}"
        while name in taken:
            name += "-"
        fresh.append(Variable(name, parameter.types))
        args.append(name)
    return Atom(pattern.predicate, tuple(args)), tuple(fresh)

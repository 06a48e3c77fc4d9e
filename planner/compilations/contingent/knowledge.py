"""Translates problems with unknown facts to problems whose states record knowledge (Bonet and Geffner, 2011).

A predicate p that unknown facts may affect gets a second predicate `possibly-p`: p says that a fact is known to be
true, `possibly-p` that it is not known to be false. A condition is known to hold if its positive atoms are known to be
true and its negated atoms are not possible (the 0-approximation: Baral and Son, 1997). The translation misses
conclusions that need a case distinction.

Actions keep their names. The translation omits unknown facts that cannot matter. It rewrites conditions and effects
at every moment of a step, and leaves numbers alone: a number is always known, since an effect on one requires that its
condition is known to hold, or known not to hold. So numbers, time and tasks are left to whatever plans without unknown
facts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from planner.compilations import reserve_name
from planner.compilations.contingent.readings import (
    ConstraintReading,
    Names,
    Reading,
    mentions,
    reading_of_known,
    reading_of_possible,
    rename,
    translate,
)
from planner.errors import UnsupportedError
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, Literal, Moment, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Atom,
    Forall,
    Formula,
    Not,
    Or,
    Variable,
    atoms_in,
    conjunction,
    conjuncts,
)
from planner.model.problem import Goal, Metric, Problem, is_temporal
from planner.model.unknown_facts import HiddenVariable, Places, find_hidden_variables, item_places


def find_affected(domain: DomainModel, unknown: Iterable[str]) -> dict[str, None]:
    """Return the predicates `unknown`, and those that they affect through axioms and conditional effects."""
    found = dict.fromkeys(unknown)
    effects = [effect for action in domain.actions.values() for effect in conditional_effects(action)]
    size = -1
    while size < len(found):
        size = len(found)
        for head in _find_heads(domain.axioms, effects, found):
            found[head] = None
    return found


def conditional_effects(action: Action) -> tuple[When, ...]:
    """Return the conditional effects of `action`, at all its moments."""
    return (*action.when, *action.at_start.when, *action.at_end.when)


def _find_heads(axioms: Iterable[Axiom], effects: Iterable[When], found: dict[str, None]) -> Iterator[str]:
    yield from [axiom.predicate for axiom in axioms if mentions(axiom.condition, found)]
    for effect in effects:
        if mentions(effect.requires, found):
            yield from [atom_of(literal).predicate for literal in effect.provides]
            yield from [pattern.predicate for pattern in effect.modifies if OPEN in pattern.args]


def atom_of(literal: Literal) -> Atom:
    """Return the atom of `literal`."""
    if isinstance(literal, Atom):
        return literal
    assert isinstance(literal.part, Atom)
    return literal.part


def read_predicates(problem: Problem, also: Iterable[Formula] = ()) -> set[str]:
    """Return the predicates that conditions, goals and constraints of `problem`, and the formulas `also`, read.

    What axioms read to derive them counts as read.
    """
    domain = problem.domain
    formulas = [*also, problem.goal.hard, *[wish.condition for wish in problem.goal.soft]]
    formulas += [each.condition for each in problem.due]
    for action in domain.actions.values():
        formulas += [action.requires, action.throughout, action.at_start.requires, action.at_end.requires]
        formulas += [when.requires for when in conditional_effects(action)]
    for constraint in problem.constraints:
        formulas += constraint.conditions
    found = {atom.predicate for formula in formulas for atom in atoms_in(formula)}
    queue = list(found)
    while queue:
        name = queue.pop()
        below = [atom for axiom in domain.axioms if axiom.predicate == name for atom in atoms_in(axiom.condition)]
        queue += {atom.predicate for atom in below} - found
        found.update([atom.predicate for atom in below])
    return found


CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that never rely on an assumption that a sensing step could have checked."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The predicates that say something about the facts of each predicate p that matters.

    `possible`: the fact is not known to be false. `open`: it is as unknown as it was initially. `listed`: it was
    unknown initially. `seen`: a step has sensed it. `guessed`: it is assumed and has not been sensed. `checked` and
    `suspected`: a derived fact is known or possible without guesses.
    """

    possible: Names
    open: Names
    listed: Names
    seen: Names
    guessed: Names
    checked: Names
    suspected: Names

    @classmethod
    def of(cls, domain: DomainModel, unknown: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of the plain ADL `domain`, in which facts of the predicates `unknown` are unknown."""
        unknown, taken = list(unknown), {*domain.predicates, *domain.functions}
        matter = find_affected(domain, unknown)
        actions = domain.actions.values()
        sensed = {pattern.predicate for action in actions for pattern in action.senses}
        visible = [name for name in unknown if name in sensed]
        careful = [name for name in visible if any(not action.tags.isdisjoint(CAREFUL) for action in actions)]
        derived = [name for name in matter if careful and name in domain.derived]

        def named(word: str, names: Iterable[str]) -> Names:
            return {name: reserve_name(f"{word}-{name}", taken, "-") for name in names}

        return cls(
            named("possibly", matter),
            named("open", unknown),
            named("listed", visible),
            named("seen", visible),
            named("guessed", careful),
            named("checked", derived),
            named("suspected", derived),
        )

    def predicates(self, domain: DomainModel) -> Iterator[Predicate]:
        """Yield the new predicates; each has the parameters of the one that it is about."""
        parts = (self.possible, self.open, self.listed, self.seen, self.guessed, self.checked, self.suspected)
        for name, new in [pair for names in parts for pair in names.items()]:
            yield replace(domain.predicates[name], name=new)


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates `problem`, as it is declared or in plain ADL, of which the facts of `variables` are unknown.

    `items` are the places among the arguments of predicates where items have their values. Where the problem `lasts`,
    what a step brings comes at its end.
    """

    problem: Problem
    variables: Sequence[HiddenVariable]
    words: Vocabulary
    items: Mapping[str, Places]
    lasts: bool = False

    def optimistic(self) -> Problem:
        """Return the problem in which a condition holds if it possibly holds.

        Its plans include every sequence of steps that reaches the goal in some case, unless `has_open_numbers`.
        """
        reading = reading_of_possible(self.words.possible)
        return self._translate(lambda _: reading, reading, ConstraintReading(self.words.possible, surely=False))

    def knowing(self) -> Problem:
        """Return the problem in which conditions must be known to hold; facts become known only by effects."""
        reading = reading_of_known(self.words.possible)
        return self._translate(self._reading_of, reading, ConstraintReading(self.words.possible, surely=True))

    @property
    def has_open_effects(self) -> bool:
        """Whether effects have conditions that may be unknown."""
        effects = [each for action in self.problem.domain.actions.values() for each in conditional_effects(action)]
        return any(mentions(each.requires, self.words.possible) for each in effects)

    @property
    def has_open_numbers(self) -> bool:
        """Whether changes of numbers have conditions that may be unknown."""
        effects = [each for action in self.problem.domain.actions.values() for each in conditional_effects(action)]
        return any(each.numbers and mentions(each.requires, self.words.possible) for each in effects)

    def refuse_staleness(self) -> None:
        """Raise `UnsupportedError` where facts are stale with others that may be unknown."""
        for predicate in self.problem.domain.predicates.values():
            for source in predicate.stale_with:
                if source.predicate in self.words.possible:
                    what = f"'{predicate.name}', stale with '{source.predicate}', of which facts are declared unknown"
                    raise UnsupportedError(f"{what}, beside numbers, time or tasks", "state which facts hold")

    def _reading_of(self, action: Action) -> Reading:
        return reading_of_known(self.words.possible) if action.tags.isdisjoint(CAREFUL) else self._careful

    def _careful(self, atom: Atom, helps: bool) -> Formula:
        """Return the reading without guesses: `atom` is known if it `helps`, else possible."""
        words = self.words
        if atom.predicate in words.checked:
            return rename(atom, words.checked if helps else words.suspected)
        known = atom if helps else rename(atom, words.possible)
        if atom.predicate not in words.guessed:
            return known
        guess = rename(atom, words.guessed)
        return And((known, Not(guess))) if helps else Or((known, guess))

    def _translate(
        self, reading_of: Callable[[Action], Reading], reading: Reading, constraints: ConstraintReading
    ) -> Problem:
        source, domain, words = self.problem, self.problem.domain, self.words
        facts = [fact for variable in self.variables for fact in variable.facts]
        doubled = [fact for fact in source.initial if fact.predicate in words.possible]
        news = [rename(fact, words.possible) for fact in chain(doubled, facts)]
        for names in (words.open, words.listed):
            news += [rename(fact, names) for fact in facts if fact.predicate in names]
        axioms = [
            replace(each, condition=translate(each.condition, reading_of_known(words.possible)))
            for each in domain.axioms
        ]
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
            metric=Metric.COST if isinstance(source.metric, Metric) else source.metric,
            unknown=(),
            likely={},
            timed=tuple([replace(each, provides=tuple(self._change_known(each.provides))) for each in source.timed]),
            due=tuple([replace(each, condition=translate(each.condition, reading)) for each in source.due]),
            constraints=tuple(constraints.read_all(source.constraints)),
        )

    def _possible_axioms(self) -> Iterator[Axiom]:
        possible = self.words.possible
        for axiom in self.problem.domain.axioms:
            if axiom.predicate in possible:
                condition = translate(axiom.condition, reading_of_possible(possible))
                yield Axiom(possible[axiom.predicate], axiom.parameters, condition)

    def _careful_axioms(self) -> Iterator[Axiom]:
        for axiom in self.problem.domain.axioms:
            for names, helps in ((self.words.checked, True), (self.words.suspected, False)):
                if axiom.predicate in names:
                    condition = translate(axiom.condition, self._careful, helps=helps)
                    yield Axiom(names[axiom.predicate], axiom.parameters, condition)

    def _goal(self, reading: Reading) -> Goal:
        goal = self.problem.goal
        soft = tuple([replace(wish, condition=translate(wish.condition, reading)) for wish in goal.soft])
        return Goal(translate(goal.hard, reading), soft)

    def _action(self, action: Action, reading: Reading) -> Action:
        effects = [part for when in action.when for part in self._effects(when, self._reading_of(action))]
        cost = (1,) if self.problem.metric is Metric.LENGTH else action.cost
        told = (*self._sense_facts(action.senses),)
        decided = list(self._decide_numbers(action.when, reading))
        made = replace(
            action,
            requires=_and(translate(action.requires, reading), [] if self._is_late(action) else decided),
            provides=(*self._change_known(action.provides), *told),
            modifies=tuple(self._retract_known(action.modifies)),
            when=(*effects, *self._sense_patterns(action)),
            senses=(),
            cost=cost,
            throughout=translate(action.throughout, reading),
            at_start=self._moment(action.at_start, reading),
            at_end=self._moment(action.at_end, reading),
        )
        return self._end_late(action, made, decided) if self._is_late(action) else made

    def _is_late(self, action: Action) -> bool:
        """Return whether what steps of `action` bring comes later than what they end."""
        return self.lasts and action.duration is not None

    def _end_late(self, action: Action, made: Action, decided: Sequence[Formula]) -> Action:
        """Return `made` of `action` with what is known at the end of a step: `Not` of knowledge comes then, too."""
        ended = {*self._change_known([each for each in action.provides if isinstance(each, Not)])}
        early = [each for each in made.provides if not isinstance(each, Not) or each in ended]
        late = [each for each in made.provides if each not in early]
        at_end = replace(
            made.at_end,
            requires=_and(made.at_end.requires, decided),
            provides=(*made.at_end.provides, *late),
        )
        return replace(made, provides=tuple(early), at_end=at_end if late or decided else made.at_end)

    def _moment(self, moment: Moment, reading: Reading) -> Moment:
        if moment.is_empty:
            return moment
        decided = self._decide_numbers(moment.when, reading)
        return replace(
            moment,
            requires=_and(translate(moment.requires, reading), decided),
            provides=tuple(self._change_known(moment.provides)),
            modifies=tuple(self._retract_known(moment.modifies)),
            when=tuple([part for when in moment.when for part in self._effects(when, reading)]),
        )

    def _decide_numbers(self, effects: Iterable[When], reading: Reading) -> Iterator[Formula]:
        """Yield that it is known whether effects on numbers happen."""
        for when in effects:
            if when.numbers and mentions(when.requires, self.words.possible):
                may = translate(when.requires, reading, helps=False)
                known = Or((translate(when.requires, reading), Not(may)))
                yield Forall(when.variables, known) if when.variables else known

    def _effects(self, when: When, reading: Reading) -> Iterator[When]:
        """Yield the effects of `when` if its condition is known to hold by `reading`, and if it possibly holds."""
        possible = self.words.possible
        sure = replace(
            when,
            provides=tuple(self._change_known(when.provides)),
            modifies=tuple(self._retract_known(when.modifies)),
        )
        if not mentions(when.requires, possible):
            yield sure
            return
        yield replace(sure, requires=translate(when.requires, reading))
        may = translate(when.requires, reading, helps=False)
        retracted = tuple(self._retract_known(when.modifies, (self.words.open,)))
        yield replace(
            when, requires=may, provides=tuple(self._change_possible(when.provides)), modifies=retracted, numbers=()
        )

    def _retract_known(self, patterns: Iterable[Atom], twins: Collection[Names] | None = None) -> Iterator[Atom]:
        """Yield `patterns`, and what is known of the facts that they retract: by default, all of it."""
        words = self.words
        for pattern in patterns:
            yield pattern
            if OPEN in pattern.args:
                for names in (words.possible, words.open, words.guessed) if twins is None else twins:
                    if pattern.predicate in names:
                        yield rename(pattern, names)

    def _change_known(self, literals: Iterable[Literal]) -> Iterator[Literal]:
        """Yield the effects of known changes `literals` on knowledge."""
        for literal in literals:
            yield literal
            atom = atom_of(literal)
            if atom.predicate in self.words.possible:
                twin = rename(atom, self.words.possible)
                yield twin if literal is atom else Not(twin)
            yield from self._close(atom)
            yield from self._drop_guess(atom)

    def _change_possible(self, literals: Iterable[Literal]) -> Iterator[Literal]:
        """Yield the effects of possible changes `literals` on knowledge."""
        for literal in literals:
            atom = atom_of(literal)
            yield rename(atom, self.words.possible) if literal is atom else literal
            yield from self._close(atom)

    def _close(self, atom: Atom) -> Iterator[Literal]:
        """Yield that `atom` is no longer as unknown as initially."""
        if atom.predicate in self.words.open:
            yield Not(rename(atom, self.words.open))

    def _drop_guess(self, atom: Atom) -> Iterator[Literal]:
        """Yield that `atom` is not guessed."""
        if atom.predicate in self.words.guessed:
            yield Not(rename(atom, self.words.guessed))

    def _sense_facts(self, senses: Iterable[Atom]) -> Iterator[Literal]:
        """Yield the effects of sensing single facts."""
        for pattern in senses:
            if pattern.predicate in self.words.seen and OPEN not in pattern.args:
                yield rename(pattern, self.words.seen)
                yield from self._drop_guess(pattern)

    def _sense_patterns(self, action: Action) -> Iterator[When]:
        """Yield the effects of sensing all facts that match a pattern."""
        for pattern in action.senses:
            yield from self._exclude_others(pattern, action)
            if pattern.predicate in self.words.seen and OPEN in pattern.args:
                parameters = self.problem.domain.predicates[pattern.predicate].parameters
                names = {parameter.name for parameter in action.parameters}
                fact, variables = fill_open_arguments(pattern, parameters, names)
                tells = (rename(fact, self.words.seen), *self._drop_guess(fact))
                yield When(rename(fact, self.words.listed), tells, (), variables)

    def _exclude_others(self, pattern: Atom, action: Action) -> Iterator[When]:
        """Yield that sensing a guessed value of an item, if it is seen, leaves no guess about its other values."""
        words, places = self.words, self.items.get(pattern.predicate, ())
        if not places or pattern.predicate not in words.guessed:
            return
        parameters = self.problem.domain.predicates[pattern.predicate].parameters
        names = {parameter.name for parameter in action.parameters}
        fact, mine = fill_open_arguments(pattern, parameters, names)
        opened = Atom(fact.predicate, tuple([OPEN if at in places else arg for at, arg in enumerate(fact.args)]))
        names |= {each.name for each in mine}
        other, others = fill_open_arguments(opened, parameters, names)
        seen = And((fact, rename(fact, words.guessed)))
        yield When(seen, (Not(rename(other, words.guessed)),), (), (*mine, *others))

    def suppose(self, knowing: Problem, supposed: Mapping[Atom, bool]) -> Problem:
        """Return `knowing` with what is `supposed` known from the beginning, as a guess until a step senses it."""
        words, facts = self.words, dict.fromkeys(knowing.initial)
        rivals = {each: variable.facts for variable in self.variables for each in variable.facts}
        for fact, holds in supposed.items():
            ended = [each for each in rivals[fact] if each != fact] if holds else [fact]
            for each in (fact, *ended):
                facts.pop(rename(each, words.open), None)
                facts |= {rename(each, words.guessed): None} if each.predicate in words.guessed else {}
            for each in ended:
                facts.pop(rename(each, words.possible), None)
            facts |= {fact: None} if holds else {}
        return replace(knowing, initial=tuple(facts))


def _and(formula: Formula, more: Iterable[Formula]) -> Formula:
    """Return the conjunction of `formula` and `more`; `formula` itself without more."""
    added = [*more]
    return conjunction([*([] if formula == TRUE else conjuncts(formula)), *added]) if added else formula


def fill_open_arguments(
    pattern: Atom, parameters: Sequence[Variable], taken: Iterable[str]
) -> tuple[Atom, tuple[Variable, ...]]:
    """Return `pattern` with fresh variables, none in `taken`, for its open arguments; and these variables."""
    taken, fresh, args = set(taken), list[Variable](), list[str]()
    for arg, parameter in zip(pattern.args, parameters, strict=True):
        if arg != OPEN:
            args.append(arg)
            continue
        name = reserve_name(f"?other{len(fresh)}", taken, "-")
        fresh.append(Variable(name, parameter.types))
        args.append(name)
    return Atom(pattern.predicate, tuple(args)), tuple(fresh)


Cut = Callable[[Problem, Collection[str]], Problem]
"""Removes irrelevant actions, except those that are named."""
Tells = Callable[[Action, Collection[str]], bool]
"""Tells whether an action informs about facts of these predicates."""


def find_what_matters(
    problem: Problem, used: Collection[str], cut: Cut, tells: Tells
) -> tuple[Problem, Collection[str]]:
    """Return the relevant part of `problem`, which keeps actions that `tells` selects, and unknown predicates in it."""
    unknown = unknown_predicates(problem)
    relevant = cut(problem, used)
    matter = unknown & read_predicates(relevant)
    while matter:
        sensors = [name for name, each in problem.domain.actions.items() if tells(each, matter)]
        relevant = cut(problem, [*used, *sensors])
        more = unknown & read_predicates(relevant)
        if more == matter:
            break
        matter = more
    return relevant, matter


def unknown_predicates(problem: Problem) -> set[str]:
    """Return the predicates of the unknown facts of `problem`."""
    return {pattern.predicate for pattern in problem.unknown}


def translate_all(problem: Problem, also: Iterable[Formula] = (), *, lasts: bool = False) -> Translation | None:
    """Return the translation of all of `problem`, as it is declared; None if conditions read nothing unknown.

    The formulas `also` are read, too. Steps last if the problem is in time, or if it is said that it `lasts`. Raises
    `UnsupportedError` where facts grow stale with what is unknown.
    """
    matter = unknown_predicates(problem) & read_predicates(problem, also)
    made = make_translation(problem, problem, matter, lasts=lasts)
    if made is not None:
        made.refuse_staleness()
    return made


def make_translation(
    problem: Problem, plain: Problem, matter: Collection[str], *, lasts: bool = False
) -> Translation | None:
    """Return the translation of `plain`, which is `problem` or its compilation, if the predicates `matter`.

    Steps last if the problem is in time, or if it is said that it `lasts`.
    """
    variables = find_hidden_variables(problem, matter)
    names = dict.fromkeys(fact.predicate for variable in variables for fact in variable.facts)
    if not variables:
        return None
    places = item_places(problem.domain)
    return Translation(plain, variables, Vocabulary.of(plain.domain, names), places, lasts or is_temporal(plain))


def senses(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` senses facts of `predicates`."""
    return any(pattern.predicate in predicates for pattern in action.senses)

"""Translates problems with unknown facts to problems whose states record knowledge (Bonet and Geffner, 2011).

A predicate p that unknown facts may affect gets a second predicate `possibly-p`: p says that a fact is known to be
true, `possibly-p` that it is not known to be false. A condition is known to hold if its positive atoms are known to be
true and its negated atoms are not possible (the 0-approximation: Baral and Son, 1997). The translation misses
conclusions that need a case distinction.

Actions keep their names. The translation omits unknown facts that cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from planner.compilations import reserve_name
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, Literal, When
from planner.model.constructs import Construct
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import OPEN, And, Atom, Formula, Imply, Not, Or, Variable, atoms_in, children, with_children
from planner.model.problem import Goal, Metric, Problem
from planner.model.unknown_facts import HiddenVariable, Places, find_hidden_variables, item_places

Names = Mapping[str, str]
"""A renaming of predicates."""
Reading = Callable[[Atom, bool], Formula]
"""Maps an atom, and whether its truth helps the condition, to the formula that replaces it."""


def translate(formula: Formula, reading: Reading, *, helps: bool = True) -> Formula:
    """Replace every atom of `formula` by `reading`."""
    match formula:
        case Atom():
            return reading(formula, helps)
        case Not(part):
            return Not(translate(part, reading, helps=not helps))
        case Imply(premise, conclusion):
            return Imply(translate(premise, reading, helps=not helps), translate(conclusion, reading, helps=helps))
        case _:
            return with_children(formula, tuple([translate(part, reading, helps=helps) for part in children(formula)]))


def reading_of_known(possible: Names) -> Reading:
    """Return the reading under which a formula is known to hold."""
    return lambda atom, helps: atom if helps else rename(atom, possible)


def reading_of_possible(possible: Names) -> Reading:
    """Return the reading under which a formula possibly holds."""
    return lambda atom, helps: rename(atom, possible) if helps else atom


def rename(atom: Atom, names: Names) -> Atom:
    """Return `atom` with its predicate renamed."""
    return Atom(names.get(atom.predicate, atom.predicate), atom.args)


def mentions(formula: Formula, predicates: Iterable[str]) -> bool:
    """Return whether an atom of `formula` has one of `predicates`."""
    return any(atom.predicate in predicates for atom in atoms_in(formula))


def find_affected(domain: DomainModel, unknown: Iterable[str]) -> dict[str, None]:
    """Return the predicates `unknown`, and those that they affect through axioms and conditional effects.

    The actions of `domain` are in plain ADL.
    """
    found = dict.fromkeys(unknown)
    effects = [effect for action in domain.actions.values() for effect in action.when]
    size = -1
    while size < len(found):
        size = len(found)
        for head in _find_heads(domain.axioms, effects, found):
            found[head] = None
    return found


def _find_heads(axioms: Iterable[Axiom], effects: Iterable[When], found: dict[str, None]) -> Iterator[str]:
    yield from [axiom.predicate for axiom in axioms if mentions(axiom.condition, found)]
    for effect in effects:
        if mentions(effect.requires, found):
            yield from [atom_of(literal).predicate for literal in effect.provides]


def atom_of(literal: Literal) -> Atom:
    """Return the atom of `literal`."""
    if isinstance(literal, Atom):
        return literal
    assert isinstance(literal.part, Atom)
    return literal.part


def read_predicates(problem: Problem) -> set[str]:
    """Return the predicates that conditions, goals and constraints of `problem` read, directly or through axioms."""
    domain = problem.domain
    formulas = [problem.goal.hard, *[wish.condition for wish in problem.goal.soft]]
    for action in domain.actions.values():
        formulas += [action.requires, *[when.requires for when in action.when]]
    for constraint in problem.constraints:
        formulas += [each for each in (constraint.what, constraint.other) if isinstance(each, Formula)]
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
            yield Predicate(new, domain.predicates[name].parameters)


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates `problem`, in plain ADL, of which the facts of `variables` are unknown.

    `items` are the places among the arguments of predicates where items have their values.
    """

    problem: Problem
    variables: Sequence[HiddenVariable]
    words: Vocabulary
    items: Mapping[str, Places]

    def optimistic(self) -> Problem:
        """Return the problem in which a condition holds if it possibly holds.

        Its plans include every sequence of steps that reaches the goal in some case.
        """
        reading = reading_of_possible(self.words.possible)
        return self._translate(lambda _: reading, reading)

    def knowing(self) -> Problem:
        """Return the problem in which conditions must be known to hold; facts become known only by effects."""
        return self._translate(self._reading_of, reading_of_known(self.words.possible))

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

    def _translate(self, reading_of: Callable[[Action], Reading], reading: Reading) -> Problem:
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
            metric=Metric.COST,
            unknown=(),
            likely={},
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
        return replace(
            action,
            requires=translate(action.requires, reading),
            provides=(*self._change_known(action.provides), *self._sense_facts(action.senses)),
            when=(*effects, *self._sense_patterns(action)),
            senses=(),
            cost=cost,
        )

    def _effects(self, when: When, reading: Reading) -> Iterator[When]:
        """Yield the effects of `when` if its condition is known to hold by `reading`, and if it possibly holds."""
        possible = self.words.possible
        if not mentions(when.requires, possible):
            yield replace(when, provides=tuple(self._change_known(when.provides)))
            return
        yield replace(
            when, requires=translate(when.requires, reading), provides=tuple(self._change_known(when.provides))
        )
        may = translate(when.requires, reading, helps=False)
        yield replace(when, requires=may, provides=tuple(self._change_possible(when.provides)))

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
            if pattern.predicate in self.words.seen and OPEN in pattern.args:
                parameters = self.problem.domain.predicates[pattern.predicate].parameters
                names = {parameter.name for parameter in action.parameters}
                fact, variables = fill_open_arguments(pattern, parameters, names)
                tells = (rename(fact, self.words.seen), *self._drop_guess(fact))
                yield When(rename(fact, self.words.listed), tells, (), variables)


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


def prepare_translation(problem: Problem, used: Collection[str] = ()) -> Translation | None:
    """Prepare the translation of the relevant part of `problem`; return None if no unknown fact matters.

    The actions `used` stay.
    """
    relevant, matter = find_what_matters(problem, used, remove_irrelevant_actions, senses)
    return make_translation(problem, compile_away(relevant, Construct.CHANGES), matter) if matter else None


def find_what_matters(
    problem: Problem, used: Collection[str], cut: Cut, tells: Tells
) -> tuple[Problem, Collection[str]]:
    """Return the relevant part of `problem`, which keeps actions that `tells` selects, and unknown predicates in it."""
    unknown = {pattern.predicate for pattern in problem.unknown}
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


def make_translation(problem: Problem, plain: Problem, matter: Collection[str]) -> Translation | None:
    """Return the translation of `plain`, which is `problem` in plain ADL, if the predicates `matter`."""
    variables = find_hidden_variables(problem, matter)
    names = dict.fromkeys(fact.predicate for variable in variables for fact in variable.facts)
    if not variables:
        return None
    return Translation(plain, variables, Vocabulary.of(plain.domain, names), item_places(problem.domain))


def senses(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` senses facts of `predicates`."""
    return any(pattern.predicate in predicates for pattern in action.senses)

"""Problems with unknown facts, translated to problems without: states say what is known (Bonet and Geffner, 2011).

For each predicate on which unknown facts may have an effect there is a second one: where p is what is known to hold,
`possibly-p` is what is not known to be false. A condition surely holds where its positive parts are known and its
negated ones are not even possible (the 0-approximation: Baral and Son, 1997). What follows from a case distinction only
is not seen.

Actions keep their names. Unknown facts that cannot matter are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from planner.compilations.adl import compile_adl
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Action, Literal, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import OPEN, And, Atom, Formula, Imply, Not, Or, Variable, atoms_in, children, with_children
from planner.model.problem import Goal, Metric, Problem
from planner.model.unknown_facts import HiddenVariable, Places, find_hidden_variables, item_places

Names = Mapping[str, str]
"""Predicates that stand for others."""
Reading = Callable[[Atom, bool], Formula]
"""What stands for an atom: given whether the atom helps the condition to hold."""


def read(formula: Formula, reading: Reading, *, helps: bool = True) -> Formula:
    """Return `formula` with every atom replaced by what `reading` gives for it."""
    match formula:
        case Atom():
            return reading(formula, helps)
        case Not(part):
            return Not(read(part, reading, helps=not helps))
        case Imply(premise, conclusion):
            return Imply(read(premise, reading, helps=not helps), read(conclusion, reading, helps=helps))
        case _:
            return with_children(formula, tuple([read(part, reading, helps=helps) for part in children(formula)]))


def surely(possible: Names) -> Reading:
    """Return the reading for what surely holds."""
    return lambda atom, helps: atom if helps else renamed(atom, possible)


def possibly(possible: Names) -> Reading:
    """Return the reading for what possibly holds."""
    return lambda atom, helps: renamed(atom, possible) if helps else atom


def renamed(atom: Atom, names: Names) -> Atom:
    """Return `atom` with the predicate that stands for its own."""
    return Atom(names.get(atom.predicate, atom.predicate), atom.args)


def mentions(formula: Formula, predicates: Iterable[str]) -> bool:
    """Return whether `formula` speaks of one of `predicates`."""
    return any(atom.predicate in predicates for atom in atoms_in(formula))


def affected(domain: DomainModel, unknown: Iterable[str]) -> dict[str, None]:
    """Return the predicates on which facts of the predicates `unknown` may have an effect, these first.

    The actions of `domain` are in plain ADL.
    """
    found = dict.fromkeys(unknown)
    effects = [effect for action in domain.actions.values() for effect in action.when]
    size = -1
    while size < len(found):
        size = len(found)
        for head in _following(domain.axioms, effects, found):
            found[head] = None
    return found


def _following(axioms: Iterable[Axiom], effects: Iterable[When], found: dict[str, None]) -> Iterator[str]:
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
    """Return the predicates that conditions, goals and derived predicates of `problem` read."""
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
"""Tags of actions that rest on nothing that a step could look at and none has."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """For each predicate p that matters, the one that says something of its facts.

    `possible`: p is not known to be false. `open`: it is as unknown as it was at the beginning. `listed`: it was
    unknown then, whatever happened since. `seen`: a step has looked at it. `guessed`: it is supposed, and nobody has
    looked. `checked` and `suspected` are what is derived, surely or possibly, if guesses count for nothing.
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
        """Return names for `domain`, in plain ADL, where facts of the predicates `unknown` are."""
        unknown, taken = list(unknown), {*domain.predicates, *domain.functions}
        matter = affected(domain, unknown)
        actions = domain.actions.values()
        sensed = {pattern.predicate for action in actions for pattern in action.senses}
        visible = [name for name in unknown if name in sensed]
        careful = [name for name in visible if any(not action.tags.isdisjoint(CAREFUL) for action in actions)]
        derived = [name for name in matter if careful and name in domain.derived]

        def named(word: str, names: Iterable[str]) -> Names:
            return {name: _free(f"{word}-{name}", taken) for name in names}

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
        """Yield the new predicates; each has the parameters of its own."""
        parts = (self.possible, self.open, self.listed, self.seen, self.guessed, self.checked, self.suspected)
        for name, new in [pair for names in parts for pair in names.items()]:
            yield Predicate(new, domain.predicates[name].parameters)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "-"
    taken.add(name)
    return name


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

    def _careful(self, atom: Atom, helps: bool) -> Formula:
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


Cut = Callable[[Problem, Collection[str]], Problem]
"""Leaves out what is irrelevant, but for the actions that are named."""
Tells = Callable[[Action, Collection[str]], bool]
"""Whether an action tells something of facts of these predicates."""


def translation(problem: Problem, used: Collection[str] = ()) -> Translation | None:
    """Return `problem` ready to be translated, without what no plan needs; None where nothing unknown matters.

    The actions `used` stay.
    """
    relevant, matter = that_matters(problem, used, remove_irrelevant_actions, senses)
    return translated(problem, compile_adl(relevant).problem, matter) if matter else None


def that_matters(problem: Problem, used: Collection[str], cut: Cut, tells: Tells) -> tuple[Problem, Collection[str]]:
    """Return what is relevant of `problem`, and which predicates of unknown facts matter, with what `tells` of them."""
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


def translated(problem: Problem, plain: Problem, matter: Collection[str]) -> Translation | None:
    """Return the translation of `plain`, which is `problem` in plain ADL, where these predicates matter."""
    variables = find_hidden_variables(problem, matter)
    names = dict.fromkeys(fact.predicate for variable in variables for fact in variable.facts)
    if not variables:
        return None
    return Translation(plain, variables, Vocabulary.of(plain.domain, names), item_places(problem.domain))


def senses(action: Action, predicates: Collection[str]) -> bool:
    """Return whether `action` says how facts of `predicates` are."""
    return any(pattern.predicate in predicates for pattern in action.senses)

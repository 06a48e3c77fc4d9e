"""Plain ADL problems as lifted STRIPS, where that will do: positive conjunctions, plain adds and deletes.

Universal deletes become the one delete that a proved mutex group leaves, or are written out over few objects; negative
conditions become complementary predicates. Actions keep their names and parameters, so plans need no mapping.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

from planner.lightweight import Final, replace
from planner.model.actions import Action, Literal, When, negated_atoms, positive_atoms
from planner.model.domain import Predicate, TypeHierarchy
from planner.model.formulas import (
    OPEN,
    TRUE,
    Atom,
    Equals,
    Formula,
    Not,
    Object,
    Term,
    Variable,
    conjunction,
    conjuncts,
    is_variable,
)
from planner.model.problem import Goal, Problem

ENUMERATION_LIMIT: Final = 10_000
"""How many facts a complementary predicate, or deletes an action, may be written out to."""

DIFFERENT: Final = "different"


def retraction_patterns(problem: Problem) -> list[Atom]:
    """Return the patterns that unconditional universal deletes of a plain ADL problem cover, open arguments as `_`."""
    return list(
        dict.fromkeys(_pattern(when) for action in problem.domain.actions.values() for when in _blankets(action))
    )


def to_strips(problem: Problem, single: Collection[Atom] = ()) -> Problem | None:
    """Return the plain ADL `problem` as lifted STRIPS, or None where that will not do.

    `single` holds the patterns of `retraction_patterns` that are proved to cover one fact at a time.
    """
    try:
        return _Lowering(problem, frozenset(single)).result()
    except _NotStrips:
        return None


class _NotStrips(Exception):
    """A construct that lifted STRIPS cannot say."""


def _blankets(action: Action) -> list[When]:
    return [when for when in action.when if when.requires == TRUE and not positive_atoms(when.provides)]


def _pattern(when: When) -> Atom:
    universal = {variable.name for variable in when.variables}
    (atom,) = negated_atoms(when.provides)[:1]
    return Atom(atom.predicate, tuple([OPEN if arg in universal else arg for arg in atom.args]))


class _Lowering:
    """Rewrites one problem; collects the complementary predicates that it needs on the way."""

    def __init__(self, problem: Problem, single: frozenset[Atom]) -> None:
        self._problem = problem
        self._single = single
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._members = self._hierarchy.objects_by_type(problem.all_objects)
        self._negated: dict[str, str] = {}
        self._constants: set[str] = set()
        self._uses_different = False

    def result(self) -> Problem:
        problem, domain = self._problem, self._problem.domain
        if domain.axioms or problem.goal.soft or problem.unknown:
            raise _NotStrips
        actions = {name: self._action(action) for name, action in domain.actions.items()}
        goal = conjunction(self._positive(problem.goal.hard, ()))
        actions = {name: self._with_complements(action) for name, action in actions.items()}
        predicates = dict(domain.predicates) | self._new_predicates()
        constants = (*domain.constants, *self._promoted())
        objects = tuple([item for item in problem.objects if item.name not in self._constants])
        initial = (*problem.initial, *self._new_facts())
        lowered = replace(domain, actions=actions, predicates=predicates, constants=constants)
        return replace(problem, domain=lowered, objects=objects, initial=initial, goal=Goal(goal))

    def _promoted(self) -> Iterator[Object]:
        """Yield the objects that actions now name, and that therefore must be constants."""
        return (item for item in self._problem.objects if item.name in self._constants)

    def _action(self, action: Action) -> Action:
        blankets = _blankets(action)
        if len(blankets) < len(action.when):
            raise _NotStrips
        provides = [*action.provides, *[literal for when in blankets for literal in self._written_out(when, action)]]
        requires = conjunction(self._positive(action.requires, action.parameters))
        return replace(action, requires=requires, provides=tuple(dict.fromkeys(provides)), when=())

    def _written_out(self, when: When, action: Action) -> Iterator[Literal]:
        pattern = _pattern(when)
        known = [part for part in conjuncts(action.requires) if isinstance(part, Atom) and _covers(pattern, part)]
        if known and pattern in self._single and len(when.provides) == 1:
            yield Not(known[0])
            return
        domains = [self._objects_of(variable.types) for variable in when.variables]
        for count, values in enumerate(itertools.product(*domains)):
            if count >= ENUMERATION_LIMIT:
                raise _NotStrips
            binding = {variable.name: value for variable, value in zip(when.variables, values, strict=True)}
            self._constants.update(values)
            yield from (Not(atom.substitute(binding)) for atom in negated_atoms(when.provides))

    def _objects_of(self, types: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(name for kind in types for name in self._members.get(kind, ())))

    def _positive(self, condition: Formula, parameters: tuple[Variable, ...]) -> Iterator[Formula]:
        for part in conjuncts(condition):
            match part:
                case Atom():
                    yield part
                case Not(Atom() as atom):
                    yield Atom(self._complement(atom.predicate), atom.args)
                case Not(Equals(left, right)) if parameters:
                    self._uses_different = True
                    self._constants.update(term for term in (left, right) if not is_variable(term))
                    yield Atom(self._different, (left, right))
                case _:
                    raise _NotStrips

    @property
    def _different(self) -> str:
        return _fresh(DIFFERENT, self._problem.domain.predicates)

    def _complement(self, predicate: str) -> str:
        if predicate not in self._problem.domain.predicates:
            raise _NotStrips
        return self._negated.setdefault(predicate, _fresh(f"not-{predicate}", self._problem.domain.predicates))

    def _with_complements(self, action: Action) -> Action:
        """Write the complementary predicate wherever a predicate is written that has one."""
        adds = [atom for atom in positive_atoms(action.provides) if atom.predicate in self._negated]
        deletes = [atom for atom in negated_atoms(action.provides) if atom.predicate in self._negated]
        if any(_may_meet(one, other, action) for one in adds for other in deletes if one != other):
            raise _NotStrips
        extra: list[Literal] = [Not(Atom(self._negated[atom.predicate], atom.args)) for atom in adds]
        extra += [Atom(self._negated[atom.predicate], atom.args) for atom in deletes if atom not in adds]
        return replace(action, provides=(*action.provides, *extra))

    def _new_predicates(self) -> dict[str, Predicate]:
        known = self._problem.domain.predicates
        found = {name: Predicate(name, known[source].parameters) for source, name in self._negated.items()}
        if self._uses_different:
            found[self._different] = Predicate(self._different, (Variable("?x"), Variable("?y")))
        return found

    def _new_facts(self) -> Iterator[Atom]:
        held = set(self._problem.initial)
        for source, name in self._negated.items():
            parameters = self._problem.domain.predicates[source].parameters
            for row in self._rows([parameter.types for parameter in parameters]):
                if Atom(source, row) not in held:
                    yield Atom(name, row)
        if self._uses_different:
            yield from (Atom(self._different, row) for row in self._rows([("object",)] * 2) if row[0] != row[1])

    def _rows(self, columns: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        for count, row in enumerate(itertools.product(*[self._objects_of(types) for types in columns])):
            if count >= ENUMERATION_LIMIT:
                raise _NotStrips
            yield row


def _covers(pattern: Atom, atom: Atom) -> bool:
    """Whether `pattern` covers `atom`, variable for variable."""
    return pattern.predicate == atom.predicate and all(
        mine in (OPEN, other) for mine, other in zip(pattern.args, atom.args, strict=True)
    )


def _may_meet(one: Atom, other: Atom, action: Action) -> bool:
    """Whether the two atoms of `action` can name the same fact."""
    apart = _apart(action)
    return one.predicate == other.predicate and all(
        mine == theirs or (_free(mine, theirs) and frozenset((mine, theirs)) not in apart)
        for mine, theirs in zip(one.args, other.args, strict=True)
    )


def _free(one: Term, other: Term) -> bool:
    return is_variable(one) or is_variable(other)


def _apart(action: Action) -> set[frozenset[Term]]:
    """Return the pairs of terms that the action requires to differ."""
    return {
        frozenset((equality.left, equality.right))
        for part in conjuncts(action.requires)
        if isinstance(part, Not) and isinstance(equality := part.part, Equals)
    }


def _fresh(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name

"""Lifted STRIPS: compiles plain ADL problems to positive conjunctions, adds and deletes, if possible.

A universal delete becomes a single delete if a mutex group is proved, or one delete for each of a few objects. Negative
conditions become complementary predicates (Gazen and Knoblock, 1997). Actions keep their names and parameters, so that
plans need no mapping.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

from planner.compilations import reserve_name
from planner.lightweight import Final, replace
from planner.model import formulas
from planner.model.actions import Action, Literal, When, negated_atoms, positive_atoms
from planner.model.domain import Predicate, TypeHierarchy
from planner.model.formulas import OPEN, TRUE, Atom, Equals, Formula, Not, Object, Term, Variable
from planner.model.problem import Goal, Problem

ENUMERATION_LIMIT: Final = 10_000
"""Maximum number of facts of one complementary predicate, and of deletes of one universal effect."""

DIFFERENT: Final = "different"


def collect_delete_patterns(problem: Problem) -> list[Atom]:
    """Return the patterns that unconditional universal deletes of a plain ADL problem cover, open arguments as `_`."""
    actions = problem.domain.actions.values()
    return list(dict.fromkeys(_pattern_of(when) for action in actions for when in _universal_deletes(action)))


def to_strips(problem: Problem, single: Collection[Atom] = ()) -> Problem | None:
    """Compile the plain ADL `problem` to lifted STRIPS; return None if STRIPS cannot express it.

    `single` holds the patterns of `collect_delete_patterns` that provably cover one fact at a time.
    """
    try:
        return _Lowering(problem, frozenset(single)).lower()
    except _NotStrips:
        return None


class _NotStrips(Exception):
    """The problem uses a construct that lifted STRIPS cannot express."""


def _universal_deletes(action: Action) -> list[When]:
    return [when for when in action.when if when.requires == TRUE and not positive_atoms(when.provides)]


def _pattern_of(when: When) -> Atom:
    universal = {variable.name for variable in when.variables}
    (atom,) = negated_atoms(when.provides)[:1]
    return Atom(atom.predicate, tuple([OPEN if arg in universal else arg for arg in atom.args]))


class _Lowering:
    """Rewrites one problem, and collects the complementary predicates that its conditions need."""

    def __init__(self, problem: Problem, single: frozenset[Atom]) -> None:
        self._problem = problem
        self._single = single
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._members = self._hierarchy.objects_by_type(problem.all_objects)
        self._negated: dict[str, str] = {}
        self._constants: set[str] = set()
        self._uses_different = False

    def lower(self) -> Problem:
        problem, domain = self._problem, self._problem.domain
        if domain.axioms or problem.goal.soft or problem.unknown:
            raise _NotStrips
        actions = {name: self._action(action) for name, action in domain.actions.items()}
        goal = formulas.conjunction(self._make_positive(problem.goal.hard, ()))
        actions = {name: self._add_complements(action) for name, action in actions.items()}
        predicates = dict(domain.predicates) | self._make_predicates()
        constants = (*domain.constants, *self._promoted_constants())
        objects = tuple([item for item in problem.objects if item.name not in self._constants])
        initial = (*problem.initial, *self._make_facts())
        lowered = replace(domain, actions=actions, predicates=predicates, constants=constants)
        return replace(problem, domain=lowered, objects=objects, initial=initial, goal=Goal(goal))

    def _promoted_constants(self) -> Iterator[Object]:
        """Yield the objects that actions name after the compilation, which must become constants."""
        return (item for item in self._problem.objects if item.name in self._constants)

    def _action(self, action: Action) -> Action:
        blankets = _universal_deletes(action)
        if len(blankets) < len(action.when):
            raise _NotStrips
        provides = [*action.provides, *[literal for when in blankets for literal in self._write_out(when, action)]]
        requires = formulas.conjunction(self._make_positive(action.requires, action.parameters))
        return replace(action, requires=requires, provides=tuple(dict.fromkeys(provides)), when=())

    def _write_out(self, when: When, action: Action) -> Iterator[Literal]:
        pattern = _pattern_of(when)
        known = [
            part for part in formulas.conjuncts(action.requires) if isinstance(part, Atom) and _covers(pattern, part)
        ]
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

    def _make_positive(self, condition: Formula, parameters: tuple[Variable, ...]) -> Iterator[Formula]:
        for part in formulas.conjuncts(condition):
            match part:
                case Atom():
                    yield part
                case Not(Atom() as atom):
                    yield Atom(self._complement_of(atom.predicate), atom.args)
                case Not(Equals(left, right)) if parameters:
                    self._uses_different = True
                    self._constants.update(term for term in (left, right) if not formulas.is_variable(term))
                    yield Atom(self._different, (left, right))
                case _:
                    raise _NotStrips

    @property
    def _different(self) -> str:
        return reserve_name(DIFFERENT, {*self._problem.domain.predicates})

    def _complement_of(self, predicate: str) -> str:
        if predicate not in self._problem.domain.predicates:
            raise _NotStrips
        name = reserve_name(f"not-{predicate}", {*self._problem.domain.predicates})
        return self._negated.setdefault(predicate, name)

    def _add_complements(self, action: Action) -> Action:
        """Return `action` with effects on the complements of the predicates that it writes."""
        adds = [atom for atom in positive_atoms(action.provides) if atom.predicate in self._negated]
        deletes = [atom for atom in negated_atoms(action.provides) if atom.predicate in self._negated]
        if any(_may_be_equal(one, other, action) for one in adds for other in deletes if one != other):
            raise _NotStrips
        extra: list[Literal] = [Not(Atom(self._negated[atom.predicate], atom.args)) for atom in adds]
        extra += [Atom(self._negated[atom.predicate], atom.args) for atom in deletes if atom not in adds]
        return replace(action, provides=(*action.provides, *extra))

    def _make_predicates(self) -> dict[str, Predicate]:
        known = self._problem.domain.predicates
        found = {name: Predicate(name, known[source].parameters) for source, name in self._negated.items()}
        if self._uses_different:
            found[self._different] = Predicate(self._different, (Variable("?x"), Variable("?y")))
        return found

    def _make_facts(self) -> Iterator[Atom]:
        held = set(self._problem.initial)
        for source, name in self._negated.items():
            parameters = self._problem.domain.predicates[source].parameters
            for row in self._rows_of([parameter.types for parameter in parameters]):
                if Atom(source, row) not in held:
                    yield Atom(name, row)
        if self._uses_different:
            yield from (Atom(self._different, row) for row in self._rows_of([("object",)] * 2) if row[0] != row[1])

    def _rows_of(self, columns: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        for count, row in enumerate(itertools.product(*[self._objects_of(types) for types in columns])):
            if count >= ENUMERATION_LIMIT:
                raise _NotStrips
            yield row


def _covers(pattern: Atom, atom: Atom) -> bool:
    """Return whether `pattern` covers `atom`, variable for variable."""
    return pattern.predicate == atom.predicate and all(
        mine in (OPEN, other) for mine, other in zip(pattern.args, atom.args, strict=True)
    )


def _may_be_equal(one: Atom, other: Atom, action: Action) -> bool:
    """Return whether the two atoms of `action` can be the same fact."""
    apart = _different_terms(action)
    return one.predicate == other.predicate and all(
        mine == theirs or (_has_variable(mine, theirs) and frozenset((mine, theirs)) not in apart)
        for mine, theirs in zip(one.args, other.args, strict=True)
    )


def _has_variable(one: Term, other: Term) -> bool:
    return formulas.is_variable(one) or formulas.is_variable(other)


def _different_terms(action: Action) -> set[frozenset[Term]]:
    """Return the pairs of terms that `action` requires to differ."""
    return {
        frozenset((equality.left, equality.right))
        for part in formulas.conjuncts(action.requires)
        if isinstance(part, Not) and isinstance(equality := part.part, Equals)
    }

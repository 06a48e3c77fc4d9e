"""Lifted relevance: actions that can help no goal are left out before anything is ground.

An agent has ten thousand tools and a goal that twenty of them serve. Relevance follows the goal backwards through an
index of the actions by the predicates, and the constants in them, that they write. So planning takes what the relevant
part takes.

A *want* is a kind of fact that had better hold, or had better not: what the goal says, what helps to keep the
constraints, the conditions of every action that gives something wanted, and those of axioms. The condition of a
conditional effect is wanted either way, since the effect may do harm. An action that gives nothing wanted can be left
out of any plan. `planner.grounding.relevance` does the same for single facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from planner.lightweight import Final, replace
from planner.model import OPEN, Action, Atom, Constraint, ConstraintKind, DomainModel, Done, Formula, Problem, Term
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.domain import cache_per_domain
from planner.model.formulas import literals_in

Shape = tuple[Term, ...]
"""The arguments of an atom, `_` for each that may be anything."""
Write = tuple[tuple[Term, ...], int]
"""The arguments of what an action may write, and the action's number."""


class Writers:
    """The actions of `domain` by what they write; actions are numbered in order of declaration."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._adds = _additions(domain.actions.values())
        self._patterns: dict[tuple[str, bool], _Patterns] = {}

    @cached_property
    def _deletes(self) -> dict[str, list[Write]]:
        return _retractions(self._domain)

    def of(self, predicate: str, shape: Shape, *, positive: bool) -> Iterator[int]:
        """Yield the numbers of the actions that may make a fact of this shape true (or false, if not `positive`)."""
        writes = (self._adds if positive else self._deletes).get(predicate, ())
        if not shape:
            return (number for _, number in writes)
        if (predicate, positive) not in self._patterns:
            self._patterns[predicate, positive] = _Patterns(writes)
        return self._patterns[predicate, positive].matching(shape)


def shape_of(atom: Atom) -> Shape:
    """Return the arguments of `atom`, open where they are variables."""
    return tuple([OPEN if arg.startswith("?") else arg for arg in atom.args]) if atom.args else ()


def _additions(actions: Iterable[Action]) -> dict[str, list[Write]]:
    """Return, by predicate, what the actions may make true."""
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(actions):
        for literal in action.provides:
            if isinstance(literal, Atom):
                found[literal.predicate].append((literal.args, number))
        for when in action.when:
            for atom in positive_atoms(when.provides):
                found[atom.predicate].append((atom.args, number))
    return found


def _retractions(domain: DomainModel) -> dict[str, list[Write]]:
    """Return, by predicate, what the actions may make false: by deletes, `modifies`, and what is stale with a write."""
    stale = _dependants(domain)
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(domain.actions.values()):
        for effect in action.effects:
            for atom in (*negated_atoms(effect.provides), *[item for item in effect.modifies if OPEN in item.args]):
                found[atom.predicate].append((atom.args, number))
            if stale:
                written = [*positive_atoms(effect.provides), *negated_atoms(effect.provides), *effect.modifies]
                for name in {name for atom in written for name in stale.get(atom.predicate, ())}:
                    found[name].append(((OPEN,) * len(domain.predicates[name].parameters), number))
    return found


def _dependants(domain: DomainModel) -> dict[str, set[str]]:
    """Return, for each predicate, those that go stale when facts of it are written, directly or through others."""
    direct: dict[str, set[str]] = defaultdict(set)
    for predicate in domain.predicates.values():
        for source in predicate.stale_with:
            direct[source.predicate].add(predicate.name)
    found: dict[str, set[str]] = {}
    for name in direct:
        queue = [name]
        reached = found[name] = set()
        while queue:
            fresh = direct.get(queue.pop(), set()) - reached
            reached |= fresh
            queue.extend(fresh)
    return found


class _Patterns:
    """Patterns of one predicate, found by the constants that they share with another pattern."""

    def __init__(self, writes: Iterable[Write]) -> None:
        self._by_places: dict[tuple[int, ...], list[Write]] = defaultdict(list)
        self._indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[tuple[Term, ...], list[int]]] = {}
        for args, number in writes:
            self._by_places[_constants(args)].append((args, number))

    def matching(self, shape: Shape) -> Iterator[int]:
        """Yield the numbers of the patterns that some fact of this shape fits."""
        known = set(_constants(shape))
        for places in self._by_places:
            common = tuple([place for place in places if place in known])
            if (places, common) not in self._indexes:
                self._indexes[places, common] = self._indexed(places, common)
            yield from self._indexes[places, common].get(tuple([shape[place] for place in common]), ())

    def _indexed(self, places: tuple[int, ...], common: tuple[int, ...]) -> dict[tuple[Term, ...], list[int]]:
        index: dict[tuple[Term, ...], list[int]] = defaultdict(list)
        for args, number in self._by_places[places]:
            index[tuple([args[place] for place in common])].append(number)
        return index


def _constants(args: tuple[Term, ...]) -> tuple[int, ...]:
    """Return the places at which an object is named."""
    return tuple([place for place, arg in enumerate(args) if arg != OPEN and not arg.startswith("?")])


_ASKING: Final = frozenset({ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.BEFORE})
"""The kinds of constraints that ask for something to happen, and not only for something not to."""

Want = tuple[str, Shape, bool]
"""A predicate, the arguments, and whether such facts shall be true."""


def relevant_part(problem: Problem, used: Iterable[str] = ()) -> Problem:
    """Return `problem` without the actions that no plan needs, nor the actions `used`, which stay; all else is kept.

    What a cheapest plan costs stays as it is, as does whether there is one, and every plan of the result is one of
    `problem`. Mistakes that only grounding finds, such as costs without a value, are found in what is kept.
    """
    domain = problem.domain
    backward = _Backward(domain)
    backward.want(problem.goal.hard)
    for wish in problem.goal.soft:
        backward.want(wish.condition)
    for constraint in problem.constraints:
        backward.keep(constraint)
    backward.use(used)
    kept = backward.finish()
    if len(kept) == len(domain.actions):
        return problem
    return replace(problem, domain=replace(domain, actions={action.name: action for action in kept}))


@cache_per_domain
def _writers(domain: DomainModel) -> Writers:
    return Writers(domain)


@cache_per_domain
def _actions(domain: DomainModel) -> list[Action]:
    return list(domain.actions.values())


@cache_per_domain
def _numbers(domain: DomainModel) -> dict[str, int]:
    return {name: number for number, name in enumerate(domain.actions)}


class _Backward:
    """Follows what is wanted backwards through the actions of one domain."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._wanted: set[Want] = set()
        self._queue: list[Want] = []
        self._used: set[int] = set()

    def want(self, formula: Formula, *, positive: bool = True) -> None:
        """Want `formula` to hold; or not to, unless `positive`."""
        for atom, sign in literals_in(formula, positive=positive):
            want = (atom.predicate, shape_of(atom), sign)
            if want not in self._wanted:
                self._wanted.add(want)
                self._queue.append(want)

    def keep(self, constraint: Constraint) -> None:
        """Want all that helps to keep `constraint`; steps that may only break it are better left out."""
        kind, what, other = constraint.kind, constraint.what, constraint.other
        if isinstance(what, Done):
            if kind in _ASKING:
                self.use([what.action.predicate])
        else:
            counts = kind is ConstraintKind.AT_MOST and constraint.times
            if kind in _ASKING or counts:
                self.want(what)
            if kind not in _ASKING:
                self.want(what, positive=False)
        if other is not None and not isinstance(other, Done):
            self.want(other, positive=False)

    def use(self, names: Iterable[str]) -> None:
        """Take in the actions of these names, and want what they need."""
        for number in dict.fromkeys(_numbers(self._domain)[name] for name in names):
            if number not in self._used:
                self._take(number, _actions(self._domain))

    def finish(self) -> list[Action]:
        """Return the actions that may help, in order of declaration."""
        writers, actions = _writers(self._domain), _actions(self._domain)
        definitions: dict[str, list[Formula]] = {}
        for axiom in self._domain.axioms:
            definitions.setdefault(axiom.predicate, []).append(axiom.condition)
        while self._queue:
            predicate, shape, positive = self._queue.pop()
            for condition in definitions.get(predicate, ()):
                self.want(condition, positive=positive)
            for number in writers.of(predicate, shape, positive=positive):
                if number not in self._used:
                    self._take(number, actions)
        return [actions[number] for number in sorted(self._used)]

    def _take(self, number: int, actions: list[Action]) -> None:
        """Take in an action, and those that have to run before it."""
        ready = [number]
        while ready:
            current = ready.pop()
            self._used.add(current)
            action = actions[current]
            self.want(action.requires)
            for when in action.when:
                self.want(when.requires)
                self.want(when.requires, positive=False)
            earlier = [_numbers(self._domain)[pattern.predicate] for pattern in action.after]
            ready += [each for each in earlier if each not in self._used]

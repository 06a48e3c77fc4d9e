"""Lifted relevance: remove the actions that cannot contribute to the goal before grounding.

A domain may have ten thousand actions, of which twenty are relevant to a goal. Relevance analysis (Nebel, Dimopoulos
and Koehler, 1997) follows the goal backwards through an index of the actions by the predicates and constants that they
write.

A *want* is a pattern of facts that should be true, or false. Wanted are the goal, the conditions that help to keep
constraints, and the conditions of axioms and actions that give something wanted. The condition of a conditional effect
is wanted true and false, since the effect may do harm. No plan needs an action that gives nothing wanted.
`planner.grounding.relevance` does the same for ground facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from planner.lightweight import Final, replace
from planner.model import OPEN, Action, Atom, Constraint, ConstraintKind, DomainModel, Done, Formula, Problem, Term
from planner.model.actions import positive_atoms
from planner.model.domain import cache_per_domain
from planner.model.formulas import literals_in
from planner.model.problem import is_numeric

Shape = tuple[Term, ...]
"""The arguments of an atom, with `_` for open ones."""
Write = tuple[tuple[Term, ...], int]
"""The arguments of an atom that an action may write, and the action's number."""


class Writers:
    """An index of the actions of `domain` by what they write; actions are numbered in order of declaration."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._adds = _collect_additions(domain.actions.values())
        self._patterns: dict[tuple[str, bool], _Patterns] = {}

    @cached_property
    def _deletes(self) -> dict[str, list[Write]]:
        return _collect_retractions(self._domain)

    def of(self, predicate: str, shape: Shape, *, positive: bool) -> Iterator[int]:
        """Yield the numbers of the actions that may make a fact of this shape true (or false, if not `positive`)."""
        writes = (self._adds if positive else self._deletes).get(predicate, ())
        if not shape:
            return (number for _, number in writes)
        if (predicate, positive) not in self._patterns:
            self._patterns[predicate, positive] = _Patterns(writes)
        return self._patterns[predicate, positive].matching(shape)


def shape_of(atom: Atom) -> Shape:
    """Return the arguments of `atom`, with open arguments for variables."""
    return tuple([OPEN if arg.startswith("?") else arg for arg in atom.args]) if atom.args else ()


def _collect_additions(actions: Iterable[Action]) -> dict[str, list[Write]]:
    """Return, by predicate, the writes that may make facts true."""
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(actions):
        for literal in action.provides:
            if isinstance(literal, Atom):
                found[literal.predicate].append((literal.args, number))
        for when in action.when:
            for atom in positive_atoms(when.provides):
                found[atom.predicate].append((atom.args, number))
    return found


def _collect_retractions(domain: DomainModel) -> dict[str, list[Write]]:
    """Return, by predicate, the writes that may make facts false: deletes, `modifies`, and stale dependants."""
    stale = _find_dependants(domain)
    found: dict[str, list[Write]] = defaultdict(list)
    for number, action in enumerate(domain.actions.values()):
        for effect in action.effects:
            for atom in effect.retracted:
                found[atom.predicate].append((atom.args, number))
            if stale:
                written = effect.written
                for name in {name for atom in written for name in stale.get(atom.predicate, ())}:
                    found[name].append(((OPEN,) * len(domain.predicates[name].parameters), number))
    return found


def _find_dependants(domain: DomainModel) -> dict[str, set[str]]:
    """Return, for each predicate, those that become stale when it is written, directly or through others."""
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
    """An index of the patterns of one predicate by their constants."""

    def __init__(self, writes: Iterable[Write]) -> None:
        self._by_places: dict[tuple[int, ...], list[Write]] = defaultdict(list)
        self._indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[tuple[Term, ...], list[int]]] = {}
        for args, number in writes:
            self._by_places[_constants(args)].append((args, number))

    def matching(self, shape: Shape) -> Iterator[int]:
        """Yield the numbers of the patterns that a fact of this shape may match."""
        known = set(_constants(shape))
        for places in self._by_places:
            common = tuple([place for place in places if place in known])
            if (places, common) not in self._indexes:
                self._indexes[places, common] = self._build_index(places, common)
            yield from self._indexes[places, common].get(tuple([shape[place] for place in common]), ())

    def _build_index(self, places: tuple[int, ...], common: tuple[int, ...]) -> dict[tuple[Term, ...], list[int]]:
        index: dict[tuple[Term, ...], list[int]] = defaultdict(list)
        for args, number in self._by_places[places]:
            index[tuple([args[place] for place in common])].append(number)
        return index


def _constants(args: tuple[Term, ...]) -> tuple[int, ...]:
    """Return the places of constants in `args`."""
    return tuple([place for place, arg in enumerate(args) if arg != OPEN and not arg.startswith("?")])


_ASKING: Final = frozenset({ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.BEFORE})
"""The kinds of constraints that require something to happen."""

Want = tuple[str, Shape, bool]
"""A predicate, the arguments, and whether such facts should be true."""


def remove_irrelevant_actions(problem: Problem, used: Iterable[str] = ()) -> Problem:
    """Remove the actions that no plan needs from `problem`; the actions `used` stay.

    Every plan of the result is a plan of `problem`, and the cost of a cheapest plan does not change. Mistakes that only
    grounding finds, such as costs without a value, are found in the remaining actions only. A numeric problem keeps all
    its actions.
    """
    if is_numeric(problem):
        return problem
    domain = problem.domain
    backward = _RelevanceAnalysis(domain)
    backward.want(problem.goal.hard)
    for wish in problem.goal.soft:
        backward.want(wish.condition)
    for constraint in problem.constraints:
        backward.want_kept(constraint)
    backward.add_actions(used)
    kept = backward.relevant_actions()
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


class _RelevanceAnalysis:
    """Follows wants backwards through the actions of one domain."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain
        self._wanted: set[Want] = set()
        self._queue: list[Want] = []
        self._used: set[int] = set()

    def want(self, formula: Formula, *, positive: bool = True) -> None:
        """Want `formula` to be true, or false unless `positive`."""
        for atom, sign in literals_in(formula, positive=positive):
            want = (atom.predicate, shape_of(atom), sign)
            if want not in self._wanted:
                self._wanted.add(want)
                self._queue.append(want)

    def want_kept(self, constraint: Constraint) -> None:
        """Want the conditions that help to keep `constraint`."""
        kind, what, other = constraint.kind, constraint.what, constraint.other
        if isinstance(what, Done):
            if kind in _ASKING:
                self.add_actions([what.action.predicate])
        else:
            counts = kind is ConstraintKind.AT_MOST and constraint.times
            if kind in _ASKING or counts:
                self.want(what)
            if kind not in _ASKING:
                self.want(what, positive=False)
        if other is not None and not isinstance(other, Done):
            self.want(other, positive=False)

    def add_actions(self, names: Iterable[str]) -> None:
        """Add the actions with these names, and want their conditions."""
        for number in dict.fromkeys(_numbers(self._domain)[name] for name in names):
            if number not in self._used:
                self._add(number, _actions(self._domain))

    def relevant_actions(self) -> list[Action]:
        """Follow all wants, and return the relevant actions in order of declaration."""
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
                    self._add(number, actions)
        return [actions[number] for number in sorted(self._used)]

    def _add(self, number: int, actions: list[Action]) -> None:
        """Add an action and those that must run before it, and want their conditions."""
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

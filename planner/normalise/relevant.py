"""Relevance among declarations: what can help no goal is left out before anything is done with it.

An agent has ten thousand tools and a goal that twenty of them serve. The goal is followed backwards through an index
of who writes what, so that planning takes what the relevant part takes, not what the library would.

A *want* is a kind of fact that had better hold, or had better not. What the goal says is wanted, and what helps to keep
the constraints; so are the conditions of every action that gives something wanted, and those of axioms. The condition
of a conditional effect is wanted either way, since the effect may do harm. An action that gives nothing wanted can be
left out of any plan: what is wanted holds without it too. (`planner.grounding.relevance` says the same of single facts;
here a variable stands for anything.)
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.annotations import Final
from planner.model import Action, Constraint, ConstraintKind, DomainModel, Done, Formula, Problem
from planner.model.formulas import literals_in
from planner.model.memo import kept_with_domain
from planner.normalise.writers import Shape, Writers, shape_of
from planner.records import replace

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


@kept_with_domain
def _writers(domain: DomainModel) -> Writers:
    return Writers(domain)


@kept_with_domain
def _actions(domain: DomainModel) -> list[Action]:
    return list(domain.actions.values())


@kept_with_domain
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

"""What constraints speak of, as conditions on the state before an action: whether it happens with the action."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from planner.model import (
    FALSE,
    OPEN,
    Action,
    And,
    Atom,
    Done,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    Term,
)
from planner.model.constraints import Happening
from planner.model.formulas import atoms_in, substitute
from planner.normalise.conditions import negation_normal
from planner.normalise.regression import Objects, Regression, both, opposite, variables_in
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Before:
    """The state before a step of `action`, which goes by this `name`, and what it says about the one after it."""

    name: str
    action: Action
    regression: Regression
    objects: Objects

    def covered(self, pattern: Atom) -> Formula:
        """Return when the step is one that `pattern` covers."""
        if pattern.predicate != self.name:
            return FALSE
        found: list[Formula] = []
        for mine, parameter in zip(pattern.args, self.action.parameters, strict=False):
            if mine != OPEN:
                if not self.objects.may_be(mine, parameter.types):
                    return FALSE
                found.append(Equals(parameter.name, mine))
        return both(found)


@dataclass(frozen=True, slots=True)
class Watched:
    """A condition and its negation in negation normal form, or a pattern of steps (`is_step`).

    `at_start` says whether it happens in the initial state.
    """

    condition: Formula
    negation: Formula = FALSE
    is_step: bool = False
    at_start: bool = False

    def newly(self, before: Before) -> Formula:
        """Return when the action makes it happen; where the condition held already, it may say either."""
        return self._covered(before) if self.is_step else before.regression.newly(self.condition)

    def ends(self, before: Before) -> Formula:
        """Return when the action makes the condition false; where it was so already, it may say either."""
        return before.regression.newly(self.negation)

    def fails(self, before: Before) -> Formula:
        """Return when the action makes the condition false, or the step is none of these."""
        return opposite(self._covered(before)) if self.is_step else self.ends(before)

    def begins(self, before: Before) -> Formula:
        """Return when the action makes it begin to happen."""
        made = self.newly(before)
        return made if self.is_step else both([made, self.negation])

    def after(self, before: Before) -> Formula:
        """Return when it happens with the action, or in the state after it."""
        return self._covered(before) if self.is_step else before.regression.after(self.condition)

    def _covered(self, before: Before) -> Formula:
        assert isinstance(self.condition, Atom)  # noqa: S101 - patterns of steps are atoms
        return before.covered(self.condition)


class Watching:
    """Makes happenings of one problem ready."""

    def __init__(self, problem: Problem, names: Mapping[str, str]) -> None:
        self._names = names
        self.objects = Objects(problem)
        self._derived = problem.domain.derived
        self._start = set(problem.initial)
        self._bound: dict[Term, tuple[str, ...]] = {}
        self._fresh = itertools.count()

    def watched(self, happening: Happening) -> Watched:
        """Return `happening`, ready; of conditions on derived predicates, it is not known what holds at the start."""
        if isinstance(happening, Done):
            return Watched(happening.action, is_step=True)
        condition, negation = [negation_normal(happening, self._fresh, negate=negate) for negate in (False, True)]
        self._bound |= variables_in(condition) | variables_in(negation)
        at_start = not self.reads_derived(happening) and holds(condition, self._start, self.objects)
        return Watched(condition, negation, at_start=at_start)

    def before(self, action: Action) -> Before:
        """Return the state before a step of `action`."""
        name = self._names.get(action.name, action.name)
        return Before(name, action, Regression.through(action, self.objects, self._bound), self.objects)

    def reads_derived(self, happening: Happening | None) -> bool:
        """Return whether `happening` is a condition on a derived predicate."""
        if happening is None or isinstance(happening, Done):
            return False
        return any(atom.predicate in self._derived for atom in atoms_in(happening))


def holds(condition: Formula, facts: set[Atom], objects: Objects) -> bool:  # noqa: PLR0911 - a case per construct
    """Return whether the ground `condition` on base facts holds where just `facts` do."""
    match condition:
        case Atom():
            return condition in facts
        case Equals(left, right):
            return left == right
        case Not(part):
            return not holds(part, facts, objects)
        case Imply(premise, conclusion):
            return not holds(premise, facts, objects) or holds(conclusion, facts, objects)
        case And(parts):
            return all(holds(part, facts, objects) for part in parts)
        case Or(parts):
            return any(holds(part, facts, objects) for part in parts)
        case Forall() | Exists():
            found = (holds(part, facts, objects) for part in _instances(condition, objects))
            return all(found) if isinstance(condition, Forall) else any(found)


def _instances(condition: Forall | Exists, objects: Objects) -> Iterator[Formula]:
    names = [variable.name for variable in condition.variables]
    for values in itertools.product(*[objects.of(variable.types) for variable in condition.variables]):
        yield substitute(condition.part, dict(zip(names, values, strict=True)))

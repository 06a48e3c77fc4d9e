"""The promises in time of a problem: its deadlines, what ends at known times, and its capacities.

A plan keeps all of them. Each can be dropped, or relaxed by an amount: a deadline comes later, a fact ends later, there
is more of a capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from fractions import Fraction

from planner.grounding.ground_temporal import find_mentions
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import as_number, exact_value
from planner.model.calendar import moment_at
from planner.model.domain import numeric_fluents, written_predicates
from planner.model.formulas import (
    Atom,
    Comparison,
    Formula,
    Not,
    Number,
    comparisons_in,
    conjuncts,
    functions_in,
)
from planner.model.problem import NumericMetric, Problem
from planner.model.timing import GoalDeadline, TimedEffect
from planner.plan import json_number
from planner.semantics.snap_actions import SnapProblem, make_snap_problem

PLENTY: Final = 10**6
"""How much more of a capacity stands for as much as a plan likes."""


class Kind(Enum):
    """The kinds of promises."""

    DEADLINE = "deadline"
    DUE = "due"
    WINDOW = "window"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that a plan must keep.

    `what` is a part of the goal that is due, a fact that ends, or the name of a capacity; None for the plan's own
    deadline. `most` is a time in seconds, or how much there is. A window is the change at a known time of this `place`,
    which makes `what` true or false; `until` is when the opposite change follows, if one does. Where `is_monotone`,
    what is possible stays possible as the promise is relaxed. `starts_at` is the absolute time at which plans begin.
    """

    kind: Kind
    what: Formula | str | None
    most: Number
    place: int = 0
    until: Number | None = None
    is_monotone: bool = True
    starts_at: datetime | None = None

    @property
    def is_time(self) -> bool:
        """Whether it is about a time; else about an amount."""
        return self.kind is not Kind.CAPACITY

    def __str__(self) -> str:
        return self.describe(self.most)

    def describe(self, most: Number) -> str:
        """Describe the promise with `most` in place of its own time or amount."""
        match self.kind:
            case Kind.DEADLINE:
                return f"the plan ends by {self._clock(most)}"
            case Kind.DUE:
                return f"{self.what} is due by {self._clock(most)}"
            case Kind.WINDOW:
                return f"{self.what} holds until {self._clock(most)}"
        return f"capacity {self.what} is {most}"

    def _clock(self, seconds: Number) -> str:
        if self.starts_at is None:
            return f"{seconds} s"
        moment = moment_at(self.starts_at, seconds)
        days = (moment.date() - self.starts_at.date()).days
        later = f" {days} {'day' if days == 1 else 'days'} later" if days else ""
        return f"{seconds} s ({moment.time().isoformat().removesuffix(':00')}{later})"

    def relax(self, amount: Fraction | Number) -> Number:
        """Return the time or amount that is `amount` more."""
        found = as_number(exact_value(Fraction(self.most) + Fraction(amount)))
        assert found is not None
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as JSON-ready data."""
        return {
            "kind": self.kind.value,
            "what": None if self.what is None else str(self.what),
            "most": json_number(self.most),
            "promise": str(self),
        }


def find_promises(problem: Problem) -> list[Promise]:
    """Return the promises in time of `problem`. Raises `UnsupportedError` as `make_snap_problem` does."""
    snap = make_snap_problem(problem)
    found: list[Promise] = []
    if problem.deadline is not None:
        found.append(Promise(Kind.DEADLINE, None, problem.deadline))
    for place, due in enumerate(problem.due):
        if due.weight is None:
            found.append(Promise(Kind.DUE, due.condition, due.by, place))
    found += _find_endings(problem, snap)
    found = [replace(each, starts_at=problem.starts_at) for each in found]
    held = {name for action in problem.domain.actions.values() for name in action.holds}
    amounts = {name: amount for name, amount in problem.capacity.items() if name in held}
    return (
        found
        + [Promise(Kind.CAPACITY, name, amount) for name, amount in amounts.items()]
        + [Promise(Kind.CAPACITY, fluent, problem.values[fluent]) for fluent in _find_pools(problem, snap)]
    )


def relax_problem(
    problem: Problem, amounts: Mapping[Promise, Fraction | None] | Mapping[Promise, Number | None]
) -> Problem:
    """Return `problem` with promises relaxed by these `amounts`; those of None are dropped."""
    due: list[GoalDeadline | None] = list(problem.due)
    capacity, values = dict(problem.capacity), dict(problem.values)
    moved: dict[tuple[int, Formula], Number | None] = {}
    deadline = problem.deadline
    for promise, amount in amounts.items():
        most = None if amount is None else promise.relax(amount)
        match promise.kind, promise.what:
            case Kind.DEADLINE, _:
                deadline = most
            case Kind.DUE, _:
                due[promise.place] = None if most is None else replace(problem.due[promise.place], by=most)
            case Kind.WINDOW, Atom() | Not() as literal:
                moved[promise.place, literal] = None if _meets_next(promise, most) else most
            case Kind.CAPACITY, str(name):
                capacity[name] = promise.relax(Fraction(PLENTY)) if most is None else most
            case Kind.CAPACITY, Atom() as fluent:
                values[fluent] = promise.relax(Fraction(PLENTY)) if most is None else most
    return replace(
        problem,
        due=tuple([each for each in due if each is not None]),
        timed=_move(problem, moved) if moved else problem.timed,
        capacity=capacity if problem.capacity else problem.capacity,
        values=values,
        deadline=deadline,
    )


def _meets_next(promise: Promise, most: Number | None) -> bool:
    return most is not None and promise.until is not None and most >= promise.until


def _move(problem: Problem, moved: Mapping[tuple[int, Formula], Number | None]) -> tuple[TimedEffect, ...]:
    """Return the changes at known times, with facts that end later or not at all."""
    found: list[TimedEffect] = []
    for place, effect in enumerate(problem.timed):
        kept = tuple([each for each in effect.provides if (place, _opposite(each)) not in moved])
        if kept or effect.numbers:
            found.append(replace(effect, provides=kept))
        for literal in effect.provides:
            later = moved.get((place, _opposite(literal)))
            if later is not None:
                found.append(TimedEffect(later, (literal,)))
    return tuple(sorted(found, key=lambda each: each.time))


def _opposite(literal: Formula) -> Formula:
    return literal.part if isinstance(literal, Not) else Not(literal)


def _find_endings(problem: Problem, snap: SnapProblem) -> Iterator[Promise]:
    """Yield the facts, and what does not hold, that end at known times, and that something needs."""
    needed = _find_needs(problem, snap)
    written = written_predicates(problem.domain)
    for place, effect in enumerate(problem.timed):
        for literal in effect.provides:
            ended = _opposite(literal)
            atom = ended.part if isinstance(ended, Not) else ended
            assert isinstance(atom, Atom)
            holds = not isinstance(ended, Not)
            if (atom.predicate, holds) not in needed:
                continue
            again = [each.time for each in problem.timed if each.time > effect.time and ended in each.provides]
            free = (atom.predicate, not holds) not in needed and atom.predicate not in written
            yield Promise(Kind.WINDOW, ended, effect.time, place, min(again, default=None), is_monotone=free)


def _find_needs(problem: Problem, snap: SnapProblem) -> set[tuple[str, bool]]:
    """Return the predicates whose facts something needs to hold, or not to hold."""
    conditions = [snap.problem.goal.hard, *[each.condition for each in problem.due]]
    for action in snap.problem.domain.actions.values():
        conditions += [action.requires, *[when.requires for when in action.when]]
    found = {each for condition in conditions for each in find_mentions(condition)}
    derived = [each for axiom in problem.domain.axioms for each in find_mentions(axiom.condition)]
    return found | {(predicate, holds) for predicate, _ in derived for holds in (True, False)}


def _find_pools(problem: Problem, snap: SnapProblem) -> list[Atom]:
    """Return the fluents that steps only take from at their start and give back to at their end."""
    actions = snap.problem.domain.actions
    taken: set[str] = set()
    spoiled = _find_other_uses(problem, snap)
    for name, moments in snap.actions.items():
        start = actions[moments.start]
        takes, others = _split_changes(start, "-=")
        gives, more = _split_changes(actions[moments.end], "+=") if moments.end else (set(), set())
        spoiled |= others | more | {fluent.predicate for fluent, _ in takes ^ gives}
        taken |= {fluent.predicate for fluent, _ in takes}
        spoiled |= _find_readers(start, problem.domain.actions[name].duration is not None)
        for later in filter(None, (moments.end, moments.lasting)):
            spoiled |= {term.predicate for each in comparisons_in(actions[later].requires) for term in each.functions}
    names = (taken - spoiled) & numeric_fluents(problem.domain)
    return [fluent for fluent in problem.values if fluent.predicate in names]


def _find_other_uses(problem: Problem, snap: SnapProblem) -> set[str]:
    """Return the functions that the goal, the metric, durations or changes at known times read or write."""
    conditions = [problem.goal.hard, *[each.condition for each in problem.due]]
    found = {term.predicate for each in conditions for one in comparisons_in(each) for term in one.functions}
    found |= {change.fluent.predicate for effect in problem.timed for change in effect.numbers}
    if isinstance(problem.metric, NumericMetric):
        found |= {term.predicate for term in functions_in(problem.metric.expression)}
    for action in snap.problem.domain.actions.values():
        found |= {term.predicate for change in action.numbers for term in functions_in(change.value)}
        for when in action.when:
            found |= _names_in(when.numbers)
            found |= {term.predicate for each in comparisons_in(when.requires) for term in each.functions}
    return found


def _names_in(changes: Iterable[NumericEffect]) -> set[str]:
    return {term.predicate for change in changes for term in (change.fluent, *functions_in(change.value))}


def _split_changes(action: Action, operator: str) -> tuple[set[tuple[Atom, str]], set[str]]:
    """Return the fluents that `action` changes by constants and this `operator`, and the functions of other changes."""
    plain = {(each.fluent, str(each.value)) for each in action.numbers if each.operator == operator}
    return plain, {each.fluent.predicate for each in action.numbers if each.operator != operator}


def _find_readers(start: Action, lasts: bool) -> set[str]:
    """Return the functions that the start of a step reads other than by asking for an amount."""
    found: set[str] = set()
    for part in conjuncts(start.requires):
        for each in comparisons_in(part):
            asks = (
                each is part and isinstance(each, Comparison) and isinstance(each.left, Atom) and each.relation == ">="
            )
            if not (asks and lasts) or any(True for _ in functions_in(each.right)):
                found |= {term.predicate for term in each.functions}
    return found

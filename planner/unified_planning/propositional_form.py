"""A ground task as a problem without parameters, for planners that take little more than STRIPS.

Every fact becomes a predicate without arguments, every ground action an action without parameters; quantifiers,
disjunctions, negations, types and computed costs are gone. Conditional effects may stay. Where they may not, and where
derived facts occur, an action becomes one action for each way in which its conditions can hold or fail.

The ways in which conditions of a ground task can hold or fail, in terms of facts that no rule derives.

A derived fact holds where the body of one of its rules does; it fails where in each body something fails. A
conjunction fails where one of its facts is the first to fail. Facts of one variable exclude each other, so most ways
cannot be, and most failures follow from what holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice, starmap
from typing import Final, TypeVar

from planner.errors import UnsupportedError
from planner.model import Action, Atom, DomainModel, Formula, Goal, Literal, Not, Number, Predicate, Problem, When
from planner.model.formulas import conjunction
from planner.plan import Step
from planner.task.ground_task import ConditionalEffect, GroundAction, Task

CASE_LIMIT: Final = 50_000
"""The most cases that one condition is split into."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way: all of `needs` and none of `lacks` holds."""

    needs: frozenset[int] = frozenset()
    lacks: frozenset[int] = frozenset()


class Cases:
    """Splits conditions of one task. Raises `UnsupportedError` where derived facts depend on themselves."""

    def __init__(self, task: Task) -> None:
        self._variable = {fact: number for number, group in enumerate(task.variables) for fact in group}
        self._members = task.variables
        self._bodies: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        self._negated = {fact: derived for layer in task.axioms for fact, derived in layer.negated}
        for layer in task.axioms:
            for rule in layer.rules:
                self._bodies[rule.head].append(rule.body)
        graph = {head: {fact for body in bodies for fact in body} for head, bodies in self._bodies.items()}
        graph |= {fact: {derived} for fact, derived in self._negated.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            raise UnsupportedError("derived predicates that depend on themselves") from None

    def all_hold(self, cases: Iterable[Case], facts: Iterable[int]) -> list[Case]:
        """Return the cases, within `cases`, in which all of `facts` hold."""
        found = list(cases)
        for fact in facts:
            found = limited(inner for case in found for inner in self._holds(case, fact))
        return found

    def some_fail(self, cases: Iterable[Case], facts: Iterable[int]) -> list[Case]:
        """Return the cases, within `cases`, in which one of `facts` fails; they exclude each other where facts do."""
        found: list[Case] = []
        before = list(cases)
        for fact in facts:
            found += limited(inner for case in before for inner in self._fails(case, fact))
            before = limited(inner for case in before for inner in self._holds(case, fact))
        return found

    def _holds(self, case: Case, fact: int) -> Iterator[Case]:
        if fact in self._negated:
            yield from self._fails(case, self._negated[fact])
        elif fact in self._variable:
            if fact not in case.lacks and not self._excluded(case, fact):
                yield replace(case, needs=case.needs | {fact})
        else:
            for body in self._bodies[fact]:
                yield from self.all_hold([case], body)

    def _fails(self, case: Case, fact: int) -> Iterator[Case]:
        if fact in self._negated:
            yield from self._holds(case, self._negated[fact])
        elif fact in self._variable:
            if self._excluded(case, fact):
                yield case
            elif fact not in case.needs:
                yield replace(case, lacks=case.lacks | {fact})
        else:
            cases = [case]
            for body in self._bodies[fact]:
                cases = self.some_fail(cases, body)
            yield from cases

    def _excluded(self, case: Case, fact: int) -> bool:
        """Return whether another fact of the same variable holds."""
        return any(other != fact and other in case.needs for other in self._members[self._variable[fact]])


def limited(cases: Iterable[Case]) -> list[Case]:
    """Return `cases`, each once; raise `UnsupportedError` where there are too many."""
    found: dict[Case, None] = {}
    for case in cases:
        found[case] = None
        if len(found) > CASE_LIMIT:
            raise UnsupportedError(f"a condition that splits into more than {CASE_LIMIT:,} cases")
    return list(found)


ACTION_LIMIT: Final = 200_000
"""The most actions that those of a task are split into."""

REACHED: Final = Atom("goal-reached")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Propositional:
    """`problem` without parameters; by name, the steps that its actions stand for, and their numbers in the task."""

    problem: Problem
    sources: dict[str, Step]
    numbers: dict[str, int]

    def steps(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        """Return the steps of the source for those of `problem`, up to where the goal is reached."""
        found = []
        for step in steps:
            if step.action not in self.sources:
                break
            found.append(self.sources[step.action])
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Row:
    """An action over basic facts: the ground action of this number, or one of the cases that it is split into."""

    source: GroundAction | None
    case: Case
    adds: frozenset[int]
    deletes: frozenset[int]
    conditional: tuple[ConditionalEffect, ...] = ()
    number: int = -1


def propositional(task: Task, *, conditional: bool = True, asked: Iterable[Case] = ()) -> Propositional:
    """Return `task` as a problem without parameters, with conditional effects only where `conditional`.

    What holds or not in the cases that are `asked` for can be told by facts. Raises `UnsupportedError` where derived
    facts depend on themselves, and where there would be too many actions.
    """
    if task.has_axioms:
        cases = Cases(task)
        rows = [*_limited(_split(task.actions, cases)), *_finishing(task, cases)]
    elif conditional:
        rows = list(starmap(_kept, enumerate(task.actions)))
    else:
        rows = _limited(_split(task.actions, Cases(task)))
    return _written(rows, task, asked)


def _kept(number: int, action: GroundAction) -> Row:
    needs, adds, deletes = map(frozenset, (action.precondition, action.adds, action.deletes))
    return Row(action, Case(needs), adds, deletes, action.conditional, number)


def _split(actions: Iterable[GroundAction], cases: Cases) -> Iterator[Row]:
    for number, action in enumerate(actions):
        rows = [(case, action.adds, action.deletes) for case in cases.all_hold([Case()], action.precondition)]
        for effect in action.conditional:
            fired = [
                (case, adds + effect.adds, deletes + effect.deletes)
                for before, adds, deletes in rows
                for case in cases.all_hold([before], effect.condition)
            ]
            spared = [
                (case, adds, deletes)
                for before, adds, deletes in rows
                for case in cases.some_fail([before], effect.condition)
            ]
            rows = _limited([*fired, *spared])
        for case, adds, deletes in rows:
            yield Row(action, case, frozenset(adds), frozenset(deletes), number=number)


def _finishing(task: Task, cases: Cases) -> Iterator[Row]:
    """Yield the actions that say that the goal is reached, one for each way to reach it."""
    for case in cases.all_hold([Case()], task.goal):
        yield Row(None, case, frozenset(), frozenset())


def _limited(items: Iterable[Item]) -> list[Item]:
    found = list(islice(items, ACTION_LIMIT + 1))
    if len(found) > ACTION_LIMIT:
        raise UnsupportedError(f"conditions that split the actions into more than {ACTION_LIMIT:,}")
    return found


def _written(rows: list[Row], task: Task, asked: Iterable[Case]) -> Propositional:
    negated = frozenset(chain.from_iterable(case.lacks for case in (*asked, *(row.case for row in rows))))
    final = _uniform(rows)
    actions = {f"step-{number}": _action(f"step-{number}", row, negated, final) for number, row in enumerate(rows)}
    absences = [_absence(fact) for fact in sorted(negated)]
    facts = [*map(_fact, range(len(task.facts))), *absences, REACHED]
    initial = [*map(_fact, task.initial), *map(_absence, sorted(negated.difference(task.initial)))]
    goal: list[Formula] = [REACHED] if any(row.source is None for row in rows) else [*map(_fact, task.goal)]
    predicates = {fact.predicate: Predicate(fact.predicate) for fact in facts}
    domain = DomainModel("ground", predicates=predicates, actions=actions)
    return Propositional(
        Problem("ground", domain, initial=tuple(initial), goal=Goal(conjunction(goal))),
        {name: row.source.step for name, row in zip(actions, rows, strict=True) if row.source is not None},
        {name: row.number for name, row in zip(actions, rows, strict=True) if row.source is not None},
    )


def _uniform(rows: Iterable[Row]) -> Number:
    """Return what reaching the goal costs: as much as every action where they cost the same, so that length decides."""
    costs = {row.source.step.cost for row in rows if row.source is not None}
    return costs.pop() if len(costs) == 1 else 0


def _action(name: str, row: Row, negated: frozenset[int], final: Number) -> Action:
    when = [
        When(conjunction([*map(_fact, effect.condition)]), _changes(effect.adds, effect.deletes, negated))
        for effect in row.conditional
    ]
    return Action(
        name,
        requires=condition_of(row.case),
        provides=(REACHED,) if row.source is None else _changes(row.adds, row.deletes - row.adds, negated),
        when=tuple(when),
        cost=(final if row.source is None else row.source.step.cost,),
    )


def condition_of(case: Case) -> Formula:
    """Return the condition that `case` is, over the facts of the propositional problem."""
    return conjunction([*map(_fact, sorted(case.needs)), *map(_absence, sorted(case.lacks))])


def _changes(adds: Iterable[int], deletes: Iterable[int], negated: frozenset[int]) -> tuple[Literal, ...]:
    """Return the effects on the facts, and on the absences of those in `negated`."""
    adds, deletes = sorted(adds), sorted(deletes)
    positive = [*map(_fact, adds), *[_absence(fact) for fact in deletes if fact in negated]]
    negative = [*map(_fact, deletes), *[_absence(fact) for fact in adds if fact in negated]]
    return (*positive, *map(Not, negative))


def _fact(fact: int) -> Atom:
    return Atom(f"fact-{fact}")


def _absence(fact: int) -> Atom:
    return Atom(f"no-fact-{fact}")

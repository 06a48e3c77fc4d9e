"""A ground task as a problem without parameters, for planners that take little more than STRIPS.

Every fact becomes a predicate without arguments, and every ground action an action without parameters. Conditional
effects may stay. If they may not, or if there are derived facts, an action is split into one action for each case in
which its conditions hold or fail, in terms of basic facts.

A derived fact holds if the body of one of its rules does, and fails if a fact fails in each body. A conjunction fails
in the cases in which one of its facts is the first to fail. Facts of one finite-domain variable exclude each other, so
that most combinations of cases cannot occur.
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
"""Most cases into which one condition is split."""


@dataclass(frozen=True, slots=True)
class Case:
    """The case in which all facts of `needs` hold and all facts of `lacks` fail."""

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
            found = limit_cases(inner for case in found for inner in self._holds(case, fact))
        return found

    def some_fail(self, cases: Iterable[Case], facts: Iterable[int]) -> list[Case]:
        """Return the cases, within `cases`, in which one of `facts` fails; they exclude each other where facts do."""
        found: list[Case] = []
        before = list(cases)
        for fact in facts:
            found += limit_cases(inner for case in before for inner in self._fails(case, fact))
            before = limit_cases(inner for case in before for inner in self._holds(case, fact))
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
        """Return whether another fact of the variable of `fact` holds in `case`."""
        return any(other != fact and other in case.needs for other in self._members[self._variable[fact]])


def limit_cases(cases: Iterable[Case]) -> list[Case]:
    """Return `cases`, each once; raise `UnsupportedError` where there are too many."""
    found: dict[Case, None] = {}
    for case in cases:
        found[case] = None
        if len(found) > CASE_LIMIT:
            raise UnsupportedError(f"a condition that splits into more than {CASE_LIMIT:,} cases")
    return list(found)


ACTION_LIMIT: Final = 200_000
"""Most actions into which those of a task are split."""

REACHED: Final = Atom("goal-reached")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Propositional:
    """A `problem` without parameters; by action, the steps of the source, and the numbers of their ground actions."""

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
    """An action over basic facts: a ground action, or one of the cases into which it is split."""

    source: GroundAction | None
    case: Case
    adds: frozenset[int]
    deletes: frozenset[int]
    conditional: tuple[ConditionalEffect, ...] = ()
    number: int = -1


def to_propositional(task: Task, *, conditional: bool = True, asked: Iterable[Case] = ()) -> Propositional:
    """Return `task` as a problem without parameters, with conditional effects only if `conditional`.

    Facts also express the cases `asked`. Raises `UnsupportedError` where derived facts depend on themselves, and where
    there would be too many actions.
    """
    if task.has_axioms:
        cases = Cases(task)
        rows = [*_limit_actions(_split_into_cases(task.actions, cases)), *_reach_goal(task, cases)]
    elif conditional:
        rows = list(starmap(_make_row, enumerate(task.actions)))
    else:
        rows = _limit_actions(_split_into_cases(task.actions, Cases(task)))
    return _write_rows(rows, task, asked)


def _make_row(number: int, action: GroundAction) -> Row:
    needs, adds, deletes = map(frozenset, (action.precondition, action.adds, action.deletes))
    return Row(action, Case(needs), adds, deletes, action.conditional, number)


def _split_into_cases(actions: Iterable[GroundAction], cases: Cases) -> Iterator[Row]:
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
            rows = _limit_actions([*fired, *spared])
        for case, adds, deletes in rows:
            yield Row(action, case, frozenset(adds), frozenset(deletes), number=number)


def _reach_goal(task: Task, cases: Cases) -> Iterator[Row]:
    """Yield an action that reaches the goal for each case in which the goal holds."""
    for case in cases.all_hold([Case()], task.goal):
        yield Row(None, case, frozenset(), frozenset())


def _limit_actions(items: Iterable[Item]) -> list[Item]:
    found = list(islice(items, ACTION_LIMIT + 1))
    if len(found) > ACTION_LIMIT:
        raise UnsupportedError(f"conditions that split the actions into more than {ACTION_LIMIT:,}")
    return found


def _write_rows(rows: list[Row], task: Task, asked: Iterable[Case]) -> Propositional:
    negated = frozenset(chain.from_iterable(case.lacks for case in (*asked, *(row.case for row in rows))))
    final = _goal_cost(rows)
    actions = {f"step-{number}": _action(f"step-{number}", row, negated, final) for number, row in enumerate(rows)}
    absences = [_negated_fact(fact) for fact in sorted(negated)]
    facts = [*map(_fact, range(len(task.facts))), *absences, REACHED]
    initial = [*map(_fact, task.initial), *map(_negated_fact, sorted(negated.difference(task.initial)))]
    goal: list[Formula] = [REACHED] if any(row.source is None for row in rows) else [*map(_fact, task.goal)]
    predicates = {fact.predicate: Predicate(fact.predicate) for fact in facts}
    domain = DomainModel("ground", predicates=predicates, actions=actions)
    return Propositional(
        Problem("ground", domain, initial=tuple(initial), goal=Goal(conjunction(goal))),
        {name: row.source.step for name, row in zip(actions, rows, strict=True) if row.source is not None},
        {name: row.number for name, row in zip(actions, rows, strict=True) if row.source is not None},
    )


def _goal_cost(rows: Iterable[Row]) -> Number:
    """Return the cost of the action that reaches the goal: that of the others if it is the same, to keep it uniform."""
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
    """Return `case` as a condition of the propositional problem."""
    return conjunction([*map(_fact, sorted(case.needs)), *map(_negated_fact, sorted(case.lacks))])


def _changes(adds: Iterable[int], deletes: Iterable[int], negated: frozenset[int]) -> tuple[Literal, ...]:
    """Return the effects on the facts, and on the absences of those in `negated`."""
    adds, deletes = sorted(adds), sorted(deletes)
    positive = [*map(_fact, adds), *[_negated_fact(fact) for fact in deletes if fact in negated]]
    negative = [*map(_fact, deletes), *[_negated_fact(fact) for fact in adds if fact in negated]]
    return (*positive, *map(Not, negative))


def _fact(fact: int) -> Atom:
    return Atom(f"fact-{fact}")


def _negated_fact(fact: int) -> Atom:
    return Atom(f"no-fact-{fact}")

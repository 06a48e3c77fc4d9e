"""The ways in which conditions of a ground task can hold or fail, in terms of facts that no rule derives.

A derived fact holds where the body of one of its rules does; it fails where in each body something fails. A
conjunction fails where one of its facts is the first to fail. Facts of one variable exclude each other, so most ways
cannot be, and most failures follow from what holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Final

from planner.errors import UnsupportedError
from planner.task import Task

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

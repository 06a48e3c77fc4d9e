"""Symmetries of numeric tasks: permutations of facts and variables that map a task to itself.

Variable v is item F + v of a task with F facts. A symmetry maps variables to ones of the same scale, bounds, range and
weight in the metric, and linear conditions to linear conditions. The initial values may differ, but the ranges that
follow from them may not: the lower bounds of A* rest on ranges (orbit search with numbers: Shleyfman, Kuroiwa and
Beck, 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planner.limits import never, under_limits
from planner.pruning.symmetries import NOTHING_MOVED, SECONDS, Moved, Structure, find_interchanges
from planner.pruning.symmetries_compiled import MOST_ACTIONS, Field, Orbits
from planner.task.numeric_ranges import find_ranges
from planner.task.numeric_task import LinearCondition, LinearEffect, NumericTask, Terms
from planner.task.numeric_task_compiled import NumericSpace, find_opposites
from planner.task.packed_states_kernel import apply

FLUENT = "= "
"""Begins the names of fluents among those of facts, which have no spaces."""


class NumericStructure(Structure):
    """Checks permutations of the facts and variables of `source`, which must have no derived facts."""

    def __init__(self, source: NumericTask) -> None:
        self._source, self._first = source, len(source.task.facts)
        super().__init__(source.task)
        opposite = find_opposites(source.task)
        self._opposite = {**opposite, **{other: fact for fact, other in opposite.items()}}
        self._conditions = {self._read(each): each.fact for each in source.conditions}
        self._reading: list[list[LinearCondition]] = [[] for _ in source.variables]
        for condition in source.conditions:
            for variable, _ in condition.terms:
                self._reading[variable].append(condition)
        derived = {each.fact for each in source.conditions}
        derived |= {self._opposite[fact] for fact in derived if fact in self._opposite}
        self.literals += [(True, FLUENT + each.fluent.predicate, each.fluent.args) for each in source.variables]
        variables = range(self._first, self._first + len(source.variables))
        self.items = [*[fact for fact in self.items if fact not in derived], *variables]
        self._kinds = self._classify()

    def _classify(self) -> list[Any]:
        """Return what variables must have in common to be images of each other."""
        source = self._source
        ranges, metric = find_ranges(source), dict(source.metric)
        return [
            (each.scale, each.low, each.high, ranges.low[number], ranges.high[number], metric.get(number, 0))
            for number, each in enumerate(source.variables)
        ]

    def complete(self, moved: Moved) -> Moved:
        """Return `moved` with the facts of the conditions that read moved variables; {} if one has no image."""
        found = dict(moved)
        for item in moved:
            for condition in self._reading[item - self._first] if item >= self._first else ():
                fact, image = condition.fact, self._conditions.get(self._read(condition, moved))
                if image is None:
                    return {}
                if image != fact:
                    found[fact] = image
                if fact in self._opposite and image != fact:
                    if image not in self._opposite:
                        return {}
                    found[self._opposite[fact]] = self._opposite[image]
        return found

    def has(self, moved: Moved) -> bool:
        """Return whether `moved` is a symmetry of the task other than the identity."""
        first, kinds = self._first, self._kinds
        pairs = [(item - first, image - first) for item, image in moved.items() if item >= first or image >= first]
        return (
            all(min(pair) >= 0 and kinds[pair[0]] == kinds[pair[1]] for pair in pairs)
            and all(
                self._conditions.get(self._read(each, moved)) == moved.get(each.fact, each.fact)
                for each in self._source.conditions
            )
            and super().has(moved)
        )

    def _read(self, condition: LinearCondition, moved: Moved = NOTHING_MOVED) -> Any:
        """Return what `condition` says, with `moved` applied."""
        return self._move(condition.terms, moved), condition.constant

    def _move(self, terms: Terms, moved: Moved) -> frozenset[tuple[int, int]]:
        first = self._first
        return frozenset([(moved.get(first + variable, first + variable), weight) for variable, weight in terms])

    def _nature_of(self, number: int, moved: Moved = NOTHING_MOVED) -> Any:
        changes = [
            (
                frozenset([frozenset([moved.get(fact, fact) for fact in each]) for each in part.conditions]),
                frozenset([self._move_effect(effect, moved) for effect in part.effects]),
            )
            for part in self._source.changes[number]
        ]
        return super()._nature_of(number, moved), frozenset(changes)

    def _move_effect(self, effect: LinearEffect, moved: Moved) -> Any:
        item = self._first + effect.variable
        return moved.get(item, item), effect.additive, self._move(effect.terms, moved), effect.constant

    def _index_actions(self) -> list[list[int]]:
        touching = [*super()._index_actions(), *[list[int]() for _ in self._source.variables]]
        for number, changes in enumerate(under_limits(self._source.changes)):
            facts = {fact for each in changes for condition in each.conditions for fact in condition}
            effects = [effect for each in changes for effect in each.effects]
            variables = {effect.variable for effect in effects}
            variables |= {variable for effect in effects for variable, _ in effect.terms}
            for item in {*facts, *[self._first + variable for variable in variables]}:
                if number not in touching[item][-1:]:
                    touching[item].append(number)
        return touching


class NumericOrbits(Orbits):
    """The symmetries `found` for the states of a numeric `space`, whose variables follow the words of the facts."""

    def __init__(self, structure: NumericStructure, space: NumericSpace, found: Sequence[Moved]) -> None:
        self._numeric = space
        super().__init__(structure, space.packing, space.space, found)
        self._row = len(space.initial)

    def _fields(self, moved: Moved) -> list[Field]:
        first, last, places = (
            len(self._numeric.source.task.facts),
            self._numeric.words,
            self._numeric.space.numbers.fields,
        )
        facts = {fact: image for fact, image in moved.items() if fact < first}
        fields = super()._fields(facts)
        if facts and not fields:
            return []
        pairs = sorted([(image - first, item - first) for item, image in moved.items() if item >= first])
        written = [(last + places.word[image], places.shift[image], places.mask[image]) for image, _ in pairs]
        read = [(last + places.word[item], places.shift[item]) for _, item in pairs]
        return [*fields, *[Field(*one, *other, None) for one, other in zip(written, read, strict=True)]]

    def _apply(self, action: int, state: Any) -> None:
        apply(self._numeric.space, action, state, 0, self._row, self._numeric.words)


def find_numeric_orbits(
    space: NumericSpace, check: Callable[[], None] = never, seconds: float = SECONDS
) -> NumericOrbits | None:
    """Find the symmetries of the states of `space`, until none was found for so many seconds.

    Return None if there are none, if facts are derived, or if there are too many actions. `check` raises when a limit
    is reached.
    """
    task = space.source.task
    if task.has_axioms or len(task.actions) > MOST_ACTIONS:
        return None
    structure = NumericStructure(space.source)
    found = find_interchanges(structure, check, seconds)
    orbits = NumericOrbits(structure, space, found) if found else None
    return orbits or None

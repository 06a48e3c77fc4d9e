"""Objects that can take each other's place: swapping their names makes the same task."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from planner.annotations import Any, Final, cast
from planner.budget import never
from planner.model import Atom, Not
from planner.symmetries.structure import Moved, Structure

Literal = tuple[bool, str, tuple[str, ...]]
"""Whether a fact is an atom or says that it does not hold; its predicate and its arguments."""
SECONDS: Final = 0.1
"""Processor time without finding any, after which no more are looked for."""


def interchanges(structure: Structure, check: Callable[[], None] = never, seconds: float = SECONDS) -> list[Moved]:
    """Return symmetries that swap two objects each, all checked exactly, until none is found for so many `seconds`.

    Of n objects each of which can take any other's place, n - 1 pairs are swapped, next to next in the order of the
    variables that are about them. `check` raises when a limit is reached.
    """
    objects = Objects(structure)
    found: list[Moved] = []
    classes, until = objects.alike(), time.thread_time() + seconds
    for alike in classes:
        chains: list[str] = []
        for each in alike:
            for place, last in enumerate(chains):
                check()
                if time.thread_time() > until:
                    return found
                moved = objects.swapped(last, each)
                if structure.has(moved):
                    found.append(moved)
                    chains[place] = each
                    until = time.thread_time() + seconds
                    break
            else:
                chains.append(each)
    return found


class Objects:
    """The objects in the names of the facts."""

    def __init__(self, structure: Structure) -> None:
        self._structure, task = structure, structure.task
        self._literals = [_literal(fact) for fact in task.facts]
        self._numbers = {literal: number for number, literal in enumerate(self._literals)}
        self._goal = frozenset(task.goal)
        self._about: dict[str, list[int]] = {}
        for fact in [fact for facts in task.variables for fact in facts]:
            for each in {*self._literals[fact][2]}:
                self._about.setdefault(each, []).append(fact)

    def alike(self) -> list[list[str]]:
        """Return the objects that as many facts of each kind are about, two or more at a time."""
        classes: dict[Any, list[str]] = {}
        for name, facts in self._about.items():
            classes.setdefault(frozenset(Counter([self._kind(name, fact) for fact in facts]).items()), []).append(name)
        return [each for each in classes.values() if len(each) > 1]

    def _kind(self, name: str, fact: int) -> Any:
        positive, predicate, arguments = self._literals[fact]
        places = tuple([each == name for each in arguments])
        return positive, predicate, places, fact in self._goal, self._structure.degree(fact)

    def swapped(self, one: str, other: str) -> Moved:
        """Return where facts go when these two objects change names; nowhere, if there is no such fact."""
        names, moved = {one: other, other: one}, {}
        for fact in {*self._about[one], *self._about[other]}:
            image = self._numbers.get(self._renamed(fact, names))
            if image is None:
                return {}
            if image != fact:
                moved[fact] = image
        return moved

    def _renamed(self, fact: int, names: Mapping[str, str]) -> Literal:
        positive, predicate, arguments = self._literals[fact]
        return positive, predicate, tuple([names.get(each, each) for each in arguments])


def _literal(fact: Atom | Not) -> Literal:
    atom = cast("Atom", fact.part if isinstance(fact, Not) else fact)
    return not isinstance(fact, Not), atom.predicate, atom.args

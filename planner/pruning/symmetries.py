"""Symmetries: permutations of facts that map a task to itself, except for the initial state.

The search guesses symmetries by swapping the names of two objects. It checks each guess exactly: actions with their
costs, the goal, and known mutexes must have images. Proofs rest only on checked symmetries.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from planner.lightweight import Any, Final, cast
from planner.limits import never, under_limits
from planner.model import Atom, Not
from planner.task.ground_task import GroundAction, Task

Moved = Mapping[int, int]
"""A permutation of facts: maps each fact that moves to its image."""
Parts = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
Nature = tuple[Parts, frozenset[Parts], int]
"""An action without its name: conditions and effects, conditional effects, cost."""
NOTHING_MOVED: Moved = {}
Literal = tuple[bool, str, tuple[str, ...]]
"""Whether a fact is an atom or a negation; its predicate and its arguments."""


class Structure:
    """Checks permutations of the facts of `task`, which must have no derived facts.

    Symmetries ignore the initial state, so a symmetry may map a reachable state to an unreachable one. Symmetries
    preserve properties of reachable states (mutex groups, conflicts), which therefore also hold of the images (Pochter,
    Zohar and Rosenschein, 2011; Shleyfman et al., 2015).
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.literals: list[Literal] = [_literal_of(fact) for fact in task.facts]
        """What each item is called."""
        self.items: Sequence[int] = [fact for facts in task.variables for fact in facts]
        """The items of states: facts that take part in variables."""
        self._goal = frozenset(task.goal)
        self._groups = [Groups(each) for each in (task.variables, task.mutexes, task.conflicts)]
        self._touching = self._index_actions()
        self._numbers = {self._nature_of(number): number for number in under_limits(range(len(task.actions)))}

    def degree(self, item: int) -> int:
        """Return the number of actions that mention an item; symmetries preserve it."""
        return len(self._touching[item])

    def complete(self, moved: Moved) -> Moved:
        """Return `moved` with the items that move along; {} if one has no image."""
        return moved

    def has(self, moved: Moved) -> bool:
        """Return whether `moved` is a symmetry of the task other than the identity."""
        return (
            bool(moved)
            and moved.keys() == {*moved.values()}
            and all((fact in self._goal) == (image in self._goal) for fact, image in moved.items())
            and all(groups.are_kept(moved) for groups in self._groups)
            and self._has_actions(moved)
        )

    def _has_actions(self, moved: Moved) -> bool:
        """Return whether each action that mentions a moved fact has an image."""
        numbers, seen = self._numbers, set[int]()
        for item in moved:
            for number in self._touching[item]:
                if number not in seen and self._nature_of(number, moved) not in numbers:
                    return False
                seen.add(number)
        return True

    def image(self, number: int, moved: Moved) -> int:
        """Return the number of the image of action `number` under the symmetry `moved`."""
        return self._numbers[self._nature_of(number, moved)]

    def _nature_of(self, number: int, moved: Moved = NOTHING_MOVED) -> Any:
        """Return what action `number` does, without its name, with `moved` applied to its items."""
        return nature_of(self.task.actions[number], moved)

    def _index_actions(self) -> list[list[int]]:
        """Return the actions that mention each item."""
        touching: list[list[int]] = [[] for _ in self.task.facts]
        for number, action in enumerate(under_limits(self.task.actions)):
            parts = [(action.precondition, action.adds, action.deletes)]
            parts += [(each.condition, each.adds, each.deletes) for each in action.conditional]
            for fact in {fact for part in parts for facts in part for fact in facts}:
                touching[fact].append(number)
        return touching


class Groups:
    """Sets of facts that symmetries must map to each other."""

    def __init__(self, groups: Iterable[tuple[int, ...]]) -> None:
        self._groups = {frozenset(group) for group in groups}
        self._touching: dict[int, list[frozenset[int]]] = {}
        for group in self._groups:
            for fact in group:
                self._touching.setdefault(fact, []).append(group)

    def are_kept(self, moved: Moved) -> bool:
        """Return whether the permutation `moved` maps each set to one of the sets."""
        touched = {group for fact in moved for group in self._touching.get(fact, ())}
        return all(frozenset([moved.get(fact, fact) for fact in group]) in self._groups for group in touched)


def nature_of(action: GroundAction, moved: Moved = NOTHING_MOVED) -> Nature:
    """Return the nature of `action` with `moved` applied to its facts."""
    conditional = [_parts_of(each.condition, each.adds, each.deletes, moved) for each in action.conditional]
    return _parts_of(action.precondition, action.adds, action.deletes, moved), frozenset(conditional), action.cost


def _parts_of(condition: Iterable[int], adds: Iterable[int], deletes: Iterable[int], moved: Moved) -> Parts:
    get = moved.get
    condition, adds, deletes = (sorted([get(fact, fact) for fact in each]) for each in (condition, adds, deletes))
    return tuple(condition), tuple(adds), tuple(deletes)


SECONDS: Final = 0.1
"""Processor time in seconds since the last symmetry after which the search for others ends."""


def find_interchanges(structure: Structure, check: Callable[[], None] = never, seconds: float = SECONDS) -> list[Moved]:
    """Return exactly checked symmetries that swap two objects each; stop after `seconds` without a new one.

    For n interchangeable objects, the function returns n - 1 swaps of neighbours, in the order of the variables about
    them. `check` raises when a limit is reached.
    """
    objects = Objects(structure)
    found: list[Moved] = []
    classes, until = objects.group_alike(), time.thread_time() + seconds
    for alike in classes:
        chains: list[str] = []
        for each in alike:
            for place, last in enumerate(chains):
                check()
                if time.thread_time() > until:
                    return found
                moved = objects.swap(last, each)
                if structure.has(moved):
                    found.append(moved)
                    chains[place] = each
                    until = time.thread_time() + seconds
                    break
            else:
                chains.append(each)
    return found


class Objects:
    """The objects named in the items of states."""

    def __init__(self, structure: Structure) -> None:
        self._structure, self._literals = structure, structure.literals
        self._numbers = {literal: number for number, literal in enumerate(self._literals)}
        self._goal = frozenset(structure.task.goal)
        self._about: dict[str, list[int]] = {}
        for item in under_limits(structure.items):
            for each in dict.fromkeys(self._literals[item][2]):
                self._about.setdefault(each, []).append(item)

    def group_alike(self) -> list[list[str]]:
        """Return classes of two or more objects with equally many facts of each kind."""
        classes: dict[Any, list[str]] = {}
        for name, facts in under_limits(self._about.items()):
            classes.setdefault(frozenset(Counter([self._kind(name, fact) for fact in facts]).items()), []).append(name)
        return [each for each in classes.values() if len(each) > 1]

    def _kind(self, name: str, fact: int) -> Any:
        positive, predicate, arguments = self._literals[fact]
        places = tuple([each == name for each in arguments])
        return positive, predicate, places, fact in self._goal, self._structure.degree(fact)

    def swap(self, one: str, other: str) -> Moved:
        """Return the permutation of items that swaps the names of two objects; {} if an item has no image."""
        names, moved = {one: other, other: one}, {}
        for fact in {*self._about[one], *self._about[other]}:
            image = self._numbers.get(self._rename_objects(fact, names))
            if image is None:
                return {}
            if image != fact:
                moved[fact] = image
        return self._structure.complete(moved)

    def _rename_objects(self, fact: int, names: Mapping[str, str]) -> Literal:
        positive, predicate, arguments = self._literals[fact]
        return positive, predicate, tuple([names.get(each, each) for each in arguments])


def _literal_of(fact: Atom | Not) -> Literal:
    atom = cast("Atom", fact.part if isinstance(fact, Not) else fact)
    return not isinstance(fact, Not), atom.predicate, atom.args

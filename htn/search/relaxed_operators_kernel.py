"""The relaxed composition as operators: actions make it true that they were done, and methods that their task was."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists

NEEDS: Final = 16
"""So many facts at most are known that a compound task needs."""


class Needs(NamedTuple):
    """Facts that all ways of doing a compound task need: number k has `many[k]`, from `fact[k * NEEDS]` on.

    `seen` and `times` are room for a number for each fact.
    """

    many: Index
    fact: Index
    seen: Words
    times: Words


class Library(NamedTuple):
    """What actions need (`required`) and add, what methods need (`possible`), their `task` and their `subtasks`."""

    required: Lists
    adds: Lists
    possible: Lists
    task: Index
    subtasks: Lists
    methods_of: Lists


@entry
@kernel
def needed(library: Library, members: Lists, needs: Needs) -> int:
    """Find what compound tasks need, at least; returns 0.

    `members` are the tasks of components, and what these lead to has lower numbers. All of `needs` is 0 at first.
    """
    actions, stamp = len(library.required.start) - 1, 0
    for place in range(len(members.item)):
        task = members.item[place] - actions
        if task < 0:
            continue
        first, end = library.methods_of.start[task] + 0, library.methods_of.start[task + 1] + 0
        for index in range(first, end):
            stamp += 1
            _count(library, needs, library.methods_of.item[index] + 0, stamp)
        stamp += 1
        _take(library, needs, library.methods_of.item[first] + 0, stamp, task, end - first)
        for index in range(first, end):
            _forget(library, needs, library.methods_of.item[index] + 0)
    return 0


@kernel
def _count(library: Library, needs: Needs, method: int, stamp: int) -> None:
    """Count the facts that `method` needs, each once."""
    actions = len(library.required.start) - 1
    for place in range(library.possible.start[method], library.possible.start[method + 1]):
        _count_once(needs, library.possible.item[place], stamp)
    for at in range(library.subtasks.start[method], library.subtasks.start[method + 1]):
        subtask = library.subtasks.item[at] + 0
        if subtask < actions:
            for place in range(library.required.start[subtask], library.required.start[subtask + 1]):
                _count_once(needs, library.required.item[place], stamp)
        else:
            base = NEEDS * (subtask - actions)
            for place in range(base, base + needs.many[subtask - actions]):
                _count_once(needs, needs.fact[place], stamp)


@kernel
def _count_once(needs: Needs, fact: int, stamp: int) -> None:
    if needs.seen[fact] != stamp:
        needs.seen[fact] = stamp
        needs.times[fact] += 1


@kernel
def _take(library: Library, needs: Needs, method: int, stamp: int, task: int, methods: int) -> None:
    """Note those of the facts that `method` needs, which all `methods` of `task` need."""
    actions = len(library.required.start) - 1
    for place in range(library.possible.start[method], library.possible.start[method + 1]):
        _note(needs, library.possible.item[place], stamp, task, methods)
    for at in range(library.subtasks.start[method], library.subtasks.start[method + 1]):
        subtask = library.subtasks.item[at] + 0
        if subtask < actions:
            for place in range(library.required.start[subtask], library.required.start[subtask + 1]):
                _note(needs, library.required.item[place], stamp, task, methods)
        elif subtask - actions != task:
            base = NEEDS * (subtask - actions)
            for place in range(base, base + needs.many[subtask - actions]):
                _note(needs, needs.fact[place], stamp, task, methods)


@kernel
def _note(needs: Needs, fact: int, stamp: int, task: int, methods: int) -> None:
    many = needs.many[task] + 0
    if needs.times[fact] == methods and needs.seen[fact] != stamp and many < NEEDS:
        needs.seen[fact] = stamp
        needs.fact[NEEDS * task + many] = fact
        needs.many[task] = many + 1


@kernel
def _forget(library: Library, needs: Needs, method: int) -> None:
    """Count nothing any more."""
    actions = len(library.required.start) - 1
    for place in range(library.possible.start[method], library.possible.start[method + 1]):
        needs.times[library.possible.item[place]] = 0
    for at in range(library.subtasks.start[method], library.subtasks.start[method + 1]):
        subtask = library.subtasks.item[at] + 0
        if subtask < actions:
            for place in range(library.required.start[subtask], library.required.start[subtask + 1]):
                needs.times[library.required.item[place]] = 0
        else:
            base = NEEDS * (subtask - actions)
            for place in range(base, base + needs.many[subtask - actions]):
                needs.times[needs.fact[place]] = 0


@entry
@kernel
def composed(facts: int, library: Library, needs: Needs, preconditions: Lists, effects: Lists) -> int:
    """Make the operators of actions, and then of methods; returns how many preconditions they have.

    That a task was done is a fact, from number `facts` on; then comes `start`. Methods do not ask for what their
    subtasks need anyway. One that leads to its own task, which with deletes ignored is of no use, asks for nothing
    else.
    """
    actions, methods = len(library.required.start) - 1, len(library.task)
    start = facts + actions + len(library.methods_of.start) - 1
    count, added = 0, 0
    for action in range(actions):
        preconditions.start[action], effects.start[action] = count, added
        for place in range(library.required.start[action], library.required.start[action + 1]):
            preconditions.item[count] = library.required.item[place]
            count += 1
        if preconditions.start[action] == count:
            preconditions.item[count] = start
            count += 1
        for place in range(library.adds.start[action], library.adds.start[action + 1]):
            effects.item[added] = library.adds.item[place]
            added += 1
        effects.item[added] = facts + action
        added += 1
    for method in range(methods):
        preconditions.start[actions + method], effects.start[actions + method] = count, added
        count = _composed(facts, library, needs, preconditions, count, method, start)
        effects.item[added] = facts + library.task[method]
        added += 1
    preconditions.start[actions + methods], effects.start[actions + methods] = count, added
    return count


@kernel
def _composed(
    facts: int, library: Library, needs: Needs, preconditions: Lists, count: int, method: int, start: int
) -> int:
    """Add the preconditions of `method`; return how many there are now."""
    first = count
    begin, end = library.subtasks.start[method] + 0, library.subtasks.start[method + 1] + 0
    for at in range(begin, end):
        if library.subtasks.item[at] == library.task[method]:
            preconditions.item[first] = facts + library.task[method]
            return first + 1
        done = facts + library.subtasks.item[at]
        place = first
        while place < count and preconditions.item[place] != done:
            place += 1
        if place == count:
            preconditions.item[count] = done
            count += 1
    for place in range(library.possible.start[method], library.possible.start[method + 1]):
        fact = library.possible.item[place] + 0
        implied = False
        for at in range(begin, end):
            implied = implied or _needs(library, needs, library.subtasks.item[at] + 0, fact)
        if not implied:
            preconditions.item[count] = fact
            count += 1
    if count == first:
        preconditions.item[count] = start
        count += 1
    return count


@kernel
def _needs(library: Library, needs: Needs, task: int, fact: int) -> bool:
    """Return whether `task` is known to need `fact`."""
    actions = len(library.required.start) - 1
    if task < actions:
        for place in range(library.required.start[task], library.required.start[task + 1]):
            if library.required.item[place] == fact:
                return True
        return False
    base = NEEDS * (task - actions)
    for place in range(base, base + needs.many[task - actions]):
        if needs.fact[place] == fact:
            return True
    return False

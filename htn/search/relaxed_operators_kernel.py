"""The relaxed composition as operators: actions and methods make the fact true that a task was done."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists

NEEDS: Final = 16
"""Maximum number of needed facts that are kept for a compound task."""


class Needs(NamedTuple):
    """Facts that every method of a compound task needs: task k has `many[k]` of them, from `fact[k * NEEDS]` on.

    `many` is by compound task. By fact: `seen` is the last stamp, and `times` the number of methods that need the fact.
    """

    many: Index
    fact: Index
    seen: Words
    times: Words


class Library(NamedTuple):
    """The ground hierarchy as lists of facts and tasks.

    By action: the facts that it requires (`required`) and `adds`. By method: its precondition (`possible`), its `task`
    and its `subtasks`. By compound task: `methods_of` it.
    """

    required: Lists
    adds: Lists
    possible: Lists
    task: Index
    subtasks: Lists
    methods_of: Lists


@entry
@kernel
def find_needs(library: Library, members: Lists, needs: Needs) -> int:
    """Find the facts that compound tasks need, up to `NEEDS` for each; return 0.

    `members` lists the tasks by strongly connected component. Components of subtasks have lower numbers, so that their
    needs are known. `needs` must be all 0.
    """
    actions, stamp = len(library.required.start) - 1, 0
    for place in range(len(members.item)):
        task = members.item[place] - actions
        if task < 0:
            continue
        first, end = library.methods_of.start[task] + 0, library.methods_of.start[task + 1] + 0
        for index in range(first, end):
            stamp += 1
            _visit(library, needs, library.methods_of.item[index] + 0, stamp, task, 0)
        stamp += 1
        _visit(library, needs, library.methods_of.item[first] + 0, stamp, task, end - first)
        for index in range(first, end):
            _visit(library, needs, library.methods_of.item[index] + 0, stamp, task, -1)
    return 0


@kernel
def _visit(library: Library, needs: Needs, method: int, stamp: int, task: int, methods: int) -> None:
    """Count (`methods` 0), store for `task` (> 0) or reset (< 0) each fact that `method` needs; see `_visit_fact`."""
    actions = len(library.required.start) - 1
    for place in range(library.possible.start[method], library.possible.start[method + 1]):
        _visit_fact(needs, library.possible.item[place] + 0, stamp, task, methods)
    for at in range(library.subtasks.start[method], library.subtasks.start[method + 1]):
        subtask = library.subtasks.item[at] + 0
        if subtask < actions:
            for place in range(library.required.start[subtask], library.required.start[subtask + 1]):
                _visit_fact(needs, library.required.item[place] + 0, stamp, task, methods)
        elif subtask - actions != task:
            base = NEEDS * (subtask - actions)
            for place in range(base, base + needs.many[subtask - actions]):
                _visit_fact(needs, needs.fact[place] + 0, stamp, task, methods)


@kernel
def _visit_fact(needs: Needs, fact: int, stamp: int, task: int, methods: int) -> None:
    """Count `fact` once per stamp; or store it for `task` if all its `methods` need it; or reset its count."""
    many = needs.many[task] + 0
    if methods < 0:
        needs.times[fact] = 0
    elif needs.seen[fact] == stamp:
        return
    elif methods == 0:
        needs.seen[fact] = stamp
        needs.times[fact] += 1
    elif needs.times[fact] == methods and many < NEEDS:
        needs.seen[fact] = stamp
        needs.fact[NEEDS * task + many] = fact
        needs.many[task] = many + 1


@entry
@kernel
def build_operators(facts: int, library: Library, needs: Needs, preconditions: Lists, effects: Lists) -> int:
    """Build the operators of actions, and then of methods; return the number of preconditions.

    The facts from number `facts` on say that a task was done; then comes `start`, a fact that always holds. Methods do
    not require what their subtasks need anyway. A method that leads to its own task is useless in the delete
    relaxation: its only precondition is that the task was done.
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
        count = _add_method_preconditions(facts, library, needs, preconditions, count, method, start)
        effects.item[added] = facts + library.task[method]
        added += 1
    preconditions.start[actions + methods], effects.start[actions + methods] = count, added
    return count


@kernel
def _add_method_preconditions(
    facts: int, library: Library, needs: Needs, preconditions: Lists, count: int, method: int, start: int
) -> int:
    """Add the preconditions of `method`; return the new number of preconditions."""
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
            implied = implied or _is_needed(library, needs, library.subtasks.item[at] + 0, fact)
        if not implied:
            preconditions.item[count] = fact
            count += 1
    if count == first:
        preconditions.item[count] = start
        count += 1
    return count


@kernel
def _is_needed(library: Library, needs: Needs, task: int, fact: int) -> bool:
    """Return whether the stored needs of `task` contain `fact`."""
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

"""Stubborn sets by their definition, with sets of actions and of facts, slow and obvious."""

from __future__ import annotations

import random
from dataclasses import replace

from search_twins import Facts, Maker, applied

from planner.task.ground_task import GroundAction, Task


def writes(action: GroundAction) -> tuple[set[int], set[int]]:
    """What an action may add, and what it may delete."""
    parts = [action, *action.conditional]
    return {fact for part in parts for fact in part.adds}, {fact for part in parts for fact in part.deletes}


def harms(one: GroundAction, other: GroundAction) -> bool:
    """Whether `one` may make another thing of `other`, or keep it from being applied."""
    adds, deletes = writes(one)
    added, deleted = writes(other)
    read = {fact for effect in other.conditional for fact in effect.condition}
    return bool(deletes & {*other.precondition} or (adds | deletes) & read or adds & deleted or deletes & added)


def exclude(task: Task, one: GroundAction, other: GroundAction) -> bool:
    """Whether mutexes tell that the two actions cannot be applied in one state."""
    groups = [{*group} for group in (*task.variables, *task.mutexes, *task.conflicts)]
    pairs = [{a, b} for a in one.precondition for b in other.precondition if a != b]
    return any(pair <= group for pair in pairs for group in groups)


def interfere(task: Task, a: int, b: int) -> bool:
    one, other = task.actions[a], task.actions[b]
    return a != b and (harms(one, other) or harms(other, one)) and not exclude(task, one, other)


def stubborn(task: Task, state: Facts, goal: int) -> set[int]:
    """The stubborn set that begins with what adds the fact `goal` of the goal."""
    adding = [[n for n, a in enumerate(task.actions) if fact in writes(a)[0]] for fact in range(len(task.facts))]
    found, provided = list(adding[goal]), {goal}
    for number in found:  # it grows
        missing = [fact for fact in task.actions[number].precondition if fact not in state]
        if missing and provided & {*missing}:
            continue
        if missing:
            fact = min(missing, key=lambda fact: len(adding[fact]))
            provided.add(fact)
            more = adding[fact]
        else:
            more = [other for other in range(len(task.actions)) if interfere(task, number, other)]
        found += [other for other in more if other not in found]
    return {*found}


def kept(task: Task, state: Facts) -> set[int]:
    """The actions that can be applied in `state` and are in the smallest stubborn set, of those that have one."""
    applicable = {number for number in range(len(task.actions)) if applied(task, state, number) is not None}
    found = applicable
    for fact in task.goal:
        if len(found) > 1 and fact not in state:
            found = min(found, applicable & stubborn(task, state, fact), key=len)
    return found


class Loose(Maker):
    """Makes random tasks without derived facts whose actions change one variable each, or two."""

    def action(self, number: int) -> GroundAction:
        """Return a random action."""
        whole = super().action(number)
        facts = {fact for variable in self.draw.sample(self.variables, self.draw.randint(1, 2)) for fact in variable}
        return narrowed(whole, facts)


def narrowed(action: GroundAction, facts: set[int]) -> GroundAction:
    """The same action, which changes nothing but `facts`."""

    def part(effect):
        return replace(
            effect,
            adds=tuple([fact for fact in effect.adds if fact in facts]),
            deletes=tuple([fact for fact in effect.deletes if fact in facts]),
        )

    return replace(part(action), conditional=tuple([part(effect) for effect in action.conditional]))


def loose_task(seed: int, **options) -> Task:
    return Loose(random.Random(seed), axioms=False, **options).task()

"""Tasks with objects that are alike, and symmetries by their definition, slow and obvious."""

from __future__ import annotations

import random
from dataclasses import replace

from search_twins import Maker

from planner.model import Atom
from planner.task.ground_task import ConditionalEffect, GroundAction, Task


def copied_task(seed: int) -> Task:
    """A random task of which some variables, and the actions that read or change them, are there several times.

    The copies may begin differently. Sometimes one of them has to end differently, or an action of it costs more.
    """
    draw = random.Random(seed)
    maker = Maker(draw, axioms=False, conditional=draw.random() < 0.3)
    base = maker.task()
    own = draw.sample(range(len(base.variables)), draw.choice([1, 1, 2]))
    copies = Copies(base, {fact for each in own for fact in base.variables[each]}, draw.choice([2, 3, 4 - len(own)]))
    actions = [action for number in range(copies.many) for action in copies.actions(number)]
    if draw.random() < 0.2:
        actions[-1] = replace(actions[-1], cost=actions[-1].cost + 1)
    goals = range(copies.many) if draw.random() < 0.8 else [0]
    return Task(
        facts=tuple(copies.names),
        variables=tuple(sorted({copies.all(facts, n) for facts in base.variables for n in range(copies.many)})),
        initial=tuple(sorted(initial(base, copies, draw))),
        goal=tuple(sorted({fact for number in goals for fact in copies.all(base.goal, number)})),
        actions=tuple(actions),
    )


def initial(base: Task, copies: Copies, draw: random.Random) -> set[int]:
    found = set()
    for facts in base.variables:
        at_first = [fact for fact in facts if fact in base.initial]
        for number in range(copies.many):
            chosen = [draw.choice(facts)] if at_first and draw.random() < 0.5 and copies.own >= {*facts} else at_first
            found.update(copies.all(chosen, number))
    return found


class Copies:
    """The facts of `base`; of each of its `own` facts there are so `many`, about the objects x0, x1 …"""

    def __init__(self, base: Task, own: set[int], many: int) -> None:
        self.base, self.own, self.many = base, own, many
        self.names = [Atom(f"f{fact}", () if fact not in own else ("x0",)) for fact in range(len(base.facts))]
        self.number = {(fact, 0): fact for fact in range(len(base.facts))}
        for copy in range(1, many):
            for fact in range(len(base.facts)):
                self.number[fact, copy] = len(self.names) if fact in own else fact
                if fact in own:
                    self.names.append(Atom(f"f{fact}", (f"x{copy}",)))

    def all(self, facts, copy: int) -> tuple[int, ...]:
        return tuple(sorted([self.number[fact, copy] for fact in facts]))

    def actions(self, copy: int) -> list[GroundAction]:
        return [self.action(each, copy) for each in self.base.actions if copy == 0 or self.concerns(each)]

    def concerns(self, action: GroundAction) -> bool:
        parts = [(action.precondition, action.adds, action.deletes)]
        parts += [(each.condition, each.adds, each.deletes) for each in action.conditional]
        return any(fact in self.own for part in parts for facts in part for fact in facts)

    def action(self, action: GroundAction, copy: int) -> GroundAction:
        return replace(
            action,
            precondition=self.all(action.precondition, copy),
            adds=self.all(action.adds, copy),
            deletes=self.all(action.deletes, copy),
            conditional=tuple(
                [
                    ConditionalEffect(self.all(e.condition, copy), self.all(e.adds, copy), self.all(e.deletes, copy))
                    for e in action.conditional
                ]
            ),
        )


def is_symmetry(task: Task, moved) -> bool:
    """Whether the permutation makes the same task of it."""

    def image(facts):
        return frozenset(moved.get(fact, fact) for fact in facts)

    def images(groups):
        return {image(group) for group in groups}

    def nature(action, image):
        conditional = {(image(e.condition), image(e.adds), image(e.deletes)) for e in action.conditional}
        return (
            image(action.precondition),
            image(action.adds),
            image(action.deletes),
            frozenset(conditional),
            action.cost,
        )

    return (
        len(image(range(len(task.facts)))) == len(task.facts)
        and image(task.goal) == frozenset(task.goal)
        and all(images(each) == {*map(frozenset, each)} for each in (task.variables, task.mutexes, task.conflicts))
        and {nature(each, image) for each in task.actions} == {nature(each, frozenset) for each in task.actions}
    )


def swapped(task: Task, one: str, other: str) -> dict[int, int] | None:
    """Where facts go when two objects change names; None, if there is no such fact."""
    names, number = {one: other, other: one}, {fact: place for place, fact in enumerate(task.facts)}
    images = [number.get(fact.substitute(names)) for fact in task.facts]
    return None if None in images else {fact: image for fact, image in enumerate(images) if fact != image}


def classes(task: Task) -> set[frozenset[str]]:
    """The objects that can take each other's place, two or more at a time."""
    objects = {each for fact in task.facts for each in fact.args}
    found = set()
    for one in objects:
        alike = {one}
        for other in objects - {one}:
            moved = swapped(task, one, other)
            if moved and is_symmetry(task, moved):
                alike.add(other)
        if len(alike) > 1:
            found.add(frozenset(alike))
    return found


def orbit(state: frozenset[int], symmetries) -> set[frozenset[int]]:
    """All states that the symmetries make of this one."""
    found, waiting = {state}, [state]
    for each in waiting:  # it grows
        for moved in symmetries:
            image = frozenset(moved.get(fact, fact) for fact in each)
            if image not in found:
                found.add(image)
                waiting.append(image)
    return found

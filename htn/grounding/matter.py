"""The facts of a ground task that matter: those that some condition asks for, and what excludes them.

Where one effect deletes what another adds, the negation of the fact depends on that the other does not fire, and so on
the opposite of its condition.
"""

from __future__ import annotations

from itertools import chain

from planner.grounding.ground import Groups
from planner.grounding.instantiate import parts_of
from planner.grounding.simplify import RawTask


def mattering(task: RawTask, groups: Groups) -> Groups:
    """Return `groups` with those variables alone that matter."""
    wanted = {*task.goal, *chain.from_iterable(part.condition for part in parts_of(task.actions))}
    effects = [effect for action in task.actions for effect in action.effects]
    wanted.update([~literal for effect in effects for literal in effect.condition if literal < 0])
    for table in task.tables:
        wanted.update(*table.condition)
    wanted.update(*[rule.body for rule in task.rules])
    variables = [group for group in groups.variables if not wanted.isdisjoint(group)]
    kept = {fact for group in variables for fact in group}
    return Groups([group for group in groups.groups if not kept.isdisjoint(group)], variables)

"""h² mutexes of the happenings of a task in time, which prove that no plan reaches its goal.

The happenings of a plan, one after another, are a sequence of the task's actions, where what numbers decide is left
out. That a step runs is a fact, which its end deletes. This is so as long as the step does not overlap itself; where h²
(Haslum and Geffner, 2000) does not exclude that it starts while it runs, its end leaves the fact.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from collections.abc import Set as AbstractSet

from planner.jit.arrays import Entries
from planner.lightweight import replace
from planner.limits import never
from planner.pruning.h2 import Pruning
from planner.task.ground_task import ConditionalEffect, GroundAction, Task
from planner.task.numeric_task import NumericTask
from planner.task.temporal_task import TemporalTask


def exclude_plans(
    task: TemporalTask, entries: Entries | None, check: Callable[[], None] = never
) -> Generator[None, None, bool]:
    """Return whether h² proves that no plan reaches the goal of `task`; pause now and then.

    `entries` are the compiled kernels; without them, the kernels run in plain Python. Nothing is proved for a task with
    axioms.
    """
    if task.source.task.axioms:
        return False
    source, kept = _leave_out_numbers(task.source), frozenset[int]()
    while True:
        pruning = Pruning(_keep_running(source, task, kept), check, entries)
        yield from pruning.steps()
        if pruning.is_solvable:
            return False
        overlapping = _find_overlapping(source, task, pruning)
        if overlapping <= kept:
            return True
        kept |= overlapping


def _leave_out_numbers(numeric: NumericTask) -> Task:
    """Return the classical part of a task, in which the conditions on numbers always hold."""
    task, known = numeric.task, {each.fact for each in numeric.conditions}
    if not known:
        return task
    free = {fact for variable in task.variables if not known.isdisjoint(variable) for fact in variable}
    actions = [_relax_action(action, free) for action in task.actions]
    return replace(task, actions=actions, goal=tuple([fact for fact in task.goal if fact not in free]))


def _relax_action(action: GroundAction, free: AbstractSet[int]) -> GroundAction:
    return replace(
        action,
        precondition=tuple([fact for fact in action.precondition if fact not in free]),
        conditional=tuple([_relax_effect(effect, free) for effect in action.conditional]),
    )


def _relax_effect(effect: ConditionalEffect, free: AbstractSet[int]) -> ConditionalEffect:
    """Return an effect that may happen for sure: it adds, and deletes nothing."""
    if free.isdisjoint(effect.condition):
        return effect
    return ConditionalEffect(tuple([fact for fact in effect.condition if fact not in free]), effect.adds, ())


def _keep_running(source: Task, task: TemporalTask, kept: AbstractSet[int]) -> Task:
    """Return `source`, in which the ends of the lapses `kept` do not delete that their steps run."""
    if not kept:
        return source
    actions = list(source.actions)
    for lapse in [task.lapses[number] for number in kept]:
        for end in lapse.ends:
            left = tuple([fact for fact in actions[end].deletes if fact != lapse.running])
            actions[end] = replace(actions[end], deletes=left)
    return replace(source, actions=actions)


def _find_overlapping(source: Task, task: TemporalTask, pruning: Pruning) -> frozenset[int]:
    """Return the lapses whose steps may start while they run, by the pairs of facts that may be reached."""
    reached, _ = pruning.find_mutexes(range(len(source.facts)))
    found = set()
    for action, lapse in zip(source.actions, task.begins, strict=True):
        runs = task.lapses[lapse].running if lapse >= 0 else -1
        if runs >= 0 and not any(reached[runs] >> fact & 1 for fact in (runs, *action.precondition)):
            found.add(lapse)
    return frozenset(found)

"""Which numeric variables are resources: with more of them, a state reaches whatever it reaches with less.

A variable with the sign 1 is better the greater it is: no condition, effect or bound is ever worse for it. With the
sign -1, it is better the less it is. A state with no less of any resource dominates others that cost no less (Hall,
Cohen, Burkett and Klein, 2013).
"""

from __future__ import annotations

from planner.jit.arrays import empty_index, index, words
from planner.limits import under_limits
from planner.pruning.numeric_dominance_kernel import Fronts
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import NumericSpace, find_opposites

BOTH = frozenset({1, -1})


def find_signs(source: NumericTask) -> list[int]:
    """Return the sign of each variable, 0 where neither greater nor smaller values are always better."""
    wanted = _read_conditions(source)
    effects = [effect for changes in under_limits(source.changes) for each in changes for effect in each.effects]
    waiting = True
    while waiting:
        waiting = False
        for effect in under_limits(effects):
            for variable, weight in effect.terms:
                more = {sign if weight > 0 else -sign for sign in wanted[effect.variable]}
                if not more <= wanted[variable]:
                    wanted[variable] |= more
                    waiting = True
    return [next(iter(signs)) if len(signs) == 1 else 0 for signs in wanted]


def _read_conditions(source: NumericTask) -> list[set[int]]:
    """Return the signs that conditions, bounds and the metric want of each variable."""
    task, opposite = source.task, find_opposites(source.task)
    plain = {fact for action in under_limits(task.actions) for fact in action.precondition} | {*task.goal}
    mixed = {fact for action in under_limits(task.actions) for part in action.conditional for fact in part.condition}
    mixed |= {fact for layer in task.axioms for rule in layer.rules for fact in rule.body}
    guarded = [each for changes in under_limits(source.changes) for each in changes if () not in each.conditions]
    mixed |= {fact for each in guarded for condition in each.conditions for fact in condition}
    wanted: list[set[int]] = [set() for _ in source.variables]
    for condition in source.conditions:
        yes, no = condition.fact, opposite.get(condition.fact)
        for variable, weight in condition.terms:
            sign = 1 if weight > 0 else -1
            if yes in mixed or no in mixed:
                wanted[variable] |= BOTH
            wanted[variable] |= ({sign} if yes in plain else set()) | ({-sign} if no in plain else set())
    for variable, share in source.metric:
        wanted[variable].add(-1 if share > 0 else 1)
    for each in guarded:
        for effect in each.effects:
            changed = source.variables[effect.variable]
            if changed.low is not None or changed.high is not None:
                wanted[effect.variable] |= BOTH
    return wanted


def make_fronts(space: NumericSpace, slots: int) -> Fronts | None:
    """Return what A* needs to prune dominated states, with so many `slots`; None where no variable is a resource."""
    signs = find_signs(space.source)
    if not any(signs):
        return None
    fields, first = space.space.numbers.fields, space.words
    resources = [variable for variable, sign in enumerate(signs) if sign]
    masks = [-1] * (first + fields.words[0])
    for word, mask in zip(space.space.comparisons.word, space.space.comparisons.mask, strict=True):
        masks[word] &= ~mask
    for each in resources:
        masks[first + fields.word[each]] &= ~(fields.mask[each] << fields.shift[each])
    return Fronts(
        index(word for word, mask in enumerate(masks) if mask),
        words(mask for mask in masks if mask),
        index(first + fields.word[each] for each in resources),
        words(fields.shift[each] for each in resources),
        words(fields.mask[each] for each in resources),
        words(signs[each] for each in resources),
        empty_index(slots),
        index([]),
    )

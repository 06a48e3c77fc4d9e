"""Backward relevance: actions that can help no goal are dropped, and facts that no one needs.

A literal is relevant when making it true can help: goals are, the conditions of whatever makes a relevant literal true
are, and so are the opposites of the conditions under which an effect or a rule makes one false. Leaving irrelevant
actions out of a plan gives a plan that costs no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from planner.grounding.instantiate import RawAction, RawEffect
from planner.grounding.literals import Literal
from planner.grounding.simplify import RawTask


def relevant_literals(task: RawTask) -> set[Literal]:
    """Return all relevant literals of `task`."""
    makers = _makers(task)
    used: set[int] = set()
    relevant = set(task.goal)
    queue = list(relevant)
    while queue:
        for action, condition in makers.get(queue.pop(), ()):
            wanted: list[Iterable[Literal]] = [condition]
            if action >= 0 and action not in used:
                used.add(action)
                wanted.append(task.actions[action].condition)
            for literals in wanted:
                new = [literal for literal in literals if literal not in relevant]
                relevant.update(new)
                queue.extend(new)
    return relevant


RULE = -1
"""Stands for an axiom where the number of an action is expected."""


def _makers(task: RawTask) -> dict[Literal, list[tuple[int, Iterable[Literal]]]]:
    """Return, for each literal, what can make it true or keep it so: an action (or `RULE`) and further conditions."""
    makers: dict[Literal, list[tuple[int, Iterable[Literal]]]] = defaultdict(list)
    for number, action in enumerate(task.actions):
        for literal in _written(action.adds, action.deletes):
            makers[literal].append((number, ()))
        for effect in action.effects:
            opposite = [~literal for literal in effect.condition]
            for literal in _written(effect.adds, effect.deletes):
                makers[literal].append((number, effect.condition))
                makers[~literal].append((RULE, opposite))
    for rule in task.rules:
        makers[rule.head].append((RULE, rule.body))
        makers[~rule.head].append((RULE, [~literal for literal in rule.body]))
    return makers


def _written(adds: Iterable[int], deletes: Iterable[int]) -> Iterator[Literal]:
    yield from adds
    for fact in deletes:
        yield ~fact


def keep_relevant(task: RawTask, relevant: set[Literal]) -> None:
    """Drop from `task`, in place, all actions, effects, rules and initial facts that are not relevant."""
    facts = {literal if literal >= 0 else ~literal for literal in relevant}
    for action in task.actions:
        _trim(action, facts)
    task.actions = [action for action in task.actions if _helps(action, relevant)]
    task.rules = [rule for rule in task.rules if rule.head in facts]
    task.initial &= facts


def _trim(action: RawAction, facts: set[int]) -> None:
    action.adds = [fact for fact in action.adds if fact in facts]
    action.deletes = [fact for fact in action.deletes if fact in facts]
    if action.effects:
        for effect in action.effects:
            effect.adds = [fact for fact in effect.adds if fact in facts]
            effect.deletes = [fact for fact in effect.deletes if fact in facts]
        action.effects = [effect for effect in action.effects if effect.adds or effect.deletes]


def _helps(action: RawAction, relevant: set[Literal]) -> bool:
    parts: list[RawAction | RawEffect] = [action, *action.effects]
    return any(literal in relevant for part in parts for literal in _written(part.adds, part.deletes))

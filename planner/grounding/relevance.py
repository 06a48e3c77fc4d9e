"""Backward relevance: actions that can help no goal are dropped, and facts that no one needs.

A literal is relevant when making it true can help: goals are, the conditions of whatever makes a relevant literal true
are, and so are the opposites of the conditions under which an effect or a rule makes one false. Leaving irrelevant
actions out of a plan gives a plan that costs no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import invert, not_

from planner.grounding.action_tables import ActionTable, either, members
from planner.grounding.instantiate import Literal, RawAction, RawEffect, parts_of
from planner.grounding.joins import batches
from planner.grounding.simplify import RawTask
from planner.limits import Limits


def relevant_literals(task: RawTask, limits: Limits) -> set[Literal]:
    """Return all relevant literals of `task`."""
    wanted = _wanted(task)
    makers = _Makers(task, wanted, limits)
    used = bytearray(task.size)
    relevant = set(task.goal)
    queue = list(relevant)
    while queue and len(relevant) < len(wanted):
        limits.check()
        literal = queue.pop()
        conditions = [*makers.conditions.get(literal, ())]
        for number in makers.actions.get(literal, ()):
            if not used[number]:
                used[number] = 1
                conditions.append(makers.needs[number])
        for condition in conditions:
            if not relevant.issuperset(condition):
                new = set(condition) - relevant
                relevant |= new
                queue.extend(new)
    return relevant


def _wanted(task: RawTask) -> set[Literal]:
    """Return every literal that could be relevant."""
    wanted = set(task.goal)
    for batch in batches(task.actions):
        wanted.update(chain.from_iterable([action.condition for action in batch]))
    for table in task.tables:
        wanted.update(*table.condition)
    both = set(chain.from_iterable([effect.condition for action in task.actions for effect in action.effects]))
    both.update(chain.from_iterable([rule.body for rule in task.rules]))
    return wanted.union(both, [~literal for literal in both])


class _Makers:
    """What can make a literal true or keep it so, for the literals that are `wanted`.

    `actions` are the numbers of the actions that write it, `needs` the conditions of the actions by their numbers, and
    `conditions` the further conditions of effects and rules, one of which is needed.
    """

    def __init__(self, task: RawTask, wanted: set[Literal], limits: Limits) -> None:
        self.actions: dict[Literal, list[int]] = defaultdict(list)
        self.conditions: dict[Literal, list[Iterable[Literal]]] = defaultdict(list)
        self.needs: list[Sequence[Literal]] = [action.condition for action in task.actions]
        deletes_matter = any(literal < 0 for literal in wanted)
        for table in task.tables:
            limits.check()
            self._take_table(table, deletes_matter=deletes_matter)
        for numbered in batches(enumerate(task.actions)):
            limits.check()
            for number, action in numbered:
                for fact in action.adds:
                    self.actions[fact].append(number)
                if deletes_matter:
                    for fact in action.deletes:
                        self.actions[~fact].append(number)
                if action.effects:
                    self._take_effects(number, action, wanted)
        for rule in task.rules:
            self.conditions[rule.head].append(rule.body)
            self.conditions[~rule.head].append([~literal for literal in rule.body])

    def _take_table(self, table: ActionTable, *, deletes_matter: bool) -> None:
        makers, first = self.actions, len(self.needs)
        self.needs += table.rows(table.condition)
        for column in table.adds:
            for number, fact in enumerate(column, start=first):
                makers[fact].append(number)
        if deletes_matter:
            for column in table.deletes:
                for number, fact in enumerate(column, start=first):
                    makers[~fact].append(number)

    def _take_effects(self, number: int, action: RawAction, wanted: set[Literal]) -> None:
        for effect in action.effects:
            opposite = [~literal for literal in effect.condition]
            for literal in _written(effect):
                if literal in wanted:
                    self.actions[literal].append(number)
                    self.conditions[literal].append(effect.condition)
                if ~literal in wanted:
                    self.conditions[~literal].append(opposite)


def _written(part: RawAction | RawEffect) -> Iterator[Literal]:
    yield from part.adds
    for fact in part.deletes:
        yield ~fact


def keep_relevant(task: RawTask, relevant: set[Literal], limits: Limits, together: Mapping[str, str]) -> None:
    """Drop from `task`, in place, all actions, effects, rules and initial facts that are not relevant.

    Where an action helps, those that `together` gives the same name and that have the same arguments stay, too, unless
    nothing is left of them.
    """
    facts = {literal if literal >= 0 else ~literal for literal in relevant}
    actions = []
    for batch in batches(task.actions):
        limits.check()
        for action in batch:
            if not facts.issuperset(action.adds) or not facts.issuperset(action.deletes) or action.effects:
                _trim(action, facts)
        actions += [action for action in batch if _helps(action, relevant) or action.action.name in together]
    task.actions = _with_companions(actions, relevant, together) if together else actions
    task.tables = [part for table in task.tables for part in _relevant_parts(table, facts, relevant)]
    task.rules = [rule for rule in task.rules if rule.head in facts]
    task.initial &= facts


def _with_companions(actions: list[RawAction], relevant: set[Literal], together: Mapping[str, str]) -> list[RawAction]:
    """Return the actions that help, and of the others those that change something and belong to one that helps."""
    helping = {
        (together[action.action.name], action.arguments)
        for action in actions
        if action.action.name in together and _helps(action, relevant)
    }
    return [
        action
        for action in actions
        if action.action.name not in together
        or ((together[action.action.name], action.arguments) in helping and next(_written_by(action), None) is not None)
    ]


def _relevant_parts(table: ActionTable, facts: set[int], relevant: set[Literal]) -> Iterator[ActionTable]:
    first = len(table.condition)
    holes = {
        place: [fact not in facts for fact in column]
        for place, column in enumerate([*table.adds, *table.deletes], start=first)
        if not facts.issuperset(column)
    }
    for part in table.cut(holes):
        if any(relevant.issuperset(column) for column in part.adds):
            yield part
            continue
        helps = either(
            [members(column, relevant) for column in [*part.adds, *[list(map(invert, x)) for x in part.deletes]]]
        )
        if helps is not None:
            yield from part.cut({}, list(map(not_, helps)))


def _trim(action: RawAction, facts: set[int]) -> None:
    action.adds = [fact for fact in action.adds if fact in facts]
    action.deletes = [fact for fact in action.deletes if fact in facts]
    if action.effects:
        for effect in action.effects:
            effect.adds = [fact for fact in effect.adds if fact in facts]
            effect.deletes = [fact for fact in effect.deletes if fact in facts]
        action.effects = [effect for effect in action.effects if effect.adds or effect.deletes]


def _helps(action: RawAction, relevant: set[Literal]) -> bool:
    return not relevant.isdisjoint(action.adds) or any(literal in relevant for literal in _written_by(action))


def _written_by(action: RawAction) -> Iterator[Literal]:
    return chain.from_iterable([_written(part) for part in parts_of([action])])

"""Backward relevance analysis (Nebel, Dimopoulos and Koehler, 1997): drops actions and facts that no goal needs.

A literal is relevant if it is a goal, a condition of an action, effect or rule that makes a relevant literal true, or
the opposite of a condition of an effect or rule that makes one false. A plan without its irrelevant actions is still a
plan, and costs no more.
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


def find_relevant_literals(task: RawTask, limits: Limits) -> set[Literal]:
    """Find all relevant literals of `task`, by backward search from the goal."""
    wanted = _find_possible_literals(task)
    achievers = _Achievers(task, wanted, limits)
    used = bytearray(task.size)
    relevant = set(task.goal)
    queue = list(relevant)
    while queue and len(relevant) < len(wanted):
        limits.check()
        literal = queue.pop()
        conditions = [*achievers.conditions.get(literal, ())]
        for number in achievers.actions.get(literal, ()):
            if not used[number]:
                used[number] = 1
                conditions.append(achievers.needs[number])
        for condition in conditions:
            if not relevant.issuperset(condition):
                new = set(condition) - relevant
                relevant |= new
                queue.extend(new)
    return relevant


def _find_possible_literals(task: RawTask) -> set[Literal]:
    """Return all literals that could be relevant."""
    wanted = set(task.goal)
    for batch in batches(task.actions):
        wanted.update(chain.from_iterable([action.condition for action in batch]))
    for table in task.tables:
        wanted.update(*table.condition)
    both = set(chain.from_iterable([effect.condition for action in task.actions for effect in action.effects]))
    both.update(chain.from_iterable([rule.body for rule in task.rules]))
    return wanted.union(both, [~literal for literal in both])


class _Achievers:
    """The achievers of the literals that are `wanted`.

    By literal, `actions` are the numbers of the actions that make it true, and `conditions` the conditions of effects
    and rules that make it true or keep it true. `needs` are the preconditions of actions, by number.
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
        achievers, first = self.actions, len(self.needs)
        self.needs += table.rows(table.condition)
        for column in table.adds:
            for number, fact in enumerate(column, start=first):
                achievers[fact].append(number)
        if deletes_matter:
            for column in table.deletes:
                for number, fact in enumerate(column, start=first):
                    achievers[~fact].append(number)

    def _take_effects(self, number: int, action: RawAction, wanted: set[Literal]) -> None:
        for effect in action.effects:
            opposite = [~literal for literal in effect.condition]
            for literal in _writes_of_part(effect):
                if literal in wanted:
                    self.actions[literal].append(number)
                    self.conditions[literal].append(effect.condition)
                if ~literal in wanted:
                    self.conditions[~literal].append(opposite)


def _writes_of_part(part: RawAction | RawEffect) -> Iterator[Literal]:
    yield from part.adds
    for fact in part.deletes:
        yield ~fact


def keep_relevant(task: RawTask, relevant: set[Literal], limits: Limits, together: Mapping[str, str]) -> None:
    """Remove from `task`, in place, all actions, effects, rules and initial facts that are not relevant.

    With a relevant action, all actions stay that have the same name in `together` and the same arguments, unless they
    have no effects left: they are outcomes of the same choice.
    """
    facts = {literal if literal >= 0 else ~literal for literal in relevant}
    actions = []
    for batch in batches(task.actions):
        limits.check()
        for action in batch:
            if not facts.issuperset(action.adds) or not facts.issuperset(action.deletes) or action.effects:
                _trim_effects(action, facts)
        actions += [action for action in batch if _is_relevant(action, relevant) or action.action.name in together]
    task.actions = _keep_companions(actions, relevant, together) if together else actions
    task.tables = [part for table in task.tables for part in _cut_irrelevant(table, facts, relevant)]
    task.rules = [rule for rule in task.rules if rule.head in facts]
    task.initial &= facts


def _keep_companions(actions: list[RawAction], relevant: set[Literal], together: Mapping[str, str]) -> list[RawAction]:
    """Return the relevant actions, and other outcomes of the same choices that have effects."""
    helping = {
        (together[action.action.name], action.arguments)
        for action in actions
        if action.action.name in together and _is_relevant(action, relevant)
    }
    return [
        action
        for action in actions
        if action.action.name not in together
        or ((together[action.action.name], action.arguments) in helping and next(_writes_of(action), None) is not None)
    ]


def _cut_irrelevant(table: ActionTable, facts: set[int], relevant: set[Literal]) -> Iterator[ActionTable]:
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


def _trim_effects(action: RawAction, facts: set[int]) -> None:
    action.adds = [fact for fact in action.adds if fact in facts]
    action.deletes = [fact for fact in action.deletes if fact in facts]
    if action.effects:
        for effect in action.effects:
            effect.adds = [fact for fact in effect.adds if fact in facts]
            effect.deletes = [fact for fact in effect.deletes if fact in facts]
        action.effects = [effect for effect in action.effects if effect.adds or effect.deletes]


def _is_relevant(action: RawAction, relevant: set[Literal]) -> bool:
    return not relevant.isdisjoint(action.adds) or any(literal in relevant for literal in _writes_of(action))


def _writes_of(action: RawAction) -> Iterator[Literal]:
    return chain.from_iterable([_writes_of_part(part) for part in parts_of([action])])

"""Simplification of ground problems: removes constant facts, inapplicable actions and effects without a change.

It works on single actions and on tables of actions. Negative conditions are compiled away: a needed `not p` becomes a
fact of its own, and every effect on p writes both. Adding wins over deleting within an action, so the fact for `not p`
is added only where no effect that fires at the same time adds p.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from operator import invert

from planner.grounding.action_tables import ActionTable, Column, Mask, are_few, either, members, same
from planner.grounding.instantiate import Literal, RawAction, RawEffect, RawRule, as_actions, parts_of
from planner.grounding.joins import batches
from planner.lightweight import dataclass, field, replace
from planner.limits import Limits, under_limits
from planner.model import Atom


def tidy_table(table: ActionTable, atoms: Sequence[Atom]) -> Iterator[ActionTable]:
    """Remove actions with contradictory conditions from `table`, and effects that change nothing.

    An effect changes nothing if the condition or another effect implies it; adding wins over deleting.
    """
    condition, columns = table.condition, table.columns
    places = range(len(columns))
    added, deleted = len(condition), len(condition) + len(table.adds)
    kinds = [_predicate_of(column, atoms) for column in columns]
    dead: list[Mask] = []
    holes: dict[int, list[Mask]] = {}
    for one, other in combinations(places, 2):
        if kinds[one] != kinds[other]:
            continue
        opposite = one < added and columns[one][0] < 0
        if other < added and (columns[other][0] < 0) is not opposite:
            dead.append(_opposite(columns[one], columns[other]))
        elif opposite and other >= deleted:
            holes.setdefault(other, []).append(_opposite(columns[one], columns[other]))
        elif opposite is (other < added and columns[other][0] < 0) and not (one < added and other >= deleted):
            holes.setdefault(other, []).append(same(columns[one], columns[other]))
    found = {place: mask for place, masks in holes.items() if (mask := either(masks)) is not None}
    return _drop_unchanging(table.cut(found, either(dead)))


def _predicate_of(column: Column, atoms: Sequence[Atom]) -> str:
    literal = column[0]
    return atoms[literal if literal >= 0 else ~literal].predicate


def _opposite(one: Column, other: Column) -> Mask:
    return same(one, list(map(invert, other)))


def remove_constants(
    table: ActionTable, constant: set[Literal], impossible: set[Literal], fixed: set[Literal]
) -> Iterator[ActionTable]:
    """Remove `constant` literals from `table`, and actions that need `impossible` ones, their opposites.

    `fixed` is the union of both.
    """
    dead: list[Mask] = []
    holes: dict[int, Mask] = {}
    deleted = len(table.condition) + len(table.adds)
    for place, column in enumerate(table.columns):
        if not fixed.isdisjoint(column):
            gone = members(column, impossible if place >= deleted else constant)
            if True in gone:
                holes[place] = gone
            if place < len(table.condition):
                dead.append(members(column, impossible))
    return _drop_unchanging(table.cut(holes, either(dead)))


def _drop_unchanging(tables: Iterator[ActionTable]) -> Iterator[ActionTable]:
    return (table for table in tables if table.adds or table.deletes)


@dataclass(slots=True, eq=False)
class RawTask:
    """A ground problem over literals."""

    initial: set[int]
    goal: list[Literal]
    actions: list[RawAction]
    rules: list[RawRule]
    tables: list[ActionTable] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of actions."""
        return len(self.actions) + sum(map(len, self.tables))


def simplify(task: RawTask, atoms: Sequence[Atom], limits: Limits) -> Literal | None:
    """Simplify `task` in place; return a goal literal that can never hold, if there is one.

    Literals that hold in every reachable state are removed from all conditions; actions, effects and rules that need
    their opposites are dropped. This is repeated while dropped actions make more facts constant.
    """
    constant = _find_constants(task, len(atoms))
    before, changed = task.size, None
    task.tables = [part for table in under_limits(task.tables) for part in tidy_table(table, atoms)]
    while True:
        task.actions = list(_simplify_actions(task.actions, constant, changed, limits))
        _simplify_tables(task, constant, limits)
        task.rules = list(
            dict.fromkeys([rule for old in under_limits(task.rules) if (rule := _simplify_rule(old, constant))])
        )
        if task.size == before:
            break
        before = task.size
        known, constant = constant, _find_constants(task, len(atoms))
        if constant == known:
            break
        changed = constant - known
        changed |= {~literal for literal in changed}
    task.rules = [rule for rule in task.rules if rule.head not in constant]
    for literal in task.goal:
        if ~literal in constant:
            return literal
    task.goal = sorted(set(task.goal) - constant)
    return None


def _simplify_actions(
    actions: list[RawAction], constant: set[Literal], changed: set[Literal] | None, limits: Limits
) -> Iterator[RawAction]:
    """Simplify `actions`; where `changed` literals are given, actions without them are simple already."""
    impossible = {~literal for literal in constant}
    for batch in batches(actions):
        limits.check()
        yield from [
            action
            for action in batch
            if (changed is not None and not _has_any(action, changed)) or _simplify_action(action, constant, impossible)
        ]


def _has_any(action: RawAction, literals: set[Literal]) -> bool:
    return not all(
        literals.isdisjoint(part.condition) and literals.isdisjoint(part.adds) and literals.isdisjoint(part.deletes)
        for part in parts_of((action,))
    )


def _simplify_tables(task: RawTask, constant: set[Literal], limits: Limits) -> None:
    """Simplify the tables, and split parts with few rows into single actions."""
    impossible = {~literal for literal in constant}
    fixed = constant | impossible
    parts: list[ActionTable] = []
    for table in task.tables:
        limits.check()
        parts += remove_constants(table, constant, impossible, fixed)
    task.tables = [part for part in parts if not are_few(part)]
    task.actions += as_actions([part for part in parts if are_few(part)])


def _find_constants(task: RawTask, facts: int) -> set[Literal]:
    """Find literals that hold in every reachable state."""
    deleted = set(chain.from_iterable([part.deletes for part in parts_of(task.actions)]))
    added = set(chain.from_iterable([part.adds for part in parts_of(task.actions)]))
    for table in task.tables:
        deleted.update(*table.deletes)
        added.update(*table.adds)
    heads = {rule.head for rule in task.rules}
    possible = added | task.initial | heads
    constant = (task.initial - deleted) | {~fact for fact in under_limits(range(facts)) if fact not in possible}
    return _add_derived_constants(constant, task.rules, heads)


def _add_derived_constants(constant: set[Literal], rules: list[RawRule], heads: set[int]) -> set[Literal]:
    """Add derived facts that follow from constants alone, and negations of those for which no rule is left."""
    while True:
        true = {rule.head for rule in under_limits(rules) if constant.issuperset(rule.body)}
        rules = [rule for rule in under_limits(rules) if not any(~literal in constant for literal in rule.body)]
        false = {~head for head in heads.difference([rule.head for rule in rules])}
        if constant >= true | false:
            return constant
        constant |= true | false


def _simplify_action(action: RawAction, constant: set[Literal], impossible: set[Literal]) -> bool:
    """Simplify one action in place; return whether it can be applicable and have an effect."""
    known = set(action.condition)
    if not constant.isdisjoint(known):
        known -= constant
    if not impossible.isdisjoint(known) or _is_contradictory(known):
        return False
    if len(known) < len(action.condition):
        action.condition = [*known]
    if action.effects:
        return _simplify_effects(action, known, constant)
    adds, deletes = action.adds, action.deletes
    if deletes:
        action.deletes = [f for f in _unique(deletes) if f not in adds and f not in impossible and ~f not in known]
    if not known.isdisjoint(adds) or not constant.isdisjoint(adds) or len(adds) > 1:
        action.adds = [fact for fact in _unique(adds) if fact not in known and fact not in constant]
    return bool(action.adds or action.deletes)


def _unique(facts: list[int]) -> Iterable[int]:
    return facts if len(facts) < 2 else dict.fromkeys(facts)


def _is_contradictory(literals: set[Literal]) -> bool:
    return bool(literals) and min(literals) < 0 and not literals.isdisjoint([~literal for literal in literals])


def _simplify_effects(action: RawAction, known: set[Literal], constant: set[Literal]) -> bool:
    """Simplify an action with conditional effects; return whether it has any effect."""
    effects = _live_effects(action, known, constant)
    adds, deletes = set(action.adds), set(action.deletes)
    for effect in effects:
        if not effect.condition:
            adds.update(effect.adds)
            deletes.update(effect.deletes)
    deletes -= adds
    action.effects = [effect for effect in effects if effect.condition and _trim(effect, adds, deletes, constant)]
    action.adds = sorted(adds - constant - known)
    action.deletes = sorted([fact for fact in deletes if ~fact not in known and ~fact not in constant])
    return bool(action.adds or action.deletes or action.effects)


def _live_effects(action: RawAction, known: set[Literal], constant: set[Literal]) -> list[RawEffect]:
    """Return the effects that can fire, merged by condition, without conditions that the precondition implies."""
    excluded = {~literal for literal in known}
    found: dict[tuple[Literal, ...], RawEffect] = {}
    for effect in action.effects:
        condition = _normalize_condition(effect.condition, constant)
        if condition is None or not excluded.isdisjoint(condition):
            continue
        needed = [literal for literal in condition if literal not in known]
        merged = found.get(tuple(needed))
        if merged is None:
            found[tuple(needed)] = RawEffect(needed, _sort_facts(effect.adds), _sort_facts(effect.deletes))
        else:
            merged.adds = sorted({*merged.adds, *effect.adds})
            merged.deletes = sorted({*merged.deletes, *effect.deletes})
    return list(found.values())


def _sort_facts(facts: list[int]) -> list[int]:
    return facts if len(facts) < 2 else sorted(set(facts))


def _trim(effect: RawEffect, adds: set[int], deletes: set[int], constant: set[Literal]) -> bool:
    """Remove redundant and overruled adds and deletes from a conditional effect; return whether any are left."""
    effect.adds = [fact for fact in effect.adds if fact not in adds and fact not in constant]
    effect.deletes = [
        fact
        for fact in effect.deletes
        if fact not in adds and fact not in deletes and fact not in effect.adds and ~fact not in effect.condition
    ]
    return bool(effect.adds or effect.deletes)


def _normalize_condition(literals: Iterable[Literal], constant: set[Literal]) -> list[Literal] | None:
    """Return the sorted literals without constants and repetitions; None where they cannot all hold."""
    found = set(literals) - constant
    opposites = {~literal for literal in found}
    return None if not opposites.isdisjoint(constant) or not opposites.isdisjoint(found) else sorted(found)


def _simplify_rule(rule: RawRule, constant: set[Literal]) -> RawRule | None:
    """Remove constants from `rule`; return None where it cannot fire, and a rule without a body for a constant head."""
    body = () if rule.head in constant else _normalize_condition(rule.body, constant)
    return None if body is None else RawRule(tuple(body), rule.head)


def find_needed_negations(task: RawTask) -> dict[int, None]:
    """Find the facts whose negations are needed, in order of occurrence.

    These are the negative literals of conditions, rules and the goal. Where one effect deletes such a fact and another
    may add it, the negated condition of the other is needed, too.
    """
    needed = {~literal: None for literal in _literals_asked_for(task) if literal < 0}
    conflicts = [pair for action in under_limits(task.actions) if action.effects for pair in _find_conflicts(action)]
    while True:
        more = {literal: None for fact, rival in conflicts if fact in needed for literal in rival if literal >= 0}
        if needed.keys() >= more.keys():
            return needed
        needed |= more


def _find_conflicts(action: RawAction) -> Iterator[tuple[int, list[Literal]]]:
    """Yield each fact that the action deletes, with each condition under which it also adds the fact."""
    rivals = {fact for effect in action.effects for fact in effect.adds}
    deleted = [*action.deletes, *[fact for effect in action.effects for fact in effect.deletes]]
    for fact in deleted:
        if fact in rivals:
            yield from ((fact, effect.condition) for effect in action.effects if fact in effect.adds)


def _literals_asked_for(task: RawTask) -> Iterable[Literal]:
    """Return all literals in conditions, rules and the goal, each once."""
    conditions = chain.from_iterable([part.condition for part in parts_of(task.actions)])
    columns = [column for table in task.tables for column in table.condition if column[0] < 0]
    return dict.fromkeys(
        chain(task.goal, conditions, *columns, chain.from_iterable([rule.body for rule in task.rules]))
    )


def write_table_negations(table: ActionTable, negation: dict[int, int]) -> Iterator[ActionTable]:
    """Add to `table` the effects on negations of facts, as `write_negations` does for single actions."""
    written = [*table.adds, *table.deletes]
    masks = [members(column, negation) for column in written]
    for values, part in table.split(masks) if masks else []:
        opposites = [
            [negation[fact] for fact in column] if written else None
            for column, written in zip([*part.adds, *part.deletes], values, strict=True)
        ]
        made, unmade = opposites[len(part.adds) :], opposites[: len(part.adds)]
        adds = [*part.adds, *[column for column in made if column is not None]]
        deletes = [*part.deletes, *[column for column in unmade if column is not None]]
        yield replace(part, adds=adds, deletes=deletes)


def write_negations(action: RawAction, negation: dict[int, int]) -> None:
    """Add to `action`, in place, its effects on facts that stand for negations, which `negation` maps facts to."""
    conditional_adds = [(effect, fact) for effect in action.effects for fact in effect.adds if fact in negation]
    extra = [opposite for effect in action.effects for opposite in _negate(effect, conditional_adds, negation)]
    for fact in [fact for fact in action.deletes if fact in negation]:
        rivals = [effect.condition for effect, added in conditional_adds if added == fact]
        if rivals:
            extra += [RawEffect(list(condition), [negation[fact]], []) for condition in _negate_all(rivals)]
        else:
            action.adds.append(negation[fact])
    action.deletes.extend([negation[fact] for fact in action.adds if fact in negation])
    action.effects += extra


def _negate(effect: RawEffect, adds: list[tuple[RawEffect, int]], negation: dict[int, int]) -> Iterator[RawEffect]:
    gone = [negation[fact] for fact in effect.adds if fact in negation]
    for fact in [fact for fact in effect.deletes if fact in negation]:
        rivals = [rival.condition for rival, added in adds if added == fact]
        for condition in _negate_all(rivals):
            if not any(~literal in effect.condition for literal in condition):
                yield RawEffect(sorted({*effect.condition, *condition}), [negation[fact]], [])
    effect.deletes = effect.deletes + gone


def _negate_all(conditions: Iterable[list[Literal]]) -> Iterator[tuple[Literal, ...]]:
    """Yield the cases of the negation of all `conditions`, in disjunctive normal form."""
    for choice in itertools.product(*conditions):
        literals = {~literal for literal in choice}
        if not any(~literal in literals for literal in literals):
            yield tuple(sorted(literals))

"""Mutex groups: sets of facts of which at most one holds in any reachable state.

Candidates are lifted (Helmert, 2009): a set of predicates, in each of which all arguments but at most one form the key
of the group. Candidates are tested on ground actions, and on whole columns of action tables. A group in which at most
one fact holds initially is a mutex group if each action that adds one of its facts also deletes one that held before
(fact-alternating mutex groups: Fišer and Komenda, 2018). A candidate that fails is extended by a predicate that the
failing action deletes.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, compress
from operator import not_

from planner.grounding.action_tables import ActionTable, Column, Mask, either, same
from planner.grounding.instantiate import RawAction, RawEffect
from planner.grounding.joins import Key, Row
from planner.grounding.simplify import RawTask
from planner.lightweight import Final, dataclass
from planner.limits import Limits, under_limits
from planner.model import Atom

Typed = tuple[str, Column]
"""A column with the predicate of its facts."""


class TableChanges:
    """The actions of a table that delete the same columns of their conditions.

    `adds`, `held` and `swapped` are columns: the adds, the positive conditions, and the conditions that are deleted.
    """

    __slots__ = ("adds", "held", "swapped", "table")

    def __init__(self, table: ActionTable, swapped: Sequence[Column], atoms: Sequence[Atom]) -> None:
        self.table = table
        self.adds = [(atoms[column[0]].predicate, column) for column in table.adds]
        self.held = [(atoms[column[0]].predicate, column) for column in table.condition if column[0] >= 0]
        self.swapped = [(atoms[column[0]].predicate, column) for column in swapped]

    @classmethod
    def of(cls, table: ActionTable, atoms: Sequence[Atom]) -> Iterator[TableChanges]:
        """Yield the parts of `table`, split by which of their deletes are conditions."""
        if not table.adds:
            return
        if all(any(column is one for one in table.condition) for column in table.deletes):
            yield cls(table, table.deletes, atoms)
            return
        masks = [_held_rows(column, table, atoms) for column in table.deletes]
        for values, part in table.split(masks):
            yield cls(part, list(compress(part.deletes, values)), atoms)

    def suspects(self, predicates: Collection[str], group_of: Mapping[int, int]) -> Iterator[int]:
        """Yield the rows that may leave two facts in a group, as they do not replace a fact of the group by another.

        `group_of` maps each fact of `predicates` to its group.
        """
        added, swapped = _groups(self.adds, predicates, group_of), _groups(self.swapped, predicates, group_of)
        wrong = [same(one, other) for one, other in combinations(added, 2)]
        for groups in added:
            if groups in swapped:
                continue
            right = either([same(groups, other) for other in swapped])
            wrong.append([True] * len(groups) if right is None else list(map(not_, right)))
        found = either(wrong)
        if found is not None:
            yield from compress(range(len(found)), found)


def _held_rows(column: Column, table: ActionTable, atoms: Sequence[Atom]) -> Mask:
    """Return the rows whose condition has the fact in `column`, as a mask."""
    predicate = atoms[column[0]].predicate
    held = [one for one in table.condition if one[0] >= 0 and atoms[one[0]].predicate == predicate]
    if any(one is column for one in held):
        return [True] * len(table)
    return either([same(one, column) for one in held]) or [False] * len(table)


def find_clashes(
    table: ActionTable, predicates: Collection[str], group_of: Mapping[int, int], atoms: Sequence[Atom]
) -> list[list[bool]]:
    """Return masks of the rows that need two facts of a group; `group_of` is as in `suspects`."""
    held = [(atoms[column[0]].predicate, column) for column in table.condition if column[0] >= 0]
    return [same(one, other) for one, other in combinations(_groups(held, predicates, group_of), 2)]


def _groups(columns: Sequence[Typed], predicates: Collection[str], group_of: Mapping[int, int]) -> list[list[int]]:
    return [list(map(group_of.__getitem__, column)) for predicate, column in columns if predicate in predicates]


CANDIDATE_LIMIT: Final = 300
"""Most candidates that are tested; real domains have a few dozen."""

Parts = tuple[tuple[str, Key], ...]
"""A candidate: predicates, each with the argument positions that hold the key, in the order of the key."""

Group = tuple[int, ...]


@dataclass(slots=True, eq=False)
class _Change:
    """The adds of an action under one condition.

    `held` are the facts that hold before, and `swapped` those of them that the action deletes. It also deletes the
    facts in `always`, which all changes of an action share, and in `more`.
    """

    adds: Sequence[int]
    held: Collection[int]
    swapped: Sequence[int]
    always: Collection[int]
    more: Collection[int] = ()


class MutexFinder:
    """Finds the mutex groups of `facts` under `actions`."""

    def __init__(self, atoms: Sequence[Atom], task: RawTask, facts: Iterable[int]) -> None:
        self._facts = atoms
        self._initial = list(task.initial)
        self._proved: list[Parts] = []
        self._groups_of: dict[Parts, dict[int, int]] = {}
        self._by_predicate: dict[str, list[int]] = defaultdict(list)
        for number in under_limits(facts):
            self._by_predicate[atoms[number].predicate].append(number)
        self._adders: dict[str, list[int]] = defaultdict(list)
        self._tables: dict[str, list[TableChanges]] = defaultdict(list)
        for part in [part for table in task.tables for part in TableChanges.of(table, atoms)]:
            for predicate in {predicate for predicate, _ in part.adds}:
                self._tables[predicate].append(part)
        self._changes = [_changes_of(action) for action in under_limits(task.actions)]
        for number, changes in enumerate(under_limits(self._changes)):
            for predicate in {atoms[fact].predicate for change in changes for fact in change.adds}:
                self._adders[predicate].append(number)

    @cached_property
    def _hopeless(self) -> set[str]:
        """The predicates of facts that some action adds without any delete: no mutex group has these facts."""
        return {
            self._facts[fact].predicate
            for changes in under_limits(self._changes)
            for change in changes
            if not change.always and not change.more and len(change.held) < 2
            for fact in change.adds
            if fact not in change.held
        }

    def groups(self, limits: Limits) -> list[Group]:
        """Find mutex groups of two or more facts; return them by size, the largest first."""
        found: dict[Group, None] = {}
        queue = list(self._first_candidates())
        seen = {frozenset(parts) for parts in queue}
        for parts in queue:
            limits.check()
            failure = self._find_failure(parts)
            if failure is None:
                self._proved.append(parts)
                found.update(dict.fromkeys(self._groups_of_candidate(parts)))
                continue
            for extended in self._extensions(parts, *failure):
                if frozenset(extended) not in seen and len(queue) < CANDIDATE_LIMIT:
                    seen.add(frozenset(extended))
                    queue.append(extended)
        return sorted(found, key=lambda group: (-len(group), group))

    def _first_candidates(self) -> Iterator[Parts]:
        for predicate, numbers in self._by_predicate.items():
            if predicate in self._hopeless:
                continue
            positions = tuple(range(len(self._facts[numbers[0]].args)))
            yield ((predicate, positions),)
            for counted in positions:
                yield ((predicate, tuple([place for place in positions if place != counted])),)

    def _members(self, parts: Parts) -> dict[int, Row]:
        """Return the key of each fact of the candidate, which names its group."""
        facts = self._facts
        return {
            number: tuple([facts[number].args[place] for place in key])
            for predicate, key in parts
            for number in self._by_predicate.get(predicate, ())
        }

    def _find_failure(self, parts: Parts) -> tuple[_Change, Row] | None:
        """Find a change that may leave two facts in a group, and the key of the group; return None if there is none."""
        members = self._members(parts)
        numbers: dict[Row, int] = {}
        group_of = {fact: numbers.setdefault(key, len(numbers)) for fact, key in members.items()}
        groups = _Groups(group_of)
        predicates = [predicate for predicate, _ in parts]
        for change in self._suspects(predicates, group_of):
            failed = groups.find_unbalanced([change])
            if failed is not None:
                return change, next(key for key, place in numbers.items() if place == failed[1])
        for number in dict.fromkeys(n for predicate, _ in parts for n in self._adders.get(predicate, ())):
            failed = groups.find_unbalanced(self._changes[number])
            if failed is not None:
                change, group = failed
                return change, next(key for key, place in numbers.items() if place == group)
        return None

    def _suspects(self, predicates: Sequence[str], group_of: dict[int, int]) -> Iterator[_Change]:
        """Yield the changes of tables that may fail: first one row of each table, then all suspect rows."""
        concerned = list(dict.fromkeys(itertools.chain.from_iterable(self._tables[name] for name in predicates)))
        for changes in concerned:
            yield _change_in_row(changes, 0)
        for changes in concerned:
            for row in changes.suspects(predicates, group_of):
                yield _change_in_row(changes, row)

    def find_impossible_rows(self, table: ActionTable) -> Mask | None:
        """Return the rows of `table` that need two facts of a mutex group, as a mask; None where there are none."""
        return either(
            mask
            for parts in self._proved
            for mask in find_clashes(table, {predicate for predicate, _ in parts}, self._valid(parts), self._facts)
        )

    def _valid(self, parts: Parts) -> dict[int, int]:
        """Return the number of the group of each fact; facts of groups that are not mutex get numbers of their own."""
        if parts not in self._groups_of:
            members = self._members(parts)
            held = Counter(members[fact] for fact in self._initial if fact in members)
            numbers: dict[Row, int] = {}
            self._groups_of[parts] = {
                fact: ~fact if held[key] > 1 else numbers.setdefault(key, len(numbers)) for fact, key in members.items()
            }
        return self._groups_of[parts]

    def _groups_of_candidate(self, parts: Parts) -> Iterator[Group]:
        group_of = self._members(parts)
        members: dict[Row, list[int]] = defaultdict(list)
        for number, key in group_of.items():
            members[key].append(number)
        held = Counter(group_of[fact] for fact in self._initial if fact in group_of)
        for key, numbers in members.items():
            if held[key] <= 1 and len(numbers) > 1:
                yield tuple(sorted(numbers))

    def _extensions(self, parts: Parts, change: _Change, key: Row) -> Iterator[Parts]:
        """Yield the candidate extended by a predicate of which the failing action deletes a fact."""
        known = {predicate for predicate, _ in parts}
        for fact in change.swapped:
            atom = self._facts[fact]
            if atom.predicate in known or atom.predicate in self._hopeless or len(atom.args) - len(key) not in (0, 1):
                continue
            for places in itertools.permutations(range(len(atom.args)), len(key)):
                if all(atom.args[place] == value for place, value in zip(places, key, strict=True)):
                    yield (*parts, (atom.predicate, places))


def _change_in_row(changes: TableChanges, row: int) -> _Change:
    """Return the change of one action of a table."""
    adds, held, swapped = (
        [column[row] for _, column in columns] for columns in (changes.adds, changes.held, changes.swapped)
    )
    return _Change(adds, held, swapped, [column[row] for column in changes.table.deletes])


def _changes_of(action: RawAction) -> list[_Change]:
    """Return the changes of an action, one for each condition of its effects."""
    held = [literal for literal in action.condition if literal >= 0]
    if not action.effects:
        return (
            [_Change(action.adds, held, [f for f in action.deletes if f in held], action.deletes)]
            if action.adds
            else []
        )
    always, waiting = _find_certain_deletes(action, held)
    changes = []
    for part in [RawEffect([], action.adds, action.deletes), *action.effects]:
        if part.adds:
            all_held = {*held, *[literal for literal in part.condition if literal >= 0]}
            more = {
                f for literal in part.condition for need, f in waiting.get(literal, ()) if all_held.issuperset(need)
            }
            swapped = [fact for fact in sorted(all_held) if fact in always or fact in more]
            changes.append(_Change(part.adds, all_held, swapped, always, more - always))
    return changes


def _find_certain_deletes(action: RawAction, held: list[int]) -> tuple[set[int], dict[int, list[tuple[set[int], int]]]]:
    """Find the facts that the action deletes whenever it is applied, and by a literal those that need more facts.

    A condition that is the deleted fact itself does not count: without it, the fact does not hold either.
    """
    always = set(action.deletes)
    waiting: dict[int, list[tuple[set[int], int]]] = defaultdict(list)
    for effect in action.effects:
        missing = set(effect.condition).difference(held)
        for fact in effect.deletes:
            need = missing - {fact}
            if need:
                waiting[min(need)].append((need, fact))
            else:
                always.add(fact)
    return always, waiting


class _Groups:
    """The groups of one candidate; `group_of` maps each of its facts to the number of its group."""

    def __init__(self, group_of: dict[int, int]) -> None:
        self._group_of = group_of
        self._size = Counter(group_of.values())

    def find_unbalanced(self, changes: list[_Change]) -> tuple[_Change, int] | None:
        """Find the first change that may leave a second fact in a group; return it with the group."""
        group_of = self._group_of
        added = _AtOnce() if len(changes) == 1 else _Added(group_of)
        for change in changes:
            for fact in change.adds:
                group = group_of.get(fact)
                if group is None:
                    continue
                for other in change.swapped:
                    if group_of.get(other) == group:
                        break
                else:
                    if not self._leaves_group_empty(change, fact, group):
                        return change, group
                if not added.is_alone(fact, group, change):
                    return change, group
        return None

    def _leaves_group_empty(self, change: _Change, fact: int, group: int) -> bool:
        """Return whether no other fact of the group holds after `change` has added `fact` without a swap."""
        group_of = self._group_of
        held = [other for other in change.held if group_of.get(other) == group]
        if len(held) > 1 or held == [fact]:
            return True
        others = self._size[group] - 1
        return 0 < others <= len(change.always) + len(change.more) and others <= sum(
            [group_of.get(other) == group for other in (*change.always, *change.more) if other != fact]
        )


class _AtOnce:
    """The fact of each group that a single change adds."""

    __slots__ = ("_added",)

    def __init__(self) -> None:
        self._added: dict[int, int] = {}

    def is_alone(self, fact: int, group: int, change: _Change) -> bool:  # noqa: ARG002 - it is always the same change
        """Note an added fact; return whether it is the only one of its group."""
        return self._added.setdefault(group, fact) == fact


class _Added:
    """The facts that the changes of an action add, by the facts of the same group in their conditions.

    Two changes exclude each other if they need different facts of the group.
    """

    __slots__ = ("_by_need", "_facts", "_group_of", "_needless")

    def __init__(self, group_of: dict[int, int]) -> None:
        self._group_of = group_of
        self._facts: dict[int, set[int]] = defaultdict(set)
        self._needless: dict[int, set[int]] = defaultdict(set)
        self._by_need: dict[int, set[int]] = defaultdict(set)

    def is_alone(self, fact: int, group: int, change: _Change) -> bool:
        """Note an added fact; return whether no other fact of its group can be added at the same time."""
        needs = [other for other in change.held if self._group_of.get(other) == group]
        if needs:
            alone = all(rivals <= {fact} for rivals in [self._needless[group], *[self._by_need[f] for f in needs]])
        else:
            alone = self._facts[group] <= {fact}
            self._needless[group].add(fact)
        self._facts[group].add(fact)
        for need in needs:
            self._by_need[need].add(fact)
        return alone


def partition_facts(groups: Iterable[Group], facts: Iterable[int]) -> list[Group]:
    """Partition `facts` into groups, greedily by size; the remaining facts are groups of their own."""
    left = dict.fromkeys(facts)
    members = [group for group in groups if len(group) > 1]
    having: dict[int, list[int]] = {}
    for number, group in enumerate(members):
        for fact in group:
            having.setdefault(fact, []).append(number)
    chosen: list[Group] = []
    order = deque(sorted(range(len(members)), key=lambda number: len(members[number]), reverse=True))
    while order:
        first = order.popleft()
        best, taken = members[first], set(members[first])
        chosen.append(best)
        for fact in best:
            left.pop(fact, None)
        others = {number for fact in best for number in having[fact]}
        for number in others:
            members[number] = tuple([fact for fact in members[number] if fact not in taken])
        if len(others) > 1:  # the order changes only where a group shrinks
            rest = [number for number in order if len(members[number]) > 1]
            order = deque(sorted(rest, key=lambda number: len(members[number]), reverse=True))
    return chosen + [(fact,) for fact in left]

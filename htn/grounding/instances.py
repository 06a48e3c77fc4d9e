"""The instances of actions and methods that a decomposition can reach, as columns of numbers.

A hierarchical problem becomes a classical one whose relaxed reachability goes along the hierarchy: a method becomes an
action that needs its task to be *demanded* and demands its subtasks, and an action needs to be demanded, too. So the
problem is grounded along the hierarchy from above and along the state from the front at once (Behnke, Höller, Schmid,
Bercher and Biundo, 2020, do it in turns).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, count
from operator import itemgetter, le

import htn.grounding.task_reachability_kernel  # noqa: F401 - enters its kernels in the table
from htn.compilations.method_preprocessing import ROOT, Needs
from htn.model import HtnProblem, Method, Task
from planner.grounding.action_tables import ActionTable
from planner.grounding.ground import Numbering, Reached
from planner.grounding.instantiate import RawAction
from planner.grounding.joins import Row, projector
from planner.grounding.reachability import Rule, SchemaRules
from planner.grounding.simplify import RawTask
from planner.jit.arrays import Entries, extend_lists, index, invert, join_lists, select, wrap_items, zip_columns
from planner.jit.common_kernel import ENTRIES
from planner.jit.containers_kernel import Lists
from planner.lightweight import Final, replace
from planner.model import Action, Atom, Number, Predicate, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.task.ground_task import ConditionalEffect

DEMANDED: Final = "@do "
"""Prefix of the predicate of a demand; the name of the task follows."""
METHOD: Final = "@by "
"""Prefix of the action that stands for a method; the name of the method follows."""
RAN: Final = Atom("@ran")
"""A fact that every action makes true: grounding would drop actions that change nothing."""


def demand_problem(problem: HtnProblem, changing: Iterable[str] = ()) -> Problem:
    """Return the classical problem whose reachable actions are the reachable actions and methods of `problem`.

    Facts of the predicates `changing` change although no action writes them.
    """
    domain, classical = problem.domain, problem.classical
    needs = Needs(domain, classical.all_objects, alone=problem.is_ordered, changing=changing)
    actions = [demanded_action(action, RAN) for action in classical.domain.actions.values()]
    actions += [demanding_method(method, needs, RAN) for method in domain.methods.values()]
    heads: list[Task | Action] = [*domain.tasks.values(), *classical.domain.actions.values()]
    return with_actions(
        classical,
        actions,
        [*(Predicate(DEMANDED + each.name, each.parameters) for each in heads), Predicate(RAN.predicate)],
    )


def with_actions(classical: Problem, actions: list[Action], predicates: Iterable[Predicate]) -> Problem:
    """Return `classical` with these `actions` instead of its own, new `predicates`, and the root task demanded."""
    named = {action.name: action for action in actions}
    known = {**classical.domain.predicates, **{each.name: each for each in predicates}}
    domain = replace(classical.domain, actions=named, predicates=known)
    return replace(classical, domain=domain, initial=(*classical.initial, demand_of(Atom(ROOT))))


def demand_of(task: Atom) -> Atom:
    """Return the fact that `task` is demanded."""
    return Atom(DEMANDED + task.predicate, task.args)


def demanded_action(action: Action, fact: Atom) -> Action:
    """Return `action` as one that must be demanded and makes `fact` true, too."""
    task = Atom(action.name, tuple([variable.name for variable in action.parameters]))
    requires = conjunction([demand_of(task), *conjuncts(action.requires)])
    return replace(action, requires=requires, provides=(*action.provides, fact))


def demanding_method(method: Method, needs: Needs | None, fact: Atom) -> Action:
    """Return `method` as an action that demands its subtasks and makes `fact` true; it requires the `needs`, if any."""
    parts = [demand_of(method.task), *conjuncts(method.precondition), *conjuncts(method.network.constraints)]
    parts += [need for need in needs.of_method(method) if need not in parts] if needs is not None else []
    demands = dict.fromkeys(demand_of(subtask.task) for subtask in method.network.subtasks)
    return Action(METHOD + method.name, method.parameters, conjunction(parts), (fact, *demands), cost=(0,))


FEW: Final = 5_000
"""Instances, or facts, up to which plain Python is faster than loading machine code."""


class RuleInstances:
    """The instances that one rule found: `columns` are their tasks, and then each of their subtasks."""

    __slots__ = ("_rows", "columns", "rule")

    def __init__(self, rules: SchemaRules, numbers: dict[str, dict[Row, int]], tasks: Sequence[Atom]) -> None:
        self.rule: Rule = rules.rule
        self._rows = self.rule.rows
        names, found = self.rule.names, dict[Atom, list[int]]()
        for task in tasks:
            if task not in found:
                number_of = numbers[task.predicate].__getitem__
                found[task] = list(map(number_of, map(projector(task.args, names), self._rows)))
        self.columns = [found[task] for task in tasks]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def subtasks(self) -> Lists:
        """The subtasks of each instance."""
        return zip_columns(len(self), self.columns[1:])

    def keep(self, wanted: Sequence[int]) -> None:
        """Drop all instances but those that are `wanted`."""
        self._rows = list(compress(self._rows, wanted))
        self.columns = [list(compress(column, wanted)) for column in self.columns]
        self.rule.kept = self._rows


class Instances:
    """All instances, numbered in the order of their rules; tasks are numbered, those of the same name in a row.

    `task` and `subtasks` are by instance; `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, reached: Reached, source: HtnProblem, check: Callable[[], None]) -> None:
        domain, database = source.domain, reached.database
        self.numbers: dict[str, dict[Row, int]] = {}
        self.size = 0
        for name in (*domain.tasks, *domain.classical.actions):
            rows = database.relation(DEMANDED + name).rows
            self.numbers[name] = dict(zip(rows, count(self.size), strict=False))
            self.size += len(rows)
        self.root = self.numbers[ROOT][()]
        tasks = {
            METHOD + name: [method.task, *[each.task for each in method.network.subtasks]]
            for name, method in domain.methods.items()
        }
        tasks |= {
            name: [Atom(name, tuple([each.name for each in action.parameters]))]
            for name, action in domain.classical.actions.items()
        }
        self._parts: list[RuleInstances] = []
        for rules in reached.schemas:
            check()
            self._parts.append(RuleInstances(rules, self.numbers, tasks[rules.schema.action.name]))
        check()
        self._flatten()

    def _flatten(self) -> None:
        self.task = index(chain.from_iterable(part.columns[0] for part in self._parts))
        self.subtasks = join_lists(part.subtasks for part in self._parts)

    def drop_useless(self) -> None:
        """Drop instances that cannot be finished, or that the root does not lead to."""
        kept = index([1]) * len(self.task)
        if self._mark_useful(kept) == len(kept):
            return
        first = 0
        for part in self._parts:
            end = first + len(part)
            part.keep(kept[first:end])
            first = end
        self._flatten()

    def _mark_useful(self, kept: array[int]) -> int:
        """Set the marks in `kept` of useless instances from 1 to 0; return how many are left."""
        instances, entries = len(self.task), select_kernels(len(self.task))
        users = invert(self.subtasks, self.size, entries)
        doers = invert(wrap_items(self.task), self.size, entries)
        missing, state, queue = (index([0]) * (size + 1) for size in (instances, self.size, self.size))
        return entries["keep_useful"](self.root, self.task, self.subtasks, users, doers, kept, missing, state, queue)

    def drop_useless_from(self, task: RawTask) -> None:
        """Drop useless instances from `task`, in which some may be missing already."""
        if task.size == len(self.task):
            return
        kept = index([0]) * len(self.task)
        left = [action.number for action in task.actions]
        for number in chain(left, *[table.numbers for table in task.tables]):
            kept[number] = 1
        if self._mark_useful(kept) == task.size:
            return
        task.actions = [action for action in task.actions if kept[action.number]]
        masks = [[kept[number] for number in table.numbers] for table in task.tables]
        task.tables = [
            table if all(mask) else table.select(list(compress(range(len(mask)), mask)))
            for table, mask in zip(task.tables, masks, strict=True)
            if any(mask)
        ]

    def names(self) -> Iterator[tuple[str, Row]]:
        """Yield the name and the arguments of each task."""
        return ((name, row) for name, rows in self.numbers.items() for row in rows)


def select_kernels(size: int) -> Entries:
    """Return the kernels for so many instances or facts: machine code, if there is some and it is worth loading."""
    if size < FEW:
        return ENTRIES
    from htn import kernels

    return kernels.load_kernels()


class Columns:
    """Ground actions of several schemas: action i is the instance `number[i]`, of the schema `source[kind[i]]`.

    List i of `needs`, `adds` and `deletes` has its facts; `conditional` has its conditional effects, if any.
    """

    def __init__(self, numbers: Numbering) -> None:
        self._numbers = numbers
        self.source: list[Action] = []
        self.kind, self.number = index([]), index([])
        self.arguments: list[Row] = []
        self.costs: list[Number] = []
        self.needs, self.adds, self.deletes = (Lists(index([0]), index([])) for _ in range(3))
        self.conditional: dict[int, tuple[ConditionalEffect, ...]] = {}

    def __len__(self) -> int:
        return len(self.number)

    def add_table(self, table: ActionTable) -> None:
        """Add the actions of `table`."""
        literals = self._numbers.literals
        for lists, columns in ((self.needs, table.condition), (self.adds, table.adds), (self.deletes, table.deletes)):
            extend_lists(
                lists, zip_columns(len(table), [list(map(literals.__getitem__, column)) for column in columns])
            )
        self.number.extend(index(table.numbers))
        self.arguments += table.arguments
        self.costs += table.costs
        self._add_source(table.action, len(table))

    def add_action(self, raw: RawAction) -> None:
        """Add one action without its effects on irrelevant facts."""
        known = self._numbers.literals
        if raw.effects:
            effects = [
                (self._numbers(e.condition), self._relevant(e.adds), self._relevant(e.deletes)) for e in raw.effects
            ]
            useful = [ConditionalEffect(*each) for each in effects if each[1] or each[2]]
            if useful:
                self.conditional[len(self)] = tuple(useful)
        for lists, facts in ((self.needs, raw.condition), (self.adds, raw.adds), (self.deletes, raw.deletes)):
            lists.item.extend([known[fact] for fact in facts if fact in known])
            lists.start.append(len(lists.item))
        self.number.append(raw.number)
        self.arguments.append(raw.arguments)
        self.costs.append(raw.cost)
        self._add_source(raw.action, 1)

    def _relevant(self, facts: Sequence[int]) -> tuple[int, ...]:
        known = self._numbers.literals
        return self._numbers([fact for fact in facts if fact in known])

    def _add_source(self, action: Action, times: int) -> None:
        if not self.source or self.source[-1] is not action:
            self.source.append(action)
        self.kind.extend(index([len(self.source) - 1]) * times)

    def sort(self, facts: int, entries: Entries) -> None:
        """Sort the actions by instance."""
        number = self.number
        if all(map(le, number, number[1:])):
            return
        order = sorted(range(len(number)), key=number.__getitem__)
        which, same = index(order), index(range(facts))
        self.needs, self.adds, self.deletes = (
            select(lists, which, same, entries) for lists in (self.needs, self.adds, self.deletes)
        )
        pick = itemgetter(*order)  # two at least, or they were in order
        self.number, self.kind = index(pick(number)), index(pick(self.kind))
        self.arguments, self.costs = list(pick(self.arguments)), list(pick(self.costs))
        place = {old: new for new, old in enumerate(order)}
        self.conditional = {place[old]: effects for old, effects in self.conditional.items()}


def columns_of(
    task: RawTask, numbers: Numbering, entries: Entries, check: Callable[[], None]
) -> tuple[Columns, Columns]:
    """Return the actions of `task` and, in their order, its methods, over facts by their `numbers`.

    `check` raises when a limit is reached meanwhile.
    """
    found = Columns(numbers), Columns(numbers)
    pieces: list[tuple[int, RawAction | ActionTable]] = [(action.number, action) for action in task.actions]
    pieces += [(table.numbers[0], table) for table in task.tables]
    for _, piece in sorted(pieces, key=itemgetter(0)):
        rows = found[piece.action.name.startswith(METHOD)]
        if isinstance(piece, RawAction):
            rows.add_action(piece)
            continue
        check()
        for part in piece.cut(_holes(piece, numbers)):
            rows.add_table(part)
    found[True].sort(len(numbers.literals), entries)
    return found


def _holes(table: ActionTable, numbers: Numbering) -> dict[int, list[bool]]:
    """Return the columns with effects on irrelevant facts, and in which rows these are."""
    known, first = numbers.literals, len(table.condition)
    masks = {
        place: [fact not in known for fact in column]
        for place, column in enumerate([*table.adds, *table.deletes], start=first)
    }
    return {place: mask for place, mask in masks.items() if True in mask}

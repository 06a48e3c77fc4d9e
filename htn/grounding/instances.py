"""The instances of actions and methods that were reached, as columns: which tasks they do, and which they lead to.

Each subtask is looked up once; whatever is asked of all instances is asked of arrays of numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress, count

from htn.grounding.program import DEMANDED, METHOD
from htn.model import HtnProblem
from htn.rooted import ROOT
from planner.annotations import Final
from planner.compiled.arrays import index
from planner.compiled.lists import Entries, inverse, joined, of_columns, singles
from planner.grounding.ground import Reached
from planner.grounding.joins import Row, projector
from planner.grounding.reachability import Rule
from planner.grounding.rules import SchemaRules
from planner.grounding.simplify import RawTask
from planner.kernels.kernel import ENTRIES
from planner.kernels.lists import Lists
from planner.kernels.tasks import useful as _useful
from planner.model import Atom

FEW: Final = 5_000
"""So many instances are looked through sooner than machine code is loaded."""
assert _useful is not None  # noqa: S101 - imported for its entry


class Part:
    """The instances that one rule has found: `columns` are the tasks that they do, and then each of their subtasks."""

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
        return of_columns(len(self), self.columns[1:])

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
        self._parts: list[Part] = []
        for rules in reached.schemas:
            check()
            self._parts.append(Part(rules, self.numbers, tasks[rules.schema.action.name]))
        check()
        self._flatten()

    def _flatten(self) -> None:
        self.task = index(chain.from_iterable(part.columns[0] for part in self._parts))
        self.subtasks = joined(part.subtasks for part in self._parts)

    def keep_useful(self) -> None:
        """Drop instances that cannot be finished, or that the root does not lead to."""
        kept = index([1]) * len(self.task)
        if self.useful(kept) == len(kept):
            return
        first = 0
        for part in self._parts:
            end = first + len(part)
            part.keep(kept[first:end])
            first = end
        self._flatten()

    def useful(self, kept: array[int]) -> int:
        """Take out of the `kept` ones, which are marked with 1, those that are of no use; return how many are left."""
        instances, entries = len(self.task), fitting(len(self.task))
        users = inverse(self.subtasks, self.size, entries)
        doers = inverse(singles(self.task), self.size, entries)
        missing, state, queue = (index([0]) * (size + 1) for size in (instances, self.size, self.size))
        return entries["useful"](self.root, self.task, self.subtasks, users, doers, kept, missing, state, queue)

    def settle(self, task: RawTask) -> None:
        """Drop from `task` what is of no use, now that some instances may be gone."""
        if task.size == len(self.task):
            return
        kept = index([0]) * len(self.task)
        left = [action.number for action in task.actions]
        for number in chain(left, *[table.numbers for table in task.tables]):
            kept[number] = 1
        if self.useful(kept) == task.size:
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


def fitting(size: int) -> Entries:
    """Return the kernels for so many things: machine code, if there is some and it is worth loading."""
    if size < FEW:
        return ENTRIES
    from planner.compiled import library  # noqa: PLC0415 - small problems do without

    return library.loaded() or ENTRIES

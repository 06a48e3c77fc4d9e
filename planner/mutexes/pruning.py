"""What h² says of a task: actions and facts that plans may need, and the pairs of facts that none goes through."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter

from planner.annotations import TYPE_CHECKING, Final, Protocol
from planner.budget import never
from planner.mutexes.groups import grouped
from planner.mutexes.pairs import Pairs, Rows, Sharpened
from planner.mutexes.smaller import smaller
from planner.mutexes.values import Assignments, assignments
from planner.records import dataclass, replace
from planner.search.run import Pauses
from planner.task import State, Task, bits, facts_of

if TYPE_CHECKING:
    from planner.compiled.lists import Entries

MOST: Final = 4_000
"""Conflicts that search looks for in each state, at most."""


class Knowledge(Protocol):
    """Either tier's knowledge of pairs; see `planner.mutexes.pairs.Pairs`."""

    def sharpen(self) -> Sharpened:
        """Find what else must hold where each action is applied; return whether there may be a plan."""

    def forwards(self) -> Pauses:
        """Rule out the pairs that are not reached from the initial state."""

    def backwards(self) -> Pauses:
        """Rule out the pairs from which the goal is not reached."""

    def copy(self) -> Rows:
        """Return the rows as they are now."""

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""

    def needed(self, action: int) -> tuple[int, ...]:
        """Return what must hold where an action is applied, if a plan may need it; else nothing."""

    def count(self) -> int:
        """Return a number that is another one whenever more is known."""


class Mutexes:
    """By fact, the facts that do not hold together with it, as bits; with itself, if it does not hold at all.

    They are read off `rows` over so many values (`size`), where fact f is `values[f]`.
    """

    def __init__(self, rows: Rows, values: Sequence[int], size: int) -> None:
        self._rows, self._values, self._size = rows, values, size
        self._pick = itemgetter(*[size - 1 - value for value in reversed(values)], 0)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, fact: int) -> State:
        excluded = ~self._rows(self._values[fact]) & (1 << self._size) - 1
        digits = format(excluded, f"0{self._size}b")
        return int("".join(self._pick(digits)[:-1]), 2)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A `task` that is no larger than the one that was given, and has the same cheapest plans.

    Its actions and facts are numbers `actions` and `facts` of that one; its variables may be fewer and larger. No state
    that can be reached there has a pair of `unreachable` facts, and no state on a plan one of `excluded` facts, most of
    which are both; these are by number in `task`. Unless it is `solvable` there is no plan, which is proved, `by` what;
    if it is, there may be one.
    """

    task: Task
    actions: Sequence[int]
    facts: Sequence[int]
    solvable: bool
    unreachable: Mutexes
    excluded: Mutexes
    by: str = "h2"


class Pruning:
    """Looks for what no plan needs, for as long as `steps` are gone through; `result` is what is known by then.

    That is found out about `pairs` of `values`, which stand for the facts of the task.
    Kernels do the work where `entries` has them; `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, task: Task, check: Callable[[], None] = never, entries: Entries | None = None) -> None:
        self._task = task
        self.values = assignments(task, check)
        self.pairs = _knowledge(self.values, entries, check)
        self._unreachable = self._excluded = self.pairs.copy()
        self._first = True
        self._solvable = True

    def steps(self) -> Pauses:
        """Rule out pairs and actions forwards and backwards by turns, until neither would find anything new."""
        pairs, left, forwards = self.pairs, {True: -1, False: -1}, True
        while True:
            self._solvable = yield from pairs.sharpen()
            if not self._solvable or left[forwards] == pairs.count():
                return
            yield from pairs.forwards() if forwards else pairs.backwards()
            left[forwards], forwards = pairs.count(), not forwards
            self._excluded = pairs.copy()
            if self._first:
                self._unreachable, self._first = self._excluded, False

    def result(self) -> Pruned:
        """Return what is known."""
        task, actions, facts = smaller(self._task, self.pairs.actions() if self._solvable else [])
        values = [self.values.value_of[fact] for fact in facts]
        unreachable, excluded = (
            Mutexes(rows, values, self.values.size) for rows in (self._unreachable, self._excluded)
        )
        task = replace(
            grouped(task, unreachable), conflicts=tuple(islice(_conflicts(task, unreachable, excluded), MOST))
        )
        return Pruned(task, actions, facts, self._solvable, unreachable, excluded)


def _conflicts(task: Task, unreachable: Mutexes, excluded: Mutexes) -> Iterator[tuple[int, int]]:
    """Yield the pairs of facts, none of them derived, that states may have which are reached, but none on a plan."""
    base = ~bits(task.derived)
    for fact in range(len(task.facts)):
        if fact not in task.derived:
            others = excluded[fact] & ~unreachable[fact] & base
            yield from [(fact, other) for other in facts_of(others >> fact << fact)]


def _knowledge(task: Assignments, entries: Entries | None, check: Callable[[], None]) -> Knowledge:
    """Return the tier that has the kernels."""
    if entries is None:
        return Pairs(task)
    from planner.compiled.pairs import CompiledPairs  # noqa: PLC0415 - only where there is machine code

    return CompiledPairs(task, entries, check)


def pruned(
    task: Task,
    check: Callable[[], None] = never,
    *,
    entries: Entries | None = None,
    seconds: float | None = None,
) -> Pruned:
    """Return what h² makes of `task`, or has made of it after so many `seconds` of processor time; see `Pruning`."""
    until = None if seconds is None else time.thread_time() + seconds
    pruning = Pruning(task, check, entries)
    for _ in pruning.steps():
        check()
        if until is not None and time.thread_time() > until:
            break
    return pruning.result()

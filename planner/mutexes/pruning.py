"""What h² says of a task: actions and facts that plans may need, and the pairs of facts that none goes through."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import itemgetter

from planner.annotations import Protocol
from planner.heuristics.kind import never
from planner.mutexes.pairs import Pairs, Pause, Rows, Travel
from planner.mutexes.smaller import smaller
from planner.mutexes.values import assignments
from planner.records import dataclass
from planner.task import State, Task


class Knowledge(Protocol):
    """Either tier's knowledge of pairs; see `planner.mutexes.pairs.Pairs`."""

    def sharpen(self) -> Pause:
        """Find what else must hold where each action is applied, and which actions cannot be."""

    def forwards(self) -> Travel:
        """Rule out the pairs that are not reached; return whether the goal may be."""

    def backwards(self) -> Travel:
        """Rule out the pairs from which the goal is not reached; return whether it may be from the initial state."""

    def copy(self) -> Rows:
        """Return the rows as they are now."""

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""

    def count(self) -> int:
        """Return how many pairs and actions are left."""


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

    Its actions and facts are numbers `actions` and `facts` of that one. No state that can be reached there has a pair
    of `unreachable` facts, and no state on a plan one of `excluded` facts, most of which are both; these are by number
    in `task`. Unless it is `solvable` there is no plan, which is proved; if it is, there may be one.
    """

    task: Task
    actions: Sequence[int]
    facts: Sequence[int]
    solvable: bool
    unreachable: Mutexes
    excluded: Mutexes


class Pruning:
    """Looks for what no plan needs, for as long as `steps` are gone through; `result` is what is known by then."""

    def __init__(self, task: Task, check: Callable[[], None] = never) -> None:
        self._task = task
        self._assignments = assignments(task, check)
        self._pairs: Knowledge = Pairs(self._assignments)
        self._unreachable = self._excluded = self._pairs.copy()
        self._directions = (self._pairs.forwards, self._pairs.backwards)
        self._done = 0
        self._solvable = True

    def steps(self) -> Pause:
        """Rule out pairs and actions forwards and backwards by turns, until neither finds anything new."""
        pairs, known, idle = self._pairs, self._pairs.count(), 0
        while self._solvable and idle < len(self._directions):
            direction = self._directions[self._done % 2]
            yield from pairs.sharpen()
            self._solvable = yield from direction()
            self._excluded = pairs.copy()
            if not self._done:
                self._unreachable = self._excluded
            self._done += 1
            idle = idle + 1 if pairs.count() == known else 0
            known = pairs.count()

    def result(self) -> Pruned:
        """Return what is known."""
        task, actions, facts = smaller(self._task, self._pairs.actions() if self._solvable else [])
        values = [self._assignments.value_of[fact] for fact in facts]
        unreachable, excluded = (
            Mutexes(rows, values, self._assignments.size) for rows in (self._unreachable, self._excluded)
        )
        return Pruned(task, actions, facts, self._solvable, unreachable, excluded)


def pruned(task: Task, check: Callable[[], None] = never, seconds: float | None = None) -> Pruned:
    """Return what h² makes of `task`, or has made of it after so many `seconds` of processor time.

    `check` raises when a limit is reached meanwhile.
    """
    until = None if seconds is None else time.thread_time() + seconds
    pruning = Pruning(task, check)
    for _ in pruning.steps():
        check()
        if until is not None and time.thread_time() > until:
            break
    return pruning.result()

"""Which steps may change places, next to each other, whatever the state is.

Two actions are independent if neither changes what the other reads, neither makes true what the other makes false (as
far as anything reads it), and neither writes an item of `modifies` that the other reads or writes. Plans that become
each other when independent neighbours change places, again and again, are one plan in several orders (a trace:
Mazurkiewicz, 1977).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from planner.candidates.items import Items
from planner.candidates.variants import Variants
from planner.closure import sources
from planner.grounding.joins import batches
from planner.records import dataclass
from planner.task import GroundAction, State, Task, bits


@dataclass(frozen=True, slots=True)
class Touched:
    """The base facts that an action reads, may make true, and may make false, as bits."""

    reads: State
    adds: State
    deletes: State


class Commuting:
    """Answers which actions of `task` are independent; what was asked for is remembered.

    An action stands for all that are the same step. `items` are those of the declared problem. If it is `strict`,
    actions that make the same fact true, or false, are not independent either: which comes last decides on the partial
    order of a plan, and so on how long it takes. Not only actions and the goal read facts, but also whatever reads
    `others`. `check` raises when a limit is reached.
    """

    def __init__(
        self,
        task: Task,
        check: Callable[[], None],
        items: Items | None = None,
        *,
        strict: bool = False,
        others: Iterable[int] = (),
    ) -> None:
        self._task, self._variants, self._strict = task, Variants(task, check), strict
        self._items = items if items is not None and items.any else None
        self._sources = sources(task)
        self._touched: dict[int, Touched] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._read = self._base((*task.goal, *others))
        for batch in batches(task.actions, 1000):
            check()
            for action in batch:
                self._read |= self._reads(action)

    def independent(self, one: int, other: int) -> bool:
        """Return whether the actions of these numbers are independent."""
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = self._found(one, other)
        return found

    def _found(self, one: int, other: int) -> bool:
        mine, theirs = self._of(one), self._of(other)
        if mine.reads & (theirs.adds | theirs.deletes) or theirs.reads & (mine.adds | mine.deletes):
            return False
        if mine.adds & theirs.deletes or mine.deletes & theirs.adds:
            return False
        if self._strict and (mine.adds & theirs.adds or mine.deletes & theirs.deletes):
            return False
        actions = self._task.actions
        return self._items is None or not self._items.clash(actions[one].step, actions[other].step)

    def first(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return the order of `plan` that comes first in the alphabet of the actions."""
        missing, after = [0] * len(plan), [list[int]() for _ in plan]
        for later, action in enumerate(plan):
            for earlier in range(later):
                if not self.independent(plan[earlier], action):
                    missing[later] += 1
                    after[earlier].append(later)
        ready = [(action, place) for place, action in enumerate(plan) if not missing[place]]
        heapify(ready)
        found = []
        while ready:
            action, place = heappop(ready)
            found.append(action)
            for later in after[place]:
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, (plan[later], later))
        return tuple(found)

    def _of(self, number: int) -> Touched:
        if number not in self._touched:
            reads = adds = deletes = 0
            for action in [self._task.actions[variant] for variant in self._variants.of[number]]:
                reads |= self._reads(action)
                adds, deletes = adds | bits(action.adds), deletes | bits(action.deletes)
                for effect in action.conditional:
                    adds, deletes = adds | bits(effect.adds), deletes | bits(effect.deletes)
            self._touched[number] = Touched(reads, adds & self._read, deletes & self._read)
        return self._touched[number]

    def _reads(self, action: GroundAction) -> State:
        found = self._base(action.precondition)
        for effect in action.conditional:
            found |= self._base(effect.condition)
        return found

    def _base(self, facts: tuple[int, ...]) -> State:
        found = 0
        for fact in facts:
            found |= self._sources.get(fact, 1 << fact)
        return found

"""Which steps may change places, next to each other, whatever the state is.

Two actions are independent if neither changes what the other reads, and neither makes true what the other makes false,
as far as anything reads it. Plans that become each other when independent neighbours change places, again and again,
are one plan in several orders (a trace: Mazurkiewicz, 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from planner.records import dataclass
from planner.task import GroundAction, State, Task, bits


@dataclass(frozen=True, slots=True)
class Touched:
    """The base facts that an action reads, may make true, and may make false, as bits."""

    reads: State
    adds: State
    deletes: State


class Commuting:
    """Answers which actions of `task` are independent; what was asked for is remembered."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._sources = sources(task)
        self._touched: dict[int, Touched] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._read = self._base(task.goal)
        for action in task.actions:
            self._read |= self._reads(action)

    def independent(self, one: int, other: int) -> bool:
        """Return whether the actions of these numbers are independent."""
        found = self._known.get((one, other))
        if found is None:
            mine, theirs = self._of(one), self._of(other)
            found = not (
                mine.reads & (theirs.adds | theirs.deletes)
                or theirs.reads & (mine.adds | mine.deletes)
                or mine.adds & theirs.deletes
                or mine.deletes & theirs.adds
            )
            self._known[one, other] = found
        return found

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
            action = self._task.actions[number]
            adds, deletes = bits(action.adds), bits(action.deletes)
            for effect in action.conditional:
                adds, deletes = adds | bits(effect.adds), deletes | bits(effect.deletes)
            self._touched[number] = Touched(self._reads(action), adds & self._read, deletes & self._read)
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


def sources(task: Task) -> dict[int, State]:
    """Return for each derived fact the base facts that it may depend on, as bits."""
    reads: dict[int, set[int]] = {fact: set() for fact in task.derived}
    for layer in task.axioms:
        for rule in layer.rules:
            reads[rule.head].update(rule.body)
        for negated, derived in layer.negated:
            reads[negated].add(derived)
    found: dict[int, State] = {}
    for fact in reads:
        seen, waiting = {fact}, [fact]
        while waiting:
            more = reads.get(waiting.pop(), set()) - seen
            seen |= more
            waiting += more
        found[fact] = bits(seen - task.derived)
    return found

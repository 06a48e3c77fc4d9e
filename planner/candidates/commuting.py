"""Which steps may change places, next to each other, whatever the state is.

Two actions are independent if neither changes what the other reads, and neither makes true what the other makes false,
as far as anything reads it. Plans that become each other when independent neighbours change places, again and again,
are one plan in several orders (a trace: Mazurkiewicz, 1977).
"""

from __future__ import annotations

from collections.abc import Sequence

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
        self._read = self._base(task.goal)
        for action in task.actions:
            self._read |= self._reads(action)

    def independent(self, one: int, other: int) -> bool:
        """Return whether the actions of these numbers are independent."""
        mine, theirs = self._of(one), self._of(other)
        return not (
            mine.reads & (theirs.adds | theirs.deletes)
            or theirs.reads & (mine.adds | mine.deletes)
            or mine.adds & theirs.deletes
            or mine.deletes & theirs.adds
        )

    def first(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return the order of `plan` that comes first in the alphabet of the actions."""
        rest, found = [*plan], []
        while rest:
            best = 0
            for place in range(1, len(rest)):
                if rest[place] < rest[best] and all(self.independent(rest[place], each) for each in rest[:place]):
                    best = place
            found.append(rest.pop(best))
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

"""What searches for plans go by: the state space, its relaxation, and its landmarks, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Final

from planner.compiled.arrays import empty_index, flat, index, words, zeros
from planner.compiled.library import Call
from planner.compiled.packing import Packing, packing
from planner.compiled.relaxed import exploration, packed_relaxation
from planner.compiled.space import first_state, packed_space
from planner.heuristics.landmarks import NONE, Landmarks, landmarks
from planner.heuristics.relaxed import relax
from planner.kernels.milestones import BITS, Milestones
from planner.kernels.relaxed_plan import Achievers, Reachable, relaxed_plan
from planner.task import Task

VALUES: Final = 1 << 12
"""Buckets for the values of facts; dearer ones share the last."""


class Guide:
    """The arrays for `task`, whose actions have these `costs` in estimates, and the kernels `entries`.

    Several searches may share one if they take turns, and begin with `fresh`.
    """

    def __init__(
        self,
        task: Task,
        costs: list[int],
        entries: dict[str, Call],
        *,
        milestones: bool = True,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.entries = entries
        self.packed = packing(task)
        self.actions = len(task.actions)
        self.space = packed_space(task, self.packed)
        self.initial = first_state(task, self.packed, self.space)
        relaxed = relax(task, costs)
        self.relaxed = packed_relaxation(relaxed, self.actions)
        self.exploration = exploration(relaxed, self.actions, self.packed)
        self.facts = relaxed.size
        entries_needed = sum(map(len, relaxed.effects)) + 1
        self.reachable = Reachable(empty_index(VALUES), empty_index(entries_needed), empty_index(entries_needed))
        marks = landmarks(task, relaxed, check) if milestones else NONE
        self.milestones = packed_milestones(marks, self.packed)
        self.mark_words = (len(marks.facts) + BITS - 1) // BITS
        self.found = empty_index(self.actions + 1)
        self.stack = empty_index(len(self.space.tree.action_start))
        self.achievers = self._achievers()

    def fresh(self) -> Guide:
        """Return the same for another search, which numbers its relaxed plans from 1 on."""
        other = copy(self)
        other.achievers = self._achievers()
        return other

    def _achievers(self) -> Achievers:
        facts = self.facts
        return Achievers(empty_index(facts), zeros(facts), zeros(self.actions), empty_index(facts))

    def estimate(self, state: list[int], plan: int) -> int:
        """Return the cost of a relaxed plan, number `plan`, for a packed state; `INFINITE` for a dead end."""
        coding = self.space.coding
        return relaxed_plan(
            self.relaxed, self.exploration, self.achievers, self.reachable, coding, words(state), 0, plan, 0
        )

    def planned(self, action: int) -> int:
        """Return the number of the last relaxed plan that `action` was in."""
        return self.achievers.planned[action]


def packed_milestones(marks: Landmarks, packed: Packing) -> Milestones:
    """Return landmarks as arrays."""
    places = [packed.places[fact] for facts in marks.facts for fact in facts]
    return Milestones(
        flat(marks.facts)[0],
        index(word for word, _, _ in places),
        words(mask for _, mask, _ in places),
        words(bits for _, _, bits in places),
        *flat(marks.before),
        *flat(marks.needed_for),
        index(map(int, marks.goals)),
    )

"""What all compiled searches for a task share: its state space, its relaxation and its landmarks, as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property

from planner.heuristics.abstractions.cost_partitioning_kernel import Tables
from planner.heuristics.landmarks import Landmarks, landmarks
from planner.heuristics.landmarks_kernel import Milestones
from planner.heuristics.relaxation import RelaxedTask, relax
from planner.heuristics.relaxation_compiled import (
    aimed,
    exploration,
    facts_of_zero,
    missing_at_first,
    packed_relaxation,
    prices,
)
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit.arrays import empty_index, flat, index, words
from planner.jit.library import Call
from planner.limits import never
from planner.pruning.stubborn_sets_compiled import stubborn_tables
from planner.pruning.stubborn_sets_kernel import Stubborn
from planner.pruning.symmetries_compiled import Orbits, orbits
from planner.task.ground_task import Task
from planner.task.packed_task_compiled import Packing, conjunction, first_state, packed_space, packing


class Board:
    """The arrays for `task`, and the kernels `entries`. What a search may not need is made when it is first asked for.

    Searches may share one if they take turns; `found` and `stack` are room for the actions of a state, and `tables` are
    the abstractions that one of them has prepared. `check` raises when a limit is reached meanwhile.
    """

    def __init__(self, task: Task, entries: dict[str, Call], check: Callable[[], None] = never) -> None:
        self.task, self.entries, self.check = task, entries, check
        self.packed = packing(task)
        check()
        self.space = packed_space(task, self.packed, check)
        check()
        self.initial = first_state(task, self.packed, self.space)
        self.actions = len(task.actions)
        self.costs = [action.cost for action in task.actions]
        self.found = empty_index(self.actions + 1)
        self.stack = empty_index(len(self.space.tree.action_start))
        self.tables: Tables | None = None

    @cached_property
    def relaxation(self) -> RelaxedTask:
        """The delete relaxation."""
        return relax(self.task)

    @cached_property
    def relaxed(self) -> Relaxed:
        """The delete relaxation as arrays."""
        return packed_relaxation(self.relaxation, self.costs)

    def counting(self, costs: Sequence[int]) -> Relaxed:
        """Return the relaxation with other `costs` of the actions."""
        return self.relaxed._replace(cost=prices(self.relaxation, costs))

    @cached_property
    def exploration(self) -> Exploration:
        """Room for explorations of the relaxation."""
        return exploration(self.relaxation, self._missing[:], self.costs, self.packed)

    @cached_property
    def _missing(self) -> array[int]:
        """How many preconditions of each operator do not hold in the state whose words are all 0."""
        return missing_at_first(self.relaxation, self.packed)

    @cached_property
    def milestones(self) -> Milestones:
        """The landmarks as arrays."""
        return packed_milestones(landmarks(self.task, self.relaxation, self.check), self.packed)

    @cached_property
    def stubborn(self) -> Stubborn | None:
        """What stubborn sets of actions are found by; None where they are not sound, or would take too long."""
        return stubborn_tables(self.task, self.packed, self.check)

    @cached_property
    def orbits(self) -> Orbits | None:
        """The symmetries by which one state stands for others; None where none are found."""
        return orbits(self.task, self.packed, self.space, self.check)

    def between(self, state: Sequence[int], goal: Sequence[int]) -> Board:
        """Return the same from another `state`, given by its words, to another `goal`: facts, none of them derived.

        It is for searches that guess: `stubborn`, `orbits` and `tables` are still those of the whole goal.
        """
        part = copy(self)
        part.initial = list(state)
        part.space = self.space._replace(goal=conjunction(goal, self.packed))
        part.relaxed = aimed(self.relaxed, self.relaxation, goal)
        missing = self._missing[:]
        missing[-1] = len(set(goal).difference(facts_of_zero(self.packed)))
        part.exploration = exploration(self.relaxation, missing, self.costs, self.packed)
        return part


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

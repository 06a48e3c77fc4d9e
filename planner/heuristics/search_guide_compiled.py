"""The estimates of satisficing searches: relaxed plans under given costs, and landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from planner.heuristics.landmarks import NONE
from planner.heuristics.landmarks_kernel import BITS
from planner.heuristics.relaxation_compiled import make_achievers, make_reachable
from planner.heuristics.relaxation_kernel import Achievers, relaxed_plan
from planner.jit.arrays import words
from planner.search.task_compiled import Board, packed_milestones


class Guide:
    """Estimates on `board` under these `costs`; with `milestones`, they include landmark counts.

    Several searches may share a guide if they take turns and start with `copy_afresh`.
    """

    def __init__(self, board: Board, costs: Sequence[int], *, milestones: bool = True) -> None:
        self.board, self._costs = board, costs
        self.relaxed = board.price_relaxation(costs)
        self.reachable = make_reachable(self.relaxed)
        self.milestones = board.milestones if milestones else packed_milestones(NONE, board.packed)
        self.achievers = self._achievers()

    @property
    def mark_words(self) -> int:
        """The number of words for the accepted landmarks of a state."""
        return (len(self.milestones.goal) + BITS - 1) // BITS

    def copy_afresh(self, *, landmarks: bool = True) -> Guide:
        """Return a copy for another search, which numbers its relaxed plans from 1, with or without landmarks."""
        other = copy(self)
        other.achievers = self._achievers()
        if not landmarks:
            other.milestones = packed_milestones(NONE, self.board.packed)
        return other

    def branch(self, guard: Callable[[Callable[[], None]], Callable[[], None]] | None) -> Guide:
        """Return a guide for a search in another thread, whose looks at limits `guard` changes; this one without it."""
        if guard is None:
            return self
        other = copy(self)
        other.board = self.board.branch(guard(self.board.check))
        other.achievers, other.reachable = self._achievers(), make_reachable(self.relaxed)
        return other

    def retarget(self, state: Sequence[int], goal: Sequence[int]) -> Guide:
        """Return a copy without landmarks, for searches from another packed `state` to another `goal`."""
        part = copy(self)
        part.board = self.board.retarget(state, goal)
        part.relaxed = part.board.relaxed._replace(cost=self.relaxed.cost)
        return part

    def _achievers(self) -> Achievers:
        return make_achievers(self.board.relaxation.size, len(self.board.costs))

    def estimate(self, state: list[int], plan: int) -> int:
        """Return the cost of a relaxed plan, number `plan`, for a packed state; `INFINITE` for a dead end."""
        room, coding = self.board.exploration, self.board.space.coding
        return relaxed_plan(self.relaxed, room, self.achievers, self.reachable, coding, words(state), 0, plan, 0)

    def cost_of_plan(self, plan: int) -> int:
        """Return the cost of the relaxed plan with this number, the latest one."""
        # Axioms are free, and an action pays once for all its operators.
        paid = zip(self.achievers.planned, self._costs, strict=False)
        return sum([cost for number, cost in paid if number == plan])

    def last_plan_of(self, action: int) -> int:
        """Return the number of the last relaxed plan that contained `action`."""
        return self.achievers.planned[action]

"""Best-first width search by kernels: plans soon where estimates mislead."""

from __future__ import annotations

from typing import Final

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, lengthened, words, zeros
from planner.jit.common_kernel import FULL
from planner.search.best_first_width_kernel import NOVEL, Facts, Frontier
from planner.search.compiled_driver import WORK, Accounts, States
from planner.search.search_run import Ending, Run, Steps
from planner.task.packed_states_kernel import holds

SEEN: Final = 1 << 20
"""Elements of the table for novelty, of 32 bits each: 4 MiB."""


class CompiledWidth:
    """Best-first width search by `guide`."""

    def __init__(self, guide: Guide, *, work: int = WORK, room: int = 1024, seen: int = SEEN) -> None:
        self._guide, self._work = guide.fresh(), work
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        self._states = States(self._guide, room + 2)
        length = room + 2
        buckets = empty_index(NOVEL * (len(guide.milestones.goal) + 1))
        self._frontier = Frontier(
            buckets,
            buckets[:],
            empty_index(length),
            index([0]) * length,
            zeros(length),
            index([0]) * length,
            index([0]) * (room + 3),
            empty_index(room + guide.board.relaxation.size),
            index([0]) * seen,
        )
        self._frontier.left[0] = len(guide.milestones.goal) + 1
        self._frontier.first[0] = self._frontier.last[0] = 0
        self._found = empty_index(guide.board.actions + 1)
        places = guide.board.packed.places
        self._facts = Facts(
            index(word for word, _, _ in places),
            words(mask for _, mask, _ in places),
            words(bits for _, _, bits in places),
        )

    def steps(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        number, states, accounts = self._number, self._states, Accounts(run, self._number)
        if holds(self._guide.board.space.goal, 0, states.registry.state, 0):
            run.found([], 0)
            return Ending.FIRST_PLAN
        while True:
            outcome = self._call()
            accounts.settle(states.registry, states.reached, self._frontier)
            if (ending := states.ending(outcome, number[slot.GOAL_STATE], run)) is not None:
                return ending
            if outcome == FULL:
                self._grow()
            yield

    def _call(self) -> int:
        guide, states = self._guide, self._states
        return guide.board.entries["width"](
            self._work,
            self._number,
            guide.board.space,
            self._facts,
            states.registry,
            states.reached,
            self._frontier,
            guide.relaxed,
            guide.board.exploration,
            guide.achievers,
            guide.reachable,
            guide.milestones,
            self._found,
            guide.board.stack,
        )

    def _grow(self) -> None:
        """Lengthen what is short."""
        number, frontier = self._number, self._frontier
        self._states.grow(number[slot.STATES], number[slot.STATES] + 2)
        length = len(self._states.reached.parent)
        for each in (frontier.next, frontier.origin, frontier.made, frontier.left):
            if length > len(each):
                lengthened(each, length)
        if number[slot.TYPES] + 2 >= len(frontier.plan_start):
            lengthened(frontier.plan_start, number[slot.TYPES] + 3)
        if number[slot.EDGES] + self._guide.board.relaxation.size > len(frontier.fact):
            lengthened(frontier.fact, number[slot.EDGES] + self._guide.board.relaxation.size)

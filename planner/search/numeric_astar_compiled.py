"""A* for numeric tasks by kernels; the kernel is `numeric_astar_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from planner.heuristics.numeric_lmcut_compiled import MOST_COST as MOST_ACTION_COST
from planner.heuristics.numeric_lmcut_compiled import bound_numeric
from planner.heuristics.numeric_lmcut_kernel import BoundRoom, NumericBounds
from planner.heuristics.numeric_state_equation_compiled import write_state_equation
from planner.heuristics.numeric_state_equation_kernel import Equation, Tableau
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, make_hollow, words, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL
from planner.jit.library import Call
from planner.pruning.numeric_dominance import make_fronts
from planner.pruning.numeric_dominance_kernel import Fronts
from planner.pruning.numeric_symmetries import NumericOrbits
from planner.pruning.symmetries_compiled import NONE
from planner.search import numeric_astar_kernel as kernel
from planner.search import task_compiled
from planner.search.open_lists_kernel import Queue
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.task.numeric_pricing import Pricing
from planner.task.numeric_task_compiled import NumericSpace
from planner.task.packed_numbers_kernel import Prices, price_end
from planner.task.state_registry_kernel import Nodes

KINDS: Final = {
    "blind": kernel.BLIND,
    "hmax": kernel.H_MAX,
    "lmcut": kernel.LM_CUT,
    "equation": kernel.EQUATION,
    "equation+lmcut": kernel.BOTH,
}
Relax = Callable[[NumericSpace, Sequence[int]], tuple[NumericBounds, BoundRoom]]
Write = Callable[[NumericSpace, Sequence[int]], "tuple[Equation, Tableau] | None"]
SLOTS: Final = 1 << 20
"""Slots for states that are compared: 4 MB."""
WORK: Final = 2_000_000
"""Steps of inner loops between two pauses: some milliseconds."""


class NumericAstar:
    """A* with the named heuristic; `weight` times the estimate orders states, and 1 makes the first plan optimal.

    Whatever the weight, states are pruned by the estimate alone, so that a search that is exhausted is a proof.
    `pricing` says what steps cost beside their actions. Search keeps one of the states that `orbits` map to each other.
    `relax` gives the relaxation and `write` the state equation, which searches may share. Where that is too large,
    "equation" gives up, and "equation+lmcut" uses LM-cut alone.
    """

    def __init__(
        self,
        space: NumericSpace,
        entries: Mapping[str, Call],
        heuristic: str,
        *,
        weight: int = 1,
        relax: Relax = bound_numeric,
        write: Write = write_state_equation,
        pricing: Pricing | None = None,
        orbits: NumericOrbits | None = None,
        room: int = 1024,
    ) -> None:
        self._space, self._entries, self._relax, self._write = space, entries, relax, write
        self._kind, self._weight = KINDS[heuristic], weight
        task = space.source.task
        self._costs = [action.cost for action in task.actions] if pricing is None else pricing.least
        self._prices = Prices(words([]), words([]), words([0])) if pricing is None else pricing.prices
        self._bounds: NumericBounds = make_hollow(NumericBounds)
        self._room: BoundRoom = make_hollow(BoundRoom)
        self._equation: Equation = make_hollow(Equation)
        self._tableau: Tableau = make_hollow(Tableau)
        self._fronts = make_fronts(space, SLOTS) or make_hollow(Fronts)
        self._orbits = orbits
        self._number = zeros(slot.HOW_MANY)
        self._number[slot.STATES] = self._number[slot.OPEN] = 1
        self._row = len(space.initial)
        states = room + len(task.actions)
        self._registry = task_compiled.new_registry(space.initial, states, entries)
        self._nodes = Nodes(empty_index(states), empty_index(states), zeros(states), zeros(states), index([0]) * states)
        ensure_length(states, self._fronts.next)
        self._queue = Queue(zeros(states), index([0]) * states)
        self._found = empty_index(len(task.actions) + 2)
        self._stack = empty_index(len(space.space.tree.action_start))

    def steps(self, run: Run) -> Steps:
        """Search for the cheapest plan; a search that ends has excluded all plans cheaper than `run.limit`."""
        number, counter = self._number, task_compiled.WorkCounter(run, self._number)
        if max(self._costs, default=0) > MOST_ACTION_COST:
            return Ending.INCOMPLETE
        if self._kind >= kernel.EQUATION:
            written = self._write(self._space, self._costs)
            if written is not None:
                self._equation, self._tableau = written
            elif self._kind == kernel.EQUATION:
                return Ending.INCOMPLETE
            else:
                self._kind = kernel.LM_CUT
            yield
        if self._kind not in (kernel.BLIND, kernel.EQUATION):
            self._bounds, self._room = self._relax(self._space, self._costs)
            yield
        while True:
            number[slot.LIMIT] = min(run.limit, task_compiled.MOST_COST)
            outcome = self._call()
            counter.update(self._registry, self._nodes, self._queue)
            if outcome == FOUND:
                state = number[slot.GOAL_STATE]
                plan = task_compiled.trace_actions(self._nodes.parent, self._nodes.action, state)
                if self._orbits is not None:
                    plan = self._orbits.plan(self._space.initial, plan)
                end = price_end(self._prices, self._registry.state, state * self._row + self._space.words)
                run.report_plan(plan, self._nodes.cost[state] + end)
            elif outcome == EXHAUSTED:
                if number[slot.PRUNED]:
                    return Ending.INCOMPLETE
                run.raise_bound(run.limit)
                return Ending.EXHAUSTED
            elif outcome == FULL:
                self._grow()
            if not number[slot.PRUNED]:
                run.raise_bound(number[slot.CURRENT_F])
            yield

    def _call(self) -> int:
        space = self._space
        states = (self._registry, self._nodes, self._queue)
        return self._entries["numeric_astar"](
            self._kind,
            self._weight,
            WORK,
            space.words,
            self._number,
            space.space,
            self._prices,
            *states,
            self._bounds,
            self._room,
            self._equation,
            self._tableau,
            self._fronts,
            NONE if self._orbits is None else self._orbits.symmetries,
            self._found,
            self._stack,
        )

    def _grow(self) -> None:
        number, most = self._number, len(self._found) + 1
        states = number[slot.STATES] + most
        if states >= len(self._nodes.parent):
            ensure_length(states + 1, *self._nodes)
            ensure_length(len(self._nodes.parent) * self._row, self._registry.state)
            ensure_length(len(self._nodes.parent), self._fronts.next)
        self._registry = task_compiled.enlarge_table(
            self._registry, number[slot.STATES], states, self._row, self._entries
        )
        ensure_length(number[slot.OPEN] + most, *self._queue)

"""Exploration by kernels: the compiled twin of `planner.topk.exploration`."""

from __future__ import annotations

from array import array
from copy import copy
from typing import Final

from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, lengthen, words, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PASSED, PAUSED
from planner.lightweight import dataclass
from planner.search.astar_compiled import CompiledAstar
from planner.search.search_run import Ending, Steps
from planner.search.task_compiled import MOST_COST, SPARE, WORK, Board
from planner.task.ground_task import INFINITY
from planner.task.packed_states_kernel import Space
from planner.task.packed_task_compiled import NEVER, pack_tests
from planner.topk import exploration_kernel

INITIAL_EDGES: Final = 1024
"""Initial capacity for edges."""


class CompiledExplored(CompiledAstar):
    """A* on `board` that continues after the first plan; see `planner.topk.exploration.Explored`.

    It gives up before it stores more than this number of `states`.
    """

    def __init__(
        self,
        board: Board,
        heuristic: str,
        *,
        past_goals: bool,
        states: int | None = None,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        super().__init__(board, heuristic, states=states, work=work, room=room)
        self._past_goals = past_goals
        self._space: Space = board.space
        self._number[slot.LIMIT] = MOST_COST
        self.lowest = 0
        self.optimum: int | None = None

    @property
    def expanded(self) -> int:
        """Number of expanded states."""
        return self._number[slot.EXPANSIONS]

    def find_first_plan(self) -> Steps:
        """Expand until the cheapest plan is known or excluded."""
        if self.optimum is not None:
            return Ending.EXHAUSTED
        return (yield from self._explore(MOST_COST))

    def expand_through(self, bound: int) -> Steps:
        """Expand all states on plans of cost at most `bound`."""
        if self.lowest > bound:
            return Ending.EXHAUSTED
        return (yield from self._explore(min(bound, MOST_COST)))

    def _explore(self, until: int) -> Steps:
        """Expand all states with f ≤ `until`, or until the first plan is found."""
        number = self._number
        number[slot.UNTIL] = until
        while self.lowest < INFINITY:
            outcome = self._call(self._work)
            if outcome == FOUND and self.optimum is None:
                self.optimum = number[slot.CURRENT_F]
                self._go_past_goals()
                return Ending.EXHAUSTED
            if outcome == EXHAUSTED and max(self._memory.nodes.cost) < MOST_COST - 2 * SPARE:
                self.lowest = INFINITY
            elif outcome == EXHAUSTED or (outcome == FULL and not self._grow()):
                return Ending.INCOMPLETE
            else:
                self.lowest = number[slot.CURRENT_F]
                if outcome == PASSED:
                    break
            yield
        return Ending.EXHAUSTED

    def _go_past_goals(self) -> None:
        """Expand goal states, too, beginning with the one just found: no state is a goal of the kernel any more."""
        if self._past_goals:
            self._number[slot.PENDING] = self._number[slot.GOAL_STATE]
            self._board = copy(self._board)
            self._board.space = self._space._replace(goal=pack_tests([[NEVER]]))

    def part(self, bound: int) -> Within:
        """Return the part of plans of cost at most `bound`, up to which all is expanded."""
        states = self._number[slot.STATES]
        self._grow_states(states + 1)
        nodes = self._memory.nodes
        made = exploration_kernel.Edges(
            words([states, 0, 0, INFINITE]),
            empty_index(INITIAL_EDGES),
            empty_index(INITIAL_EDGES),
            empty_index(INITIAL_EDGES),
            empty_index(states + 1),
            index([0]) * states,
        )
        while self._make_edges(bound, made) == FULL:
            more = made.number[exploration_kernel.MADE] + self._board.actions + 1
            for each in (made.source, made.action, made.child):
                lengthen(each, more)
        many = made.number[exploration_kernel.MADE]
        to_goal = exploration_kernel.Distances(
            array("q", [INFINITE]) * states,
            index([0]) * (states + 1),
            empty_index(many + 1),
            zeros(many + states + 1),
            empty_index(many + states + 1),
        )
        self._board.entries["measure_distances"](bound, self._space.actions.cost, nodes.cost, made, to_goal)
        beyond = min(made.number[exploration_kernel.BEYOND], self.lowest)
        return Within(bound, INFINITY if beyond >= INFINITE else beyond, made, to_goal.value, {})

    def _make_edges(self, bound: int, made: exploration_kernel.Edges) -> int:
        """Make edges until all are made, or the arrays are full."""
        memory, board = self._memory, self._board
        outcome = PAUSED
        while outcome == PAUSED:
            outcome = board.entries["make_edges"](
                self._work, bound, self._space, memory.registry, memory.nodes, made, board.found, board.stack
            )
        return outcome


@dataclass(frozen=True, slots=True)
class Within:
    """A `planner.topk.exploration.Part` in arrays; the initial state has number 0."""

    bound: int
    beyond: int
    made: exploration_kernel.Edges
    value: array[int]
    known: dict[int, dict[int, int]]
    start: int = 0

    def distance(self, state: int) -> int:
        """Return the distance of `state` to the goal; `INFINITY` for a state outside the part."""
        value = self.value[state]
        return INFINITY if value == INFINITE else value

    def edges(self, state: int) -> dict[int, int]:
        """Return the successors of `state` by action, in ascending order of the actions."""
        found = self.known.get(state)
        if found is None:
            first, last = self.made.first[state], self.made.first[state + 1]
            pairs = zip(self.made.action[first:last], self.made.child[first:last], strict=True)
            found = self.known[state] = dict(sorted(pairs))
        return found

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
        return bool(self.made.is_goal[state])

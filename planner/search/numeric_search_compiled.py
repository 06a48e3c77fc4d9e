"""Searches of numeric tasks by kernels."""

from __future__ import annotations

from collections.abc import Mapping

from planner.heuristics.numeric_relaxation_compiled import relax_numeric
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, zeros
from planner.jit.common_kernel import FOUND, FULL, INFINITE, NOTHING
from planner.jit.library import Call
from planner.lightweight import Final
from planner.search import task_compiled
from planner.search.numeric_best_first_kernel import SCRATCH, NumericPaths, NumericQueues
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.task.numeric_task_compiled import NumericSpace

WORK: Final = 2_000_000
"""Steps of inner loops between two pauses: some milliseconds."""
SEEN: Final = 1 << 19
"""Number of words in the table of novelty, of 32 bits each in use: 4 MiB."""


class NumericBestFirst:
    """Lazy greedy best-first search by relaxed plans with repetitions.

    States wait in the order of their estimates; of equal ones the oldest comes first, or the `youngest`. If `novel`,
    all states with a new value come before the others. If the search `jumps`, edges repeat an action until a fact
    changes. If it `pays`, relaxed plans produce what they use up.
    """

    def __init__(
        self,
        space: NumericSpace,
        entries: Mapping[str, Call],
        *,
        youngest: bool = False,
        novel: bool = False,
        jumps: bool = False,
        pays: bool = False,
        room: int = 4096,
    ) -> None:
        self._space, self._entries = space, entries
        self._options = (int(youngest), int(novel), int(jumps), int(pays))
        self._relaxation = relax_numeric(space, [1] * len(space.source.task.actions))
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        number[slot.BEST] = INFINITE
        row = len(space.initial)
        length = room + SCRATCH
        self._registry = task_compiled.new_registry(space.initial, length, entries)
        self._row = row
        self._paths = NumericPaths(empty_index(length), empty_index(length), index([0]) * length, zeros(length))
        batches, self._actions = 2 * length, len(space.source.task.actions)
        edges = 4 * length + 3 * self._actions + 3
        self._queues = NumericQueues(
            zeros(batches),
            empty_index(batches),
            zeros(batches),
            empty_index(batches),
            *[index([0]) * batches for _ in range(3)],
            *[index([0]) * edges for _ in range(2)],
        )
        self._seen = zeros(SEEN)
        self._found = empty_index(self._actions + 1)
        self._stack = empty_index(len(space.space.tree.action_start))

    def has_evaluated_fewer(self, states: int) -> bool:
        """Return whether the search has evaluated fewer states than that."""
        return self._number[slot.EVALUATIONS] < states

    def steps(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        number = self._number
        counter = task_compiled.WorkCounter(run, number)
        while True:
            outcome = self._call()
            counter.update(self._registry, self._paths, self._queues)
            if outcome == FOUND:
                plan = self._trace(number[slot.GOAL_STATE])
                run.report_plan(plan, sum([self._space.source.task.actions[action].cost for action in plan]))
                return Ending.FIRST_PLAN
            if outcome == FULL:
                self._grow()
            elif outcome:
                if number[slot.LEFT_OUT]:
                    run.failed = "states with numbers too great for exact search in 64 bits were left out"
                return Ending.INCOMPLETE
            yield

    def _call(self) -> int:
        space = self._space
        return self._entries["numeric_best_first"](
            WORK,
            *self._options,
            self._number,
            space.space,
            space.preconditions,
            self._registry,
            self._paths,
            self._queues,
            self._relaxation.relaxed,
            self._relaxation.room,
            self._relaxation.demands,
            self._relaxation.memory,
            self._seen,
            self._found,
            self._stack,
        )

    def _trace(self, state: int) -> list[int]:
        paths = self._paths
        actions: list[int] = []
        while paths.parent[state] != NOTHING:
            actions += [paths.action[state]] * paths.times[state]
            state = paths.parent[state]
        return actions[::-1]

    def _grow(self) -> None:
        number, paths, queues = self._number, self._paths, self._queues
        states = number[slot.STATES]
        if states + SCRATCH >= len(paths.parent) or 2 * (states + 1) > len(self._registry.table):
            length = states + states // 2 + SCRATCH + 1
            ensure_length(length, paths.parent, paths.action, paths.times, paths.cost)
            length = len(paths.parent)
            ensure_length(length * self._row, self._registry.state)
            self._registry = task_compiled.enlarge_table(self._registry, states, length, self._row, self._entries)
        if number[slot.BATCHES] + 2 >= len(queues.state):
            ensure_length(2 * len(queues.state), *queues[:7])
        if number[slot.EDGES] + 3 * len(self._found) >= len(queues.edge):
            ensure_length(len(queues.edge) + len(queues.edge) // 2 + 3 * len(self._found) + 1, *queues[7:])

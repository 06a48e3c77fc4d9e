"""Best-first search by kernels, for tasks with numbers and for tasks in time; the kernel is `best_first_kernel`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from planner.heuristics.numeric_relaxation_compiled import relax_numeric
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, make_hollow, zeros
from planner.jit.common_kernel import FOUND, FULL, INFINITE, NOTHING
from planner.jit.library import Call
from planner.lightweight import Final
from planner.search import task_compiled
from planner.search.best_first_kernel import SCRATCH, Paths, Workspace
from planner.search.edge_queues_compiled import allocate_queues, grow_queues
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.task.lapses_kernel import Lapses
from planner.task.numeric_task_compiled import NumericSpace

WORK: Final = 2_000_000
"""Steps of inner loops between two pauses: some milliseconds."""
SEEN: Final = 1 << 19
"""Number of words in the table of novelty, of 32 bits each in use: 4 MiB."""
OPTIONS: Final = {"youngest": slot.YOUNGEST, "novel": slot.NOVEL, "jumps": slot.JUMPS, "pays": slot.PAYS}
"""The options of the search, and where the kernel reads them."""


class BestFirst:
    """Lazy greedy best-first search by relaxed plans with repetitions, whose steps have these `costs`.

    States wait in the order of their estimates; of equal ones the oldest comes first, or with option "youngest" the
    youngest. If "novel" is among the `options`, all states with a new value come before the others. If the search
    "jumps", edges repeat an action until a fact changes. If it "pays", relaxed plans produce what they use up. In time,
    `lapses` and the `agenda` of the initial state are given, and each `pace` ticks that a plan takes count as much as a
    step; 0 leaves them out.
    """

    def __init__(
        self,
        space: NumericSpace,
        entries: Mapping[str, Call],
        costs: Sequence[int],
        *,
        lapses: Lapses | None = None,
        agenda: Sequence[int] = (),
        options: Collection[str] = (),
        pace: int = 0,
        room: int = 4096,
    ) -> None:
        self._space, self._entries, in_time = space, entries, lapses is not None
        self._kernel = "best_first_in_time" if in_time else "best_first"
        relaxation = relax_numeric(space, costs)
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        number[slot.BEST] = number[slot.LIMIT] = INFINITE
        for option in options:
            number[OPTIONS[option]] = 1
        number[slot.PACE], number[slot.AGENDA] = pace, len(agenda)
        initial = [*space.initial, *agenda]
        self._row = len(initial)
        length = room + SCRATCH
        registry = task_compiled.new_registry(initial, length, entries)
        times = index([0]) * (0 if in_time else length)
        ticks = [zeros(length if in_time else 0) for _ in range(2)]
        found = empty_index(len(space.source.task.actions) + 1)
        self._most_edges = 3 * len(found) + 2 * len(agenda) + 4
        self._at = Workspace(
            number,
            space.space,
            space.preconditions,
            make_hollow(Lapses) if lapses is None else lapses,
            registry,
            Paths(empty_index(length), empty_index(length), times, *ticks),
            allocate_queues(2 * length, 4 * length + self._most_edges),
            relaxation.relaxed,
            relaxation.room,
            relaxation.demands,
            relaxation.memory,
            zeros(SEEN),
            found,
            empty_index(len(space.space.tree.action_start)),
        )

    def has_evaluated_fewer(self, states: int) -> bool:
        """Return whether the search has evaluated fewer states than that."""
        return self._number[slot.EVALUATIONS] < states

    def steps(self, run: Run) -> Steps:
        """Search for plans, and tell each one that is found, until one of them ends the search."""
        number = self._number
        counter = task_compiled.WorkCounter(run, number)
        while True:
            outcome = self._entries[self._kernel](WORK, self._at)
            counter.update(self._at.registry, self._at.paths, self._at.queues)
            if outcome == FOUND:
                ending = self._take_plan(run, number[slot.GOAL_STATE])
                if ending is not None:
                    return ending
            elif outcome == FULL:
                self._grow()
            elif outcome:
                self._note_left_out(run)
                return Ending.INCOMPLETE
            yield

    def _take_plan(self, run: Run, state: int) -> Ending | None:
        """Report the plan that leads to `state`; return how the search ends, or None where it goes on."""
        plan = self._trace(state)
        run.report_plan(plan, sum([self._space.source.task.actions[action].cost for action in plan]))
        return Ending.FIRST_PLAN

    def _note_left_out(self, run: Run) -> None:
        if self._number[slot.LEFT_OUT]:
            run.failed = "states with numbers too great for exact search in 64 bits were left out"

    def _trace(self, state: int) -> list[int]:
        """Return the actions on the path to `state`, each as often as it is repeated."""
        paths = self._at.paths
        actions: list[int] = []
        while paths.parent[state] != NOTHING:
            actions += [paths.action[state]] * (paths.times[state] if paths.times else 1)
            state = paths.parent[state]
        return actions[::-1]

    def _grow(self) -> None:
        number, paths, registry = self._number, self._at.paths, self._at.registry
        states = number[slot.STATES]
        if states + SCRATCH >= len(paths.parent) or 2 * (states + 1) > len(registry.table):
            length = states + states // 2 + SCRATCH + 1
            ensure_length(length, *[each for each in paths if each])
            length = len(paths.parent)
            ensure_length(length * self._row, registry.state)
            registry = task_compiled.enlarge_table(registry, states, length, self._row, self._entries)
            self._at = self._at._replace(registry=registry)
        grow_queues(self._at.queues, number, self._most_edges)

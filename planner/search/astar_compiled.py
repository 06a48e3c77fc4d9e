"""A* by kernels, for facts alone or facts and numbers; the kernel is `astar_kernel`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, make_hollow, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, NOTHING
from planner.lightweight import dataclass
from planner.pruning.numeric_dominance_kernel import Fronts
from planner.pruning.stubborn_sets_kernel import FEW
from planner.pruning.symmetries_compiled import NONE, Orbits
from planner.search import astar_kernel as kernel
from planner.search import task_compiled
from planner.search.astar_estimates_compiled import Estimator, FactEstimates
from planner.search.open_lists_kernel import Open
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import WORK, Board, ensure_length
from planner.task.packed_numbers_kernel import Prices, price_end
from planner.task.state_registry_kernel import MOVED, Nodes, Registry

FEW_SYMMETRIES: Final = 3
"""Minimum number of symmetries with LM-cut.

A canonical state inherits no landmarks, so that its evaluation takes twice as long.
"""
OWN_PRUNING: Final = ("stubborn", "symmetries")
"""Stubborn sets and symmetry reduction, which the search uses unless it is told not to."""
MOST_STATES: Final = 1 << 31
MOST_BUCKETS: Final = 1 << 24
SLOTS: Final = 1 << 20
"""Slots for states with numbers that are compared: 4 MB."""
NO_PRICES: Final[Prices] = make_hollow(Prices, 0)


@dataclass(slots=True)
class Memory:
    """The arrays that grow with the states."""

    registry: Registry
    nodes: Nodes
    waiting: Open


def _fronts(board: Board) -> Fronts:
    """Return what prunes dominated states: hollow without numbers, and where no variable is a resource."""
    fronts: Fronts = make_hollow(Fronts)
    if board.numeric is None:
        return fronts
    from planner.pruning.numeric_dominance import make_fronts

    return make_fronts(board.numeric, SLOTS) or fronts


class CompiledAstar:
    """A* on `board` with the named heuristic, or with `estimator`.

    It gives up before it stores more than this number of `states`. It prunes by those of "stubborn" and "symmetries"
    that are in `pruning` and sound. In tasks with numbers, `weight` times the estimate orders states, and 1 makes the
    first plan optimal; whatever the weight, states are pruned by the estimate alone, so that a search that is
    exhausted is a proof.
    `prices` say what steps cost beside their actions.
    """

    def __init__(
        self,
        board: Board,
        heuristic: str = "blind",
        *,
        estimator: Estimator | None = None,
        weight: int = 1,
        prices: Prices = NO_PRICES,
        states: int | None = None,
        pruning: Collection[str] = OWN_PRUNING,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        self._board, self._pruning, self._prices, self._work = board, pruning, prices, work
        self._most_states = MOST_STATES if states is None else states
        self._estimator = estimator or FactEstimates(board, heuristic, room, board.actions + room)
        self._orbits: Orbits | None = None
        self._is_heap = board.numeric is not None
        self._pruned_by: kernel.Pruning = make_hollow(kernel.Pruning)._replace(symmetries=NONE, fronts=_fronts(board))
        self._number = zeros(slot.HOW_MANY)
        self._number[slot.WEIGHT] = weight
        self._number[slot.FREE] = NOTHING
        self._number[slot.MAX_COST] = max(board.costs, default=0)
        self._number[slot.UNTIL] = task_compiled.MOST_COST
        self._memory = self._allocate(room)

    def _allocate(self, room: int) -> Memory:
        board = self._board
        states = board.actions + room
        nodes = Nodes(empty_index(states), empty_index(states), zeros(states), zeros(states), index([0] * states))
        registry = task_compiled.new_registry(board.initial, states, board.entries)
        waiting: Open = make_hollow(Open)
        if self._is_heap:
            waiting = waiting._replace(key=zeros(states), heap=index([0]) * states)
        else:
            waiting = waiting._replace(
                by_f=empty_index(room), by_h=empty_index(room), state=empty_index(states), next=empty_index(states)
            )
        ensure_length(states, self._pruned_by.fronts.next)
        self._number[slot.STATES] = 1
        self._number[slot.PENDING] = 0
        return Memory(registry, nodes, waiting)

    def steps(self, run: Run) -> Steps:
        """Search for the cheapest plan; a search that ends has excluded all plans cheaper than `run.limit`."""
        number, counter = self._number, task_compiled.WorkCounter(run, self._number)
        if not (yield from self._estimator.prepare()):
            return Ending.INCOMPLETE
        self._prepare_pruning()

        def update() -> None:
            memory = self._memory
            counter.update(memory.registry, memory.nodes, memory.waiting, *self._estimator.records())
            if run.watch is not None:  # its limit may end the search here
                run.raise_bound(number[slot.CURRENT_F])

        while True:
            number[slot.LIMIT] = min(run.limit, task_compiled.MOST_COST)
            outcome = yield from counter.call_watched(self._call, self._work, update, lambda: self._look(run))
            self._drop_stubborn_sets()
            if outcome == FOUND:
                self._report_plan(run)
                if number[slot.WEIGHT] == 1 and not self._prices.end:  # it is a cheapest one
                    outcome = EXHAUSTED
            if outcome == EXHAUSTED:
                if number[slot.LEFT_OUT] or task_compiled.were_cut_off(run, self._memory.nodes.cost):
                    return Ending.INCOMPLETE
                run.raise_bound(run.limit)
                return Ending.EXHAUSTED
            if not number[slot.LEFT_OUT]:
                run.raise_bound(number[slot.CURRENT_F])
            if outcome == FULL and not self._grow():
                return Ending.INCOMPLETE
            yield
            yield from self._estimator.go_on(run, number, self._memory.registry, self._memory.nodes)

    def _look(self, run: Run) -> None:
        """Let `run.watch` look at the latest expansion."""
        assert run.watch is not None
        nodes, state, board = self._memory.nodes, self._number[slot.EXPANDED], self._board
        action = None if nodes.parent[state] == NOTHING else nodes.action[state] & ~MOVED
        estimate = None if self._estimator.kind == kernel.BLIND else nodes.bound[state]
        found = board.unpack_state(self._memory.registry, state)
        run.watch.look(board.task, found, nodes.cost[state], estimate, action)

    def _prepare_pruning(self) -> None:
        """Enable symmetry reduction and stubborn sets where they are sound."""
        board, inherits = self._board, self._estimator.kind in (kernel.LM_CUT, kernel.BOTH)
        orbits = board.orbits if "symmetries" in self._pruning else None
        if orbits is not None and (not inherits or len(orbits) >= FEW_SYMMETRIES):
            self._orbits = orbits
            self._pruned_by = self._pruned_by._replace(symmetries=orbits.symmetries)
        if "stubborn" in self._pruning and board.stubborn is not None:
            self._pruned_by = self._pruned_by._replace(stubborn=board.stubborn)
            self._number[slot.PRUNES] = 1

    def _drop_stubborn_sets(self) -> None:
        """Disable stubborn sets in blind search, where states are cheap, if they prune less than half."""
        number = self._number
        if (
            self._estimator.kind == kernel.BLIND
            and 2 * number[slot.STUBBORN] > number[slot.APPLICABLE]
            and number[slot.PRUNED] >= FEW
        ):
            number[slot.PRUNES] = 0

    def _call(self, work: int) -> int:
        board, memory, estimator = self._board, self._memory, self._estimator
        at = kernel.Workspace(
            self._number,
            board.space,
            self._prices,
            memory.registry,
            memory.nodes,
            memory.waiting,
            estimator.arrays,
            self._pruned_by,
            board.found,
            board.stack,
        )
        name = "astar_with_numbers" if self._is_heap else "astar"
        return board.entries[name](estimator.kind, work, at)

    def _report_plan(self, run: Run) -> None:
        board, nodes, state = self._board, self._memory.nodes, self._number[slot.GOAL_STATE]
        edges = task_compiled.trace_actions(nodes.parent, nodes.action, state)
        actions = [edge & ~MOVED for edge in edges]
        if self._orbits is not None:
            actions = self._orbits.plan(board.initial, actions, board.entries)
        end = price_end(
            self._prices,
            board.space.numbers.fields,
            self._memory.registry.state,
            state * board.row + board.packed.words,
        )
        run.report_plan(actions, nodes.cost[state] + end)

    def _grow(self) -> bool:
        """Lengthen the full arrays; return whether that was possible."""
        states = self._number[slot.STATES] + self._board.actions + 1
        if states > self._most_states or not self._grow_open():
            return False
        self._grow_states(states)
        return True

    def _grow_states(self, states: int) -> None:
        """Make room for this number of states."""
        memory, row = self._memory, self._board.row
        ensure_length(states, *memory.nodes)
        length = len(memory.nodes.parent)
        ensure_length(length * row, memory.registry.state)
        ensure_length(length, self._pruned_by.fronts.next)
        self._estimator.grow(self._number, length)
        count = self._number[slot.STATES]
        memory.registry = task_compiled.enlarge_table(memory.registry, count, states, row, self._board.entries)

    def _grow_open(self) -> bool:
        """Make room in the open list; return False if it would need too many buckets."""
        number, memory, most = self._number, self._memory, self._board.actions + 2
        waiting = memory.waiting
        if self._is_heap:
            ensure_length(number[slot.OPEN] + most, waiting.key, waiting.heap)
            return True
        ensure_length(number[slot.COUNTERS] + most, waiting.state, waiting.next)
        pending, f, h = number[slot.PENDING], number[slot.HIGHEST_F], 0
        if pending >= 0:
            h = memory.nodes.bound[pending]
            f = max(f, memory.nodes.cost[pending] + h)
        buckets = f - number[slot.BASE_F] + number[slot.MAX_COST] + 2
        if max(buckets, h) > MOST_BUCKETS:
            return False
        ensure_length(buckets, waiting.by_f)
        ensure_length(h + 1, waiting.by_h)
        return True

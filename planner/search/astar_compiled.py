"""A* by kernels, with estimates of relaxations, landmarks or abstractions; the kernel is `astar_kernel`."""

from __future__ import annotations

import random
from collections.abc import Collection, Generator, Sequence
from typing import Final

from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions
from planner.heuristics.abstractions.cost_partitioning_kernel import Tables
from planner.heuristics.lmcut_kernel import Landmarks
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, make_hollow, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, NOTHING
from planner.lightweight import dataclass
from planner.pruning.stubborn_sets_kernel import FEW, Stubborn
from planner.pruning.symmetries_compiled import NONE, Orbits
from planner.search import astar_kernel as kernel
from planner.search import task_compiled
from planner.search.open_lists_kernel import Open
from planner.search.search_run import Ending, Pauses, Run, Steps
from planner.search.task_compiled import WORK, Board, ensure_length
from planner.task.state_registry_kernel import CLOSED, MOVED, Nodes, Registry

KINDS: Final = {
    "blind": kernel.BLIND,
    "hmax": kernel.H_MAX,
    "scp": kernel.SCP,
    "lmcut": kernel.LM_CUT,
    "scp+lmcut": kernel.BOTH,
}
FIRST_RENEWAL: Final = 300_000_000
"""Steps of inner loops before the search computes better abstractions; each later renewal waits twice as long."""
RENEWAL_RATIO: Final = 3
"""A renewal may take one in this number of the steps since the last one."""
MOST_DRAWN: Final = 2_000
"""Number of states drawn at random for a renewal."""
MOST_SAMPLES: Final = 300
"""Maximum number of unexpanded states among them; the renewal improves their estimates."""
FEW_SYMMETRIES: Final = 3
"""Minimum number of symmetries with LM-cut.

A canonical state inherits no landmarks, so that its evaluation takes twice as long.
"""
BOTH: Final = ("astar", "scp+lmcut")
"""The reported names of an LM-cut search that also uses abstractions prepared by another search."""
OWN_PRUNING: Final = ("stubborn", "symmetries")
"""Stubborn sets and symmetry reduction, which the search uses unless it is told not to."""
MOST_STATES: Final = 1 << 31
MOST_BUCKETS: Final = 1 << 24


@dataclass(slots=True)
class Memory:
    """The arrays that grow with the states."""

    registry: Registry
    nodes: Nodes
    waiting: Open
    landmarks: Landmarks


class CompiledAstar:
    """A* on `board` with the named heuristic; it gives up before it stores more than this number of `states`.

    It prunes by those of "stubborn" and "symmetries" that are in `pruning` and sound.
    """

    def __init__(
        self,
        board: Board,
        heuristic: str,
        *,
        states: int | None = None,
        pruning: Collection[str] = OWN_PRUNING,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        self._board, self._pruning = board, pruning
        self._most_states = MOST_STATES if states is None else states
        self._work = work
        self._kind = KINDS[heuristic]
        self._relaxed = make_hollow(Relaxed)
        self._room = make_hollow(Exploration)._replace(state=zeros(board.packed.words))
        self._tables: Tables = make_hollow(Tables)
        if heuristic not in {"blind", "scp"}:
            self._relaxed, self._room = board.relaxed, board.exploration
        self._stubborn: Stubborn = make_hollow(Stubborn)
        self._orbits: Orbits | None = None
        self._spent, self._next = 0, FIRST_RENEWAL
        self._number = zeros(slot.HOW_MANY)
        self._number[slot.FREE] = NOTHING
        self._number[slot.PENDING] = -1
        self._number[slot.MAX_COST] = max(board.costs, default=0)
        self._number[slot.UNTIL] = task_compiled.MOST_COST
        self._memory = self._allocate(room)

    def _allocate(self, room: int) -> Memory:
        board = self._board
        states = board.actions + room
        nodes = Nodes(empty_index(states), empty_index(states), zeros(states), zeros(states), index([0] * states))
        registry = task_compiled.new_registry(board.initial, states, board.entries)
        waiting = Open(empty_index(room), empty_index(room), empty_index(states), empty_index(states))
        landmarks: Landmarks = make_hollow(Landmarks)
        if self._kind >= kernel.LM_CUT:
            worth, start, member = zeros(room), index([0] * room), empty_index(8 * room + 2 * board.actions)
            reference, of, many = empty_index(4 * room), zeros(states), index([0] * states)
            landmarks = Landmarks(worth, start, member, reference, of, many, zeros(states), zeros(board.actions))
        self._number[slot.STATES] = 1
        self._number[slot.PENDING] = 0
        return Memory(registry, nodes, waiting, landmarks)

    def steps(self, run: Run) -> Steps:
        """Search for the cheapest plan; a search that ends has excluded all plans cheaper than `run.limit`."""
        number, counter = self._number, task_compiled.WorkCounter(run, self._number)
        partitions = yield from self._prepare_abstractions()
        self._prepare_pruning()

        def update() -> None:
            memory, held = self._memory, partitions.held if partitions else []
            counter.update(memory.registry, memory.nodes, memory.waiting, memory.landmarks, self._tables, *held)
            if run.watch is not None:  # its limit may end the search here
                run.raise_bound(number[slot.CURRENT_F])

        while True:
            number[slot.LIMIT] = min(run.limit, task_compiled.MOST_COST)
            outcome = yield from counter.call_watched(self._call, self._work, update, lambda: self._look(run))
            self._drop_stubborn_sets()
            if outcome == FOUND:
                run.report_plan(self._plan(), number[slot.CURRENT_F])
            if outcome == EXHAUSTED and task_compiled.were_cut_off(run, self._memory.nodes.cost):
                return Ending.INCOMPLETE
            if outcome in (FOUND, EXHAUSTED):
                run.raise_bound(run.limit)
                return Ending.EXHAUSTED
            run.raise_bound(number[slot.CURRENT_F])
            if outcome == FULL and not self._grow():
                return Ending.INCOMPLETE
            yield
            if partitions is not None:
                yield from self._renew(partitions)
            self._adopt_abstractions(run)

    def _look(self, run: Run) -> None:
        """Let `run.watch` look at the latest expansion."""
        assert run.watch is not None
        nodes, state, board = self._memory.nodes, self._number[slot.EXPANDED], self._board
        action = None if nodes.parent[state] == NOTHING else nodes.action[state] & ~MOVED
        estimate = None if self._kind == kernel.BLIND else nodes.bound[state]
        found = board.unpack_state(self._memory.registry, state)
        run.watch.look(board.task, found, nodes.cost[state], estimate, action)

    def _prepare_abstractions(self) -> Generator[None, None, Partitions | None]:
        """Compute abstractions, if the heuristic uses them."""
        if self._kind not in {kernel.SCP, kernel.BOTH}:
            return None
        partitions = Partitions(self._board)
        yield from partitions.prepare()
        self._tables = self._board.tables = partitions.tables
        return partitions

    def _adopt_abstractions(self, run: Run) -> None:
        """Use abstractions before LM-cut once another search has prepared them."""
        tables = self._board.tables
        if self._kind >= kernel.LM_CUT and tables is not None and tables is not self._tables:
            self._kind, self._tables, run.by = kernel.BOTH, tables, BOTH
            self._board.entries["reconsider"](self._memory.nodes, self._number[slot.STATES], 0)

    def _prepare_pruning(self) -> None:
        """Enable symmetry reduction and stubborn sets where they are sound."""
        orbits = self._board.orbits if "symmetries" in self._pruning else None
        if orbits is not None and (self._kind < kernel.LM_CUT or len(orbits) >= FEW_SYMMETRIES):
            self._orbits = orbits
        if "stubborn" in self._pruning and self._board.stubborn is not None:
            self._stubborn = self._board.stubborn
            self._number[slot.PRUNES] = 1

    def _drop_stubborn_sets(self) -> None:
        """Disable stubborn sets in blind search, where states are cheap, if they prune less than half."""
        number = self._number
        if (
            self._kind == kernel.BLIND
            and 2 * number[slot.STUBBORN] > number[slot.APPLICABLE]
            and number[slot.PRUNED] >= FEW
        ):
            number[slot.PRUNES] = 0

    def _renew(self, partitions: Partitions) -> Pauses:
        """From time to time, compute better abstractions for unexpanded states, and reevaluate these states."""
        self._spent += self._number[slot.WORK]
        if self._spent < self._next:
            return
        work, self._spent, self._next = self._next // RENEWAL_RATIO, 0, 2 * self._next
        if (yield from partitions.renew(self._sample_states(), work)):
            self._tables = self._board.tables = partitions.tables
            stages = self._memory.nodes
            self._board.entries["reconsider"](stages, self._number[slot.STATES], int(self._kind == kernel.SCP))

    def _sample_states(self) -> list[Sequence[int]]:
        """Return random unexpanded states."""
        words, memory = self._board.packed.words, self._memory
        draw = random.Random(self._next + self._board.seed)
        drawn = draw.sample(range(self._number[slot.STATES]), min(MOST_DRAWN, self._number[slot.STATES]))
        waiting = [state for state in drawn if memory.nodes.stage[state] != CLOSED][:MOST_SAMPLES]
        return [memory.registry.state[state * words : (state + 1) * words] for state in waiting]

    def _call(self, work: int) -> int:
        board, memory = self._board, self._memory
        symmetries = NONE if self._orbits is None else self._orbits.symmetries
        states = (memory.registry, memory.nodes, memory.waiting)
        estimates = (self._relaxed, self._room, memory.landmarks, self._tables)
        buffers = (self._stubborn, board.found, board.stack)
        return board.entries["astar"](
            self._kind, work, self._number, board.space, symmetries, *states, *estimates, *buffers
        )

    def _plan(self) -> list[int]:
        nodes = self._memory.nodes
        edges = task_compiled.trace_actions(nodes.parent, nodes.action, self._number[slot.GOAL_STATE])
        actions = [edge & ~MOVED for edge in edges]
        return actions if self._orbits is None else self._orbits.plan(self._board.initial, actions)

    def _grow(self) -> bool:
        """Lengthen the full arrays; return whether that was possible."""
        states = self._number[slot.STATES] + self._board.actions + 1
        if states > self._most_states or not self._grow_open():
            return False
        self._grow_states(states)
        if self._kind >= kernel.LM_CUT:
            self._grow_landmarks()
        return True

    def _grow_states(self, states: int) -> None:
        """Make room for this number of states."""
        memory, words = self._memory, self._board.packed.words
        ensure_length(states, *memory.nodes)
        length = len(memory.nodes.parent)
        ensure_length(length * words, memory.registry.state)
        if self._kind >= kernel.LM_CUT:
            ensure_length(length, memory.landmarks.of, memory.landmarks.many, memory.landmarks.kept)
        count = self._number[slot.STATES]
        memory.registry = task_compiled.enlarge_table(memory.registry, count, states, words, self._board.entries)

    def _grow_open(self) -> bool:
        """Make room in the open list; return False if it would need too many buckets."""
        number, memory = self._number, self._memory
        waiting = memory.waiting
        ensure_length(number[slot.COUNTERS] + self._board.actions + 1, waiting.state, waiting.next)
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

    def _grow_landmarks(self) -> None:
        number, landmarks, most = self._number, self._memory.landmarks, self._board.actions + 1
        ensure_length(number[slot.LANDMARKS] + kernel.SPARE + 1, landmarks.start, landmarks.worth)
        ensure_length(number[slot.MEMBERS] + 2 * most, landmarks.member)
        ensure_length(number[slot.REFERENCES] + number[slot.LONGEST] + kernel.SPARE, landmarks.reference)

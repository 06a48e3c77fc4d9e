"""A* by kernels, as a search that strategies know: a generator of `Steps` that shares a `Run`."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import Any, Final

from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions
from planner.heuristics.abstractions.cost_partitioning_kernel import Tables
from planner.heuristics.lmcut_kernel import Landmarks
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, hollow, index, lengthened, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, NOTHING
from planner.lightweight import dataclass
from planner.pruning.stubborn_sets_kernel import FEW, Stubborn
from planner.pruning.symmetries_compiled import NONE, Orbits
from planner.search import astar_kernel as kernel
from planner.search.compiled_driver import MOST_COST, WORK, Accounts, first_registry, were_cut_off, with_table
from planner.search.open_lists_kernel import Open
from planner.search.search_run import Ending, Pauses, Run, Steps
from planner.search.task_compiled import Board
from planner.task.state_registry_kernel import CLOSED, MOVED, Nodes, Registry

KINDS: Final = {
    "blind": kernel.BLIND,
    "hmax": kernel.H_MAX,
    "scp": kernel.SCP,
    "lmcut": kernel.LM_CUT,
    "scp+lmcut": kernel.BOTH,
}
FIRST_RENEWAL: Final = 300_000_000
"""Steps of search after which better abstractions are looked for: again when there were twice as many, and so on."""
RENEWING: Final = 3
"""The part of the time of the search that this takes: one in so many."""
LOOKED_AT: Final = 2_000
"""States that are drawn for that, ..."""
MOST_SAMPLES: Final = 300
"""... and of how many of them, at most, none was expanded."""
FEW_SYMMETRIES: Final = 3
"""Symmetries from which on LM-cut uses them: a state that stands for another takes over no landmarks of its parent, so
that estimates take twice as long."""
BOTH: Final = ("astar", "scp+lmcut")
"""What is told of a search by LM-cut that goes by abstractions first, since there are some."""
MOST_STATES: Final = 1 << 31
MOST_BUCKETS: Final = 1 << 24


@dataclass(slots=True)
class Memory:
    """The arrays that grow."""

    registry: Registry
    nodes: Nodes
    waiting: Open
    landmarks: Landmarks


class CompiledAstar:
    """A* on `board` with the heuristic of this name.

    It gives up when it would have more than so many `states`.
    """

    def __init__(
        self,
        board: Board,
        heuristic: str,
        *,
        states: int | None = None,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        self._board = board
        self._most_states = MOST_STATES if states is None else states
        self._work = work
        self._kind = KINDS[heuristic]
        self._relaxed, self._room = hollow(Relaxed), hollow(Exploration)._replace(state=zeros(board.packed.words))
        self._tables: Tables = hollow(Tables)
        if heuristic not in {"blind", "scp"}:
            self._relaxed, self._room = board.relaxed, board.exploration
        self._stubborn: Stubborn = hollow(Stubborn)
        self._orbits: Orbits | None = None
        self._spent, self._next = 0, FIRST_RENEWAL
        self._number = zeros(slot.HOW_MANY)
        self._number[slot.FREE] = NOTHING
        self._number[slot.PENDING] = -1
        self._number[slot.MAX_COST] = max(board.costs, default=0)
        self._number[slot.UNTIL] = MOST_COST
        self._memory = self._first_memory(room)

    def _first_memory(self, room: int) -> Memory:
        board = self._board
        states = board.actions + room
        nodes = Nodes(empty_index(states), empty_index(states), zeros(states), zeros(states), index([0] * states))
        registry = first_registry(board.initial, states, board.entries)
        waiting = Open(empty_index(room), empty_index(room), empty_index(states), empty_index(states))
        landmarks: Landmarks = hollow(Landmarks)
        if self._kind >= kernel.LM_CUT:
            landmarks = Landmarks(
                zeros(room),
                index([0] * room),
                empty_index(8 * room + 2 * board.actions),
                empty_index(4 * room),
                zeros(states),
                index([0] * states),
                zeros(states),
                zeros(board.actions),
            )
        self._number[slot.STATES] = 1
        self._number[slot.PENDING] = 0
        return Memory(registry, nodes, waiting, landmarks)

    def steps(self, run: Run) -> Steps:
        """Search for the cheapest plan; all plans cheaper than `run.limit` are excluded when it ends."""
        number, accounts = self._number, Accounts(run, self._number)
        partitions = yield from self._prepared()
        self._prune()
        while True:
            number[slot.LIMIT] = min(run.limit, MOST_COST)
            outcome = self._call()
            self._weigh_sets()
            memory = self._memory
            held = partitions.held if partitions else []
            accounts.settle(memory.registry, memory.nodes, memory.waiting, memory.landmarks, self._tables, *held)
            if outcome == FOUND:
                run.found(self._plan(), number[slot.CURRENT_F])
            if outcome == EXHAUSTED and were_cut_off(run, memory.nodes.cost):
                return Ending.INCOMPLETE
            if outcome in (FOUND, EXHAUSTED):
                run.proved(run.limit)
                return Ending.EXHAUSTED
            run.proved(number[slot.CURRENT_F])
            if outcome == FULL and not self._grow():
                return Ending.INCOMPLETE
            yield
            if partitions is not None:
                yield from self._renew(partitions)
            self._adopt(run)

    def _prepared(self) -> Generator[None, None, Partitions | None]:
        """Prepare what the search asks for estimates, if it goes by abstractions."""
        if self._kind not in {kernel.SCP, kernel.BOTH}:
            return None
        partitions = Partitions(self._board)
        yield from partitions.prepare()
        self._tables = self._board.tables = partitions.tables
        return partitions

    def _adopt(self, run: Run) -> None:
        """Look states up before LM-cut is asked, if another search has prepared abstractions."""
        tables = self._board.tables
        if self._kind >= kernel.LM_CUT and tables is not None and tables is not self._tables:
            self._kind, self._tables, run.by = kernel.BOTH, tables, BOTH
            self._board.entries["reconsider"](self._memory.nodes, self._number[slot.STATES], 0)

    def _prune(self) -> None:
        """Let states stand for others, and actions be left out that are not in a stubborn set, where that is sound."""
        orbits = self._board.orbits
        if orbits is not None and (self._kind < kernel.LM_CUT or len(orbits) >= FEW_SYMMETRIES):
            self._orbits = orbits
        if self._board.stubborn is not None:
            self._stubborn = self._board.stubborn
            self._number[slot.PRUNES] = 1

    def _weigh_sets(self) -> None:
        """Without estimates, states are cheap: go on with stubborn sets where they leave out half of the actions."""
        number = self._number
        if (
            self._kind == kernel.BLIND
            and 2 * number[slot.STUBBORN] > number[slot.APPLICABLE]
            and number[slot.PRUNED] >= FEW
        ):
            number[slot.PRUNES] = 0

    def _renew(self, partitions: Partitions) -> Pauses:
        """From time to time, find better abstractions for states that wait, and estimate these again."""
        self._spent += self._number[slot.WORK]
        if self._spent < self._next:
            return
        work, self._spent, self._next = self._next // RENEWING, 0, 2 * self._next
        if (yield from partitions.renew(self._some_states(), work)):
            self._tables = self._board.tables = partitions.tables
            stages = self._memory.nodes
            self._board.entries["reconsider"](stages, self._number[slot.STATES], int(self._kind == kernel.SCP))

    def _some_states(self) -> list[Sequence[int]]:
        """Return states at random that were not expanded."""
        words, memory = self._board.packed.words, self._memory
        draw = random.Random(self._next)
        chosen = draw.sample(range(self._number[slot.STATES]), min(LOOKED_AT, self._number[slot.STATES]))
        waiting = [state for state in chosen if memory.nodes.stage[state] != CLOSED][:MOST_SAMPLES]
        return [memory.registry.state[state * words : (state + 1) * words] for state in waiting]

    def _call(self) -> int:
        memory = self._memory
        return self._board.entries["astar"](
            self._kind,
            self._work,
            self._number,
            self._board.space,
            NONE if self._orbits is None else self._orbits.symmetries,
            memory.registry,
            memory.nodes,
            memory.waiting,
            self._relaxed,
            self._room,
            memory.landmarks,
            self._tables,
            self._stubborn,
            self._board.found,
            self._board.stack,
        )

    def _plan(self) -> list[int]:
        nodes, state = self._memory.nodes, self._number[slot.GOAL_STATE]
        actions: list[int] = []
        while nodes.parent[state] != NOTHING:
            actions.append(nodes.action[state] & ~MOVED)
            state = nodes.parent[state]
        actions.reverse()
        return actions if self._orbits is None else self._orbits.plan(self._board.initial, actions)

    def _grow(self) -> bool:
        """Lengthen what is short; return whether that was possible."""
        states = self._number[slot.STATES] + self._board.actions + 1
        if states > self._most_states or not self._grow_open():
            return False
        self._grow_states(states)
        if self._kind >= kernel.LM_CUT:
            self._grow_landmarks()
        return True

    def _grow_states(self, states: int) -> None:
        """Make room for so many states."""
        memory, many = self._memory, self._number[slot.STATES]
        if states > len(memory.nodes.parent):
            memory.nodes = _all(memory.nodes, states)
            length, words = len(memory.nodes.parent), self._board.packed.words
            memory.registry = memory.registry._replace(state=lengthened(memory.registry.state, length * words))
            if self._kind >= kernel.LM_CUT:
                old = memory.landmarks
                memory.landmarks = old._replace(
                    of=lengthened(old.of, length), many=lengthened(old.many, length), kept=lengthened(old.kept, length)
                )
        memory.registry = with_table(memory.registry, many, states, self._board.packed.words, self._board.entries)

    def _grow_open(self) -> bool:
        number, memory = self._number, self._memory
        waiting, entries = memory.waiting, number[slot.COUNTERS] + self._board.actions + 1
        if entries > len(waiting.state):
            waiting = waiting._replace(state=lengthened(waiting.state, entries), next=lengthened(waiting.next, entries))
        pending, f, h = number[slot.PENDING], number[slot.HIGHEST_F], 0
        if pending >= 0:
            h = memory.nodes.bound[pending]
            f = max(f, memory.nodes.cost[pending] + h)
        buckets = f - number[slot.BASE_F] + number[slot.MAX_COST] + 2
        if max(buckets, h) > MOST_BUCKETS:
            return False
        if buckets > len(waiting.by_f):
            waiting = waiting._replace(by_f=lengthened(waiting.by_f, buckets))
        if h >= len(waiting.by_h):
            waiting = waiting._replace(by_h=lengthened(waiting.by_h, h + 1))
        memory.waiting = waiting
        return True

    def _grow_landmarks(self) -> None:
        number, old, most = self._number, self._memory.landmarks, self._board.actions + 1
        changed: dict[str, Any] = {}
        if number[slot.LANDMARKS] + kernel.SPARE >= len(old.start):
            needed = number[slot.LANDMARKS] + kernel.SPARE + 1
            changed |= {"start": lengthened(old.start, needed), "worth": lengthened(old.worth, needed)}
        if number[slot.MEMBERS] + 2 * most > len(old.member):
            changed["member"] = lengthened(old.member, number[slot.MEMBERS] + 2 * most)
        needed = number[slot.REFERENCES] + number[slot.LONGEST] + kernel.SPARE
        if needed > len(old.reference):
            changed["reference"] = lengthened(old.reference, needed)
        self._memory.landmarks = old._replace(**changed)


def _all(record: Any, length: int) -> Any:
    return type(record)(*(lengthened(each, length) for each in record))

"""Progression search by kernels: forward from the initial state, the first task first."""

from __future__ import annotations

from array import array
from typing import Final, TypeVar

from htn.search.decomposition_kernel import BLIND, CHAIN, EAGER, UNKNOWN, Places, Waiting
from htn.search.ground_hierarchy import Board
from htn.search.search_guide import Guide, blind
from htn.search.task_stack_kernel import Stacks
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, lengthen, words, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, NOTHING
from planner.jit.library import Call
from planner.lightweight import dataclass
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import MOST_COST, WORK, WorkCounter, enlarge_table, new_registry
from planner.task.packed_states_kernel import Space
from planner.task.state_registry_kernel import Registry

KEYS: Final = 1 << 16
"""Buckets for places that wait."""
NO_TASK: Final = -1
"""What is first in the empty stack."""

Record = TypeVar("Record", Places, Stacks)


@dataclass(frozen=True, slots=True)
class Part:
    """What a search is for if not for the whole problem: `tasks` from the packed `state` on.

    The goal is that of `space` and `guide`, whose relaxed plans are numbered on from `evaluations`.
    """

    state: list[int]
    tasks: list[int]
    space: Space
    guide: Guide
    evaluations: int


class Progression:
    """A search in the order of `past` · cost so far + `future` · estimate, which counts `own` for every method.

    With `past` 0 it is greedy, and counts steps and not costs. The `kind` says when places are estimated (see
    `htn.search.decomposition_kernel`). Unless tasks may be `nested` in themselves, in the same state, some plans are
    missed. Subtasks that are not ordered are done as they are written, and so nothing is proved of them.
    """

    def __init__(
        self,
        board: Board,
        past: int,
        future: int,
        own: int,
        *,
        kind: int = EAGER,
        nested: bool = True,
        part: Part | None = None,
        room: int = 1024,
    ) -> None:
        self._board, self._past, self._future, self._kind = board, past, future, kind
        self._number = zeros(slot.HOW_MANY)
        if part is not None:
            self._guide, self._space, self._initial, tasks = part.guide, part.space, part.state, part.tasks
            self._number[slot.EVALUATIONS] = part.evaluations
        else:
            root = board.ground.root
            assert root is not None
            self._guide = blind(board) if kind == BLIND else Guide.of(board, board.costs if past else None, own)
            self._space, self._initial, tasks = board.space, board.initial, [root]
        self._number[slot.PENDING] = -1
        self._number[slot.REOPEN] = past
        self._number[slot.NESTED] = nested
        self._number[slot.STATES] = 1
        self._number[slot.GRAIN] = max(1, past * max(board.costs, default=1) // 16)
        self._number[slot.WIDEST] = board.widest
        self._begin(tasks, room)

    def _begin(self, tasks: list[int], room: int) -> None:
        board, number = self._board, self._number
        room = max(room, len(tasks))
        states = room + CHAIN + 4
        most = room + (CHAIN + 2) * (number[slot.WIDEST] + 1) + 4
        self._registry = new_registry(self._initial, states, board.entries)
        self._stacks = Stacks(new_registry([NO_TASK, 0], most, board.entries), zeros(most), index([0]) * most)
        key = Registry(zeros(2 * states), empty_index(1 << (2 * states).bit_length()))
        self._places = Places(
            key, empty_index(states), empty_index(states), zeros(states), words([UNKNOWN]) * states, index([0]) * states
        )
        self._waiting = Waiting(empty_index(KEYS), empty_index(room), index([0]) * room)
        cells, least, depth = self._stacks
        for cell, task in enumerate(reversed(tasks), 1):
            cells.state[2 * cell], cells.state[2 * cell + 1] = task, cell - 1
            least[cell] = least[cell - 1] + board.least[task]
            depth[cell] = cell
        board.entries["rehash_states"](cells, len(tasks) + 1, 2)
        number[slot.CELLS] = len(tasks) + 1
        key.state[0], key.state[1] = 0, len(tasks)
        board.entries["rehash_states"](key, 1, 2)
        number[slot.PLACES] = 1
        number[slot.COUNTERS] = 1
        self._waiting.first[0] = 0

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; the `first` one may be the last."""
        number = self._number
        counter = WorkCounter(run, number, evaluated=number[slot.EVALUATIONS])
        while True:
            number[slot.LIMIT] = min(run.limit, MOST_COST)
            outcome = self._call()
            counter.update(self._registry, self._stacks, self._places, self._waiting)
            if outcome == FOUND:
                place = number[slot.GOAL_STATE]
                run.report_plan(self._moves(place), self._places.cost[place])
                if first:
                    return Ending.FIRST_PLAN
            if outcome == EXHAUSTED and not self._proves(run):
                return Ending.INCOMPLETE
            if outcome == EXHAUSTED:
                run.raise_bound(run.limit)
                return Ending.EXHAUSTED
            if outcome == FULL:
                self._grow()
            yield

    def _proves(self, run: Run) -> bool:
        """Return whether nothing is left when this search ends: greedy ones look for no cheaper way to a place."""
        thorough = self._number[slot.NESTED] and (self._past > 0 or run.plan is None)
        return bool(self._board.ground.is_ordered and thorough)

    def _call(self) -> int:
        board, guide = self._board, self._guide
        return board.entries["decompose"](
            self._kind,
            self._past,
            self._future,
            WORK,
            self._number,
            self._space,
            board.hierarchy,
            guide.demands,
            self._registry,
            self._stacks,
            self._places,
            self._waiting,
            guide.relaxed,
            guide.room,
            guide.achievers,
            guide.reachable,
        )

    def _moves(self, place: int) -> list[int]:
        """Return the moves to `place` (see `htn.search.plan_extraction`): always of what is first."""
        moves: list[int] = []
        while place:
            move = self._places.move[place]
            moves.append(0 if move == NOTHING else move + 1)
            place = self._places.parent[place]
        return moves[::-1]

    def _grow(self) -> None:
        """Make room for one more child, whatever comes of it."""
        number, width, entries = self._number, self._board.packed.words, self._board.entries
        states, places, cells = _needed(number)
        self._registry = _with_room(self._registry, number[slot.STATES], states, width, entries)
        key = _with_room(self._places.key, number[slot.PLACES], places, 2, entries)
        self._places = _longer(self._places._replace(key=key), places)
        stacked = _with_room(self._stacks.cells, number[slot.CELLS], cells, 2, entries)
        self._stacks = _longer(self._stacks._replace(cells=stacked), cells)
        if number[slot.COUNTERS] + 1 >= len(self._waiting.next):
            length = len(lengthen(self._waiting.next, number[slot.COUNTERS] + 2))
            lengthen(self._waiting.place, length)


def _needed(number: array[int]) -> tuple[int, int, int]:
    """Return for how many states, places and cells there must be room."""
    cells = number[slot.CELLS] + (CHAIN + 2) * (number[slot.WIDEST] + 1) + 1
    return number[slot.STATES] + CHAIN + 2, number[slot.PLACES] + CHAIN + 3, cells


def _with_room(registry: Registry, count: int, needed: int, width: int, entries: dict[str, Call]) -> Registry:
    """Return `registry`, which has `count` entries of `width` words, with room for so many as are `needed`."""
    if needed * width >= len(registry.state):
        lengthen(registry.state, needed * width + 1)
    return enlarge_table(registry, count, needed, width, entries)


def _longer(record: Record, needed: int) -> Record:
    """Return `record`, whose arrays have one element for each thing, with room for so many as are `needed`."""
    for each in record:
        if isinstance(each, array) and needed >= len(each):
            lengthen(each, needed + 1)
    return record

"""Progression search by kernels for totally ordered tasks: it applies or decomposes the first open task."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final, TypeVar

from htn.search.decomposition_kernel import BLIND, CHAIN, EAGER, UNKNOWN, Places, Waiting
from htn.search.packed_hierarchy import PackedHierarchy, blind_guide, make_guide
from htn.search.relaxed_composition_kernel import Guide
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
"""Number of buckets of the open list."""
NO_TASK: Final = -1
"""The first task of the empty stack."""

Record = TypeVar("Record", Places, Stacks)


@dataclass(frozen=True, slots=True)
class Part:
    """A subproblem: `tasks` from the packed `state` on.

    `space` and `guide` have its goal. The relaxed plans of `guide` are numbered from `evaluations` on.
    """

    state: list[int]
    tasks: list[int]
    space: Space
    guide: Guide
    evaluations: int


class Progression:
    """A search in the order of `past` · cost so far + `future` · estimate; the estimate counts `own` for every method.

    With `past` 0 it is greedy, and counts steps instead of costs. The `kind` tells when places are estimated (see
    `htn.search.decomposition_kernel`). Unless tasks may be `nested` in themselves in the same state, the search misses
    some plans. It does unordered subtasks in the order in which the method lists them, and then proves nothing.
    """

    def __init__(
        self,
        packed: PackedHierarchy,
        past: int,
        future: int,
        own: int,
        *,
        kind: int = EAGER,
        nested: bool = True,
        part: Part | None = None,
        room: int = 1024,
    ) -> None:
        self._packed, self._past, self._future, self._kind = packed, past, future, kind
        self._number = zeros(slot.HOW_MANY)
        if part is not None:
            self._guide, self._space, self._initial, tasks = part.guide, part.space, part.state, part.tasks
            self._number[slot.EVALUATIONS] = part.evaluations
        else:
            root = packed.ground.root
            assert root is not None
            self._guide = (
                blind_guide(packed) if kind == BLIND else make_guide(packed, packed.costs if past else None, own)
            )
            self._space, self._initial, tasks = packed.space, packed.initial, [root]
        number = self._number
        number[slot.PENDING], number[slot.REOPEN], number[slot.NESTED], number[slot.STATES] = -1, past, nested, 1
        number[slot.GRAIN] = max(1, past * max(packed.costs, default=1) // 16)
        number[slot.WIDEST] = packed.widest
        self._begin(tasks, room)

    def _begin(self, tasks: list[int], room: int) -> None:
        packed, number = self._packed, self._number
        room = max(room, len(tasks))
        states = room + CHAIN + 4
        most = room + (CHAIN + 2) * (number[slot.WIDEST] + 1) + 4
        self._registry = new_registry(self._initial, states, packed.entries)
        self._stacks = Stacks(new_registry([NO_TASK, 0], most, packed.entries), zeros(most), index([0]) * most)
        key = Registry(zeros(2 * states), empty_index(1 << (2 * states).bit_length()))
        self._places = Places(
            key, empty_index(states), empty_index(states), zeros(states), words([UNKNOWN]) * states, index([0]) * states
        )
        self._waiting = Waiting(empty_index(KEYS), empty_index(room), index([0]) * room)
        cells, least, depth = self._stacks
        for cell, task in enumerate(reversed(tasks), 1):
            cells.state[2 * cell], cells.state[2 * cell + 1] = task, cell - 1
            least[cell] = least[cell - 1] + packed.least[task]
            depth[cell] = cell
        packed.entries["rehash_states"](cells, len(tasks) + 1, 2)
        number[slot.CELLS] = len(tasks) + 1
        key.state[0], key.state[1] = 0, len(tasks)
        packed.entries["rehash_states"](key, 1, 2)
        number[slot.PLACES] = 1
        number[slot.COUNTERS] = 1
        self._waiting.first[0] = 0

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; with `first`, stop at the first plan."""
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
        """Return whether exhaustion of this search is a proof: a greedy search ignores cheaper paths to a place."""
        number = self._number
        thorough = number[slot.NESTED] and not number[slot.LEFT_OUT] and (self._past > 0 or run.plan is None)
        return bool(self._packed.ground.is_ordered and thorough)

    def _call(self) -> int:
        packed = self._packed
        memory = self._registry, self._stacks, self._places, self._waiting
        order = self._kind, self._past, self._future, WORK, self._number
        return packed.entries["decompose"](*order, self._space, packed.hierarchy, self._guide, *memory)

    def _moves(self, place: int) -> list[int]:
        """Return the moves to `place` (see `htn.search.htn_incumbent.tree_of`), each on the first open task."""
        moves: list[int] = []
        while place:
            move = self._places.move[place]
            moves.append(0 if move == NOTHING else move + 1)
            place = self._places.parent[place]
        return moves[::-1]

    def _grow(self) -> None:
        """Make room for another child and the places that follow it."""
        number, width, entries = self._number, len(self._initial), self._packed.entries
        states, places, cells = _needed_room(number)
        self._registry = _with_room(self._registry, number[slot.STATES], states, width, entries)
        key = _with_room(self._places.key, number[slot.PLACES], places, 2, entries)
        self._places = _lengthen(self._places._replace(key=key), places)
        stacked = _with_room(self._stacks.cells, number[slot.CELLS], cells, 2, entries)
        self._stacks = _lengthen(self._stacks._replace(cells=stacked), cells)
        if number[slot.COUNTERS] + 1 >= len(self._waiting.next):
            length = len(lengthen(self._waiting.next, number[slot.COUNTERS] + 2))
            lengthen(self._waiting.place, length)


def _needed_room(number: array[int]) -> tuple[int, int, int]:
    """Return the numbers of states, places and cells for which there must be room."""
    cells = number[slot.CELLS] + (CHAIN + 2) * (number[slot.WIDEST] + 1) + 1
    return number[slot.STATES] + CHAIN + 2, number[slot.PLACES] + CHAIN + 3, cells


def _with_room(registry: Registry, count: int, needed: int, width: int, entries: Mapping[str, Call]) -> Registry:
    """Return `registry`, with `count` entries of `width` words, lengthened for `needed` entries."""
    if needed * width >= len(registry.state):
        lengthen(registry.state, needed * width + 1)
    return enlarge_table(registry, count, needed, width, entries)


def _lengthen(record: Record, needed: int) -> Record:
    """Return `record`, whose arrays have one element for each entry, lengthened for `needed` entries."""
    for each in record:
        if isinstance(each, array) and needed >= len(each):
            lengthen(each, needed + 1)
    return record

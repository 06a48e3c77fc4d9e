"""Lazy best-first search by kernels: plans soon, and then better ones."""

from __future__ import annotations

from itertools import count
from typing import Final

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, lengthened, zeros
from planner.jit.common_kernel import FULL, INFINITE, NOTHING
from planner.search.compiled_driver import MOST_COST, WORK, Accounts, States
from planner.search.open_lists_kernel import QUEUES, Batches, Types, first_slot
from planner.search.search_run import Ending, Run, Steps

FIRST_TYPES: Final = 256
BUCKETS: Final = 1 << 13


class CompiledLazy:
    """Lazy search by `guide`."""

    def __init__(self, guide: Guide, *, work: int = WORK, room: int = 1024) -> None:
        self._given, self._work, self._room = guide, work, room

    def greedy(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        return (yield from self._search(run, weight=1, reopen=False))

    def restarting(self, run: Run, unit: int) -> Steps:
        """Search for any plan, again and again in another order, each time for some multiple of `unit` evaluations.

        Every other time goes without landmarks, and by relaxed plans that prefer other actions.
        """
        for seed in count(1):
            steps = self._search(run, weight=1, reopen=False, seed=seed, most=unit * luby(seed))
            if (ending := (yield from steps)) is not Ending.INCOMPLETE:
                break
            yield
        return ending

    def weighted(self, run: Run, weight: int) -> Steps:
        """Search for a plan that is cheaper than the best one, by cost so far plus `weight` times the estimate."""
        return (yield from self._search(run, weight=weight, reopen=True))

    def _search(self, run: Run, *, weight: int, reopen: bool, seed: int = 0, most: int | None = None) -> Steps:
        self._begin(seed)
        number, states, accounts = self._number, self._states, Accounts(run, self._number)
        while True:
            number[slot.LIMIT] = min(run.limit, MOST_COST) if reopen else MOST_COST
            outcome = self._call(weight, reopen=reopen)
            accounts.settle(states.registry, states.reached, self._batches, self._types)
            if (ending := states.ending(outcome, number[slot.GOAL_STATE], run)) is not None:
                return ending
            if outcome == FULL:
                self._grow()
            if most is not None and number[slot.EVALUATIONS] >= most:
                return Ending.INCOMPLETE
            yield

    def _call(self, weight: int, *, reopen: bool) -> int:
        guide, states = self._guide, self._states
        return guide.board.entries["lazy"](
            weight,
            int(reopen),
            self._work,
            self._number,
            guide.board.space,
            states.registry,
            states.reached,
            self._batches,
            self._types,
            guide.relaxed,
            guide.board.exploration,
            guide.achievers,
            guide.reachable,
            guide.milestones,
            guide.board.found,
            guide.board.stack,
        )

    def _begin(self, seed: int) -> None:
        """Make the arrays that grow, with the initial state."""
        self._guide = self._given.fresh(landmarks=not seed & 1)
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        number[slot.SEED] = number[slot.RANDOM] = seed
        for queue in range(QUEUES):
            number[slot.LOWEST + queue] = queue
        number[slot.BEST] = number[slot.BEST + 1] = INFINITE
        self._states = States(self._guide, self._room + 2)
        buckets, batches = empty_index(BUCKETS * QUEUES), empty_index(self._room + QUEUES + 1)
        edges = empty_index(self._room + self._guide.board.actions)
        self._batches = Batches(buckets, buckets[:], batches, batches[:], batches[:], batches[:], edges)
        self._types = Types(
            empty_index(2 * FIRST_TYPES),
            zeros(FIRST_TYPES),
            empty_index(FIRST_TYPES),
            empty_index(FIRST_TYPES),
            empty_index(FIRST_TYPES),
        )

    def _grow(self) -> None:
        """Lengthen what is short."""
        number, batches = self._number, self._batches
        self._states.grow(number[slot.STATES], number[slot.STATES] + 2)
        needed = number[slot.BATCHES] + QUEUES + 1
        if needed > len(batches.state):
            for each in (batches.state, batches.at, batches.end, batches.next):
                lengthened(each, needed)
        if number[slot.EDGES] + len(self._guide.board.found) > len(batches.edge):
            lengthened(batches.edge, number[slot.EDGES] + len(self._guide.board.found))
        if number[slot.TYPES] >= len(self._types.key):
            self._types = with_more_types(self._types)


def luby(number: int) -> int:
    """Return element `number`, from 1 on, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair and Zuckerman, 1993)."""
    power = number.bit_length()
    while number != (1 << power) - 1:
        number -= (1 << (power - 1)) - 1
        power = number.bit_length()
    return 1 << (power - 1)


def with_more_types(types: Types) -> Types:
    """Return `types`, which are as many as there is room for, with room for twice as many."""
    known = list(types.key)
    length = 2 * len(known)
    longer = Types(
        empty_index(2 * length),
        lengthened(types.key, length),
        lengthened(types.first, length),
        lengthened(types.last, length),
        lengthened(types.active, length),
    )
    mask = 2 * length - 1
    for kind, key in enumerate(known):
        bucket = first_slot(key, mask)
        while longer.table[bucket] != NOTHING:
            bucket = (bucket + 1) & mask
        longer.table[bucket] = kind
    return longer

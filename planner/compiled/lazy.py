"""Lazy best-first search by kernels: plans soon, and then better ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import count
from typing import Final

from planner.compiled.accounts import Accounts
from planner.compiled.arrays import empty_index, flat, index, lengthened, words, zeros
from planner.compiled.library import Call
from planner.compiled.packing import Packing, packing
from planner.compiled.registry import first_registry, with_table
from planner.compiled.relaxed import exploration, packed_relaxation
from planner.compiled.space import first_state, packed_space
from planner.heuristics.landmarks import NONE, Landmarks, landmarks
from planner.heuristics.relaxed import relax
from planner.kernels import numbers as n
from planner.kernels.batches import QUEUES, Batches
from planner.kernels.data import INFINITE, NOTHING
from planner.kernels.lazy import Reached
from planner.kernels.milestones import BITS, Milestones
from planner.kernels.relaxed_plan import Achievers, Reachable, relaxed_plan
from planner.kernels.types import Types, first_slot
from planner.search.run import Ending, Run, Steps
from planner.task import Task

WORK: Final = 4_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
FIRST_TYPES: Final = 256
BUCKETS: Final = 1 << 13
VALUES: Final = 1 << 12
MOST_COST: Final = 1 << 40


class CompiledLazy:
    """Lazy search on `task` with the relaxation at these `costs`, by the kernels `entries`."""

    def __init__(
        self,
        task: Task,
        costs: list[int],
        entries: dict[str, Call],
        *,
        milestones: bool = True,
        check: Callable[[], None] = lambda: None,
        work: int = WORK,
        room: int = 1024,
    ) -> None:
        self._entries, self._work, self._first_room = entries, work, room
        self._packed = packing(task)
        self._actions = len(task.actions)
        self._space = packed_space(task, self._packed)
        self._initial = first_state(task, self._packed, self._space)
        relaxed = relax(task, costs)
        self._relaxed = packed_relaxation(relaxed, self._actions)
        self._exploration = exploration(relaxed, self._actions, self._packed)
        facts = relaxed.size
        self._achievers = Achievers(empty_index(facts), zeros(facts), zeros(self._actions), empty_index(facts))
        entries_needed = sum(map(len, relaxed.effects)) + 1
        self._reachable = Reachable(empty_index(VALUES), empty_index(entries_needed), empty_index(entries_needed))
        marks = landmarks(task, relaxed, check) if milestones else NONE
        self._milestones = packed_milestones(marks, self._packed)
        self._marks = (len(marks.facts) + BITS - 1) // BITS
        self._found = empty_index(self._actions + 1)
        self._stack = empty_index(len(self._space.tree.action_start))

    def greedy(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        return (yield from self._search(run, weight=1, reopen=False))

    def restarting(self, run: Run, unit: int) -> Steps:
        """Search for any plan, again and again in another order, each time for some multiple of `unit` evaluations."""
        for seed in count(1):
            steps = self._search(run, weight=1, reopen=False, seed=seed, most=unit * luby(seed))
            if (ending := (yield from steps)) is not Ending.INCOMPLETE:
                break
        return ending

    def twin(self) -> CompiledLazy:
        """Return another one for the same task, which can search at the same time."""
        other = copy(self)
        other._achievers = Achievers(*(each[:] for each in self._achievers))  # noqa: SLF001 - it is one of us
        return other

    def weighted(self, run: Run, weight: int) -> Steps:
        """Search for a plan that is cheaper than the best one, by cost so far plus `weight` times the estimate."""
        return (yield from self._search(run, weight=weight, reopen=True))

    def estimate(self, state: list[int], plan: int) -> int:
        """Return the cost of a relaxed plan, number `plan`, for a packed state; `INFINITE` for a dead end."""
        return relaxed_plan(
            self._relaxed,
            self._exploration,
            self._achievers,
            self._reachable,
            self._space.coding,
            words(state),
            0,
            plan,
            0,
        )

    def planned(self, action: int) -> int:
        """Return the number of the last relaxed plan that `action` was in."""
        return self._achievers.planned[action]

    def _search(self, run: Run, *, weight: int, reopen: bool, seed: int = 0, most: int | None = None) -> Steps:
        self._begin()
        self._number[n.SEED] = self._number[n.RANDOM] = seed
        number, accounts = self._number, Accounts(run, self._number)
        while True:
            number[n.LIMIT] = min(run.limit, MOST_COST) if reopen else MOST_COST
            outcome = self._call(weight, reopen=reopen)
            accounts.settle(self._registry, self._reached, self._batches, self._types)
            if outcome == n.FOUND:
                state = number[n.GOAL_STATE]
                run.found(self._plan(state), self._reached.cost[state])
                return Ending.FIRST_PLAN
            if outcome == n.EXHAUSTED:
                run.proved(run.limit)
                return Ending.EXHAUSTED
            if outcome == n.FULL:
                self._grow()
            if most is not None and number[n.EVALUATIONS] >= most:
                return Ending.INCOMPLETE
            yield

    def _call(self, weight: int, *, reopen: bool) -> int:
        return self._entries["lazy"](
            weight,
            int(reopen),
            self._work,
            self._number,
            self._space,
            self._registry,
            self._reached,
            self._batches,
            self._types,
            self._relaxed,
            self._exploration,
            self._achievers,
            self._reachable,
            self._milestones,
            self._found,
            self._stack,
        )

    def _begin(self) -> None:
        """Make the arrays that grow, with the initial state."""
        states, edges = self._first_room, self._first_room + self._actions
        number = self._number = zeros(n.HOW_MANY)
        number[n.STATES] = 1
        number[n.PENDING] = 0
        for queue in range(QUEUES):
            number[n.LOWEST + queue] = queue
        number[n.BEST] = number[n.BEST + 1] = INFINITE
        self._registry = first_registry(self._initial, states + 2, self._entries)
        self._reached = Reached(
            empty_index(states + 2),
            empty_index(states + 2),
            index([0] * (states + 2)),
            zeros(states + 2),
            zeros((states + 2) * self._marks),
        )
        self._entries["accept_first"](self._milestones, self._reached.accepted, self._registry.state)
        buckets = empty_index(BUCKETS * QUEUES)
        batches = empty_index(states + QUEUES + 1)
        self._batches = Batches(buckets, buckets[:], batches, batches[:], batches[:], batches[:], empty_index(edges))
        self._types = Types(
            empty_index(2 * FIRST_TYPES),
            zeros(FIRST_TYPES),
            empty_index(FIRST_TYPES),
            empty_index(FIRST_TYPES),
            empty_index(FIRST_TYPES),
        )
        self._achievers.wanted[:] = zeros(len(self._achievers.wanted))
        self._achievers.planned[:] = zeros(self._actions)

    def _plan(self, state: int) -> list[int]:
        reached = self._reached
        actions: list[int] = []
        while reached.parent[state] != NOTHING:
            actions.append(reached.action[state])
            state = reached.parent[state]
        return actions[::-1]

    def _grow(self) -> None:
        """Lengthen what is short."""
        number, width, reached = self._number, self._packed.words, self._reached
        states = number[n.STATES] + 2
        if states > len(reached.parent):
            parent = lengthened(reached.parent, states)
            length = len(parent)
            self._reached = Reached(
                parent,
                lengthened(reached.action, length),
                lengthened(reached.depth, length),
                lengthened(reached.cost, length),
                lengthened(reached.accepted, length * self._marks),
            )
            self._registry = self._registry._replace(state=lengthened(self._registry.state, length * width))
        self._registry = with_table(self._registry, number[n.STATES], states, width, self._entries)
        batches = self._batches
        needed = number[n.BATCHES] + QUEUES + 1
        if needed > len(batches.state):
            batches = batches._replace(
                state=lengthened(batches.state, needed),
                at=lengthened(batches.at, needed),
                end=lengthened(batches.end, needed),
                next=lengthened(batches.next, needed),
            )
        if number[n.EDGES] + len(self._found) > len(batches.edge):
            batches = batches._replace(edge=lengthened(batches.edge, number[n.EDGES] + len(self._found)))
        self._batches = batches
        if number[n.TYPES] >= len(self._types.key):
            self._types = with_more_types(self._types)


def luby(number: int) -> int:
    """Return element `number`, from 1 on, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 … (Luby, Sinclair and Zuckerman, 1993)."""
    power = number.bit_length()
    while number != (1 << power) - 1:
        number -= (1 << (power - 1)) - 1
        power = number.bit_length()
    return 1 << (power - 1)


def with_more_types(types: Types) -> Types:
    """Return `types` with room for twice as many."""
    length = 2 * len(types.key)
    longer = Types(
        empty_index(2 * length),
        lengthened(types.key, length),
        lengthened(types.first, length),
        lengthened(types.last, length),
        lengthened(types.active, length),
    )
    mask = 2 * length - 1
    for kind, key in enumerate(types.key):
        slot = first_slot(key, mask)
        while longer.table[slot] != NOTHING:
            slot = (slot + 1) & mask
        longer.table[slot] = kind
    return longer


def packed_milestones(marks: Landmarks, packed: Packing) -> Milestones:
    """Return landmarks as arrays."""
    places = [packed.places[fact] for facts in marks.facts for fact in facts]
    return Milestones(
        flat(marks.facts)[0],
        index(word for word, _, _ in places),
        words(mask for _, mask, _ in places),
        words(bits for _, _, bits in places),
        *flat(marks.before),
        *flat(marks.needed_for),
        index(map(int, marks.goals)),
    )

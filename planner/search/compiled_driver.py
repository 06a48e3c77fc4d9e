"""How a search by kernels reports its work, how much it does between two pauses, and how its arrays of states grow."""

from __future__ import annotations

from array import array
from typing import Any, Final

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, lengthened, size, zeros
from planner.jit.common_kernel import EXHAUSTED, FOUND, NOTHING
from planner.jit.library import Call
from planner.lightweight import dataclass
from planner.search.lazy_best_first_kernel import Reached
from planner.search.search_run import Ending, Run
from planner.task.state_registry_kernel import Registry

WORK: Final = 4_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
MOST_COST: Final = 1 << 56
"""States are cut off from this cost on: where any were, nothing is proved."""
SPARE: Final = 1 << 52
"""More than any action costs, and than all together."""


def were_cut_off(run: Run, costs: array[int]) -> bool:
    """Return whether states may have been cut off for their cost alone, where all others were reached at `costs`."""
    return run.limit > MOST_COST and max(costs) >= MOST_COST - 2 * SPARE


@dataclass(slots=True)
class Accounts:
    """Adds to the counts of `run` what `number` has more than when it was last looked at."""

    run: Run
    number: array[int]
    evaluated: int = 0
    expanded: int = 0
    generated: int = 0
    stored: int = 0
    stored_bytes: int = 0

    def settle(self, *records: Any) -> None:
        """Bring `run` up to date; `records` are those that grow with the states."""
        number = self.number
        counts = {
            "evaluated": number[slot.EVALUATIONS],
            "expanded": number[slot.EXPANSIONS],
            "generated": number[slot.GENERATED],
            "stored": number[slot.STATES],
            "stored_bytes": size(*records),
        }
        for name, count in counts.items():
            setattr(self.run, name, getattr(self.run, name) + count - getattr(self, name))
            setattr(self, name, count)


def first_registry(initial: list[int], states: int, entries: dict[str, Call]) -> Registry:
    """Return a registry that has room for so many `states`, with the packed initial one as number 0."""
    registry = Registry(zeros(states * len(initial)), empty_index(1 << (2 * states).bit_length()))
    for word, value in enumerate(initial):
        registry.state[word] = value
    entries["rehash_states"](registry, 1, len(initial))
    return registry


def with_table(registry: Registry, count: int, states: int, words: int, entries: dict[str, Call]) -> Registry:
    """Return `registry`, which has `count` states, with a table that is long enough for so many `states`."""
    if 2 * states > len(registry.table):
        registry = registry._replace(table=empty_index(1 << (4 * states).bit_length()))
        entries["rehash_states"](registry, count, words)
    return registry


class States:
    """The states that a guided search has reached, and how."""

    def __init__(self, guide: Guide, room: int) -> None:
        self._guide = guide
        self.registry = first_registry(guide.board.initial, room, guide.board.entries)
        self.reached = Reached(
            empty_index(room), empty_index(room), index([0] * room), zeros(room), zeros(room * guide.mark_words)
        )
        guide.board.entries["accept_initial"](guide.milestones, self.reached.accepted, self.registry.state)

    def grow(self, count: int, states: int) -> None:
        """Make room for so many `states`; there are `count` now."""
        guide, reached = self._guide, self.reached
        if states > len(reached.parent):
            length = len(lengthened(reached.parent, states))
            lengthened(reached.action, length)
            lengthened(reached.depth, length)
            lengthened(reached.cost, length)
            lengthened(reached.accepted, length * guide.mark_words)
            lengthened(self.registry.state, length * guide.board.packed.words)
        self.registry = with_table(self.registry, count, states, guide.board.packed.words, guide.board.entries)

    def ending(self, outcome: int, goal_state: int, run: Run) -> Ending | None:
        """Tell `run` what a kernel that returned `outcome` found or proved; return how the search ends, if it does."""
        if outcome == FOUND:
            run.found(self.plan(goal_state), self.reached.cost[goal_state])
            return Ending.FIRST_PLAN
        if outcome == EXHAUSTED and were_cut_off(run, self.reached.cost):
            return Ending.INCOMPLETE
        if outcome == EXHAUSTED:
            run.proved(run.limit)
            return Ending.EXHAUSTED
        return None

    def plan(self, state: int) -> list[int]:
        """Return the actions that lead to `state`."""
        reached = self.reached
        actions: list[int] = []
        while reached.parent[state] != NOTHING:
            actions.append(reached.action[state])
            state = reached.parent[state]
        return actions[::-1]

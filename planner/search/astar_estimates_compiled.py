"""The estimates of A* by kernels: their arrays, and how they are prepared, renewed and enlarged."""

from __future__ import annotations

import random
from array import array
from collections.abc import Generator, Sequence
from typing import Any, Final

from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions
from planner.heuristics.lmcut_kernel import Landmarks
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, make_hollow, zeros
from planner.search import astar_kernel as kernel
from planner.search.search_run import Pauses, Run
from planner.search.task_compiled import Board, ensure_length
from planner.task.state_registry_kernel import CLOSED, Nodes, Registry

KINDS: Final = {
    "blind": kernel.BLIND,
    "hmax": kernel.H_MAX,
    "scp": kernel.SCP,
    "lmcut": kernel.LM_CUT,
    "scp+lmcut": kernel.BOTH,
}
"""Estimates from facts, by name."""
FIRST_RENEWAL: Final = 300_000_000
"""Steps of inner loops before the search computes better abstractions; each later renewal waits twice as long."""
RENEWAL_RATIO: Final = 3
"""A renewal may take one in this number of the steps since the last one."""
MOST_DRAWN: Final = 2_000
"""Number of states drawn at random for a renewal."""
MOST_SAMPLES: Final = 300
"""Maximum number of unexpanded states among them; the renewal improves their estimates."""
WITH_ABSTRACTIONS: Final = ("astar", "scp+lmcut")
"""The reported names of an LM-cut search that also uses abstractions prepared by another search."""


class Estimator:
    """An estimate: its `kind`, and the `arrays` that the kernel reads, which are hollow at first."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.arrays: kernel.Estimates = make_hollow(kernel.Estimates)

    def prepare(self) -> Generator[None, None, bool]:
        """Fill the arrays; return whether the search can run."""
        yield from ()
        return True

    def go_on(self, run: Run, number: array[int], registry: Registry, nodes: Nodes) -> Pauses:  # noqa: ARG002
        """Improve the arrays between two calls of the kernel, where that pays."""
        yield from ()

    def grow(self, number: array[int], states: int) -> None:
        """Make room for so many `states`, and for the next expansion."""

    def records(self) -> list[Any]:
        """Return the records that count as memory of the search."""
        return []


class FactEstimates(Estimator):
    """The named estimate from the facts of the tasks on `board`: relaxations, landmarks, abstractions."""

    def __init__(self, board: Board, heuristic: str, room: int, states: int) -> None:
        super().__init__(KINDS[heuristic])
        self._board = board
        self._partitions: Partitions | None = None
        self._spent, self._next = 0, FIRST_RENEWAL
        if heuristic not in {"blind", "scp"}:
            self.arrays = self.arrays._replace(relaxed=board.relaxed, room=board.exploration)
        if self._inherits:
            worth, start, member = zeros(room), index([0] * room), empty_index(8 * room + 2 * board.actions)
            reference, of, many = empty_index(4 * room), zeros(states), index([0] * states)
            landmarks = Landmarks(worth, start, member, reference, of, many, zeros(states), zeros(board.actions))
            self.arrays = self.arrays._replace(landmarks=landmarks)

    @property
    def _inherits(self) -> bool:
        return self.kind in (kernel.LM_CUT, kernel.BOTH)

    def prepare(self) -> Generator[None, None, bool]:
        """Compute abstractions, if the estimate uses them; return True."""
        if self.kind in (kernel.SCP, kernel.BOTH):
            self._partitions = Partitions(self._board)
            yield from self._partitions.prepare()
            self._share_abstractions(self._partitions)
        return True

    def _share_abstractions(self, partitions: Partitions) -> None:
        self._board.tables = partitions.tables
        self.arrays = self.arrays._replace(tables=partitions.tables)

    def go_on(self, run: Run, number: array[int], registry: Registry, nodes: Nodes) -> Pauses:
        """From time to time, compute better abstractions for unexpanded states; adopt those of another search."""
        if self._partitions is not None:
            yield from self._renew(self._partitions, number, registry, nodes)
        tables = self._board.tables
        if self._inherits and tables is not None and tables is not self.arrays.tables:
            self.kind, self.arrays, run.by = kernel.BOTH, self.arrays._replace(tables=tables), WITH_ABSTRACTIONS
            self._board.entries["reconsider"](nodes, number[slot.STATES], 0)

    def _renew(self, partitions: Partitions, number: array[int], registry: Registry, nodes: Nodes) -> Pauses:
        self._spent += number[slot.WORK]
        if self._spent < self._next:
            return
        work, self._spent, self._next = self._next // RENEWAL_RATIO, 0, 2 * self._next
        if (yield from partitions.renew(self._sample_states(number, registry, nodes), work)):
            self._share_abstractions(partitions)
            self._board.entries["reconsider"](nodes, number[slot.STATES], int(self.kind == kernel.SCP))

    def _sample_states(self, number: array[int], registry: Registry, nodes: Nodes) -> list[Sequence[int]]:
        """Return random unexpanded states."""
        words, states = self._board.packed.words, number[slot.STATES]
        draw = random.Random(self._next + self._board.seed)
        drawn = draw.sample(range(states), min(MOST_DRAWN, states))
        waiting = [state for state in drawn if nodes.stage[state] != CLOSED][:MOST_SAMPLES]
        return [registry.state[state * words : (state + 1) * words] for state in waiting]

    def grow(self, number: array[int], states: int) -> None:
        """Make room for so many `states`, and for the landmarks of the next evaluation and expansion."""
        if self._inherits:
            landmarks, most = self.arrays.landmarks, self._board.actions + 1
            ensure_length(states, landmarks.of, landmarks.many, landmarks.kept)
            ensure_length(number[slot.LANDMARKS] + kernel.SPARE + 1, landmarks.start, landmarks.worth)
            ensure_length(number[slot.MEMBERS] + 2 * most, landmarks.member)
            ensure_length(number[slot.REFERENCES] + number[slot.LONGEST] + kernel.SPARE, landmarks.reference)

    def records(self) -> list[Any]:
        """Return the landmarks and abstractions."""
        held = self._partitions.held if self._partitions is not None else []
        return [self.arrays.landmarks, self.arrays.tables, *held]

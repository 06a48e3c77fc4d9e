"""What a search for decompositions goes by: estimates of the relaxed composition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from htn.search.arrays import Board
from planner.compiled.arrays import empty_index, hollow, zeros
from planner.kernels.composition import Demands
from planner.kernels.data import Exploration, Relaxed
from planner.kernels.relaxed_plan import Achievers, Reachable
from planner.records import dataclass

VALUES: Final = 1 << 12
"""Buckets for the values of facts; dearer ones share the last."""


@dataclass(frozen=True, slots=True)
class Guide:
    """The relaxation with certain costs, and room for its relaxed plans, which are numbered from 1 on."""

    relaxed: Relaxed
    room: Exploration
    demands: Demands
    achievers: Achievers
    reachable: Reachable

    @classmethod
    def of(cls, board: Board, costs: Sequence[int] | None, own: int) -> Guide:
        """Return what counts these `costs` of actions, 1 for each without, and `own` for every method."""
        facts, operators = board.relaxation.size, len(board.costs) + len(board.ground.methods)
        tasks = len(board.costs) + len(board.ground.compounds)
        entries = sum(map(len, board.relaxation.effects)) + 1
        return cls(
            board.relaxed([1] * len(board.costs) if costs is None else costs, own),
            board.exploration,
            Demands(zeros(tasks), empty_index(tasks)),
            Achievers(empty_index(facts), zeros(facts), zeros(operators), empty_index(facts)),
            Reachable(empty_index(VALUES), empty_index(entries), empty_index(entries)),
        )


def blind(board: Board) -> Guide:
    """Return a guide for a search that estimates nothing."""
    room: Exploration = hollow(Exploration)._replace(state=zeros(board.packed.words))
    return Guide(hollow(Relaxed), room, hollow(Demands), hollow(Achievers), hollow(Reachable))

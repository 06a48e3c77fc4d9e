"""What a search for decompositions goes by: estimates of the relaxed composition."""

from __future__ import annotations

from collections.abc import Sequence

from htn.search.ground_hierarchy import Board
from htn.search.relaxed_composition_kernel import Demands
from planner.heuristics.relaxation_compiled import make_achievers, make_reachable
from planner.heuristics.relaxation_kernel import Achievers, Exploration, Reachable, Relaxed
from planner.jit.arrays import make_hollow, zeros
from planner.lightweight import dataclass


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
        operators = len(board.costs) + len(board.ground.methods)
        relaxed = board.relaxed([1] * len(board.costs) if costs is None else costs, own)
        return cls(
            relaxed,
            board.exploration,
            board.demands(),
            make_achievers(board.relaxation.facts, operators),
            make_reachable(relaxed),
        )


def blind(board: Board) -> Guide:
    """Return a guide for a search that estimates nothing."""
    room: Exploration = make_hollow(Exploration)._replace(state=zeros(board.packed.words))
    return Guide(make_hollow(Relaxed), room, make_hollow(Demands), make_hollow(Achievers), make_hollow(Reachable))

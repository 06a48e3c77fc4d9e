"""Heuristics, one file each; a new one is a file and a line in `REGISTRY`."""

from __future__ import annotations

from planner.heuristics.abstractions.cost_partitioning import SCP, SCP_LM_CUT
from planner.heuristics.blind import BLIND
from planner.heuristics.declare import Heuristic, Kind
from planner.heuristics.goal_count import GOAL_COUNT
from planner.heuristics.lmcut import LM_CUT
from planner.heuristics.relaxation import HADD, HFF, HMAX
from planner.lightweight import Final

REGISTRY: Final[dict[str, Kind]] = {
    "blind": BLIND,
    "goalcount": GOAL_COUNT,
    "hmax": HMAX,
    "hadd": HADD,
    "hff": HFF,
    "lmcut": LM_CUT,
    "scp": SCP,
    "scp+lmcut": SCP_LM_CUT,
}

__all__ = ["REGISTRY", "Heuristic", "Kind"]

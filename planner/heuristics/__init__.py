"""Heuristics, one file each; a new one is a file and a line in `REGISTRY`."""

from __future__ import annotations

from planner.annotations import Final
from planner.heuristics.blind import BLIND
from planner.heuristics.both import SCP_LM_CUT
from planner.heuristics.goalcount import GOAL_COUNT
from planner.heuristics.hadd import HADD
from planner.heuristics.hff import HFF
from planner.heuristics.hmax import HMAX
from planner.heuristics.kind import Heuristic, Kind
from planner.heuristics.lmcut import LM_CUT
from planner.heuristics.scp import SCP

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

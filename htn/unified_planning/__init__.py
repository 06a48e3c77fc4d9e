"""Hierarchical problems of unified-planning: both directions, with their plans.

`planner.unified_planning` finds this package by its entry point, and hands it every problem that has tasks.
"""

from __future__ import annotations

from htn.unified_planning.ground_outgoing import GroundOutgoing, to_ground_unified_planning
from htn.unified_planning.htn_incoming import FEATURES, HtnIncoming, from_unified_planning
from htn.unified_planning.htn_outgoing import HtnOutgoing, to_unified_planning

__all__ = [
    "FEATURES",
    "GroundOutgoing",
    "HtnIncoming",
    "HtnOutgoing",
    "from_unified_planning",
    "to_ground_unified_planning",
    "to_unified_planning",
]

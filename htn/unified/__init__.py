"""Hierarchical problems of unified-planning: both directions, with their plans.

`planner.engines` finds this package by its entry point, and hands it every problem that has tasks.
"""

from __future__ import annotations

from htn.unified.grounded import GroundOutgoing, grounded
from htn.unified.incoming import FEATURES, HtnIncoming, from_unified_planning
from htn.unified.outgoing import HtnOutgoing, to_unified_planning

__all__ = [
    "FEATURES",
    "GroundOutgoing",
    "HtnIncoming",
    "HtnOutgoing",
    "from_unified_planning",
    "grounded",
    "to_unified_planning",
]

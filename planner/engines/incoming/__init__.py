"""Problems of unified-planning as problems of the model."""

from planner.engines.incoming.problem import Incoming, from_unified_planning

__all__ = ["Incoming", "from_unified_planning"]

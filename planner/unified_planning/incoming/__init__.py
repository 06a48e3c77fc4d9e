"""Problems of unified-planning as problems of the model."""

from planner.unified_planning.incoming.problem import AnyIncoming, Incoming, Reading, from_unified_planning

__all__ = ["AnyIncoming", "Incoming", "Reading", "from_unified_planning"]

"""From a problem to integers: joins, reachability, relevance, mutex groups."""

from planner.grounding.ground import ground

__all__ = ["ground"]

"""From a problem to integers: joins, reachability, relevance, mutex groups."""

from planner.grounding.ground import ground, ground_all

__all__ = ["ground", "ground_all"]

"""Forethought for unified-planning: importing this module registers the engines `forethought` and `forethought-opt`.

The module names the classes of the engines, as the packages of other engines do, for lists and files that name engines
by module and class.
"""

from planner.unified_planning import register
from planner.unified_planning.engine import ForethoughtEngine, ForethoughtOptimalEngine

__all__ = ["ForethoughtEngine", "ForethoughtOptimalEngine"]

register()

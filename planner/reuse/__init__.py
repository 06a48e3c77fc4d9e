"""Plans that were found before: for the same problem under other names, for similar ones, and as templates."""

from planner.reuse.cache import PlanCache, Savings
from planner.reuse.shape import Shape, shape_of
from planner.reuse.templates import Template, lift

__all__ = ["PlanCache", "Savings", "Shape", "Template", "lift", "shape_of"]

"""Plans that were found before: for the same problem under other names, for similar ones, and as templates."""

from planner.reuse.cache import PlanCache, Recalled, Savings
from planner.reuse.declaring import read_templates, template
from planner.reuse.lifting import lift
from planner.reuse.shape import Shape, shape_of
from planner.reuse.templates import Template

__all__ = [
    "PlanCache",
    "Recalled",
    "Savings",
    "Shape",
    "Template",
    "lift",
    "read_templates",
    "shape_of",
    "template",
]

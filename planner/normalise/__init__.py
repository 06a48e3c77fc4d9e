"""From what is declared to what can be grounded."""

from planner.normalise.conditions import Conjunction
from planner.normalise.constraints import constraint_of, without_constraints
from planner.normalise.declarations import to_adl
from planner.normalise.items import narrowed
from planner.normalise.relevant import relevant_part
from planner.normalise.schemas import NormalAxiom, NormalProblem, Schema, SchemaEffect, normalise
from planner.normalise.wishes import without_wishes

__all__ = [
    "Conjunction",
    "NormalAxiom",
    "NormalProblem",
    "Schema",
    "SchemaEffect",
    "constraint_of",
    "narrowed",
    "normalise",
    "relevant_part",
    "to_adl",
    "without_constraints",
    "without_wishes",
]

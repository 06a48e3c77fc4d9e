"""Why a step is in a plan, why there is no plan, and the smallest change that would give one."""

from planner.explain.assumptions import Assumption
from planner.explain.change import Change
from planner.explain.conflicts import Conflict, Demand, conflicts
from planner.explain.diagnosis import Diagnosis, explain_unsolvable, unreachable_parts
from planner.explain.steps import PlanExplanation, Service, StepExplanation, explain_plan
from planner.explain.unreachable import Cause, Link, Missing, Unreachable

__all__ = [
    "Assumption",
    "Cause",
    "Change",
    "Conflict",
    "Demand",
    "Diagnosis",
    "Link",
    "Missing",
    "PlanExplanation",
    "Service",
    "StepExplanation",
    "Unreachable",
    "conflicts",
    "explain_plan",
    "explain_unsolvable",
    "unreachable_parts",
]

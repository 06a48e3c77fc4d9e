"""Why a step is in a plan, why there is no plan, and the smallest change that would give one."""

from planner.explain.assumptions import Assumption
from planner.explain.change import Change
from planner.explain.diagnosis import Diagnosis, explain_unsolvable, unreachable_parts
from planner.explain.steps import PlanExplanation, Service, StepExplanation, explain_plan
from planner.explain.unreachable import Cause, Link, Missing, Unreachable

__all__ = [
    "Assumption",
    "Cause",
    "Change",
    "Diagnosis",
    "Link",
    "Missing",
    "PlanExplanation",
    "Service",
    "StepExplanation",
    "Unreachable",
    "explain_plan",
    "explain_unsolvable",
    "unreachable_parts",
]

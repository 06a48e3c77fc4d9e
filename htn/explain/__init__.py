"""Why no decomposition exists, and which tasks the steps of a plan are there for."""

from htn.explain.report import Attempt, DeadEnd, Failure, Lack, WhyNot
from htn.explain.steps import TaskExplanation, explain_plan
from htn.explain.why_not import why_not

__all__ = ["Attempt", "DeadEnd", "Failure", "Lack", "TaskExplanation", "WhyNot", "explain_plan", "why_not"]

"""From a validated problem document to a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.declare.declarations import objects_of
from planner.declare.numbers import resolution_of
from planner.declare.places import Place
from planner.declare.problem import ProblemBuilder
from planner.declare.types import Types
from planner.documents.constraints import demand_of
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.documents.schema import ProblemDocument


def problem_of(document: ProblemDocument, domain: DomainModel, place: Place) -> Problem:
    """Return the problem; raises `DocumentError` at the first mistake."""
    types = Types.of(domain.types)
    objects, _ = objects_of(document.objects, types, place.within("objects"))
    goal: Any = document.goal
    if not isinstance(goal, list):
        soft = goal.soft
        wishes = soft if isinstance(soft, dict) else [(each.condition, each.utility) for each in soft]
        goal = {"hard": goal.hard, "soft": wishes}
    here = place.within("constraints")
    return ProblemBuilder(domain, objects, place).build(
        document.problem,
        document.initial,
        goal,
        values=document.values,
        unknown=document.unknown,
        likely=document.likely,
        constraints=[demand_of(each, here.within(at)) for at, each in enumerate(document.constraints)],
        budgets=document.budgets,
        deadline=document.deadline,
        ran=document.ran,
        metric=document.metric,
        resolution=resolution_of(document.resolution, place.within("resolution")) or domain.resolution,
        entities={},
    )

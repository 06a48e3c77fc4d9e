"""What a handler sees of its plan: the steps as they stand, and which of them is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.events.steps import StepRecord
from executor.tools.context import Outline, OutlineStep
from planner.language.documents.document_conditions import Notation

if TYPE_CHECKING:
    from executor.events.run_state import RunState


def outline_plan(state: RunState, record: StepRecord) -> Outline:
    """Return the plan of a run as it is now, with the place of a step that is at work."""
    ids = list(state.order)
    steps = [state.steps[id_] for id_ in ids]
    parts = [
        OutlineStep(each.id, each.step.action, dict(each.plan.created), each.status, each.plan.description)
        for each in steps
    ]
    goal = tuple(Notation((), ()).formula(state.goal))
    number = ids.index(record.id) + 1
    return Outline(state.plan.name, goal, state.model, tuple(parts), number, state.purpose_of(record))

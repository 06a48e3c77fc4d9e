"""What a handler sees of its plan: the steps as they stand, and which of them is its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executor.record.events import Purpose
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from planner.documents.atoms import Notation

if TYPE_CHECKING:
    from executor.record.state import RunState


@dataclass(frozen=True, slots=True)
class OutlineStep:
    """A step of the plan: `arguments` are the objects by parameter, those that it creates included."""

    id: str
    action: str
    arguments: Mapping[str, str]
    status: StepStatus
    description: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """The plan of a run as it is now, and where one of its steps stands in it.

    `goal` has the conditions that the run is for, and `purpose` says what the step is for. `number` is its place among
    `steps`, counted from 1.
    """

    plan: str
    goal: tuple[str, ...]
    model: str
    steps: tuple[OutlineStep, ...]
    number: int
    purpose: Purpose

    @property
    def left(self) -> tuple[OutlineStep, ...]:
        """The steps that have not begun."""
        return tuple([each for each in self.steps if each.status is StepStatus.PENDING])

    @property
    def done(self) -> tuple[OutlineStep, ...]:
        """The steps that are done."""
        return tuple([each for each in self.steps if each.status.is_done])


def outline_of(state: RunState, record: StepRecord) -> Outline:
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

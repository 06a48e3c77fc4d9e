"""The driver of a run in the execution model "offered": what chooses its next step from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from executor.events.steps import StepRecord
from executor.plans.action_plan import PlanStep
from executor.recovery.options import Options


@dataclass(frozen=True, slots=True)
class Choice:
    """The step to begin next: the id of an offered one, or a new step that is put in front of the plan.

    `values` fill its data parameters. They are `marked` if whoever chose them had seen text that tools returned, or if
    the request gives others: an irreversible step needs an approval for such values.
    """

    step: str | PlanStep
    values: Mapping[str, Any] = field(default_factory=dict)
    marked: bool = False


class Driver(Protocol):
    """Chooses the steps of one run while nothing is at work."""

    def choose(self, offered: Sequence[StepRecord], options: Options) -> Choice | None:
        """Choose one of the steps `offered`, or another one; return None to leave the run waiting."""

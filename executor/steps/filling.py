"""Parameters that nothing known fills: whoever was named for that is asked once for all of a step's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from executor.record.answers import FILL
from executor.record.state import RunState
from executor.record.steps import StepRecord
from executor.world.containment import shown, text_from
from executor.world.results import NONE, Metrics
from planner.errors import InputError
from planner.model import Action, DataParameter
from planner.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class FillRequest:
    """A step whose `parameters` are open; `values` are those of its others, and `state` is all that is known."""

    record: StepRecord
    action: Action
    parameters: tuple[DataParameter, ...]
    values: Mapping[str, Any]
    state: RunState


@dataclass(frozen=True, slots=True)
class Fillings:
    """What somebody fills in: `values` by parameter, and why, as `thought`; what is left out takes its default.

    With a `question`, nothing is filled in: a person is asked, who is told what is `known`.

    `marked`: who said so has seen what tools returned. An irreversible step is done with such values only if they are
    approved. `metrics` are what asking took, and `calls` how many calls of a language model.
    """

    values: Mapping[str, Any]
    thought: str = ""
    marked: bool = False
    metrics: Metrics = NONE
    question: str = ""
    known: tuple[str, ...] = ()
    calls: int = 0

    @property
    def spent(self) -> dict[str, float]:
        """What asking took, by name."""
        found = {"duration": self.metrics.duration, "tokens": self.metrics.tokens, "cost": self.metrics.cost}
        return {**found, "calls": self.calls}


def checked_fillings(given: Any) -> Fillings:
    """Return what a `fill` has returned; raises `InputError` for what are no fillings."""
    if not isinstance(given, Fillings):
        raise InputError(f"fill returned {shown(given)}", hint="return Fillings({parameter: value})")
    for name, kind, what in (
        ("values", Mapping, "are values by parameter"),
        ("thought", str, "is a text"),
        ("question", str, "is a text"),
        ("metrics", Metrics, "are Metrics"),
    ):
        if not isinstance(getattr(given, name), kind):
            raise InputError(f"{name} of Fillings {what}, not {shown(getattr(given, name))}")
    known = tuple([text_from(str(each)) for each in given.known])
    return replace(given, thought=text_from(given.thought), question=text_from(given.question), known=known)


Fill = Callable[[FillRequest], Awaitable[Fillings]]
"""Fills parameters."""


def question_of(request: FillRequest) -> str:
    """Return the name of the question for the open parameters of a step."""
    return f"{FILL}{request.record.id}"


def by_hand(request: FillRequest, answer: Any) -> Fillings:
    """Return what somebody answers: values by name, or the value of the only parameter."""
    if isinstance(answer, Mapping):
        return Fillings(dict(answer))
    return Fillings({each.name: answer for each in request.parameters[:1]})

"""What is told of a run while it goes: a line for each event that matters to people, and the steps as they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from executor.follow.texts import line_of
from executor.record.events import (
    Answered,
    Asked,
    Disagreement,
    Event,
    GoalChanged,
    GoalDropped,
    PlanChanged,
    RunEnded,
    Rung,
    RungTaken,
    RunResumed,
    RunStarted,
    StepEnded,
    StepProgress,
    StepStarted,
    StepWaiting,
)
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord

STEP_EVENTS: Final = (StepStarted, StepProgress, StepWaiting, StepEnded)
"""Events that change what is said of one step."""
REASON: Final = 500
"""Characters that may say why a run ended."""
AT_WORK: Final = frozenset({StepStatus.RUNNING, StepStatus.WAITING})


def news(event: Event, state: RunState) -> str | None:  # noqa: C901, PLR0911 - a case for each kind of event
    """Return a line about `event`, which `state` has taken in; None for what is of no interest by itself."""
    match event:
        case RunStarted(_, _, model):
            return f"{line_of(state.plan.name)}: {counted(len(state.order), 'step')}, {model}"
        case RunResumed():
            return f"taken up again: {progress_of(state)}"
        case StepStarted() | StepProgress() | StepWaiting() | StepEnded():
            record = state.steps[event.step]
            return f"{record.id} {record.step}: {described(record.status)}{_after(note_of(event, record))}"
        case RungTaken():
            return rung_line(event)
        case PlanChanged(_, kept, new, dropped, reason):
            return f"plan changed ({reason}): {kept} kept, {new} new, {dropped} dropped"
        case GoalDropped(condition, utility):
            return f"given up: {condition} (utility {utility:g})"
        case GoalChanged(_, reason):
            return f"something else is wanted{_after(line_of(reason))}"
        case Asked(question, _, text, choices):
            return f"question {question}: {line_of(text)}{_bracketed(choices, ' / ')}"
        case Answered(question, answer):
            return f"answer to {question}: {line_of(answer)}"
        case Disagreement(_, reason):
            return f"unknown: {line_of(reason)}"
        case RunEnded(status, reason):
            return f"{described(status)}, {status.value}{_after(line_of(reason, REASON))}"
    return None


def note_of(event: Event, record: StepRecord) -> str:
    """Return what is to be said about a step besides its status, after an event that is about it."""
    match event:
        case StepStarted(_, attempt):
            return f"attempt {attempt}" if attempt > 1 else ""
        case StepProgress(_, text, fraction):
            share = "" if fraction is None else f"{fraction:.0%} "
            return f"{share}{line_of(text)}".strip()
        case StepWaiting(_, wait):
            known = [wait.get("text"), wait.get("event"), wait.get("question")]
            return line_of(next((each for each in known if each), ""))
    return line_of(record.reason)


def progress_of(state: RunState) -> str:
    """Return how much of the plan, as it is now, is done."""
    done = sum(1 for id_ in state.order if state.steps[id_].status.is_done)
    return f"{done:,} of {counted(len(state.order), 'step')} done"


def described(status: object) -> str:
    """Return the name of a status, as it is written in a sentence."""
    return str(getattr(status, "name", status)).lower().replace("_", " ")


def counted(number: int, noun: str) -> str:
    """Return "1 step", "2 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _after(text: str) -> str:
    return f": {text}" if text else ""


def rung_line(event: RungTaken) -> str:
    """Return what was done about a failure, why, and what it took."""
    about = f" of {event.step}" if event.rung in {Rung.RETRY, Rung.SKILL} else f" after {event.step}"
    what = f"{event.rung.name.lower()}{about if event.step else ''}"
    took = [f"cost {event.cost:g}"] if event.cost else []
    took += [f"{event.seconds:.2g} s"] if event.seconds else []
    reason = line_of(event.reason.removeprefix(f"{event.rung.name.lower()}: "))
    return f"{what}: {reason}{_bracketed(took, ', ')}"


def _bracketed(items: Sequence[str], between: str) -> str:
    return f" ({between.join(items)})" if items else ""


class Row(NamedTuple):
    """One step as it is shown; `since` (of `time.monotonic`) is when it was begun, if it is at work."""

    id: str
    text: str
    status: StepStatus
    note: str
    since: float


@dataclass(slots=True)
class View:
    """What is shown of one run: a copy of its state, which another thread may read between two events."""

    run: str
    order: list[str] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    outcome: str = ""
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, state: RunState, run: str) -> Self:
        """Return a view of a run as it is now."""
        view = cls(run)
        view._arrange(state)
        return view

    def take(self, event: Event, state: RunState) -> None:
        """Take in `event`, as `state` has done."""
        match event:
            case PlanChanged():
                self._arrange(state)
            case StepStarted() | StepProgress() | StepWaiting() | StepEnded():
                self._set(state.steps[event.step], note_of(event, state.steps[event.step]))
            case RunEnded():
                self.outcome = news(event, state) or ""

    def _arrange(self, state: RunState) -> None:
        self.order = list(state.order)
        for record in state.steps.values():
            self._set(record, line_of(record.reason))

    def _set(self, record: StepRecord, note: str) -> None:
        before = self.rows.get(record.id)
        goes_on = before is not None and before.status in AT_WORK
        since = before.since if before is not None and goes_on else time.monotonic()
        self.rows[record.id] = Row(record.id, str(record.step), record.status, note, since)

    def window(self, most: int) -> tuple[int, list[Row], int]:
        """Return at most `most` rows around the first that is not over, and how many stand before and after them."""
        total = len(self.order)
        current = next((at for at, id_ in enumerate(self.order) if not self.rows[id_].status.is_over), total)
        first = max(min(current - most // 3, total - most), 0)
        chosen = [self.rows[id_] for id_ in self.order[first : first + most]]
        return first, chosen, total - first - len(chosen)

    @property
    def footer(self) -> str:
        """How far the run is, or how it ended; and since when."""
        statuses = [self.rows[id_].status for id_ in self.order]
        done = sum(1 for each in statuses if each.is_done)
        work = sum(1 for each in statuses if each in AT_WORK)
        parts = [f"{done:,} of {counted(len(statuses), 'step')} done", f"{work:,} at work" if work else ""]
        seconds = f"{time.monotonic() - self.began:.1f} s"
        return " · ".join(each for each in (self.outcome, *parts, seconds) if each)

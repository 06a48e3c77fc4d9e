"""Find the open questions of a run by its events alone, and post answers to them from any process.

`post_answer` checks an answer as the run itself does, as far as that needs no domain; the driver of the run checks it
again when it takes it (`Run.take_posted`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from executor.errors import RunError
from executor.events import events
from executor.events.answers import (
    APPROVE,
    DOUBT,
    FILL,
    FLIGHT,
    WAIT,
    as_journal_data,
    check_meaning,
    describe_flight,
    ends_by_clock,
    identify_question,
    is_wait,
)
from executor.events.events import RunStatus
from executor.journal import AnyJournal, RunHistory
from executor.tools.containment import quote_value
from executor.tools.json_data import dump_json_value, load_json


@dataclass(slots=True)
class OpenQuestions:
    """The open questions of a run after its events: none about steps that are done, and none of a run that is over."""

    asked: dict[str, events.Asked] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    """Why each question is open no more."""
    waits: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What steps wait for that no answer gives: a time, or the end of steps of other runs; by step."""
    reason: str = ""
    """Why the run waits, if nobody drives it."""
    end: str = ""
    """How the run has ended, if it is over."""

    def take(self, event: events.Event) -> None:
        """Take the next event."""
        if isinstance(event, events.StepStarted | events.StepReturned | events.StepEnded | events.StepWaiting):
            self.waits.pop(event.step, None)
            self._close("its step waits no more", lambda each: each.step == event.step and is_wait(each))
        match event:
            case events.StepWaiting(step, wait) if "question" not in wait:
                self.waits[step] = wait
            case events.RunResumed():
                self.reason = ""
            case events.Asked(question, step):
                self.asked[question] = event
                if is_wait(event):
                    self.waits.pop(step, None)
            case events.Answered(question, answer):
                self._close(f"it was answered: {quote_value(answer)}", lambda each: each.question == question)
            case events.StepEnded(step, status) if status.is_over and status not in events.TROUBLE:
                self._close(f"its step is over: {status.value}", lambda each: each.step == step)
            case events.PlanChanged(steps):
                kept, waits = {str(each.get("id")) for each in steps}, (APPROVE, FILL)
                self._close(
                    "its step is no longer in the plan",
                    lambda each: each.step not in kept and each.question.startswith(waits),
                )
            case events.RunEnded(status) if status.is_over:
                self.end = status.name
                self._close(f"the run is over: {status.name}", lambda _: True)
                self.waits, self.reason = {}, ""
            case events.RunEnded(_, reason):
                self.reason = reason

    def _close(self, why: str, is_closed: Callable[[events.Asked], bool]) -> None:
        closed = [name for name, each in self.asked.items() if is_closed(each)]
        for name in closed:
            del self.asked[name]
        self.closed |= dict.fromkeys(closed, why)

    def explain_closed(self, question: str) -> str:
        """Return why a question is open no more; an empty text if it was never asked, or is open."""
        if question in self.asked:
            return ""
        return f"the run is over: {self.end}" if self.end else self.closed.get(question, "")


def explain_late(question: events.Asked, at: float) -> str:
    """Return why an answer `at` this time comes too late; an empty text if it is in time."""
    if question.until is None or at <= question.until:
        return ""
    return f"its time was over at {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(question.until))}"


def load_open_questions(journal: AnyJournal, run: str) -> dict[str, events.Asked]:
    """Return the open questions of `run` by name; raises `JournalError`."""
    return read_open_questions(journal, run).asked


def read_open_questions(journal: RunHistory, run: str) -> OpenQuestions:
    """Return what `run` asks and waits for; raises `JournalError`."""
    found = OpenQuestions()
    for entry in journal.read(run):
        found.take(events.event_from_data(entry.kind, load_json(entry.data)))
    return found


def settle_questions(journal: AnyJournal, run: str, step: str, answer: str) -> list[str]:
    """Post `answer` to every question of any run whether the step `step` of `run` happened; return these runs."""
    told = []
    for each in journal.runs():
        if not each.status or RunStatus[each.status].is_over:
            continue
        for name in load_open_questions(journal, each.run):
            is_own = each.run == run and name == f"{DOUBT}{step}"
            if is_own or (name.startswith(FLIGHT) and f":{run}/{step}:" in name):
                post_answer(journal, each.run, name, answer)
                told.append(each.run)
    return told


def post_answer(journal: AnyJournal, run: str, question: str, answer: Any, *, shown: str | None = None) -> None:
    """Post `answer` to an open question of `run`, for whoever drives the run now or takes it up.

    `shown` identifies the question as whoever answers has seen it (see `identify_question`); None is the one that is
    open now. Raises `RunError` where that is not open, `InputError` for an answer that means none, and `JournalError`.
    """
    found = read_open_questions(journal, run)
    asked = found.asked.get(question)
    if asked is None:
        raise _object(run, question, found)
    late = explain_late(asked, journal.clock.time())
    if late:
        raise RunError(f"the answer to {question!r} of the run {run!r} comes too late", hint=late)
    if shown not in (None, identify_question(asked)):
        raise RunError(f"the question {question!r} is not what it was", hint="look at it again, and then answer it")
    check_meaning(asked, answer)
    journal.posted.post(run, question, identify_question(asked), dump_json_value(as_journal_data(answer)))
    found = read_open_questions(journal, run)
    left = [each for each in journal.posted.read(run) if each.question == question] if found.end else []
    for each in left:  # the run has ended just now
        journal.posted.remove(run, each)
        raise _object(run, question, found)


def _object(run: str, question: str, found: OpenQuestions) -> RunError:
    """Return the error of an answer to a question that is not open, or not one of the run."""
    closed, wait = found.explain_closed(question), found.waits.get(question)
    if closed:
        return RunError(f"the answer to {question!r} of the run {run!r} comes too late", hint=closed)
    hint = f"it asks {', '.join(found.asked)}" if found.asked else "it asks nothing"
    if wait is not None:
        hint = (
            "the step waits for a time, which comes by itself" if ends_by_clock(wait) else "it asks when it is taken up"
        )
        hint = describe_flight(wait) if "flight" in wait else hint
    if f"{WAIT}{question}" in found.asked:
        hint = f"the step waits for an answer to {WAIT}{question}"
    return RunError(f"the run {run!r} does not ask {question!r}", hint=hint)

"""Find the open questions of a run by its events alone, and post answers to them from any process.

`post_answer` checks an answer as the run itself does, as far as that needs no domain; the driver of the run checks it
again when it takes it (`Run.take_posted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from executor.errors import RunError
from executor.events import events
from executor.events.answers import DOUBT, as_journal_data, check_meaning, describe_flight, identify_question
from executor.events.events import RunStatus
from executor.journal import AnyJournal, RunHistory
from executor.tools.json_data import dump_json_value, load_json


@dataclass(slots=True)
class OpenQuestions:
    """The open questions of a run after its events: none about steps that are done, and none of a run that is over."""

    asked: dict[str, events.Asked] = field(default_factory=dict)
    waits: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What steps wait for that no answer gives: their results, or the end of steps of other runs; by step."""
    reason: str = ""
    """Why the run waits, if nobody drives it."""

    def take(self, event: events.Event) -> None:
        """Take the next event."""
        if isinstance(event, events.StepStarted | events.StepReturned | events.StepEnded | events.StepWaiting):
            self.waits.pop(event.step, None)
        match event:
            case events.StepWaiting(step, wait) if "question" not in wait:
                self.waits[step] = wait
            case events.RunResumed():
                self.reason = ""
            case events.Asked(question):
                self.asked[question] = event
            case events.Answered(question):
                self.asked.pop(question, None)
            case events.StepEnded(step, status) if status.is_over and status not in events.TROUBLE:
                self.asked = {name: each for name, each in self.asked.items() if each.step != step}
            case events.PlanChanged(steps):
                self._drop_lost_steps({str(each.get("id")) for each in steps})
            case events.RunEnded(status) if status.is_over:
                self.asked, self.waits, self.reason = {}, {}, ""
            case events.RunEnded(_, reason):
                self.reason = reason

    def _drop_lost_steps(self, kept: set[str]) -> None:
        """Drop approvals and parameters of steps that are no longer in the plan."""
        waits = ("approve:", "fill:")
        self.asked = {
            name: each for name, each in self.asked.items() if each.step in kept or not name.startswith(waits)
        }


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
            if is_own or (name.startswith("flight:") and f":{run}/{step}:" in name):
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
        hint = (
            f"it asks {', '.join(found.asked)}" if found.asked else "it may have been answered, or the run may be over"
        )
        wait = found.waits.get(question)
        if wait is not None and "flight" in wait:
            hint = describe_flight(wait)
        elif wait is not None:
            hint = (
                f"the step waits for its result: resume(run, results={{{question!r}: …}}), or --complete {question}=…"
            )
        raise RunError(f"the run {run!r} does not ask {question!r} (any more)", hint=hint)
    if shown not in (None, identify_question(asked)):
        raise RunError(f"the question {question!r} is not what it was", hint="look at it again, and then answer it")
    check_meaning(asked, answer)
    journal.posted.post(run, question, identify_question(asked), dump_json_value(as_journal_data(answer)))

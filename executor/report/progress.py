"""Describe runs in text: a line for each event, rows of steps, and a bounded summary for prompts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, Self

from executor.events import events
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.tools.containment import as_plain_text
from executor.tools.json_data import dump_json_value
from planner.errors import InputError
from planner.language.documents.document_conditions import Notation
from planner.model import Atom, Formula
from planner.model.formulas import conjuncts

LINE: Final = 200
"""Most characters of a line."""
CUT: Final = " characters)"
"""The end of every shortened line."""


def line_of(value: Any, most: int = LINE) -> str:
    """Format `value` as one line without control characters; a shortened line ends with the full length."""
    text = as_plain_text(value) if issubclass(type(value), str) else dump_json_value(value)
    head = text[: 4 * most]
    line = " ".join("".join(each if each.isprintable() else " " for each in head).split())
    if len(line) <= most and len(head) == len(text):
        return line
    mark = f"… ({len(text):,}{CUT}"
    return line[: max(most - len(mark), 0)] + mark


STEP_EVENTS: Final = (events.StepStarted, events.StepProgress, events.StepWaiting, events.StepEnded)
"""Events that change the row of one step."""
REASON: Final = 500
"""Most characters of the reason why a run ended."""
MOST_NAMED: Final = 5
"""Most new objects that a line names."""
AT_WORK: Final = frozenset({events.StepStatus.RUNNING, events.StepStatus.WAITING})


def event_line(event: events.Event, state: RunState) -> str | None:
    """Describe `event` in a line; `state` already includes it. Return None for events that need no line."""
    match event:
        case events.RunStarted(_, _, model):
            return f"{line_of(state.plan.name)}: {count_text(len(state.order), 'step')}, {model}"
        case events.RunResumed():
            return f"taken up again: {progress_of(state)}"
        case events.StepStarted() | events.StepProgress() | events.StepWaiting() | events.StepEnded():
            record = state.steps[event.step]
            return f"{record.id} {record.step}: {status_text(record.status)}{_prefix_colon(note_of(event, record))}"
        case events.ChildBegun(step, run, place):
            return f"{step} {state.steps[step].step}: its run {line_of(run)}{_enclose((place,) if place else (), '')}"
        case events.RungTaken():
            return rung_line(event)
        case events.PlanChanged(_, kept, new, dropped, reason):
            return f"plan changed ({reason}): {kept} kept, {new} new, {dropped} dropped"
        case events.GoalDropped(condition, utility):
            return f"given up: {condition} (utility {utility:g})"
        case events.GoalChanged(_, reason):
            return f"something else is wanted{_prefix_colon(line_of(reason))}"
        case events.Asked(question, _, text, choices):
            return f"question {question}: {line_of(text)}{_enclose(choices, ' / ')}"
        case events.Answered(question, answer):
            return f"answer to {question}: {line_of(answer)}"
        case events.ObjectsFound(objects, source):
            named = ", ".join(list(objects)[:MOST_NAMED]) + (", …" if len(objects) > MOST_NAMED else "")
            return f"{count_text(len(objects), 'new object')} ({named}): {line_of(source)}"
        case events.Disagreement(_, reason):
            return f"unknown: {line_of(reason)}"
        case events.RunEnded(status, reason):
            return f"{status_text(status)}, {status.value}{_prefix_colon(line_of(reason, REASON))}"
    return None


def log_line(event: events.Event, state: RunState) -> str | None:
    """Describe `event` for a log, with what `event_line` leaves out: resolved values, and facts with their sources."""
    match event:
        case events.StepStarted(_, _, skill, key, parameters, sources):
            values = [f"{name}={line_of(each)} ({sources.get(name, 'given')})" for name, each in parameters.items()]
            return f"{event_line(event, state)}, handler {skill}, key {key}{_enclose(values, ', ')}"
        case events.FactsSeen(facts, cause):
            told = [f"{each.fact} is {each.holds} ({each.provenance.name.lower()}, {each.source})" for each in facts]
            return f"believed for {cause or 'the run'}: {'; '.join(told)}"
    return event_line(event, state)


def note_of(event: events.Event, record: StepRecord) -> str:
    """Return the note for the row of a step after one of its events."""
    match event:
        case events.StepStarted(_, attempt):
            return f"attempt {attempt}" if attempt > 1 else ""
        case events.StepProgress(_, text, fraction):
            share = "" if fraction is None else f"{fraction:.0%} "
            return f"{share}{line_of(text)}".strip()
        case events.StepWaiting(_, wait):
            known = [wait.get("text"), wait.get("event"), wait.get("question")]
            return line_of(next((each for each in known if each), ""))
    return line_of(record.reason)


def progress_of(state: RunState) -> str:
    """Say how many steps of the current plan are done."""
    return f"{len(state.with_status(*events.DONE)):,} of {count_text(len(state.order), 'step')} done"


def status_text(status: object) -> str:
    """Return the name of a status in the form for sentences."""
    return str(getattr(status, "name", status)).lower().replace("_", " ")


def count_text(number: int, noun: str) -> str:
    """Format a number with its noun: "1 step", "2 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _prefix_colon(text: str) -> str:
    return f": {text}" if text else ""


def rung_line(event: events.RungTaken) -> str:
    """Describe a rung of recovery: its action, its reason, its cost and its seconds."""
    about = f" of {event.step}" if event.rung in {events.Rung.RETRY, events.Rung.SKILL} else f" after {event.step}"
    what = f"{event.rung.name.lower()}{about if event.step else ''}"
    took = [f"cost {event.cost:g}"] if event.cost else []
    took += [f"{event.seconds:.2g} s"] if event.seconds else []
    reason = line_of(event.reason.removeprefix(f"{event.rung.name.lower()}: "))
    return f"{what}: {reason}{_enclose(took, ', ')}"


def _enclose(items: Sequence[str], between: str) -> str:
    return f" ({between.join(items)})" if items else ""


class Row(NamedTuple):
    """The row of one step; `since` is the time (of `time.monotonic`) at which the step became running or waiting."""

    id: str
    text: str
    status: events.StepStatus
    note: str
    since: float


@dataclass(slots=True)
class View:
    """A copy of the state of one run for display; another thread may read it between two events."""

    run: str
    order: list[str] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    outcome: str = ""
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, state: RunState, run: str) -> Self:
        """Make a view of the present state of a run."""
        view = cls(run)
        view._arrange(state)
        return view

    def take(self, event: events.Event, state: RunState) -> None:
        """Update the view by `event`; `state` already includes it."""
        match event:
            case events.PlanChanged():
                self._arrange(state)
            case events.StepStarted() | events.StepProgress() | events.StepWaiting() | events.StepEnded():
                self._set(state.steps[event.step], note_of(event, state.steps[event.step]))
            case events.RunEnded():
                self.outcome = event_line(event, state) or ""

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
        """Return at most `most` rows around the first unfinished step, and how many rows precede and follow them."""
        total = len(self.order)
        current = next((at for at, id_ in enumerate(self.order) if not self.rows[id_].status.is_over), total)
        first = max(min(current - most // 3, total - most), 0)
        chosen = [self.rows[id_] for id_ in self.order[first : first + most]]
        return first, chosen, total - first - len(chosen)

    @property
    def footer(self) -> str:
        """The progress or the outcome of the run, and the seconds since it began."""
        statuses = [self.rows[id_].status for id_ in self.order]
        done = sum(1 for each in statuses if each.is_done)
        work = sum(1 for each in statuses if each in AT_WORK)
        parts = [f"{done:,} of {count_text(len(statuses), 'step')} done", f"{work:,} at work" if work else ""]
        seconds = f"{time.monotonic() - self.began:.1f} s"
        return " · ".join(each for each in (self.outcome, *parts, seconds) if each)


LIMIT: Final = 4000
LEAST: Final = 100
"""Least characters of a summary."""
WHOLE: Final = 2000
"""Characters in which all headings have room."""
ROUND: Final = 3
"""Lines of one part before the next part gets its turn."""
NAME: Final = 60
QUOTE: Final = 200
"""Most characters of a quotation."""


@dataclass(slots=True)
class SummaryPart:
    """One part of a summary: the most relevant of its `total` lines come first; `shown` are those in the summary."""

    title: str
    total: int
    lines: Iterator[str]
    shown: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The line above the part."""
        return f"{self.title} ({self.total:,}):\n"

    @property
    def rest(self) -> str:
        """The line that counts the lines that are not shown."""
        left = self.total - len(self.shown)
        return f"- and {left:,} more\n" if left else ""


def summary(state: RunState, limit: int = LIMIT) -> str:
    """Summarise a run for a prompt in at most `limit` characters; raises `InputError` for a limit below 100.

    Below 2000 characters, parts that have no room are counted only, the least relevant first. The summary quotes texts
    of tools and people as they are: treat the quotations as untrusted.
    """
    if limit < LEAST:
        raise InputError(f"a summary in {limit} characters says nothing", hint=f"give it {LEAST} at least")
    head = _write_head(state)
    parts = [part for part in _make_parts(state) if part.total]
    kept, more = _select_parts(parts, limit - len(head))
    _fill(kept, limit - len(head) - len(more))
    body = ("".join((part.heading, *part.shown, part.rest)) for part in kept)
    text = "".join((head, *body, more)).rstrip("\n")
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def _select_parts(parts: Sequence[SummaryPart], room: int) -> tuple[Sequence[SummaryPart], str]:
    """Return the first parts whose headings fit into `room` characters, and the line that counts the others."""
    more = ""
    for kept in range(len(parts), -1, -1):
        left = len(parts) - kept
        more = f"and {count_text(left, 'part')} more\n" if left else ""
        if sum(len(part.heading) + len(part.rest) for part in parts[:kept]) + len(more) <= room:
            return parts[:kept], more
    return (), more


def _fill(parts: Sequence[SummaryPart], room: int) -> None:
    """Move lines from the parts to `shown` in turns, a few lines each, until `room` characters are used."""
    room -= sum(len(part.heading) + len(part.rest) for part in parts)
    going = list(parts)
    while going:
        for part in tuple(going):
            for line in islice(part.lines, ROUND):
                if len(line) + 3 > room:
                    going.remove(part)
                    break
                part.shown.append(f"- {line}\n")
                room -= len(line) + 3
            else:
                if len(part.shown) == part.total:
                    going.remove(part)


def _write_head(state: RunState) -> str:
    name = f"Run {line_of(state.run or 'not begun', NAME)} of plan {_quote(state.plan.name, NAME)}"
    changes = f"; changed {count_text(state.changes, 'time')}" if state.changes else ""
    lines = [
        f"{name}: {status_text(state.status)} ({state.status.value}){_format_reason(state.reason)}",
        f"Plan: {state.model}, {progress_of(state)}{changes}",
    ]
    return "\n".join(lines) + "\n"


def _make_parts(state: RunState) -> Iterator[SummaryPart]:
    """Yield the parts, the most relevant first."""
    groups = _group_by_status(state)
    questions = list(state.questions.values())
    yield SummaryPart("Open questions", len(questions), map(_describe_question, questions))
    goals = list(conjuncts(state.problem.goal.hard))
    yield SummaryPart("Goal", len(goals), (_describe_goal(each, state) for each in goals))
    for status, title in _TITLES.items():
        found = groups[status]
        yield SummaryPart(title, len(found), map(_describe_step, found))
        if status is events.StepStatus.PENDING:
            yield from _make_other_parts(state)


_TITLES: Final = {
    events.StepStatus.IN_DOUBT: "In doubt",
    events.StepStatus.FAILED: "Failed, latest first",
    events.StepStatus.PARTIAL: "Partly done, latest first",
    events.StepStatus.RUNNING: "At work",
    events.StepStatus.WAITING: "Waiting",
    events.StepStatus.PENDING: "Pending, in order",
    events.StepStatus.UNVERIFIED: "Done, but not seen, latest first",
    events.StepStatus.SUCCEEDED: "Done, latest first",
    events.StepStatus.COMPENSATED: "Done and undone",
    events.StepStatus.SKIPPED: "Left out",
}
"""The titles of the groups of steps, in the order of the summary."""


def _make_other_parts(state: RunState) -> Iterator[SummaryPart]:
    """Yield the parts that are not about steps."""
    wishes, doubts = state.problem.goal.soft, state.disagreements
    described = (_describe_wish(str(each.condition), each.utility, state) for each in wishes)
    yield SummaryPart("Soft goals", len(wishes), described)
    yield SummaryPart("Tried to recover, latest first", len(state.rungs), map(rung_line, reversed(state.rungs)))
    yield SummaryPart("Memory", len(state.memory), (_describe_entry(*each) for each in state.memory.by_relevance()))
    quoted = (_quote(each.reason) for each in reversed(doubts))
    yield SummaryPart("Observers that failed or differ, latest first", len(doubts), quoted)


def _group_by_status(state: RunState) -> dict[events.StepStatus, list[StepRecord]]:
    """Group all steps ever in the plan by status: obstructed ones first, then ended ones latest first, or by place."""
    ended = {id_: -place for place, id_ in enumerate(state.finished)}
    places = {id_: place for place, id_ in enumerate(state.order)}
    groups: dict[events.StepStatus, list[StepRecord]] = {each: [] for each in events.StepStatus}
    for record in state.steps.values():
        groups[record.status].append(record)
    for status, records in groups.items():
        known = ended if status.is_over else places
        records.sort(key=lambda record, known=known: known.get(record.id, len(state.steps)))  # type: ignore[misc]
        records.sort(key=lambda record: not record.is_obstructed)
    return groups


def _describe_step(record: StepRecord) -> str:
    """Describe a step with its attempts, its reason and its result."""
    text = f"{record.id} {record.step}"
    if record.attempts > 1:
        text += f", {record.attempts} attempts"
    if record.status is events.StepStatus.WAITING:
        wait = record.wait or {}
        known = (str(wait[key]) for key in ("text", "event", "question") if wait.get(key))
        return text + _format_reason(next(known, ""))
    text += _format_reason(record.reason)
    returned = (record.result or {}).get("data") if record.status.is_done else None
    return text if returned is None else f"{text}; returned {_quote(returned)}"


def _describe_question(asked: events.Asked) -> str:
    choices = f"; answers: {', '.join(asked.choices)}" if asked.choices else ""
    known = f"; known: {', '.join(map(_quote, asked.known))}" if asked.known else ""
    return line_of(f"{asked.question}: {_quote(asked.text)}{choices}{known}", 3 * QUOTE)


def _describe_goal(condition: Formula, state: RunState) -> str:
    """Describe one conjunct of the goal: whether it holds, and where that is known from."""
    text = line_of(Notation((), ()).single(condition))
    if not isinstance(condition, Atom) or condition.predicate in state.problem.domain.derived:
        return f"{text}: {'holds' if state.beliefs.is_true(condition) else 'does not hold'} as far as is known"
    note = state.beliefs.note(condition)
    holds = {True: "holds", False: "does not hold", None: "unknown"}[note.holds]
    return f"{text}: {holds} ({note.provenance.value})"


def _describe_wish(condition: str, utility: Any, state: RunState) -> str:
    given_up = ", given up" if condition in state.dropped else ""
    return f"{line_of(condition)}: utility {utility}{given_up}"


def _describe_entry(key: str, value: Any) -> str:
    return f"{line_of(key, NAME)} = {_quote(value)}"


def _format_reason(reason: str) -> str:
    return f": {_quote(reason)}" if reason else ""


def _quote(value: Any, most: int = QUOTE) -> str:
    """Format `value` as JSON, and a long value as a shortened JSON string, so that it cannot imitate our own lines."""
    if not issubclass(type(value), str):
        text = line_of(value, most)
        if not text.endswith(CUT):
            return text
        value = text
    return dump_json_value(line_of(value, most))

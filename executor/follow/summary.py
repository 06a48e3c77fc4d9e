"""A run in words, for a prompt or for people: short, in the same order each time, and nothing left out unsaid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from executor.follow.progress import counted, described, progress_of, rung_line
from executor.follow.texts import CUT, line_of
from executor.record.events import Asked
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.world.data import text_of
from planner.documents.atoms import Notation
from planner.errors import InputError
from planner.model import Atom, Formula
from planner.model.formulas import conjuncts

LIMIT: Final = 4000
LEAST: Final = 2000
"""Characters that the headings alone may need."""
ROUND: Final = 3
"""Lines of one part before the next part gets its turn."""
NAME: Final = 60
QUOTE: Final = 200
"""Characters that are quoted of what somebody else wrote."""


@dataclass(slots=True)
class Part:
    """One part of a summary: `lines`, the most relevant first, are made as far as they are `shown`."""

    title: str
    total: int
    lines: Iterator[str]
    shown: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The line above it."""
        return f"{self.title} ({self.total:,}):\n"

    @property
    def rest(self) -> str:
        """The line that says how much is not shown."""
        left = self.total - len(self.shown)
        return f"- and {left:,} more\n" if left else ""


def summary(state: RunState, limit: int = LIMIT) -> str:
    """Return what is to be known about a run, in at most `limit` characters; raises `InputError` for fewer than 2000.

    What tools and people wrote stands in quotation marks, and was not looked at: it may say anything.
    """
    if limit < LEAST:
        raise InputError(f"a summary in {limit} characters says nothing", hint=f"give it {LEAST} at least")
    head = _head(state)
    parts = [part for part in _parts(state) if part.total]
    _fill(parts, limit - len(head))
    body = ("".join((part.heading, *part.shown, part.rest)) for part in parts)
    return "".join((head, *body)).rstrip("\n")


def _fill(parts: Sequence[Part], room: int) -> None:
    """Let the parts take turns, a few lines each, while there is `room`; what follows on a line stays with it."""
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


def _head(state: RunState) -> str:
    name = f"Run {line_of(state.run or 'not begun', NAME)} of plan {_quoted(state.plan.name, NAME)}"
    changes = f"; changed {counted(state.changes, 'time')}" if state.changes else ""
    lines = [
        f"{name}: {described(state.status)} ({state.status.value}){_why(state.reason)}",
        f"Plan: {state.model}, {progress_of(state)}{changes}",
    ]
    return "\n".join(lines) + "\n"


def _parts(state: RunState) -> Iterator[Part]:
    """Yield the parts, the most relevant first."""
    groups = _by_status(state)
    questions = list(state.questions.values())
    yield Part("Open questions", len(questions), map(_question, questions))
    goals = list(conjuncts(state.problem.goal.hard))
    yield Part("Goal", len(goals), (_goal(each, state) for each in goals))
    for status, title in _TITLES.items():
        found = groups[status]
        yield Part(title, len(found), map(_step, found))
        if status is StepStatus.PENDING:
            yield from _around(state)


_TITLES: Final = {
    StepStatus.IN_DOUBT: "In doubt",
    StepStatus.FAILED: "Failed, latest first",
    StepStatus.PARTIAL: "Partly done, latest first",
    StepStatus.RUNNING: "At work",
    StepStatus.WAITING: "Waiting",
    StepStatus.PENDING: "Pending, in order",
    StepStatus.UNVERIFIED: "Done, but not seen, latest first",
    StepStatus.SUCCEEDED: "Done, latest first",
    StepStatus.COMPENSATED: "Done and undone",
    StepStatus.SKIPPED: "Left out",
}
"""The groups of steps, in their order."""


def _around(state: RunState) -> Iterator[Part]:
    """Yield what is to be known besides steps."""
    soft = state.problem.goal.soft
    yield Part("Soft goals", len(soft), (_wish(str(each.condition), each.utility, state) for each in soft))
    yield Part("Tried to recover, latest first", len(state.rungs), map(rung_line, reversed(state.rungs)))
    yield Part("Memory", len(state.memory), (_entry(*each) for each in state.memory.by_relevance()))
    doubts = state.disagreements
    yield Part("Observers that failed or differ, latest first", len(doubts), (_quoted(e.reason) for e in doubts[::-1]))


def _by_status(state: RunState) -> dict[StepStatus, list[StepRecord]]:
    """Return the steps that ever were in the plan: those that are over as they ended, the last first."""
    ended = {id_: -place for place, id_ in enumerate(state.finished)}
    places = {id_: place for place, id_ in enumerate(state.order)}
    groups: dict[StepStatus, list[StepRecord]] = {each: [] for each in StepStatus}
    for record in state.steps.values():
        groups[record.status].append(record)
    for status, records in groups.items():
        known = ended if status.is_over else places
        records.sort(key=lambda record, known=known: known.get(record.id, len(state.steps)))  # type: ignore[misc]
    return groups


def _step(record: StepRecord) -> str:
    """Return what is to be known about a step."""
    text = f"{record.id} {record.step}"
    if record.attempts > 1:
        text += f", {record.attempts} attempts"
    if record.status is StepStatus.WAITING:
        wait = record.wait or {}
        return text + _why(next((str(wait[key]) for key in ("text", "event", "question") if wait.get(key)), ""))
    text += _why(record.reason)
    returned = (record.result or {}).get("data") if record.status.is_done else None
    return text if returned is None else f"{text}; returned {_quoted(returned)}"


def _question(asked: Asked) -> str:
    choices = f"; answers: {', '.join(asked.choices)}" if asked.choices else ""
    known = f"; known: {', '.join(map(_quoted, asked.known))}" if asked.known else ""
    return line_of(f"{asked.question}: {_quoted(asked.text)}{choices}{known}", 3 * QUOTE)


def _goal(condition: Formula, state: RunState) -> str:
    """Return a part of the goal, whether it holds, and how that is known."""
    text = line_of(Notation((), ()).single(condition))
    if not isinstance(condition, Atom) or condition.predicate in state.problem.domain.derived:
        return f"{text}: {'holds' if state.beliefs.is_true(condition) else 'does not hold'} as far as is known"
    note = state.beliefs.note(condition)
    holds = {True: "holds", False: "does not hold", None: "unknown"}[note.holds]
    return f"{text}: {holds} ({note.provenance.value})"


def _wish(condition: str, utility: Any, state: RunState) -> str:
    given_up = ", given up" if condition in state.dropped else ""
    return f"{line_of(condition)}: utility {utility}{given_up}"


def _entry(key: str, value: Any) -> str:
    return f"{line_of(key, NAME)} = {_quoted(value)}"


def _why(reason: str) -> str:
    return f": {_quoted(reason)}" if reason else ""


def _quoted(value: Any, most: int = QUOTE) -> str:
    """Return `value` as JSON, and as a cut text where that is long: nothing in it can be taken for a line of ours."""
    if not issubclass(type(value), str):
        text = line_of(value, most)
        if not text.endswith(CUT):
            return text
        value = text
    return text_of(line_of(value, most))

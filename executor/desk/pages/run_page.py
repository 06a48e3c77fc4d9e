"""The page of a run: what was tried and when, what was seen and by whom, what changed, what it cost.

Only the journal is read: no domain, no handler and no observer is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from executor.desk.pages import document as doc
from executor.desk.pages.layout import lay_out
from executor.events import events
from executor.events.answers import DOUBT, identify_question, is_approval, is_filling, is_wait
from executor.events.events import Provenance, RunStatus, StepStatus
from executor.events.open_questions import OpenQuestions
from executor.journal import Entry, RunHistory
from executor.journal.posted_answers import PostedAnswer
from executor.report.progress import line_of, rung_line, status_text
from executor.tools.json_data import load_json
from planner.errors import InputError

TONES: Final[Mapping[object, doc.Tone]] = {
    StepStatus.SUCCEEDED: "good",
    StepStatus.UNVERIFIED: "warn",
    StepStatus.PARTIAL: "bad",
    StepStatus.FAILED: "bad",
    StepStatus.IN_DOUBT: "warn",
    StepStatus.WAITING: "warn",
    RunStatus.SUCCEEDED: "good",
    RunStatus.LOWERED: "warn",
    RunStatus.UNVERIFIED: "warn",
    RunStatus.WAITING: "warn",
    RunStatus.IN_DOUBT: "warn",
    RunStatus.FAILED: "bad",
    RunStatus.IMPOSSIBLE: "bad",
    RunStatus.COMPENSATED: "bad",
    RunStatus.CANCELLED: "warn",
}
"""Tones of statuses; others are plain."""
PENDING: Final = status_text(StepStatus.PENDING)
RUN, HANDLER, MODEL, PERSON, RECOVERY = "run", "handler", "language model", "person", "recovery"
"""Who says what happens in a run; observers have names of their own."""


def run_page(journal: RunHistory, run: str | None = None) -> doc.Page:
    """Return the page of `run`, by default the latest one. Raises `JournalError`, and `InputError` without a run."""
    if run is None:
        run = find_latest(journal)
    if run is None:
        hint = "forethought run … --journal FILE adds one"
        raise InputError(f"the journal {journal.place} has no runs", hint=hint)
    story = RunStory()
    for entry in journal.read(run):
        story.take_entry(entry)
    if not story.items:
        raise InputError(f"run {run} has not begun: it has no events")
    return story.page(run)


def find_latest(journal: RunHistory) -> str | None:
    """Return the run with the latest event; None without a run."""
    runs = [each for each in journal.runs() if each.events]
    return max(runs, key=lambda each: each.updated).run if runs else None


class RunStory:
    """Steps, events and open questions of a run, as far as its events were taken."""

    def __init__(self) -> None:
        self.began = 0.0
        self.name, self.status, self.reason = "", RunStatus.ACTIVE, ""
        self.steps: dict[str, doc.StepItem] = {}
        self.places: dict[str, int] = {}
        """The number of each step, from 1, in the order in which plans named them first."""
        self.needs: dict[str, tuple[str, ...]] = {}
        self.items: list[doc.EventItem] = []
        self.obstructed: set[str] = set()
        """The steps of the present plan that cannot begin."""
        self.returned: dict[str, int] = {}
        """The place of the latest event at which the handler of each step returned."""
        self.open = OpenQuestions()
        self.tokens, self.money, self.asked, self.rungs, self.changes = 0, 0.0, 0, 0, 0
        self._drawn: doc.Graph | None = None
        self._is_drawn = False

    def take_entry(self, entry: Entry) -> None:
        """Take the next entry of the journal."""
        self.take(entry.time, events.event_from_data(entry.kind, load_json(entry.data)))

    def take(self, time: float, event: events.Event) -> None:
        """Take the next event."""
        if isinstance(event, events.StepEnded) and event.repeatable and event.step in self.steps:
            event = event.as_obstacle(len(self.steps[event.step].attempts))  # as `RunState` reads earlier journals
        self.began = self.began if self.items else time
        self.open.take(event)
        text, who, tone, details = self._tell(event)
        step = getattr(event, "step", "")
        self._count(event)
        self._note_step(event, len(self.items))
        kind = type(event).__name__
        self.items.append(
            doc.EventItem(round(time - self.began, 3), kind, text, self._place(step), who, tone, tuple(details))
        )

    def _place(self, step: str) -> int:
        return self.places.get(step, 0)

    def _name(self, step: str) -> str:
        known = self.steps.get(step)
        return step if known is None else f"{known.action}({', '.join(known.arguments)})"

    def _note_step(self, event: events.Event, place: int) -> None:
        """Keep what the event says of steps; `place` is that of the event."""
        match event:
            case events.RunStarted(_, plan, _):
                self.name = str(plan.get("name", ""))
                self._add(plan.get("steps", ()), "")
            case events.PlanChanged(steps, _, _, _, reason):
                self.changes += 1
                self.obstructed.clear()
                kept = {str(each.get("id")) for each in steps}
                self._add(steps, reason)
                for id_, item in self.steps.items():
                    if id_ not in kept and item.status in ("", PENDING):
                        self.steps[id_] = replace(item, status="skipped")
            case events.StepStarted(step, _, skill) if step in self.steps:
                self._give_up(step, place)
                item = self.steps[step]
                attempts = (*item.attempts, doc.Attempt(place, -1, "running", skill))
                self.steps[step] = replace(item, status="running", attempts=attempts)
            case events.StepReturned(step):
                self.returned[step] = place
            case events.StepWaiting(step) if step in self.steps:
                self.steps[step] = replace(self.steps[step], status="waiting")
            case events.StepEnded(step, status) if step in self.steps:
                self._end(step, status_text(status), place)
                self.obstructed.update({step} if event.obstacle else ())
            case events.RunEnded(status, reason):
                self.status, self.reason = status, reason
                for id_ in self.obstructed if status.is_over else ():
                    self.steps[id_] = replace(self.steps[id_], status="skipped")
            case events.RunResumed():
                self.status, self.reason = RunStatus.ACTIVE, ""

    def _give_up(self, step: str, place: int) -> None:
        """Close an attempt that ended without an event of its own, because another one followed."""
        if self.steps[step].attempts and self.steps[step].attempts[-1].end < 0:
            self._end(step, "failed", self.returned.get(step, place))

    def _end(self, step: str, status: str, place: int) -> None:
        item = self.steps[step]
        attempts = item.attempts
        if attempts and attempts[-1].end < 0:
            attempts = (*attempts[:-1], replace(attempts[-1], end=place, status=status))
        self.steps[step] = replace(item, status=status, attempts=attempts)

    def _add(self, steps: Sequence[Mapping[str, Any]], because: str) -> None:
        self._is_drawn = False
        for each in steps:
            id_ = str(each.get("id"))
            self.needs[id_] = tuple(map(str, each.get("depends_on", ())))
            if id_ not in self.steps:
                self.places[id_] = len(self.steps) + 1
                arguments = {**each.get("arguments", {}), **each.get("creates", {})}
                cost = each.get("cost")
                self.steps[id_] = doc.StepItem(
                    str(each.get("action")),
                    tuple(map(str, arguments.values())),
                    None if cost is None else float(cost),
                    tuple(arguments),
                    id=id_,
                    because=because,
                )

    def _count(self, event: events.Event) -> None:
        """Add up what language models cost, and how often somebody was asked."""
        match event:
            case events.ParametersFilled() | events.ModelAsked():
                self.tokens += int(event.metrics.get("tokens", 0) or 0)
                self.money += float(event.metrics.get("cost", 0) or 0)
            case events.Asked():
                self.asked += 1
            case events.RungTaken():
                self.rungs += 1

    def _tell(self, event: events.Event) -> tuple[str, str, doc.Tone, Iterator[tuple[str, str]]]:
        """Return the event as a line, who says so, its tone, and its details."""
        return _line(event, self._name), _speaker(event), _tone(event), _details(event)

    def page(self, run: str, posted: Iterable[PostedAnswer] = (), *, driven: bool | None = None) -> doc.Page:
        """Return the page; `posted` are answers that nobody has taken, and `driven` is as in `doc.Run`."""
        seconds = self.items[-1].time if self.items else 0.0
        done = sum(1 for each in self.steps.values() if each.status in ("succeeded", "unverified"))
        skipped = sum(1 for each in self.steps.values() if each.status == "skipped" and each.id not in self.obstructed)
        figures = [
            doc.Figure("status", status_text(self.status), TONES.get(self.status, "plain")),
            doc.Figure("steps done", f"{done:,} of {len(self.steps) - skipped:,}"),
            doc.Figure("time", _span(seconds)),
            doc.Figure("attempts", f"{sum(len(each.attempts) for each in self.steps.values()):,}"),
        ]
        figures += [doc.Figure("recoveries", str(self.rungs), "warn")] if self.rungs else []
        figures += [doc.Figure("changes of the plan", str(self.changes), "warn")] if self.changes else []
        figures += [doc.Figure("questions", str(self.asked))] if self.asked else []
        figures += [doc.Figure("tokens", f"{self.tokens:,}")] if self.tokens else []
        figures += [doc.Figure("money", f"{self.money:g}")] if self.money else []
        return doc.Page(
            "run",
            self.name or run,
            f"run {run}",
            tuple(figures),
            tuple([line_of(line, 500) for line in self.reason.splitlines()]),
            steps=tuple(self.steps.values()),
            graph=self._graph(),
            run=doc.Run(
                self.began, tuple(self.items), run, self.status.is_over, driven, tuple(self._questions(posted))
            ),
        )

    def _questions(self, posted: Iterable[PostedAnswer]) -> Iterator[doc.QuestionItem]:
        """Yield the open questions, with the answers that were posted to what they ask now."""
        known = {(each.question, each.shown): each for each in posted}
        for name, asked in self.open.asked.items():
            shown = identify_question(asked)
            found = known.get((name, shown))
            yield doc.QuestionItem(
                name,
                asked.text,
                _question_kind(asked),
                shown,
                self._place(asked.step),
                asked.choices,
                asked.known,
                asked.creates,
                "" if found is None or found.objection else line_of(load_json(found.answer)),
                "" if found is None else found.objection,
                tuple(asked.values),
                asked.until or 0.0,
                tuple([each for each, schema in asked.values.items() if schema.get("type") == "string"]),
            )

    def _graph(self) -> doc.Graph | None:
        """Return which steps wait for which; it is laid out again only when the plan has changed."""
        if not self._is_drawn:
            self._drawn, self._is_drawn = self._draw(), True
        return self._drawn

    def _draw(self) -> doc.Graph | None:
        places = {id_: place for place, id_ in enumerate(self.steps)}
        pairs = [
            (places[needed], places[id_]) for id_, needs in self.needs.items() for needed in needs if needed in places
        ]
        pairs = [(earlier, later) for earlier, later in dict.fromkeys(pairs) if earlier < later]
        if not pairs:
            return None
        drawn = lay_out(len(places), pairs)
        nodes = [
            doc.GraphNode(item.action, layer, y, "step", ", ".join(item.arguments), number)
            for number, (item, layer, y) in enumerate(
                zip(self.steps.values(), drawn.layers, drawn.heights, strict=True), start=1
            )
        ]
        return doc.Graph(tuple(nodes), tuple([doc.GraphEdge(*each, bends=drawn.bends[each]) for each in pairs]))


def _question_kind(asked: events.Asked) -> Literal["approval", "parameters", "doubt", "choice", "wait"]:
    if is_wait(asked):
        return "wait"
    if is_approval(asked):
        return "approval"
    if is_filling(asked):
        return "parameters"
    return "doubt" if asked.question.startswith(DOUBT) else "choice"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.3g} min" if minutes < 120 else f"{hours:.3g} h"


def _line(event: events.Event, name: Any) -> str:
    """Describe an event in a line; `name` names a step by its id."""
    match event:
        case events.RunStarted(_, plan, model):
            return f"begins: {len(plan.get('steps', ())):,} steps, {model}"
        case events.RunResumed():
            return "taken up again from the journal"
        case events.StepStarted(step, attempt):
            return f"{name(step)} begins" + (f", attempt {attempt}" if attempt > 1 else "")
        case events.ParametersFilled(step, values) | events.ParametersChanged(step, values):
            return f"{name(step)}: {', '.join(values)} filled" if values else f"{name(step)}: nothing to fill"
        case events.ModelAsked(step):
            return f"{name(step)} asks a language model"
        case events.StepProgress(step, text, fraction):
            return f"{name(step)}: {'' if fraction is None else f'{fraction:.0%} '}{line_of(text)}"
        case events.HandlerRaised(step, traceback):
            return f"{name(step)} raises: {line_of(traceback.rpartition(chr(10))[2])}"
        case events.StepReturned(step, result, doubt, raised):
            said = doubt or raised or str(result.get("error") or result.get("text") or "")
            return f"{name(step)} returns" + (f": {line_of(said)}" if said else "")
        case events.StepWaiting(step, wait):
            known = next((str(wait[key]) for key in ("text", "event", "question") if wait.get(key)), "")
            return f"{name(step)} waits" + (f": {line_of(known)}" if known else "")
        case events.FactsSeen(facts, cause):
            return f"{_some_facts(facts)}" + (f" ({line_of(cause)})" if cause else "")
        case events.TimePassed(number, facts):
            return f"change {number} at a known time: {_some_facts(facts)}"
        case events.StepEnded(step, status, reason):
            return f"{name(step)} {status_text(status)}" + (f": {line_of(reason)}" if reason else "")
        case events.RungTaken(step=step):
            return rung_line(replace(event, step=name(step)) if step else event)
    return _line_about_run(event)


def _line_about_run(event: events.Event) -> str:
    match event:
        case events.ObjectsFound(objects, source):
            return f"{', '.join(list(objects)[:5])} turned up: {line_of(source)}"
        case events.Disagreement(_, reason):
            return f"unknown: {line_of(reason)}"
        case events.PlanChanged(_, kept, new, dropped, reason):
            why = f" ({line_of(reason)})" if reason else ""
            return f"plan changed: {kept} kept, {new} new, {dropped} dropped{why}"
        case events.GoalDropped(condition, utility):
            return f"given up: {condition} (utility {utility:g})"
        case events.GoalChanged(_, reason):
            return f"something else is wanted{f': {line_of(reason)}' if reason else ''}"
        case events.Asked(_, _, text):
            return line_of(text)
        case events.Answered(question, answer):
            return f"{question}: {line_of(answer)}"
        case events.ProvedImpossible():
            return "what was observed proves that no plan reaches the goal"
        case events.MemorySet(key, value):
            return f"remembers {key} = {line_of(value)}"
        case events.MemoryDropped(keys):
            return f"working memory is full, and has dropped {line_of(', '.join(keys))}"
        case events.RunEnded(status, reason):
            return f"{status_text(status)}: {status.value}{f' ({line_of(reason)})' if reason else ''}"
    return type(event).__name__


def _some_facts(facts: Sequence[events.Note]) -> str:
    words = [_fact(each) for each in facts[:4]]
    return ", ".join([*words, *([f"{len(facts) - 4} more"] if len(facts) > 4 else [])]) or "nothing new"


def _fact(note: events.Note) -> str:
    mark = {True: "", False: "not ", None: "unknown: "}[note.holds if isinstance(note.holds, bool) else None]
    return f"{mark}{note.fact}"


def _speaker(event: events.Event) -> str:
    """Return who says what the event tells."""
    match event:
        case events.ParametersFilled() | events.ModelAsked():
            return MODEL
        case events.StepStarted(_, _, skill):
            return RUN if skill in ("", "main") else f"skill {skill}"
        case events.StepReturned() | events.StepProgress() | events.StepWaiting() | events.HandlerRaised():
            return HANDLER
        case events.StepEnded(facts=facts) | events.FactsSeen(facts=facts):
            named = [each.source for each in facts if each.provenance is Provenance.OBSERVED and each.source]
            return ", ".join(dict.fromkeys(named)) or RUN
        case events.RungTaken() | events.PlanChanged():
            return RECOVERY
        case events.Answered():
            return PERSON
        case events.ParametersChanged(by=by) if by:
            return by
    return RUN


def _tone(event: events.Event) -> doc.Tone:
    match event:
        case events.StepEnded(status=status) | events.RunEnded(status=status):
            return TONES.get(status, "plain")
        case events.RungTaken() | events.PlanChanged() | events.Disagreement() | events.Asked() | events.GoalDropped():
            return "warn"
        case events.StepReturned(doubt=doubt, raised=raised) if doubt or raised:
            return "bad"
        case events.ProvedImpossible():
            return "bad"
    return "plain"


def _details(event: events.Event) -> Iterator[tuple[str, str]]:
    """Yield the parts of an event that its line leaves out, by name."""
    for note in getattr(event, "facts", ()):
        if isinstance(note, events.Note):
            yield _fact(note), f"{note.provenance.name.lower()}{f' by {note.source}' if note.source else ''}"
    for name in ("parameters", "values", "metrics"):
        found = getattr(event, name, None)
        sources = getattr(event, "sources", {})
        for key, value in (found or {}).items():
            yield str(key), line_of(value) + (f" (from {sources[key]})" if key in sources else "")
    for name in ("thought", "reason", "raised", "doubt", "cause"):
        text = getattr(event, name, "")
        if text:
            yield name, line_of(text, 500)
    if isinstance(event, events.StepReturned):
        for key in ("text", "data", "error"):
            if event.result.get(key) not in (None, "", {}, []):
                yield key, line_of(event.result[key], 500)
    if isinstance(event, events.Asked):
        yield "answers", ", ".join(event.choices)
        for each in event.known:
            yield "known", line_of(each)

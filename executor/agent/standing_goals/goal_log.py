"""Keep what happened to standing goals: a state that only events change, in a log of the journal.

A process that attends is the only writer of the log. When it begins, it reads the log, writes its state to a new one in
a single event, and deletes the old one, so that a log does not grow for ever; at each moment one of the two is whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from executor.agent import agent_events as told
from executor.agent.agent_events import GoalInstance
from executor.agent.standing_goals.loop_guard import Attempts
from executor.errors import DrivenError, JournalError
from executor.events.events import FactsSeen, Note, Provenance, event_from_data, event_to_data
from executor.journal import AnyJournal
from executor.journal.records import LOG_PREFIX
from executor.tools.containment import log_failure, quote_value
from executor.tools.json_data import dump_json, load_json
from planner.lightweight import dataclass, field
from planner.model import Atom

_LOG: Final = logging.getLogger(__name__)
LOG: Final = f"{LOG_PREFIX}standing goals"
"""Name of the log in the journal, before its number."""
STATE: Final = "State"
"""Kind of the first event of a log: the state so far."""
Logged = told.StandingEvent | FactsSeen
KINDS: Final[Mapping[str, type[Any]]] = {each.__name__: each for each in told.StandingEvent.__args__}


@dataclass(slots=True)
class GoalRecord:
    """What is remembered of one standing goal."""

    kept: Mapping[str, Any] | None = None
    since: float = 0.0
    """The time after which times of its schedule count, in seconds since 1970."""
    is_due: bool = False
    """Whether its schedule has fired, and its goals were not reached since."""
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Pursuit:
    """An unfinished pursuit of goals in a run."""

    run: str
    goals: tuple[GoalInstance, ...]
    words: str
    priority: int


@dataclass(slots=True, eq=False)
class GoalLog:
    """The state of all standing goals; `tell` gets the events, `clock` gives seconds since 1970."""

    tell: Callable[[told.AgentEvent], None]
    clock: Callable[[], float]
    journal: AnyJournal | None = None
    calm_of: Callable[[str], float] = field(default=lambda _: 0.0)
    """The calm time of a standing goal, by its name."""
    goals: dict[str, GoalRecord] = field(default_factory=dict)
    attempts: dict[GoalInstance, Attempts] = field(default_factory=dict)
    pursuits: dict[str, Pursuit] = field(default_factory=dict)
    facts: dict[Atom, Note] = field(default_factory=dict)
    """Facts that became known, each with its latest note."""
    log: str = ""
    is_telling: bool = False
    """Whether somebody is just being told of an event."""

    def emit(self, *events: Logged) -> None:
        """Keep `events`, all or none, apply them, and tell them."""
        now = self.clock()
        if self.journal is not None and self.log:
            rows = [(type(each).__name__, dump_json(event_to_row(each)), None) for each in events]
            self.journal.extend(self.log, rows, now)
        for event in events:
            self.apply(event, now)
        for event in events:
            self.tell_event(event)

    def tell_event(self, event: told.AgentEvent) -> None:
        """Tell an event; whoever cannot take it is told no more, and nothing else changes."""
        was_telling, self.is_telling = self.is_telling, True
        try:
            self.tell(event)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the goals are attended to
            log_failure(_LOG, "%s failed, and is told no more", quote_value(self.tell), error=error)
            self.tell = told.ignore_event
        finally:
            self.is_telling = was_telling

    def apply(self, event: Logged, at: float) -> None:
        """Apply an event that happened `at` a time in seconds since 1970."""
        match event:
            case told.GoalStated(goal, kept):
                self.goals[goal] = GoalRecord(kept, at)
            case told.GoalEnded(goal):
                record = self.goals.setdefault(goal, GoalRecord())
                record.is_over, record.kept, record.is_due = True, None, False
                self.attempts = {each: found for each, found in self.attempts.items() if each.goal != goal}
            case told.Fired(goal, due, _, skipped):
                record = self.goals.setdefault(goal, GoalRecord())
                record.since, record.is_due = max(due, record.since), record.is_due or not skipped
                for each, found in self.attempts.items():
                    if each.goal == goal and not skipped:
                        found.resume(forget=True)
            case told.Pursued(run, goals, words, priority):
                self.pursuits[run] = Pursuit(run, goals, words, priority)
            case told.FiringEnded(goal):
                self.goals.setdefault(goal, GoalRecord()).is_due = False
            case told.PursuitEnded(run, goals, reached, reason):
                self.pursuits.pop(run, None)
                for each in goals:
                    found = self.attempts.setdefault(each, Attempts())
                    if each in reached:
                        found.note_reached(at)
                    elif reason:
                        found.note_failure(reason)
            case told.Undone(goal, by):
                self.attempts.setdefault(goal, Attempts()).note_undone(at, by, self.calm_of(goal.goal))
            case told.Paused():
                self.attempts.setdefault(event.goal, Attempts()).pause(event)
            case told.PauseEnded(goal, _, by_person):
                self.attempts.setdefault(goal, Attempts()).resume(forget=by_person)
            case FactsSeen(facts):
                self.facts.update({note.fact: note for note in facts})

    @property
    def pursued(self) -> set[GoalInstance]:
        """The goals of unfinished pursuits."""
        return {each for pursuit in self.pursuits.values() for each in pursuit.goals}

    def reported(self) -> dict[Atom, bool]:
        """Return the values of the facts that were only reported."""
        return {fact: bool(note.holds) for fact, note in self.facts.items() if note.provenance is Provenance.REPORTED}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take over the log of the journal, if there is one, and write to it within the context.

        Raises `JournalError`; another process that attends has its standing goals in the same log.
        """
        if self.journal is None:
            yield
            return
        with ExitStack() as stack:
            self._take_over(self.journal, stack)
            try:
                yield
            finally:
                self.log = ""

    def _take_over(self, journal: AnyJournal, stack: ExitStack) -> None:
        logs = [each for each in journal.logs() if each.run.startswith(LOG)]
        begun = [each.run for each in logs if each.events]
        try:
            with ExitStack() as old:
                for each in logs:
                    old.enter_context(journal.drive(each.run))
                for entry in journal.read(begun[-1]) if begun else ():
                    self._restore(entry.kind, load_json(entry.data), entry.time)
                number = max([int(each.run.rpartition(" ")[2]) for each in logs], default=0) + 1
                name = f"{LOG} {number}"
                journal.create(name)
                stack.enter_context(journal.drive(name))
                self.forget_calm()
                journal.append(name, STATE, dump_json(self._to_data()))
        except DrivenError as error:
            hint = "one process attends to standing goals; others tell it events, or have a journal of their own"
            raise JournalError(journal.place, f"the standing goals are attended to already: {error}", hint) from None
        self.log = name
        for each in logs:
            journal.delete(each.run)

    def forget_calm(self) -> None:
        """Forget the attempts of goals that have stayed reached for their calm time."""
        now = self.clock()
        self.attempts = {
            each: found
            for each, found in self.attempts.items()
            if found.failed or found.paused or found.reached is None or now - found.reached <= self.calm_of(each.goal)
        }

    def _to_data(self) -> dict[str, Any]:
        facts = FactsSeen(tuple(self.facts.values()))
        return {
            "goals": [[name, each.kept, each.since, each.is_due, each.is_over] for name, each in self.goals.items()],
            "attempts": [
                {**{name: getattr(each, name) for name in Attempts.__match_args__}}
                | {"goal": _to_data(goal), "seen": sorted(each.seen), "against": _to_data(each.against)}
                for goal, each in self.attempts.items()
            ],
            "pursuits": [event_to_row(told.Pursued(*_values_of(each))) for each in self.pursuits.values()],
            "facts": event_to_data(facts)["facts"],
        }

    def _restore(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        """Take over one event of the log, or the state with which the log begins."""
        if kind != STATE:
            self.apply(event_from_row(kind, data), at)
            return
        self.goals = {name: GoalRecord(*values) for name, *values in data["goals"]}
        for each in data["attempts"]:
            values = dict(each)
            goal, against = _to_instance(values.pop("goal")), values.pop("against")
            undone = [(float(when), str(by)) for when, by in values.pop("undone")]
            rests = None if values["rests"] is None else tuple(values["rests"])
            made = Attempts(**{**values, "seen": set(values["seen"]), "undone": undone, "rests": rests})
            made.against = None if against is None else _to_instance(against)
            self.attempts[goal] = made
        for each in data["pursuits"]:
            self.apply(event_from_row("Pursued", each), at)
        self.apply(event_from_row("FactsSeen", {"facts": data["facts"], "cause": ""}), at)


def _values_of(pursuit: Pursuit) -> tuple[str, tuple[GoalInstance, ...], str, int]:
    return pursuit.run, pursuit.goals, pursuit.words, pursuit.priority


def event_to_row(event: Logged) -> dict[str, Any]:
    """Convert `event` to JSON-ready data."""
    if isinstance(event, FactsSeen):
        return event_to_data(event)
    return {name: _to_data(getattr(event, name)) for name in type(event).__match_args__}


def _to_data(value: Any) -> Any:
    if isinstance(value, GoalInstance):
        return [value.goal, *value.objects]
    if isinstance(value, tuple):
        return [_to_data(each) for each in value]
    return value


def event_from_row(kind: str, data: Mapping[str, Any]) -> Logged:
    """Convert data of `event_to_row` to the event; raises `KeyError` for an unknown kind."""
    if kind == "FactsSeen":
        found = event_from_data(kind, data)
        assert isinstance(found, FactsSeen)
        return found
    values = dict(data)
    if isinstance(values.get("rests"), list):
        values["rests"] = tuple(values["rests"])
    for name in ("goals", "reached"):
        if name in values:
            values[name] = tuple([_to_instance(each) for each in values[name]])
    if isinstance(values.get("goal"), list):
        values["goal"] = _to_instance(values["goal"])
    if values.get("against") is not None:
        values["against"] = _to_instance(values["against"])
    made: Logged = KINDS[kind](**values)
    return made


def _to_instance(data: list[str]) -> GoalInstance:
    return GoalInstance(data[0], tuple(data[1:]))
